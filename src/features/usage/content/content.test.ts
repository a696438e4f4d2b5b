import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '../../../../test/support/client.ts'
import { temporaryDatabase, testIds } from '../../../../test/support/database.ts'
import {
  completionIdAt,
  completionRecord,
  ensureAccounts,
  storeContent,
  storedContents,
} from '../../../../test/support/ledger/completions.ts'
import type { OpenedDatabase } from '../../../db/database.ts'
import { createSealer } from '../../../db/sealed.ts'
import type { AuditEvent } from '../../../domain/audit.ts'
import type { CapturedCompletion } from '../../../domain/completion.ts'
import type { AccountId, CompletionId, UserId } from '../../../domain/ids.ts'
import { BATCH_ROWS } from '../../../jobs/batched-deletion.ts'
import { contentEraser, deleteOldContents, erasureJobs, resealContents } from './deletion.ts'
import { createContentRecorder, MAX_QUEUED_CONTENT_CHARACTERS, MAX_QUEUED_CONTENTS } from './recorder.ts'
import { readContents, sealerNamed } from './store.ts'

const ada = 'acc_ada' as AccountId
const DAY_MS = 86_400_000
const [FORMER, CURRENT] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)] as const
const sealerOf = (current: Buffer, previous?: Buffer) => sealerNamed(createSealer({ current, previous }), current)
const LARGE = 1_000_000_000

function recorderOn(database: OpenedDatabase, over: object = {}) {
  const warnings: object[] = []
  const log = { warn: (fields: object) => void warnings.push(fields) }
  const limits = { maxBytes: LARGE, maxAccountBytes: LARGE, sealer: sealerOf(CURRENT), now: Date.now, log }
  return { ...createContentRecorder({ ...database, ...limits, ...over }), warnings }
}

function captured(prompt: string, createdAt = Date.now()): CapturedCompletion {
  const record = completionRecord({ accountId: ada, id: completionIdAt(createdAt), createdAt })
  const endpoint = 'POST /v1/chat/completions'
  const body = { model: 'm1', messages: [{ role: 'user', content: prompt }] }
  return { record, userId: undefined, endpoint, body, bodyBytes: undefined, renderAnswer: () => '{"choices":[]}' }
}

const rowsOf = ({ db }: OpenedDatabase) =>
  db.selectFrom('completion_content').selectAll().where('account_id', '=', ada).orderBy('id').execute()

test('prompt and answer are sealed at rest, for their completion alone', async (t) => {
  const database = await temporaryDatabase(t)
  await ensureAccounts(database, [ada])
  const recorder = recorderOn(database)
  const [one, other] = [captured('a private question'), captured('another')]
  for (const each of [one, other]) recorder.port.add(each)
  await recorder.close()
  const rows = await rowsOf(database)
  assert.equal(rows.length, 2)
  for (const { content, bytes } of rows) {
    assert.doesNotMatch(Buffer.from(content).toString('latin1'), /question|messages|choices/)
    assert.equal(bytes, content.length)
  }
  const { db } = database
  const sealer = sealerOf(CURRENT)
  const ids = [one.record.id, other.record.id]
  const contents = await readContents({ db, sealer }, ada, ids)
  assert.deepEqual(JSON.parse(contents.get(one.record.id)?.request ?? ''), one.body)
  assert.equal(contents.get(one.record.id)?.response, '{"choices":[]}')
  await db
    .updateTable('completion_content')
    .set({ content: rows[0]?.content ?? new Uint8Array() })
    .where('id', '=', other.record.id)
    .execute()
  assert.deepEqual([...(await readContents({ db, sealer }, ada, ids)).keys()], [one.record.id])
  assert.equal((await readContents({ db, sealer: sealerOf(FORMER) }, ada, ids)).size, 0)
})

