import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import {
  completionId,
  holdUnit,
  type MemoryLedger,
  memoryLedger,
  PREPAID,
  applyBatch as performUnit,
  settleUnit,
} from '../../../../test/support/ledger/credit-model.ts'
import type { RunningEstimate } from '../../../domain/credit.ts'
import { GatewayError } from '../../../domain/errors.ts'
import type { Batch, Outcome, SettleUnit, Unit } from '../ledger/unit.ts'
import { type CommitterInput, createCommitter } from './committer.ts'
import { MAX_UNSETTLED, MAX_WAITING_REQUESTS } from './queue.ts'

/** Long enough for everything that only waits for promises. */
async function settleMicrotasks(): Promise<void> {
  for (let count = 0; count < 10; count++) await null
}

interface Sent {
  readonly units: readonly Unit[]
  /** Without outcomes every unit gets the one of its kind. */
  succeed(outcomes?: readonly Outcome[]): Promise<void>
  fail(error?: Error): Promise<void>
}

const usual = (unit: Unit): Outcome =>
  unit.kind === 'hold' ? { kind: 'held', nanoUsd: 100n, outputTokens: 100 } : { kind: 'done' }

function setUp(t: TestContext, over: Partial<CommitterInput> = {}) {
  t.mock.timers.enable({ apis: ['setTimeout', 'setImmediate', 'Date'], now: 1_000_000 })
  const sent: Sent[] = []
  const logged: { readonly level: string; readonly fields: object; readonly message: string }[] = []
  const store = {
    commit({ units }: Batch) {
      const { promise, resolve, reject } = Promise.withResolvers<readonly Outcome[]>()
      const succeed = (outcomes = units.map(usual)) => {
        resolve(outcomes)
        return settleMicrotasks()
      }
      const fail = (error: Error = new GatewayError('database_unavailable', 'away')) => {
        reject(error)
        return settleMicrotasks()
      }
      sent.push({ units, succeed, fail })
      return promise
    },
  }
  const log = {
    warn: (fields: object, message: string) => void logged.push({ level: 'warn', fields, message }),
    error: (fields: object, message: string) => void logged.push({ level: 'error', fields, message }),
  }
  const committer = createCommitter({ store, log, clock: Date.now, ...over })
  /** Millisecond by millisecond, so that each timer sees its own time. */
  const pass = async (ms: number) => {
    for (let at = 0; at < ms; at++) t.mock.timers.tick(1)
    await settleMicrotasks()
  }
  /** To the end of this turn of the event loop. */
  const endTurn = () => t.mock.timers.tick(0)
  const latest = () => sent.at(-1) ?? assert.fail('nothing was sent')
  return { committer, sent, latest, logged, pass, endTurn }
}

const hold = (name: string | number) => holdUnit({ id: completionId(name) })
const settle = (name: string | number, over: Partial<SettleUnit> = {}): SettleUnit => ({
  ...settleUnit({ id: completionId(name) }),
  ...over,
})
const touch: Unit = { kind: 'touch', accountId: hold(0).accountId, terms: PREPAID }
const estimate = (name: string | number, completionTokens: number): RunningEstimate => ({
  accountId: hold(0).accountId,
  id: completionId(name),
  provider: 'p',
  promptTokens: 1,
  completionTokens,
  costNanoUsd: 1n,
})

const nameOf = (unit: Unit): string => {
  if (unit.kind === 'estimates')
    return `estimates ${unit.estimates.map(({ id, completionTokens }) => `${id.slice(9)}=${completionTokens}`).join()}`
  if (unit.kind === 'settle') return `${unit.uncharged ? 'release' : 'settle'} ${unit.record.id.slice(9)}`
  return 'id' in unit ? `${unit.kind} ${unit.id.slice(9)}` : unit.kind
}
const names = ({ units }: Pick<Sent, 'units'>) => units.map(nameOf)

/** What became of a promise so far. */
function watch<Value>(promise: Promise<Value>) {
  const fate: { value?: Value; code?: string | undefined } = {}
  promise.then(
    (value) => {
      fate.value = value
    },
    (error: unknown) => {
      fate.code = error instanceof GatewayError ? error.code : String(error)
    },
  )
  return fate
}

