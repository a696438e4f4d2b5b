import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RunningEstimate } from '../../../domain/credit.ts'
import { createCommitQueue, setEstimates } from './queue.ts'

const MAX_ESTIMATES = 100_000
const estimate = (id: number, tokens: number) => ({ id: `chatcmpl-${id}`, tokens }) as unknown as RunningEstimate

test('running estimates of 100 000 requests wait; a newer one replaces an older one even then [limit: estimates]', () => {
  const queue = createCommitQueue()
  setEstimates(
    queue,
    Array.from({ length: MAX_ESTIMATES }, (_, id) => estimate(id, 1)),
  )
  const newer = estimate(7, 2)
  setEstimates(queue, [newer, estimate(MAX_ESTIMATES, 1)])
  assert.equal(queue.estimates.size, MAX_ESTIMATES)
  assert.equal(queue.estimates.get(newer.id), newer)
})
