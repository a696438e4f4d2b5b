import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { sql } from 'kysely'
import { currentLocation } from '../../../test/support/database.ts'
import { completionRecord } from '../../../test/support/ledger/completions.ts'
import {
  ACCOUNT,
  ask as askOf,
  beginRun,
  charge,
  type KeyProcess,
  keyProcess,
  lapse,
  openHold,
  replayOf,
  rowOf,
  runOf,
} from '../../../test/support/ledger/idempotency.ts'
import type { IdempotentRequest, SavedAnswer } from '../../domain/credit.ts'
import type { CompletionId } from '../../domain/ids.ts'

const BODY = { model: 'm1', stream: true }
const ask = (over: Partial<IdempotentRequest> = {}): IdempotentRequest => askOf({ body: BODY, stream: true, ...over })
const STREAM: SavedAnswer = {
  status: 200,
  headers: { 'content-type': 'text/event-stream; charset=utf-8', 'x-turnpike-provider': 'p' },
  body: 'id: 1\ndata: {}\n\nid: 2\ndata: [DONE]\n\n',
}

async function twoProcesses(t: TestContext): Promise<[owner: KeyProcess, other: KeyProcess]> {
  const path = await currentLocation(t)
  return [await keyProcess(t, path), await keyProcess(t, path, { instanceId: 'ins_b' })]
}

/** A process runs a stream for which credit is held. */
async function running(t: TestContext) {
  const [owner, other] = await twoProcesses(t)
  const request = ask()
  const run = await beginRun(owner.port, request)
  await openHold(owner.database, request.subjectId)
  const { subjectId } = request
  return { owner, other, run, subjectId, there: { kind: 'elsewhere', subjectId, instanceId: 'ins_a' } }
}

test('who waits in the same process is told when the stream can be listened to, and who comes later at once', async (t) => {
  const { port } = await keyProcess(t)
  const [first, ...others] = Array.from({ length: 50 }, () => ask())
  const turns = [first ?? ask(), ...others].map((request) => port.begin(request))
  const run = runOf(await Promise.race(turns))
  assert.equal(run.waiting(), 49)
  run.shared()
  const shared = { kind: 'shared', subjectId: first?.subjectId }
  for (const turn of (await Promise.all(turns)).slice(1)) assert.deepEqual(turn, shared)
  assert.deepEqual(await port.begin(ask()), shared)
  await assert.rejects(port.begin(ask({ body: { ...BODY, n: 2 } })), { code: 'idempotency_key_reused' })
})

test('another process is told where it runs, once anything is held for it', async (t) => {
  const { other, there } = await running(t)
  assert.deepEqual(await other.port.begin(ask()), there)
  assert.deepEqual(await Promise.all([other.port.begin(ask()), other.port.begin(ask())]), [there, there])
})

test('a lease that is over says little: its process is asked nevertheless', async (t) => {
  const { owner, other, there } = await running(t)
  await lapse(owner.database)
  assert.deepEqual(await other.port.begin(ask()), there)
})

test('IDEM-7: its process is gone and it was under way: the error event and [DONE], which is not kept', async (t) => {
  const { owner, other, subjectId } = await running(t)
  for (const over of [false, true]) {
    if (over) await lapse(owner.database)
    const told = replayOf(await other.port.begin(ask({ goneSubjectId: subjectId })))
    assert.deepEqual([told.status, told.headers['content-type']], [200, 'text/event-stream; charset=utf-8'])
    assert.match(told.body, /^data: .*"upstream_error".*"idempotency_outcome_unknown".*\n\ndata: \[DONE\]\n\n$/)
    assert.match(told.body, new RegExp(`charged as ${subjectId}`))
  }
  assert.equal((await rowOf(owner.database))?.state, 'running')
})

test('IDEM-7: its process is gone and nothing was held for it: it is run when its lease is over', async (t) => {
  const [owner, other] = await twoProcesses(t)
  const request = ask()
  await beginRun(owner.port, request)
  const next = other.port.begin(ask({ goneSubjectId: request.subjectId }))
  await other.database.ping()
  await lapse(owner.database)
  runOf(await next)
})

test('IDEM-7: what the sweeper keeps of a stream is a stream, with what was charged', async (t) => {
  const { other, subjectId } = await running(t)
  const id = subjectId as CompletionId
  const kept = await other.port.outcomeOf(ACCOUNT, id, completionRecord({ id, stream: true, costNanoUsd: 1_500n }))
  await charge(other.database, id, { kept })
  const told = replayOf(await other.port.begin(ask()))
  assert.deepEqual(told, kept?.answer)
  assert.match(told.body, new RegExp(`charged: \\$0\\.0000015 as ${subjectId}.*\\n\\ndata: \\[DONE\\]\\n\\n$`))
})

test('IDEM-7: charged without a word for its key: who asks first writes that, as a stream', async (t) => {
  const { owner, other, subjectId } = await running(t)
  await charge(other.database, subjectId, {})
  await lapse(owner.database)
  const told = replayOf(await other.port.begin(ask()))
  assert.match(told.body, /was charged.*\[DONE\]/s)
  assert.deepEqual([(await rowOf(other.database))?.state, (await rowOf(other.database))?.body], ['kept', told.body])
})

async function kept(t: TestContext, keepStreamMs: number) {
  const path = await currentLocation(t)
  const { port, database } = await keyProcess(t, path, { keepStreamMs: () => keepStreamMs })
  const request = ask()
  const run = await beginRun(port, request)
  run.shared()
  await charge(database, request.subjectId, { kept: run.result(STREAM) })
  run.committed(STREAM)
  const age = (ms: number) =>
    database.db
      .updateTable('idempotency')
      .set({ ended_at: sql`ended_at - ${ms}` })
      .execute()
  return { port, database, age }
}

const EXPIRED = { code: 'idempotency_result_expired', status: 409, type: 'conflict', retryable: false }

test('a stream is kept for its time, then the key says that it is gone, and after a day it is new [limit: kept-stream-time]', async (t) => {
  const { port, age } = await kept(t, 600_000)
  assert.deepEqual(replayOf(await port.begin(ask())), STREAM)
  await age(540_000)
  assert.deepEqual(replayOf(await port.begin(ask())), STREAM)
  await age(60_000)
  await assert.rejects(port.begin(ask()), EXPIRED)
  await assert.rejects(port.begin(ask({ body: { other: 1 } })), { code: 'idempotency_key_reused' })
  await age(24 * 3_600_000)
  runOf(await port.begin(ask()))
})

test('a stream whose events were deleted is gone, also where it may be kept for longer', async (t) => {
  const { port, database } = await kept(t, 600_000)
  await database.db.updateTable('idempotency').set({ body: null }).execute()
  await assert.rejects(port.begin(ask()), EXPIRED)
})

test('what was too large is told so, while its charge is committed and afterwards', async (t) => {
  const { database, port } = await keyProcess(t)
  const request = ask()
  const run = await beginRun(port, request)
  const waiting = assert.rejects(port.begin(ask()), { code: 'idempotency_result_too_large' })
  await charge(database, request.subjectId, { kept: run.result(undefined) })
  run.committed(undefined)
  await waiting
  await assert.rejects(port.begin(ask()), { code: 'idempotency_result_too_large' })
})
