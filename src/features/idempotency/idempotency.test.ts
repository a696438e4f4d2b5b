import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { sql } from 'kysely'
import { currentLocation } from '../../../test/support/database.ts'
import {
  answer,
  ask,
  beginRun,
  charge,
  finish,
  type KeyProcess,
  keyProcess,
  openKeys,
  replayOf,
  rowOf,
  runOf,
  until,
} from '../../../test/support/ledger/idempotency.ts'
import type { IdempotentStart } from '../../domain/credit.ts'
import type { AccountId } from '../../domain/ids.ts'
import { MAX_SAVED_BODY_BYTES } from './idempotency.ts'

const HOUR_MS = 60 * 60 * 1000

async function twoProcesses(test: TestContext): Promise<[KeyProcess, KeyProcess]> {
  const path = await currentLocation(test)
  return [await keyProcess(test, path), await keyProcess(test, path)]
}

/** As if the request had ended that much earlier. */
async function age({ database: { db } }: KeyProcess, ms: number): Promise<void> {
  await db
    .updateTable('idempotency')
    .set({ ended_at: sql`ended_at - ${ms}` })
    .execute()
}

test('IDEM-1: accounts and endpoints that use the same key know nothing of each other', async (t) => {
  const { database, port } = await keyProcess(t)
  const requests = [
    ask(),
    ask({ accountId: 'acc_b' as AccountId }),
    ask({ endpoint: 'POST /v1/agents', body: { name: 'a' } }),
    ask({ key: 'k2' }),
  ]
  const answers = []
  for (const request of requests) answers.push(await finish(database, request, await beginRun(port, request)))
  for (const [index, request] of requests.entries()) {
    assert.deepEqual(replayOf(await port.begin({ ...request, subjectId: `other ${index}` })), answers[index])
  }
})

test('IDEM-2: the same key with another body is 409, while the first runs and when it has ended', async (t) => {
  for (const processes of [await twoProcesses(t), [await keyProcess(t)]]) {
    const [first, other = first] = processes
    if (first === undefined || other === undefined) throw new Error('There is no process.')
    const request = ask()
    const run = await beginRun(first.port, request)
    const reused = { code: 'idempotency_key_reused', status: 409, type: 'conflict' }
    await assert.rejects(other.port.begin(ask({ body: { model: 'm2' } })), reused)
    await finish(first.database, request, run)
    await assert.rejects(other.port.begin(ask({ body: { model: 'm2' } })), reused)
  }
})

test('IDEM-2: fields in another order are the same body', async (t) => {
  const { database, port } = await keyProcess(t)
  const request = ask({ body: { model: 'm1', temperature: 1.0, stop: ['a'] } })
  const given = await finish(database, request, await beginRun(port, request))
  assert.deepEqual(replayOf(await port.begin(ask({ body: { stop: ['a'], temperature: 1, model: 'm1' } }))), given)
})

test('IDEM-3, F23, INV-8: of 50 at once in one process one runs, and 49 get the same answer object', async (t) => {
  const { database, port } = await keyProcess(t)
  const requests = Array.from({ length: 50 }, () => ask())
  const turns = requests.map((request) => port.begin(request))
  const run = runOf(await Promise.race(turns))
  assert.equal(run.waiting(), 49)
  const [winner] = requests
  if (winner === undefined) throw new Error('There is no request.')
  const given = await finish(database, winner, run)
  const [, ...others] = await Promise.all(turns)
  for (const turn of others) assert.equal(replayOf(turn), given)
  assert.equal(run.waiting(), 0)
})

