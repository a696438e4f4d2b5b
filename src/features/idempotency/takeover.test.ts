import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { currentLocation, temporaryDatabase, testIds } from '../../../test/support/database.ts'
import { completionRecord } from '../../../test/support/ledger/completions.ts'
import {
  ACCOUNT,
  answer,
  ask,
  beginRun,
  charge,
  finish,
  keyProcess,
  lapse,
  openHold,
  openKeys,
  replayOf,
  rowOf,
  runOf,
} from '../../../test/support/ledger/idempotency.ts'
import type { CompletionId } from '../../domain/ids.ts'
import { clientApiOf } from '../../protocols/client-apis.ts'

const VICTIM = fileURLToPath(new URL('../../../test/support/process/idempotent-victim.ts', import.meta.url))

/** A process takes the key, opens a hold or not, and is killed; then its lease is over. */
async function killedWithKey(test: TestContext, held: 'held' | 'not held') {
  const path = await currentLocation(test)
  const survivor = await keyProcess(test, path)
  const id = testIds.completion()
  const victim = spawn(process.execPath, [VICTIM, path, id, held], { stdio: ['ignore', 'pipe', 'inherit'] })
  test.after(() => victim.kill('SIGKILL'))
  await once(victim.stdout, 'data')
  victim.kill('SIGKILL')
  await once(victim, 'exit')
  assert.equal((await rowOf(survivor.database))?.state, 'running')
  await lapse(survivor.database)
  const { database, port } = survivor
  const outcomeOf = (costNanoUsd: bigint) => port.outcomeOf(ACCOUNT, id, completionRecord({ id, costNanoUsd }))
  return { database, port, id, outcomeOf }
}

test('IDEM-7, F16: killed before its hold: the request is run afresh', async (t) => {
  const { database, port } = await killedWithKey(t, 'not held')
  const request = ask()
  const given = await finish(database, request, await beginRun(port, request))
  assert.deepEqual(replayOf(await port.begin(ask())), given)
})

test('IDEM-7, F16: killed with its hold: the outcome is unknown until it is settled, and then an error that is kept', async (t) => {
  const { database, port, id, outcomeOf } = await killedWithKey(t, 'held')
  const unknown = { code: 'idempotency_outcome_unknown', status: 409, details: { completion_id: id } }
  for (let repeat = 0; repeat < 3; repeat++) await assert.rejects(port.begin(ask()), unknown)
  const kept = await outcomeOf(1_500n)
  assert.deepEqual([kept?.accountId, kept?.endpoint, kept?.key], [ACCOUNT, ask().endpoint, 'k'])
  await charge(database, id, { kept })
  const told = replayOf(await port.begin(ask()))
  assert.deepEqual(told, kept?.answer)
  assert.equal(told.status, 409)
  assert.equal(told.headers['x-should-retry'], 'false')
  const { error } = JSON.parse(told.body) as { error: Record<string, string> }
  assert.deepEqual(
    [error['type'], error['code'], error['completion_id']],
    ['conflict', 'idempotency_outcome_unknown', id],
  )
  assert.match(error['message'] ?? '', new RegExp(`charged \\$0\\.0000015 as ${id}.*new key`))
  assert.equal(await outcomeOf(1_500n), undefined) // it has one already
})

