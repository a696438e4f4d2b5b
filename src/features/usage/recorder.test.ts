import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { temporaryDatabase, temporaryPath } from '../../../test/support/database.ts'
import type { BatchStatement } from '../../db/open.ts'
import type { CompletionRecord } from '../../domain/completion.ts'
import { GatewayError } from '../../domain/errors.ts'
import { type AccountId, type CompletionId, completionIdFloor, type KeyId } from '../../domain/ids.ts'
import { createUsageRecorder, type UsageRecorderInput } from './recorder.ts'

const NOW = Date.UTC(2026, 4, 5, 12)

function completion(serial: number, over: Partial<CompletionRecord> = {}): CompletionRecord {
  return {
    id: `${completionIdFloor(NOW)}${String(serial).padStart(14, '0')}` as CompletionId,
    accountId: 'acc_a' as AccountId,
    keyId: 'key_a' as KeyId,
    model: 'm1',
    provider: 'p',
    status: 'completed',
    stream: false,
    finishReason: 'stop',
    promptTokens: 10,
    completionTokens: 5,
    cachedTokens: 0,
    cacheWriteTokens: 0,
    reasoningTokens: 0,
    costNanoUsd: 1500n,
    priceVersion: 'v1',
    usageSource: 'provider',
    createdAt: NOW,
    durationMs: 12,
    firstByteMs: undefined,
    attempts: 1,
    clientRequestId: undefined,
    ...over,
  }
}

async function setUp(t: TestContext, over: Partial<UsageRecorderInput> = {}) {
  const path = await temporaryPath(t)
  const { db, batch } = await temporaryDatabase(t, path)
  const logged: { level: string; fields: object; message: string }[] = []
  const log = {
    warn: (fields: object, message: string) => void logged.push({ level: 'warn', fields, message }),
    error: (fields: object, message: string) => void logged.push({ level: 'error', fields, message }),
  }
  const batches: number[] = []
  const counting = (statements: readonly BatchStatement[]) => {
    batches.push(statements.length)
    return batch(statements)
  }
  const recorder = createUsageRecorder({ db, batch: counting, log, ...over })
  const kept = async () => {
    const rows = await db.selectFrom('completion').select('id').orderBy('id').execute()
    return rows.map(({ id }) => Number(id.slice(-14)))
  }
  const requests = async () => {
    const rows = await db.selectFrom('usage_rollup').select('requests').execute()
    return rows.reduce((sum, row) => sum + row.requests, 0)
  }
  return { path, batch, recorder, kept, requests, logged, batches }
}

const unavailable = () => Promise.reject(new GatewayError('database_unavailable', 'away'))
const range = (length: number) => Array.from({ length }, (_, index) => index)

test('what is recorded together is written together, and flush waits for it', async (t) => {
  const { recorder, kept, requests, batches } = await setUp(t)
  for (const serial of range(500)) recorder.record(completion(serial))
  assert.equal(recorder.pending(), 500)
  await recorder.flush()
  assert.equal(recorder.pending(), 0)
  assert.deepEqual(await kept(), range(500))
  assert.equal(await requests(), 500)
  assert.deepEqual(batches, [502])
})

test('what comes while a batch is written goes with the next, and close leaves nothing behind', async (t) => {
  const { recorder, kept, requests } = await setUp(t)
  for (const serial of range(200)) {
    recorder.record(completion(serial))
    if (serial % 20 === 0) await new Promise((resolve) => setTimeout(resolve, 3))
  }
  await recorder.close()
  assert.deepEqual(await kept(), range(200))
  assert.equal(await requests(), 200)
})

test('records wait while the database is away, and are then written in order, once', async (t) => {
  let failures = 3
  const { batch, recorder, kept, requests, logged } = await setUp(t, {
    batch: (statements) => (failures-- > 0 ? unavailable() : batch(statements)),
  })
  for (const serial of range(10)) recorder.record(completion(serial))
  await recorder.flush()
  assert.deepEqual(await kept(), range(10))
  assert.equal(await requests(), 10)
  assert.equal(logged.filter(({ level }) => level === 'warn').length, 3)
  assert.equal(recorder.dropped(), 0)
})

test('a lock that another process holds delays records and loses none', async (t) => {
  const { path, recorder, kept } = await setUp(t)
  const other = new DatabaseSync(path)
  other.exec('begin immediate')
  for (const serial of range(5)) recorder.record(completion(serial))
  const flushed = recorder.flush()
  setTimeout(() => other.exec('rollback'), 200)
  await flushed
  other.close()
  assert.deepEqual(await kept(), range(5))
})

test('a batch whose commit was made but not heard of is not counted twice', async (t) => {
  let lost = true
  const { batch, recorder, kept, requests, logged } = await setUp(t, {
    batch: async (statements) => {
      await batch(statements)
      if (!lost) return
      lost = false
      await unavailable()
    },
  })
  for (const serial of range(4)) recorder.record(completion(serial))
  await recorder.flush()
  assert.deepEqual(await kept(), range(4))
  assert.equal(await requests(), 4)
  assert.equal(recorder.dropped(), 0)
  assert.ok(logged.some(({ message }) => /already there/.test(message)))
})

test('a record that the database refuses does not hold back the others, and is logged whole', async (t) => {
  const { recorder, kept, requests, logged } = await setUp(t)
  recorder.record(completion(0))
  recorder.record(completion(1, { promptTokens: -1 }))
  recorder.record(completion(2))
  await recorder.close()
  assert.deepEqual(await kept(), [0, 2])
  assert.equal(await requests(), 2)
  assert.equal(recorder.dropped(), 1)
  const [entry] = logged.filter(({ level }) => level === 'error')
  assert.equal(entry?.message, 'usage record not kept')
  assert.match(JSON.stringify(entry?.fields), /"promptTokens":-1,.*"costNanoUsd":"1500"/)
})

test('beyond the cap, records are logged and counted, and those that wait stay', async (t) => {
  const { recorder, kept, logged } = await setUp(t, { maxPending: 3 })
  for (const serial of range(5)) recorder.record(completion(serial))
  await recorder.close()
  assert.deepEqual(await kept(), [0, 1, 2])
  assert.equal(recorder.dropped(), 2)
  assert.equal(logged.filter(({ level }) => level === 'error').length, 2)
})

test('close gives up on a database that stays away, and says which records it could not write', async (t) => {
  const { recorder, logged } = await setUp(t, { batch: unavailable, closeTimeoutMs: 20 })
  recorder.record(completion(0))
  await assert.rejects(recorder.close(), { code: 'database_unavailable' })
  assert.equal(recorder.dropped(), 1)
  assert.match(JSON.stringify(logged), /chatcmpl-/)
  recorder.record(completion(1))
  assert.equal(recorder.dropped(), 2)
})