test('IDEM-3, F23: of 50 at once in two processes one runs, and 49 get the same answer', async (t) => {
  const processes = await twoProcesses(t)
  const requests = Array.from({ length: 50 }, () => ask())
  const turns = requests.map((request, index) => {
    const { port } = processes[index % 2] ?? processes[0]
    return port.begin(request)
  })
  const kinds: IdempotentStart['kind'][] = []
  for (const turn of turns) void turn.then(({ kind }) => kinds.push(kind))
  const winner = await Promise.race(turns.map(async (turn, index) => ({ index, run: runOf(await turn) })))
  const request = requests[winner.index]
  if (request === undefined) throw new Error('There is no request.')
  const given = await finish(processes[winner.index % 2 === 0 ? 0 : 1].database, request, winner.run)
  await Promise.all(turns)
  assert.equal(kinds.filter((kind) => kind === 'run').length, 1)
  for (const [index, turn] of turns.entries()) {
    if (index !== winner.index) assert.deepEqual(replayOf(await turn), given)
  }
})

test('IDEM-3: who has waited long enough is told to come again, and then gets the answer', async (t) => {
  const [first, other] = await twoProcesses(t)
  const request = ask()
  const run = await beginRun(first.port, request)
  const told = { code: 'overloaded', status: 503, retryable: true }
  await assert.rejects(first.port.begin(ask({ patienceMs: 1 })), told)
  await assert.rejects(other.port.begin(ask({ patienceMs: 1 })), told)
  assert.equal(run.waiting(), 0)
  const given = await finish(first.database, request, run)
  assert.deepEqual(replayOf(await other.port.begin(ask({ patienceMs: 1 }))), given)
})

test('IDEM-3: who can wait longer is not turned away with one who cannot', async (t) => {
  const [first, other] = await twoProcesses(t)
  const request = ask()
  const run = await beginRun(first.port, request)
  const hasty = other.port.begin(ask({ patienceMs: 60 }))
  const patient = other.port.begin(ask())
  await assert.rejects(hasty, { code: 'overloaded' })
  const given = await finish(first.database, request, run)
  assert.deepEqual(replayOf(await patient), given)
})

test('IDEM-4: an answer is repeated for 24 hours, by every process; then the key may be used again', async (t) => {
  const [first, other] = await twoProcesses(t)
  const request = ask()
  const given = await finish(first.database, request, await beginRun(first.port, request))
  await age(first, 24 * HOUR_MS - 60_000)
  for (const { port } of [first, other]) assert.deepEqual(replayOf(await port.begin(ask())), given)
  await assert.rejects(other.port.begin(ask({ body: {} })), { code: 'idempotency_key_reused' })
  await age(first, 60_000)
  const again = ask({ body: { model: 'another' } })
  const run = await beginRun(other.port, again)
  const row = await rowOf(other.database)
  assert.deepEqual([row?.state, row?.subject_id, row?.body, row?.ended_at], ['running', again.subjectId, null, null])
  const later = await finish(other.database, again, run)
  assert.deepEqual(replayOf(await first.port.begin({ ...again, subjectId: 'a repeat' })), later)
})

test('IDEM-5: an outcome that charged nothing goes to all who wait, and frees the key', async (t) => {
  const [first, other] = await twoProcesses(t)
  const run = await beginRun(first.port, ask())
  const waiting = [first.port.begin(ask()), first.port.begin(ask()), other.port.begin(ask()), other.port.begin(ask())]
  await until(() => run.waiting() === 2)
  const error = answer('{"error":{"code":"provider_error"}}', 503)
  await until(() => other.written() > 0) // its claim was tried, and has found the key taken
  run.freed(error)
  for (const turn of await Promise.all(waiting)) assert.deepEqual(replayOf(turn), error)
  assert.equal((await rowOf(first.database))?.state, 'freed')

  const next = ask()
  await finish(first.database, next, await beginRun(first.port, next)) // starts again, and runs
})

test('IDEM-5: a freed key may be used for another body at once', async (t) => {
  const { database, port } = await keyProcess(t)
  const run = await beginRun(port, ask())
  run.freed(answer('{"error":{"code":"insufficient_credit"}}', 402))
  const mended = ask({ body: { model: 'm1', max_tokens: 1 } })
  const given = await finish(database, mended, await beginRun(port, mended))
  run.freed(answer('late', 503)) // of no consequence
  assert.deepEqual(replayOf(await port.begin({ ...mended, subjectId: 'a repeat' })), given)
})

