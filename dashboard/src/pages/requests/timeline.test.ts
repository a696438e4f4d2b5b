import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Attempt } from './queries.ts'
import { timelineOf } from './timeline.ts'

const attempt = (outcome: Attempt['outcome'], startedMs: number, durationMs: number): Attempt => ({
  ...{ provider: 'p', model: 'm', outcome, status: null },
  ...{ started_ms: startedMs, duration_ms: durationMs },
})

test('calls follow each other, and the one that answered goes on to the end', () => {
  const log = [attempt('overloaded', 0, 100), attempt('answered', 350, 50)]
  const { calls, unknown, length } = timelineOf({ attempt_log: log, attempts: 2, duration_ms: 1000 })
  assert.deepEqual([unknown, length], [0, 1000])
  assert.deepEqual(
    calls.map(({ number, start, end, answeredUntil, pause }) => [number, start, end, answeredUntil, pause]),
    [
      [1, 0, 100, undefined, 250],
      [2, 350, 400, 1000, undefined],
    ],
  )
})

test('of more calls than are kept the last ones keep their numbers, and no bar leaves the axis', () => {
  const { calls, unknown, length } = timelineOf({
    ...{ attempt_log: [attempt('failed', 900, 400)], attempts: 12, duration_ms: 1000 },
  })
  assert.deepEqual([unknown, calls[0]?.number, length], [11, 12, 1300])
  assert.equal(timelineOf({ attempt_log: [], attempts: 0, duration_ms: 0 }).length, 1)
})
