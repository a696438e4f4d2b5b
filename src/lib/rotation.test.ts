import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRotation } from './rotation.ts'

test('each owner is served once before any is served again, in the order of its items', () => {
  const rotation = createRotation<string>()
  for (const item of ['a1', 'a2', 'a3', 'b1', 'c1', 'b2']) rotation.add(item.slice(0, 1), item)
  assert.equal(rotation.size, 6)
  assert.deepEqual([rotation.take(), rotation.take()], ['a1', 'b1'])
  rotation.add('d', 'd1')
  assert.deepEqual(
    Array.from({ length: 6 }, () => rotation.take()),
    ['c1', 'a2', 'b2', 'd1', 'a3', undefined],
  )
  assert.equal(rotation.size, 0)
})
