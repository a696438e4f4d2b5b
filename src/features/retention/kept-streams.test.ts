import assert from 'node:assert/strict'
import { test } from 'node:test'
import { temporaryDatabase } from '../../../test/support/database.ts'
import type { IdempotencyTable } from '../../db/schema/schema.ts'
import type { AccountId } from '../../domain/ids.ts'
import { deleteIdempotencyKeys } from './jobs.ts'

const NOW = 1_760_000_000_000
const KEEP_MS = 600_000
const STREAM = '{"content-type":"text/event-stream; charset=utf-8","x-turnpike-provider":"p"}'

const row = (key: string, over: Partial<IdempotencyTable> = {}): IdempotencyTable => ({
  account_id: 'acc_a' as AccountId,
  endpoint: 'POST /v1/chat/completions',
  key,
  fingerprint: new Uint8Array(32),
  state: 'kept',
  subject_id: `chatcmpl-${key}`,
  instance_id: 'ins_a',
  lease_until: 1,
  status: 200,
  headers: STREAM,
  body: 'id: 1\ndata: [DONE]\n\n',
  created_at: 1,
  ended_at: NOW - KEEP_MS - 1,
  ...over,
})

test('events are deleted when they can no longer be resumed; the rows stay, and so do whole answers', async (t) => {
  const { db } = await temporaryDatabase(t)
  const words = JSON.stringify({
    'content-type': 'application/json',
    'x-turnpike-warnings': '"content-type":"text/event-stream',
  })
  const many = Array.from({ length: 600 }, (_, index) => row(`old ${String(index).padStart(3, '0')}`))
  await db
    .insertInto('idempotency')
    .values([...many, row('young', { ended_at: NOW - KEEP_MS + 1 }), row('whole', { headers: words, body: '{}' })])
    .execute()
  await deleteIdempotencyKeys({ db, now: () => NOW, keepStreamMs: () => KEEP_MS })
  const left = await db.selectFrom('idempotency').select(['key', 'body', 'state']).orderBy('key').execute()
  assert.equal(left.length, 602)
  assert.deepEqual(
    left.filter(({ body }) => body !== null).map(({ key }) => key),
    ['whole', 'young'],
  )
  assert.ok(left.every(({ state }) => state === 'kept'))
})