test('IDEM-7: what is kept in place of an answer has the form of the API that it was asked of', async (t) => {
  const { database, port } = await keyProcess(t, undefined, {
    errorFormatOf: (endpoint) => clientApiOf(endpoint) ?? assert.fail(endpoint),
  })
  const cases = ['messages', 'responses'].flatMap((api) => [false, true].map((stream) => ({ api, stream })))
  for (const { api, stream } of cases) {
    const request = ask({ endpoint: `POST /v1/${api}`, key: `${api} ${stream}`, stream })
    const id = request.subjectId as CompletionId
    await beginRun(port, request)
    const kept = await port.outcomeOf(ACCOUNT, id, completionRecord({ id, stream, costNanoUsd: 1_500n }))
    const { status, body } = kept?.answer ?? assert.fail('nothing is kept')
    const event = body.startsWith('event: error\ndata: ') ? body.slice('event: error\ndata: '.length) : undefined
    assert.equal(event !== undefined, stream, body)
    const { type, error, request_id: requestId } = JSON.parse(event ?? body)
    const ownType = api === 'responses' && !stream ? undefined : 'error' // errors of that API have no type beside them
    assert.deepEqual([status, type, error.code], [stream ? 200 : 409, ownType, 'idempotency_outcome_unknown'])
    assert.equal(api === 'messages' ? requestId : error.request_id, id)
    await charge(database, id, { kept })
    assert.deepEqual(
      replayOf(await openKeys(database).begin({ ...request, subjectId: testIds.completion() })),
      kept?.answer,
    )
  }
})

test('IDEM-7: charged without a word for its key: the error is written by who asks first', async (t) => {
  const { database, port, id, outcomeOf } = await killedWithKey(t, 'held')
  const kept = await outcomeOf(1_500n)
  await charge(database, id, {}) // without it, as when it was settled from a spool
  const both = await Promise.all([port.begin(ask()), openKeys(database).begin(ask())])
  for (const turn of both) assert.deepEqual(replayOf(turn), kept?.answer)
  const row = await rowOf(database)
  assert.deepEqual([row?.state, row?.status, row?.subject_id], ['kept', 409, id])
})

test('IDEM-7, IDEM-5: settled at nothing: the key is free', async (t) => {
  const { database, port, id, outcomeOf } = await killedWithKey(t, 'held')
  assert.equal(await outcomeOf(0n), undefined)
  await charge(database, id, { costNanoUsd: 0n })
  await beginRun(port, ask())
})

test('IDEM-7: who waits in another process when the first dies is told so, or runs the request', async (t) => {
  const path = await currentLocation(t)
  const [first, other] = [await keyProcess(t, path), await keyProcess(t, path)]
  const request = ask()
  await beginRun(first.port, request)
  await openHold(first.database, request.subjectId)
  const waiting = assert.rejects(other.port.begin(ask()), { code: 'idempotency_outcome_unknown' })
  await other.database.ping()
  await lapse(first.database)
  await waiting

  await beginRun(first.port, ask({ key: 'k2' }))
  const next = other.port.begin(ask({ key: 'k2' }))
  await other.database.ping()
  await lapse(first.database, 'k2')
  runOf(await next)
})

test('outcomeOf: no key, another account, another subject', async (t) => {
  const { port } = await keyProcess(t)
  const request = ask()
  await beginRun(port, request)
  const record = completionRecord()
  assert.equal(await port.outcomeOf(ACCOUNT, 'chatcmpl-other', record), undefined)
  assert.equal(await port.outcomeOf('acc_b' as typeof ACCOUNT, request.subjectId, record), undefined)
  assert.notEqual(await port.outcomeOf(ACCOUNT, request.subjectId, record), undefined)
})

test('IDEM-7: of 20 that find a lapsed key, in several processes, exactly one runs it', async (t) => {
  const path = await currentLocation(t)
  const { database, port } = await keyProcess(t, path)
  const databases = [database, await temporaryDatabase(t, path), await temporaryDatabase(t, path)]
  // memories of their own, or they would wait for each other without asking the database
  const takers = Array.from({ length: 20 }, (_, index) => openKeys(databases[index % databases.length] ?? database))
  for (let round = 0; round < 10; round++) {
    const key = `round ${round}`
    await beginRun(port, ask({ key }))
    await lapse(database, key)
    const turns = takers.map(async (taker) => {
      const request = ask({ key })
      return { request, turn: await taker.begin(request) }
    })
    const winner = await Promise.any(turns.map(async (each) => ({ ...(await each), run: runOf((await each).turn) })))
    const given = await finish(database, winner.request, winner.run)
    const outcomes = (await Promise.all(turns)).map(({ turn }) => turn)
    assert.equal(outcomes.filter(({ kind }) => kind === 'run').length, 1)
    for (const turn of outcomes) if (turn.kind === 'replay') assert.deepEqual(turn.answer, given)
  }
})