test('what is asked in one turn of the event loop goes as one batch at its end, and each gets its own answer', async (t) => {
  const { committer, sent, latest, endTurn } = setUp(t)
  const fates = [committer.hold(hold(1)), committer.hold(hold(2)), committer.submit(touch)].map(watch)
  assert.equal(sent.length, 0)
  endTurn()
  assert.deepEqual(sent.map(names), [['hold 1', 'hold 2', 'touch']])
  const refused: Outcome = { kind: 'already' }
  await latest().succeed([usual(hold(1)), refused, { kind: 'done' }])
  assert.deepEqual(fates, [{ value: usual(hold(1)) }, { value: refused }, { value: { kind: 'done' } }])
})

test('one batch is under way at a time; what came meanwhile goes out when it has ended, settlements first', async (t) => {
  const { committer, sent, latest, endTurn } = setUp(t)
  watch(committer.hold(hold(1)))
  endTurn()
  watch(committer.hold(hold(2)))
  committer.estimates([estimate(8, 5)])
  const settled = watch(committer.settle(settle(3)))
  committer.release(hold(4))
  watch(committer.extend({ ...hold(5), kind: 'extend', nanoUsd: 1n }))
  watch(committer.settle(settle(6)))
  endTurn()
  assert.equal(sent.length, 1)
  await latest().succeed()
  assert.deepEqual(names(latest()), ['settle 3', 'release 4', 'settle 6', 'estimates 8=5', 'hold 2', 'extend 5'])
  assert.equal(committer.pending(), 3)
  assert.ok(!('value' in settled))
  await latest().succeed()
  assert.ok('value' in settled)
  assert.equal(committer.pending(), 0)
  assert.equal(sent.length, 2)
})

test('settlements wait 20 ms for a batch of holds to ride on, then go alone', async (t) => {
  const { committer, sent, latest, pass, endTurn } = setUp(t)
  watch(committer.settle(settle(1)))
  await pass(10)
  watch(committer.settle(settle(2)))
  await pass(9)
  assert.equal(sent.length, 0)
  await pass(1)
  assert.deepEqual(names(latest()), ['settle 1', 'settle 2'])
  await latest().succeed()
  committer.release(hold(3))
  await pass(10)
  watch(committer.hold(hold(4)))
  endTurn()
  assert.deepEqual(names(latest()), ['release 3', 'hold 4'])
  await latest().succeed()
  watch(committer.settle(settle(5)))
  await pass(19)
  assert.equal(sent.length, 2, 'the timer of those that went earlier is not theirs')
  await pass(1)
  assert.deepEqual(names(latest()), ['settle 5'])
})

test('a settlement whose answer is kept for repeats does not wait for others: the client does', async (t) => {
  const { committer, sent, latest, endTurn } = setUp(t)
  watch(committer.settle(settle(1)))
  const kept = { accountId: hold(0).accountId, endpoint: 'POST /x', key: 'k', answer: undefined }
  watch(committer.settle(settle(2, { kept })))
  endTurn()
  assert.deepEqual(names(latest()), ['settle 1', 'settle 2'])
  watch(committer.settle(settle(3, { kept })))
  await latest().succeed()
  assert.deepEqual(names(latest()), ['settle 3'])
  watch(committer.settle(settle(4)))
  await latest().succeed()
  assert.equal(sent.length, 2)
})

test('estimates alone go within 20 ms; of each request the newest, also after a batch that failed', async (t) => {
  const { committer, latest, pass } = setUp(t)
  committer.estimates([estimate(1, 1), estimate(2, 1)])
  committer.estimates([estimate(1, 2)])
  await pass(20)
  assert.deepEqual(names(latest()), ['estimates 1=2,2=1'])
  committer.estimates([estimate(2, 9)])
  await latest().fail()
  await pass(250)
  assert.deepEqual(names(latest()), ['estimates 2=9,1=2'])
})

