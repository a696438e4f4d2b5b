import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Outcome, waitForApproval } from './device-flow.ts'
import type { Poll } from './oauth.ts'

const TOKENS = { accessToken: 'tpa_1', refreshToken: undefined, expiresAt: 1 }
const pending: Poll = { kind: 'pending' }
const slowDown: Poll = { kind: 'slow_down' }
const approved: Poll = { kind: 'approved', tokens: TOKENS }
const away = { kind: 'unsaid', message: 'It is away.', waitMs: 0 } as const satisfies Poll

interface Run {
  readonly outcome: Outcome
  /** When each poll was, in seconds. */
  readonly polledAt: readonly number[]
  readonly troubles: readonly (string | undefined)[]
}

/** @param oversleep What a pause takes longer than it should: the laptop was closed. */
async function run(answers: readonly Poll[], { lifetimeMs = 900_000, oversleep = 0 } = {}): Promise<Run> {
  let clock = 0
  const polledAt: number[] = []
  const troubles: (string | undefined)[] = []
  const left = [...answers]
  const outcome = await waitForApproval({
    poll: async () => {
      polledAt.push(clock / 1_000)
      return (left.length > 1 ? left.shift() : left[0]) ?? pending
    },
    sleep: async (ms) => {
      clock += ms + oversleep
    },
    now: () => clock,
    intervalMs: 5_000,
    expiresAt: lifetimeMs,
    onTrouble: (message) => troubles.push(message),
  })
  return { outcome, polledAt, troubles }
}

test('polls at the interval of the server, and ends with the poll after the approval', async () => {
  const { outcome, polledAt } = await run([pending, pending, approved])
  assert.deepEqual(outcome, approved)
  assert.deepEqual(polledAt, [5, 10, 15])
})

test('DEV-1: each slow_down makes all further polls 5 seconds slower', async () => {
  const { polledAt } = await run([slowDown, pending, slowDown, pending, approved])
  assert.deepEqual(polledAt, [5, 15, 25, 40, 55])
})

test('a denial and an expiry end it', async () => {
  assert.deepEqual((await run([pending, { kind: 'denied' }])).outcome, { kind: 'denied' })
  assert.deepEqual((await run([{ kind: 'expired' }])).outcome, { kind: 'expired', trouble: undefined })
})

test('a server that is away is asked ever more rarely, then at the interval again; both are said once', async () => {
  const { outcome, polledAt, troubles } = await run([away, away, away, away, pending, approved])
  assert.equal(outcome.kind, 'approved')
  assert.deepEqual(polledAt, [5, 15, 35, 65, 95, 100])
  assert.deepEqual(troubles, ['It is away.', undefined])
})

test('as long as a server wants to be left alone, it is', async () => {
  const { polledAt } = await run([{ ...away, waitMs: 60_000 }, approved])
  assert.deepEqual(polledAt, [5, 65])
})

test('a code that nobody approves is asked about once more when its time is over', async () => {
  const { outcome, polledAt } = await run([pending], { lifetimeMs: 12_000 })
  assert.deepEqual(outcome, { kind: 'expired', trouble: undefined })
  assert.deepEqual(polledAt, [5, 10, 12])
  assert.deepEqual((await run([away], { lifetimeMs: 1_000 })).outcome, { kind: 'expired', trouble: 'It is away.' })
})

test('a laptop that was closed beyond the lifetime asks once: it may have been approved meanwhile', async () => {
  assert.equal((await run([approved], { oversleep: 10_000_000 })).outcome.kind, 'approved')
  const { outcome, polledAt } = await run([pending], { oversleep: 10_000_000 })
  assert.equal(outcome.kind, 'expired')
  assert.equal(polledAt.length, 1)
})