test('what the queue cannot take, and what is too large, is dropped and counted [limit: content-queue]', async (t) => {
  const database = await temporaryDatabase(t)
  await ensureAccounts(database, [ada])
  const held = Promise.withResolvers<void>()
  const batch = async (statements: Parameters<OpenedDatabase['batch']>[0]) => {
    await held.promise
    await database.batch(statements)
  }
  const recorder = recorderOn(database, { batch, maxBytes: MAX_QUEUED_CONTENT_CHARACTERS })
  const prompt = 'x'.repeat(MAX_QUEUED_CONTENT_CHARACTERS / 2)
  for (let at = 0; at < 3; at++) recorder.port.add(captured(prompt))
  assert.deepEqual([recorder.counts().waiting, recorder.counts().dropped], [1, 2], 'bounded in characters')
  recorder.port.add({ ...captured('short'), bodyBytes: MAX_QUEUED_CONTENT_CHARACTERS + 1 })
  assert.equal(recorder.counts().dropped, 3, 'a large body is not even rendered')
  const long = captured('short')
  const completionTokens = MAX_QUEUED_CONTENT_CHARACTERS / 8
  recorder.port.add({ ...long, record: { ...long.record, completionTokens } })
  assert.equal(recorder.counts().dropped, 4, 'the answers count, too')
  for (let at = 0; at < MAX_QUEUED_CONTENTS + 30; at++) recorder.port.add(captured('short'))
  assert.ok(recorder.counts().waiting <= MAX_QUEUED_CONTENTS, 'bounded in records')
  assert.ok(recorder.counts().dropped > 4)
  held.resolve()
  const { exported } = await eventually(
    async () => recorder.counts(),
    ({ exported, dropped }) => exported + dropped === MAX_QUEUED_CONTENTS + 30 + 5,
    60_000,
  )
  await recorder.close()
  assert.equal((await rowsOf(database)).length, exported)
})

test('a record that its answer makes too large is not stored; a database that is away loses a batch and no request', async (t) => {
  const database = await temporaryDatabase(t)
  await ensureAccounts(database, [ada])
  const small = recorderOn(database, { maxBytes: 200 })
  small.port.add({ ...captured('hi'), renderAnswer: () => JSON.stringify({ choices: ['x'.repeat(200)] }) })
  small.port.add(captured('hi'))
  await small.close()
  assert.deepEqual([small.counts().exported, small.counts().dropped, (await rowsOf(database)).length], [1, 1, 1])
  let isAway = true
  const failing = recorderOn(database, {
    batch: async (statements: Parameters<OpenedDatabase['batch']>[0]) => {
      if (isAway) throw new Error('The database is away.')
      await database.batch(statements)
    },
  })
  failing.port.add(captured('lost'))
  await eventually(
    async () => failing.counts().dropped,
    (dropped) => dropped === 1,
  )
  assert.equal(failing.warnings.length, 1)
  isAway = false
  failing.port.add(captured('stored'))
  await failing.close()
  assert.equal(failing.counts().exported, 1)
})

test('the oldest content of an account makes room for new content', async (t) => {
  const database = await temporaryDatabase(t)
  await ensureAccounts(database, [ada])
  const recorder = recorderOn(database, { maxAccountBytes: 20_000 })
  const all = Array.from({ length: 40 }, (_, at) => captured('y'.repeat(1_000), 1_000_000 + at))
  for (const each of all) recorder.port.add(each)
  await recorder.close()
  const left = (await rowsOf(database)).map(({ id }) => id)
  assert.ok(left.length >= 15 && left.length <= 20, `${left.length} rows`)
  assert.ok(left.includes(all[39]?.record.id as CompletionId) && !left.includes(all[0]?.record.id as CompletionId))
})