test('IDEM-3, IDEM-7: whatever the order of their writes, two never run at once', async (t) => {
  const path = await currentLocation(t)
  const databases = [await temporaryDatabase(t, path), await temporaryDatabase(t, path)]
  const [first] = databases
  if (first === undefined) throw new Error('There is no database.')
  let round = 0
  await fc.assert(
    fc.asyncProperty(fc.scheduler(), fc.integer({ min: 2, max: 5 }), fc.boolean(), async (scheduler, count, lapsed) => {
      const key = `order ${++round}`
      if (lapsed) {
        await beginRun(openKeys(first), ask({ key }))
        await lapse(first, key)
      }
      let running = 0
      let ran = 0
      const client = async (index: number) => {
        const database = databases[index % databases.length] ?? first
        const batch: typeof database.batch = scheduler.scheduleFunction((statements) => database.batch(statements))
        const port = openKeys({ ...database, batch })
        const request = ask({ key, subjectId: `${key} ${index}` })
        const turn = await port.begin(request)
        if (turn.kind !== 'run') return
        ran += 1
        assert.equal(++running, 1)
        await scheduler.schedule(Promise.resolve(), 'the provider answers')
        running -= 1
        if (index % 2 === 0) await finish(database, request, turn.run)
        else turn.run.freed(answer('{}', 503))
      }
      await scheduler.waitFor(Promise.all(Array.from({ length: count }, (_, index) => client(index))))
      assert.ok(ran >= 1)
    }),
    { numRuns: 25 },
  )
})

test('IDEM-7: a process that stalled for as long as its lease knows that it may not go on', async (t) => {
  const { database, port: other } = await keyProcess(t)
  const clocks = { clock: 1_000, now: 5_000 }
  const times = { clock: () => clocks.clock, now: () => clocks.now }
  const stalled = openKeys(database, { ...times, leaseMs: 10_000, instanceId: 'ins_stalled' })
  const run = await beginRun(stalled, ask())
  assert.equal(run.owned(), true)
  for (const clock of ['clock', 'now'] as const) {
    clocks[clock] += 9_000
    assert.equal(run.owned(), true)
    clocks[clock] += 1_000 // the other stands still, as on a machine that slept, or whose time was set back
    assert.equal(run.owned(), false)
    clocks[clock] -= 10_000
  }
  clocks.clock += 10_000
  await lapse(database)
  const request = ask()
  const next = await beginRun(other, request)
  assert.equal(next.owned(), true)
  run.freed(answer('{}', 503)) // what it does now is no longer about this key
  await stalled.close()
  assert.deepEqual(
    [(await rowOf(database))?.state, (await rowOf(database))?.subject_id],
    ['running', request.subjectId],
  )
  const given = await finish(database, request, next)
  assert.deepEqual(replayOf(await other.begin(ask())), given)
})

test('a lease that was renewed meanwhile is not taken over', async (t) => {
  const { database, port } = await keyProcess(t)
  const request = ask()
  await beginRun(port, request)
  await lapse(database)
  const renewing: typeof database.batch = async (statements) => {
    await database.db
      .updateTable('idempotency')
      .set({ lease_until: Date.now() + 60_000 })
      .execute()
    await database.batch(statements)
  }
  let batches = 0
  const other = openKeys(database, {
    batch: (statements) => (++batches === 2 ? renewing(statements) : database.batch(statements)),
  })
  await assert.rejects(other.begin(ask({ patienceMs: 1 })), { code: 'overloaded' })
  assert.equal(batches, 2)
  assert.equal((await rowOf(database))?.subject_id, request.subjectId)
})
