import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { createQueueOfOne } from './completion-routes.ts'

test('one begins when the one before it has ended, also when that has failed', async () => {
  const oneByOne = createQueueOfOne()
  const seen: string[] = []
  const work = (name: string, failure?: Error) =>
    oneByOne(async () => {
      seen.push(`${name} begins`)
      await sleep(5)
      seen.push(`${name} ends`)
      if (failure !== undefined) throw failure
      return name
    })
  const results = await Promise.allSettled([work('a'), work('b', new Error('No.')), work('c')])
  assert.deepEqual(
    results.map((result) => (result.status === 'fulfilled' ? result.value : String(result.reason))),
    ['a', 'Error: No.', 'c'],
  )
  assert.deepEqual(seen, ['a begins', 'a ends', 'b begins', 'b ends', 'c begins', 'c ends'])
})