test('a batch has at most 500 units, of which settlements leave half to those who wait for an answer [limit: batch]', async (t) => {
  const { committer, sent, latest, endTurn } = setUp(t)
  for (let index = 0; index < 600; index++) {
    watch(committer.settle(settle(index)))
    watch(committer.hold(hold(`h${index}`)))
  }
  committer.estimates([estimate(1, 1), estimate(2, 1)])
  endTurn()
  const sizes = () => ({
    settle: latest().units.filter(({ kind }) => kind === 'settle').length,
    hold: latest().units.filter(({ kind }) => kind === 'hold').length,
  })
  assert.deepEqual(sizes(), { settle: 250, hold: 250 })
  await latest().succeed()
  assert.deepEqual(sizes(), { settle: 250, hold: 250 })
  await latest().succeed()
  assert.deepEqual(
    names(latest()).filter((name) => !/settle|hold/.test(name)),
    ['estimates 1=1,2=1'],
  )
  assert.deepEqual(sizes(), { settle: 100, hold: 100 })
  assert.equal(sent.length, 3)
})

test('F12: a hold is refused after 5 s; one whose batch is under way is given back, should it be committed after all [limit: hold-wait]', async (t) => {
  const { committer, sent, latest, pass, endTurn } = setUp(t)
  const first = watch(committer.hold(hold(1)))
  const asked = watch(committer.submit(touch))
  endTurn()
  await pass(1_000)
  const second = watch(committer.hold(hold(2)))
  const third = watch(committer.submit(touch))
  await pass(3_999)
  assert.deepEqual([first, second], [{}, {}])
  await pass(1)
  assert.deepEqual([first, second], [{ code: 'database_unavailable' }, {}])
  await pass(1_000)
  assert.deepEqual([second, third], [{ code: 'database_unavailable' }, { code: 'database_unavailable' }])
  assert.deepEqual(asked, {}, 'only its batch can tell')
  assert.equal(committer.pending(), 1)
  await latest().succeed()
  assert.deepEqual(asked, { value: { kind: 'done' } })
  assert.equal(committer.available(), true)
  await pass(20)
  assert.deepEqual(sent.map(names), [['hold 1', 'touch'], ['release 1']], 'what was never sent needs no release')
})

test('LED-10, F14: when a batch fails, all who wait are refused, sent holds are given back, and new ones fail at once', async (t) => {
  const { committer, sent, latest, logged, pass, endTurn } = setUp(t)
  const told: boolean[] = []
  const end = committer.onAvailability((available) => told.push(available))
  const settled = watch(committer.settle(settle(1)))
  const waiting = [watch(committer.hold(hold(2)))]
  endTurn()
  waiting.push(watch(committer.hold(hold(3))), watch(committer.submit(touch)))
  await latest().fail()
  assert.deepEqual(waiting, Array(3).fill({ code: 'database_unavailable' }))
  assert.equal(committer.available(), false)
  await assert.rejects(committer.hold(hold(4)), { code: 'database_unavailable' })
  watch(committer.settle(settle(5)))
  await pass(249)
  assert.equal(sent.length, 1)
  await pass(1)
  const left = ['settle 1', 'release 2', 'settle 5']
  for (const wait of [500, 1_000, 1_000]) {
    assert.deepEqual(names(latest()), left)
    await latest().fail(new Error('some other reason'))
    const before: number = sent.length
    await pass(wait - 1)
    assert.equal(sent.length, before)
    await pass(1)
  }
  assert.ok(!('value' in settled))
  await latest().succeed()
  assert.ok('value' in settled)
  assert.deepEqual([committer.available(), committer.pending(), told], [true, 0, [false, true]])
  assert.deepEqual(
    logged.map(({ message }) => message),
    ['database unavailable: settlements wait', 'database available again: settlements are committed'],
  )
  end()
  const after = watch(committer.hold(hold(6)))
  endTurn()
  await latest().succeed()
  assert.ok('value' in after)
})

test('with nothing to write an empty batch asks whether the database is back; what waited long then goes without pause', async (t) => {
  const { committer, sent, latest, pass, endTurn } = setUp(t)
  watch(committer.submit(touch))
  endTurn()
  await latest().fail()
  await pass(250)
  assert.deepEqual(latest().units, [])
  for (let index = 0; index < 1_100; index++) watch(committer.settle(settle(index)))
  await latest().fail()
  await pass(500)
  for (const size of [500, 500, 100]) {
    assert.equal(latest().units.length, size)
    await latest().succeed()
  }
  assert.equal(committer.pending(), 0)
  await pass(5_000)
  assert.equal(sent.length, 5, 'then there is silence')
})