test('content ends with the retention of its account, and with the operator’s [limit: retention-content]', async (t) => {
  const database = await temporaryDatabase(t)
  const { db } = database
  const bob = 'acc_bob' as AccountId
  await ensureAccounts(database, [ada, bob])
  const settings = (retentionDays?: number) => JSON.stringify({ enabled: false, retentionDays })
  await db
    .updateTable('account')
    .set({ content_capture: settings(2) })
    .where('id', '=', ada)
    .execute()
  await db.updateTable('account').set({ content_capture: settings() }).where('id', '=', bob).execute()
  const recorder = recorderOn(database)
  const now = Date.UTC(2026, 5, 1)
  for (const days of [1, 3, 20, 40]) {
    const one = captured('hi', now - days * DAY_MS)
    recorder.port.add(one)
    recorder.port.add({ ...one, record: { ...one.record, accountId: bob } })
  }
  await recorder.close()
  assert.equal(await deleteOldContents({ db, retentionDays: 30, now: () => now }), 4)
  const left = await db.selectFrom('completion_content').select(['account_id', 'created_at']).execute()
  const days = (of: AccountId) =>
    left.flatMap((row) => (row.account_id === of ? [(now - row.created_at) / DAY_MS] : [])).sort((a, b) => a - b)
  assert.deepEqual([days(ada), days(bob)], [[1], [1, 3, 20]])
})

test('content that the previous secret sealed is sealed again', async (t) => {
  const database = await temporaryDatabase(t)
  await ensureAccounts(database, [ada])
  const recorder = recorderOn(database, { sealer: sealerOf(FORMER) })
  const all = Array.from({ length: 25 }, () => captured('hi'))
  for (const each of all) recorder.port.add(each)
  await recorder.close()
  const { db } = database
  const sealer = sealerOf(CURRENT, FORMER)
  const ids = all.map(({ record }) => record.id)
  assert.equal((await readContents({ db, sealer }, ada, ids)).size, 25)
  assert.equal(await resealContents({ db, sealer }), 25)
  assert.equal(await resealContents({ db, sealer }), 0)
  assert.equal((await readContents({ db, sealer: sealerOf(CURRENT) }, ada, ids)).size, 25)
})

test('a removed person’s content is deleted: the first batch at once, the rest and what arrives late by a job', async (t) => {
  const database = await temporaryDatabase(t)
  await ensureAccounts(database, [ada])
  const { db } = database
  const [eve, bob] = ['usr_eve' as UserId, 'usr_bob' as UserId]
  const now = Date.UTC(2026, 5, 1)
  const later = await storeContent(database, { accountId: ada, userId: eve, createdAt: now + DAY_MS })
  const others = await storeContent(database, { accountId: ada, userId: bob, createdAt: now - 1 })
  for (let at = 0; at <= BATCH_ROWS; at++) {
    await storeContent(database, { accountId: ada, userId: eve, createdAt: now - 1 })
  }
  const events: AuditEvent[] = []
  const writeAudit = async (_: unknown, event: AuditEvent) => void events.push(event)
  const erase = contentEraser({ now: () => now, ids: testIds, writeAudit })
  const actor = { kind: 'session', id: 'ses_1', name: undefined } as const
  const audited = { accountId: ada, actor, address: undefined, userAgent: undefined, requestId: undefined }
  await db.transaction().execute((inside) => erase(inside, { audited, userId: eve }))
  assert.equal((await storedContents(database)).length, 3, 'all but one are gone when the transaction commits')
  const details = { key_id: null, user_id: eve, completions: BATCH_ROWS + 1 }
  assert.deepEqual(events, [{ ...audited, action: 'content.deleted', subject: undefined, result: 'done', details }])
  await storeContent(database, { accountId: ada, userId: eve, createdAt: now + 500 })
  const job = await db.selectFrom('job').select(['kind', 'payload']).executeTakeFirstOrThrow()
  const { handler } = erasureJobs(db)[job.kind] ?? assert.fail('no job')
  const context = { signal: new AbortController().signal, stillMine: async () => true }
  await handler({ ...job, payload: JSON.parse(job.payload), id: '', name: '', attempt: 1, createdAt: now }, context)
  assert.deepEqual(new Set(await storedContents(database)), new Set([others, later]))
})
