import assert from 'node:assert/strict'
import { test } from 'node:test'
import { shrinkHeap } from './main.ts'

test('what nobody refers to any more is gone afterwards', () => {
  const reference = new WeakRef(Array.from({ length: 100_000 }, (_, index) => ({ index })))
  return new Promise<void>((resolve) => {
    setTimeout(() => {
      shrinkHeap()
      assert.equal(reference.deref(), undefined)
      assert.equal('gc' in globalThis, false)
      resolve()
    })
  })
})