test('at most 10 000 wait for an answer, and nothing is admitted that could not be settled [limit: ledger-requests] [limit: unsettled]', async (t) => {
  const { committer, latest, endTurn } = setUp(t)
  const fates = Array.from({ length: MAX_WAITING_REQUESTS }, (_, index) => watch(committer.hold(hold(index))))
  assert.equal(committer.room(), false)
  await assert.rejects(committer.hold(hold('x')), { code: 'overloaded' })
  await assert.rejects(committer.submit(touch), { code: 'overloaded' })
  endTurn()
  for (let batch = 0; batch < MAX_WAITING_REQUESTS / 500; batch++) await latest().succeed()
  assert.ok(fates.every((fate) => 'value' in fate))
  assert.equal(committer.room(), true)
  const over = MAX_UNSETTLED - MAX_WAITING_REQUESTS
  for (let index = 0; index < over; index++) watch(committer.settle(settle(index, { unrecorded: true })))
  assert.deepEqual([committer.room(), committer.pending()], [false, over])
  await assert.rejects(committer.hold(hold('x')), { code: 'overloaded' })
  watch(committer.submit(touch))
  endTurn()
  await latest().succeed()
  assert.equal(committer.room(), true)
})

test('what the database refuses for good is logged whole but for the customer’s answer, counted, and holds nothing up', async (t) => {
  const { committer, latest, logged, pass } = setUp(t)
  const kept = {
    accountId: hold(0).accountId,
    endpoint: 'POST /x',
    key: 'k',
    answer: { status: 200, headers: {}, body: 'secret' },
  }
  const fates = [watch(committer.settle(settle(1, { kept }))), watch(committer.settle(settle(2)))]
  committer.release(hold(3))
  committer.estimates([estimate(4, 1)])
  await pass(20)
  const failed: Outcome = { kind: 'failed', message: 'CHECK' }
  await latest().succeed([failed, { kind: 'done' }, failed, failed])
  assert.ok(fates.every((fate) => 'value' in fate))
  assert.equal(committer.failed(), 2)
  assert.deepEqual(
    logged.map(({ level, message }) => `${level}: ${message}`),
    [
      'error: settlement rejected by the database',
      'error: settlement rejected by the database',
      'error: running estimates rejected by the database',
    ],
  )
  const [entry] = logged
  assert.match(JSON.stringify(entry?.fields), /chatcmpl-1.*"costNanoUsd":"0".*CHECK/)
  assert.doesNotMatch(JSON.stringify(entry?.fields), /secret/)
})

test('LED-6: a settlement whose hold was resolved by another is done, with a word in the log', async (t) => {
  const { committer, latest, logged, pass } = setUp(t)
  const fate = watch(committer.settle(settle(1)))
  committer.release(hold(2))
  await pass(20)
  await latest().succeed([{ kind: 'already' }, { kind: 'already' }])
  assert.ok('value' in fate)
  assert.deepEqual(logged, [
    {
      level: 'warn',
      fields: { completions: [completionId(1)], isRetry: false },
      message: 'already settled: nothing was charged again',
    },
  ])
})

test('flush waits for what came before it, without the pause of 20 ms, and not for what comes later', async (t) => {
  const { committer, sent, latest } = setUp(t)
  await committer.flush()
  watch(committer.settle(settle(1)))
  const flushed = watch(committer.flush())
  assert.deepEqual(names(latest()), ['settle 1'])
  watch(committer.settle(settle(2)))
  const flushedLater = watch(committer.flush())
  await settleMicrotasks()
  assert.equal(sent.length, 1, 'one batch at a time')
  assert.ok(!('value' in flushed))
  await latest().succeed()
  assert.ok('value' in flushed && !('value' in flushedLater))
  await latest().succeed()
  assert.ok('value' in flushedLater)
})

test('close writes what is left, and asks nothing more afterwards', async (t) => {
  const { committer, sent, latest, pass } = setUp(t)
  for (let index = 0; index < 700; index++) watch(committer.settle(settle(index)))
  const closed = watch(committer.close())
  await assert.rejects(committer.hold(hold(1)), { code: 'shutting_down' })
  await latest().succeed()
  await latest().succeed()
  await settleMicrotasks()
  assert.ok('value' in closed)
  await pass(60_000)
  assert.equal(sent.length, 2)
})