test('IDEM-5: an error too large to be handed on is not; who waits elsewhere runs the request [limit: freed-error]', async (t) => {
  const [first, other] = await twoProcesses(t)
  const run = await beginRun(first.port, ask())
  const here = first.port.begin(ask())
  const elsewhere = other.port.begin(ask())
  await until(() => run.waiting() === 1)
  const large = answer('x'.repeat(64 * 1024 + 1), 400)
  run.freed(large)
  assert.equal(replayOf(await here), large)
  runOf(await elsewhere)
})

test('a result over 8 MiB is not kept: those here get it, others and later ones are 409 [limit: kept-answer]', async (t) => {
  const [first, other] = await twoProcesses(t)
  const request = ask()
  const run = await beginRun(first.port, request)
  const here = first.port.begin(ask())
  const elsewhere = other.port.begin(ask())
  const most = answer('x'.repeat(MAX_SAVED_BODY_BYTES))
  assert.equal(run.result(most).answer, most)
  const large = answer(`${most.body}x`)
  const kept = run.result(large)
  assert.equal(kept.answer, undefined)
  await charge(first.database, request.subjectId, { kept })
  run.committed(large)
  assert.equal(replayOf(await here), large)
  const tooLarge = { code: 'idempotency_result_too_large', status: 409 }
  await assert.rejects(elsewhere, tooLarge)
  await assert.rejects(first.port.begin(ask()), tooLarge)
})

test('IDEM-6: the result is only there when the transaction of the charge is', async (t) => {
  const [first, other] = await twoProcesses(t)
  const request = ask()
  const run = await beginRun(first.port, request)
  const kept = run.result(answer())
  assert.deepEqual([kept.accountId, kept.endpoint, kept.key], [request.accountId, request.endpoint, request.key])
  assert.equal((await rowOf(first.database))?.state, 'running') // nothing was written by asking what to write
  const elsewhere = other.port.begin(ask())
  await charge(first.database, request.subjectId, { kept })
  assert.deepEqual(replayOf(await elsewhere), answer()) // another process sees the commit, not the word of the first
})

test('answers come back as they were: every byte of body and headers', async (t) => {
  const [first, other] = await twoProcesses(t)
  const request = ask()
  const run = await beginRun(first.port, request)
  const headers = { 'content-type': 'application/json; charset=utf-8', 'x-turnpike-warnings': 'a "b", ü' }
  const given = { status: 201, headers, body: `{"text":"\\u0000 ${'✓ 𝄞'.repeat(randomInt(1, 99))}"}\n` }
  await charge(first.database, request.subjectId, { kept: run.result(given) })
  run.committed(given)
  assert.deepEqual(replayOf(await other.port.begin(ask())), given)
})

test('at most so many keys run in a process [limit: running-keys]', async (t) => {
  const { database } = await keyProcess(t)
  const port = openKeys(database, { maxRunningKeys: 2 })
  const first = await beginRun(port, ask({ key: 'a' }))
  await beginRun(port, ask({ key: 'b' }))
  await assert.rejects(port.begin(ask({ key: 'c' })), { code: 'overloaded', status: 503 })
  const repeat = port.begin(ask({ key: 'a' })) // takes no place of its own
  first.freed(answer('{}', 500))
  assert.equal(replayOf(await repeat).status, 500)
  // Its place is free when the database has said so, a moment after the row is.
  const comes = () => beginRun(port, ask({ key: 'c' }))
  await until(() => comes().then(Boolean, () => false))
  assert.equal((await rowOf(database, 'a'))?.state, 'freed')
})

test('a process that ends turns away who waits', async (t) => {
  const [first, other] = await twoProcesses(t)
  const run = await beginRun(first.port, ask())
  const here = first.port.begin(ask())
  const elsewhere = other.port.begin(ask())
  const ending = { code: 'shutting_down', status: 503 }
  await Promise.all([
    assert.rejects(here, ending),
    assert.rejects(elsewhere, ending),
    first.port.close(),
    other.port.close(),
  ])
  await assert.rejects(first.port.begin(ask()), ending)
  run.freed(answer())
})
