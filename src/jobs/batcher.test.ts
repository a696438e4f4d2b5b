import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GatewayError } from '../domain/errors.ts'
import { createBatcher } from './batcher.ts'

test('what begins together is carried out together, what comes meanwhile after it, in order and in its turn', async () => {
  const groups: (readonly number[])[] = []
  const double = createBatcher<number, number>({ size: 3 }, async (items) => {
    groups.push(items)
    await new Promise((resolve) => setImmediate(resolve))
    return items.map((item) => item * 2)
  })
  const first = [1, 2, 3, 4].map(double)
  await first[0]
  const second = [5, 6].map(double)
  assert.deepEqual(await Promise.all([...first, ...second]), [2, 4, 6, 8, 10, 12])
  assert.deepEqual(groups, [
    [1, 2, 3],
    [4, 5, 6],
  ])
})

test('where more are waiting than go into one call, lanes take turns', async () => {
  const groups: (readonly string[])[] = []
  const laneOf = (item: string): string => item.slice(0, 1)
  const work = createBatcher<string, string>({ size: 3, laneOf }, async (items) => {
    groups.push(items)
    return items
  })
  await Promise.all(['a1', 'a2', 'a3', 'a4', 'b1', 'c1', 'b2'].map(work))
  assert.deepEqual(groups, [['a1', 'b1', 'c1'], ['a2', 'b2', 'a3'], ['a4']])
})

test('one that is refused does not take the others with it', async () => {
  const work = createBatcher<number, number>({ size: 10 }, async (items) => {
    if (items.includes(2)) throw new Error('two is refused')
    return items
  })
  const ends = await Promise.allSettled([1, 2, 3].map(work))
  assert.deepEqual(
    ends.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  )
})

test('where the database is away, all are told at once', async () => {
  let calls = 0
  const work = createBatcher<number, number>({ size: 10 }, async () => {
    calls++
    throw new GatewayError('database_unavailable', 'away')
  })
  const ends = await Promise.allSettled([1, 2, 3].map(work))
  assert.deepEqual([calls, ends.filter(({ status }) => status === 'rejected').length], [1, 3])
})
