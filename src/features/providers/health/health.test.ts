import assert from 'node:assert/strict'
import { channel } from 'node:diagnostics_channel'
import { type TestContext, test } from 'node:test'
import { temporaryDatabase } from '../../../../test/support/database.ts'
import { type AttemptNote, COMPLETION_CHANNEL } from '../../../domain/completion.ts'
import type { ProviderCredentialId } from '../../../domain/ids.ts'
import {
  currentProblem,
  failureName,
  healthOfCalls,
  isRefused,
  type RecentCalls,
  recentCalls,
  startProviderHealthRecorder,
} from '../recent-calls.ts'

const START = Date.UTC(2026, 10, 24, 12, 30)
const HOUR_MS = 3_600_000
const HOUR = Date.UTC(2026, 10, 24, 12)

type Note = Partial<AttemptNote> & Pick<AttemptNote, 'outcome'>

/** A completion with these attempts, as the gateway publishes it. */
function publish(...notes: readonly Note[]): void {
  const attempt = { provider: 'up', model: 'm', status: 200, startedMs: 0, durationMs: 1 }
  const attemptLog = notes.map((note) => ({ ...attempt, ...note }))
  channel(COMPLETION_CHANNEL).publish({ record: { attemptLog, attempts: notes.length, provider: 'up' } })
}

async function setUp(t: TestContext) {
  const { db } = await temporaryDatabase(t)
  const clock = { now: START }
  const now = () => clock.now
  const isScripted = (name: string) => name === 'simulator'
  const log = { warn: (_: object, message: string) => assert.fail(message) }
  const recorders = [0, 1].map(() => startProviderHealthRecorder({ db, now, isScripted, log }))
  t.after(() => Promise.all(recorders.map(({ close }) => close())))
  const read = async () => {
    for (const { write } of recorders) await write()
    return await recentCalls(db, clock.now)
  }
  return { clock, read }
}

test('calls of all processes add up by provider, and what clients cause is no failure', async (t) => {
  const { clock, read } = await setUp(t)
  channel(COMPLETION_CHANNEL).publish({ record: { attemptLog: undefined, attempts: 1, provider: 'up' } })
  publish({ outcome: 'rejected', status: 400 }, { provider: 'b', outcome: 'answered' })
  const scripted = { provider: 'simulator', status: 500 }
  publish({ outcome: 'abandoned', status: 0 }, { ...scripted, outcome: 'failed' }, { ...scripted, outcome: 'answered' })
  clock.now += 1_000
  publish({ outcome: 'rate_limited', status: 429, model: 'n' }, { provider: 'b', outcome: 'answered' })
  const first = await read()
  const up = { calls: 8, failures: 2, lastAnswerAt: START, hours: [{ at: HOUR, calls: 8, failures: 2 }] }
  const lastFailure = { at: START + 1_000, outcome: 'rate_limited', status: 429, model: 'n' }
  assert.deepEqual(first.get('up'), { ...up, lastFailure }) // each of the two processes counts each completion
  const b = { calls: 4, failures: 0, lastAnswerAt: START + 1_000, hours: [{ at: HOUR, calls: 4, failures: 0 }] }
  assert.deepEqual(first.get('b'), { ...b, lastFailure: undefined })
  assert.deepEqual([first.get('simulator')?.calls, first.get('simulator')?.failures], [2, 0])
  publish({ outcome: 'credentials', status: 401 })
  assert.deepEqual((await read()).get('up')?.failures, 4)
})

test('credentials of accounts say nothing of the operator’s', async (t) => {
  const { read } = await setUp(t)
  publish({ outcome: 'credentials', status: 401, credentialId: 'pcr_1' as ProviderCredentialId })
  assert.equal((await read()).get('up'), undefined)
})

test('24 hours count, whichever process wrote them', async (t) => {
  const { clock, read } = await setUp(t)
  publish({ outcome: 'failed', status: 500 })
  clock.now += 23 * HOUR_MS
  publish({ outcome: 'answered' })
  const both = (await read()).get('up')
  assert.equal(both?.failures, 2)
  const newest = { at: HOUR + 23 * HOUR_MS, calls: 2, failures: 0 }
  assert.deepEqual(both?.hours, [{ at: HOUR, calls: 2, failures: 2 }, newest])
  clock.now += HOUR_MS
  const { lastAnswerAt, ...counts } = (await read()).get('up') as RecentCalls
  assert.deepEqual(counts, { calls: 2, failures: 0, lastFailure: undefined, hours: [newest] })
  assert.equal(lastAnswerAt, START + 23 * HOUR_MS)
})

test('a refused key is a problem until a call is answered', () => {
  const calls = { calls: 3, failures: 1, lastAnswerAt: START, hours: [] }
  const failure = { at: START + 1, outcome: 'credentials', status: 401, model: 'm' }
  const refused = { ...calls, lastFailure: failure }
  assert.deepEqual([isRefused(refused), currentProblem(refused)], [true, 'Key refused (401)'])
  const answered = { ...refused, lastAnswerAt: START + 2 }
  assert.deepEqual([isRefused(answered), currentProblem(answered)], [false, undefined])
  const limited = { ...calls, lastFailure: { ...failure, outcome: 'rate_limited', status: 429 } }
  assert.deepEqual([isRefused(limited), currentProblem(limited)], [false, 'Rate limited (429)'])
  assert.equal(failureName({ ...failure, outcome: 'failed', status: null }), 'No response')
  assert.equal(failureName({ ...failure, outcome: 'failed', status: 500 }), 'Failing (500)')
})

test('five failures without an answer are down, a share of 5 % is degraded, whatever the cause', () => {
  const failure = { at: START, outcome: 'rate_limited', status: 429, model: 'm' }
  const health = (...hours: readonly (readonly [calls: number, failures: number])[]) =>
    healthOfCalls({
      calls: hours.reduce((sum, [calls]) => sum + calls, 0),
      failures: hours.reduce((sum, [, failures]) => sum + failures, 0),
      lastFailure: failure,
      lastAnswerAt: START - 1,
      hours: hours.map(([calls, failures], index) => ({ at: HOUR + index * HOUR_MS, calls, failures })),
    })
  assert.deepEqual(
    [health([5, 5]), health([4, 4]), health([900, 2], [3, 3], [2, 2]), health([9, 9], [1, 0])],
    ['down', 'degraded', 'down', 'degraded'],
  )
  assert.deepEqual([health([100, 5], [20, 1]), health([100, 5], [20, 2])], ['healthy', 'degraded'])
})