test('close gives up after 30 s without a database, and says how much was not written', async (t) => {
  const { committer, sent, latest, pass } = setUp(t)
  watch(committer.settle(settle(1)))
  const closed = watch(committer.close())
  await latest().fail()
  for (let seconds = 0; seconds < 29; seconds++) {
    await pass(1_000)
    await latest().fail()
  }
  assert.deepEqual(closed, {})
  await pass(1_001)
  assert.deepEqual(closed, { code: 'database_unavailable' })
  const before = sent.length
  await latest().fail()
  await pass(5_000)
  assert.equal(sent.length, before)
  assert.equal(committer.pending(), 1)
})

/** A ledger that may lose what it is given, or the answer, or take its time. */
type Step = {
  readonly kind: 'hold' | 'end' | 'release' | 'turn' | 'time' | 'commit' | 'lose' | 'forget'
  readonly number: number
}
const stepArbitrary: fc.Arbitrary<Step> = fc.record({
  kind: fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom('hold', 'turn') },
    { weight: 4, arbitrary: fc.constantFrom('end', 'commit', 'time') },
    { weight: 1, arbitrary: fc.constantFrom('release', 'lose', 'forget') },
  ) as fc.Arbitrary<Step['kind']>,
  number: fc.nat(3_000),
})

function purchaseIn(ledger: MemoryLedger, nanoUsd: bigint): void {
  const entry = { kind: 'purchase', nanoUsd, note: undefined, adjusts: undefined } as const
  performUnit(ledger, { kind: 'entry', accountId: hold(0).accountId, terms: PREPAID, entry }, 0)
}

test('INV-4, INV-6: whatever the database loses, forgets or delays, each hold ends once and nothing else is held', async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.array(stepArbitrary, { minLength: 5, maxLength: 60 }), async (steps) => {
      const { committer, sent, latest, pass, endTurn } = setUp(t)
      const ledger = memoryLedger()
      purchaseIn(ledger, 100_000n)
      let ended = 0
      const apply = (units: readonly Unit[]) =>
        units.map((unit): Outcome => (unit.kind === 'estimates' ? { kind: 'done' } : performUnit(ledger, unit, 0)))
      const answer = async (kind: Step['kind']) => {
        if (ended === sent.length) return
        ended++
        const { units, succeed, fail } = latest()
        if (kind === 'lose') return fail()
        const outcomes = apply(units)
        return kind === 'forget' ? fail() : succeed(outcomes)
      }
      const open: string[] = []
      const charged: string[] = []
      let holds = 0
      for (const { kind, number } of steps) {
        if (kind === 'hold') {
          const name = `h${++holds}`
          committer.hold(hold(name)).then(
            ({ kind: outcome }) => void (outcome === 'held' && open.push(name)),
            () => undefined,
          )
        } else if (kind === 'end' || kind === 'release') {
          const name = open.splice(number % Math.max(1, open.length), 1)[0]
          if (name === undefined) continue
          if (kind === 'release') committer.release(hold(name))
          else {
            charged.push(completionId(name))
            watch(committer.settle(settleUnit({ id: completionId(name), costNanoUsd: 7n })))
          }
        } else if (kind === 'turn') endTurn()
        else if (kind === 'time') await pass(number)
        else await answer(kind)
        await settleMicrotasks()
      }
      const flushed = watch(committer.flush())
      for (let round = 0; round < 20; round++) {
        endTurn()
        await answer('commit')
        await pass(1_000)
      }
      t.mock.timers.reset()
      assert.ok('value' in flushed)
      assert.deepEqual([...ledger.holds.keys()].sort(), open.map(completionId).sort())
      assert.deepEqual([...ledger.completions.keys()].sort(), charged.sort())
      const state = ledger.accounts.get(hold(0).accountId)
      assert.deepEqual(
        [state?.balance, state?.held],
        [100_000n - 7n * BigInt(charged.length), 100n * BigInt(open.length)],
      )
    }),
    { numRuns: 150 },
  )
})
