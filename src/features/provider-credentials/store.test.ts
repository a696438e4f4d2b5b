import assert from 'node:assert/strict'
import { channel } from 'node:diagnostics_channel'
import { type TestContext, test } from 'node:test'
import { testIds } from '../../../test/support/database.ts'
import { openCreditFixture } from '../../../test/support/ledger/credit-service.ts'
import { callerOf } from '../../../test/support/ledger/data-plane.ts'
import { createSealer } from '../../db/sealed.ts'
import { type AttemptNote, type AttemptOutcome, COMPLETION_CHANNEL } from '../../domain/completion.ts'
import type { AccountId, KeyId } from '../../domain/ids.ts'
import {
  createAccountCredentials,
  MAX_CACHED_ACCOUNTS,
  MAX_REMEMBERED,
  placeOf,
  raiseVersion,
  updateCredential,
  watchCredentialStatuses,
} from './store.ts'

async function setUp(t: TestContext) {
  const { db, account, clock, now } = await openCreditFixture(t)
  const { id: accountId } = await account('pro')
  const id = testIds.providerCredential()
  const row = {
    account_id: accountId,
    id,
    provider: 'up',
    key_id: null,
    name: '',
    last4: '',
    allow_fallback: 0,
  } as const
  const values = { ...row, secret: Buffer.alloc(60), status: 'untested', created_at: now() } as const
  await db.insertInto('provider_credential').values(values).execute()
  const watch = () =>
    watchCredentialStatuses({ db, now, log: { warn: (fields) => assert.fail(JSON.stringify(fields)) } })
  const publish = (outcome: AttemptOutcome, credentialId: AttemptNote['credentialId'] | undefined = id) => {
    const note = { provider: 'up', model: 'm', outcome, status: 0, startedMs: 0, durationMs: 0, credentialId }
    channel(COMPLETION_CHANNEL).publish({ record: { accountId, attemptLog: [note] } })
  }
  const status = async () =>
    (await db.selectFrom('provider_credential').select('status').executeTakeFirstOrThrow()).status
  return { db, clock, watch, publish, status }
}

test('an answer verifies a credential, a refusal marks it; other failures say nothing about it', async (t) => {
  const { watch, publish, status } = await setUp(t)
  for (const [outcome, expected] of [
    ['failed', 'untested'],
    ['answered', 'verified'],
    ['rate_limited', 'verified'],
    ['credentials', 'refused'],
    ['overloaded', 'refused'],
  ] as const) {
    const watching = watch()
    publish(outcome)
    await watching.close()
    assert.equal(await status(), expected, outcome)
  }
})

test('the same status is written at most once a minute [limit: credential-statuses]', async (t) => {
  assert.equal(MAX_REMEMBERED, 10_000)
  const { db, clock, watch, publish, status } = await setUp(t)
  const watching = watch()
  publish('answered')
  publish('answered')
  await watching.close()
  assert.equal(await status(), 'verified')
  const again = watch()
  publish('quota')
  clock.now += 59_999
  publish('quota')
  await again.close()
  await db.updateTable('provider_credential').set({ status: 'untested' }).execute()
  const last = watch()
  publish('quota')
  await last.close()
  assert.equal(await status(), 'refused')
})

const sealer = createSealer({ current: Buffer.alloc(32, 5) })
const id = (name: string) => name as KeyId // an id is born in a test

async function setUpCredentials(t: TestContext, capacity?: number) {
  const { db, now, account } = await openCreditFixture(t)
  const errors: object[] = []
  const log = { error: (fields: object) => void errors.push(fields) }
  const credentials = createAccountCredentials({ db, sealer, log, ...(capacity !== undefined && { capacity }) })
  const store = async (accountId: AccountId, secret: string, keyId: KeyId | null = null, sealedBy = sealer) => {
    const place = { account_id: accountId, id: testIds.providerCredential(), provider: 'up' }
    const row = { ...place, key_id: keyId, name: '', last4: '', allow_fallback: 0, status: 'untested' } as const
    await db
      .insertInto('provider_credential')
      .values({ ...row, secret: sealedBy.seal(secret, placeOf(place)), created_at: now() })
      .execute()
    await raiseVersion(db, accountId, now())
    return place
  }
  const find = async (accountId: AccountId, version: number | undefined, keys: readonly KeyId[] = [id('key_a')]) => {
    const [keyId = id('key_a'), ...above] = keys
    const ancestors = above.map((each) => ({ keyId: each, nanoUsd: undefined }))
    const found = await credentials.credentialsOf(
      callerOf({ accountId, keyId, ancestors, providerCredentials: version }),
    )
    return found?.byProvider.get('up')
  }
  return { db, now, account, credentials, store, find, errors }
}

test('an account that never had credentials costs no query, and one that has them only the first', async (t) => {
  const { db, account, credentials, store, find } = await setUpCredentials(t)
  const { id: accountId } = await account('pro')
  assert.equal(credentials.credentialsOf(callerOf({ accountId })), undefined)
  await store(accountId, 'sk-first')
  assert.equal((await find(accountId, 1))?.secret, 'sk-first')
  await db.deleteFrom('provider_credential').execute()
  const again = credentials.credentialsOf(callerOf({ accountId, providerCredentials: 1 }))
  assert.ok(again !== undefined && !(again instanceof Promise), 'from memory')
})

test('a newer version is read; what did not change stays the same object, with its health', async (t) => {
  const { db, now, account, store, find } = await setUpCredentials(t)
  const { id: accountId } = await account('pro')
  const { id: credentialId } = await store(accountId, 'sk-first')
  const before = await find(accountId, 1)
  await store(accountId, 'sk-of-key', id('key_b'))
  assert.equal(await find(accountId, 2), before)
  await updateCredential(db, { accountId, id: credentialId }, { allow_fallback: 1 })
  await raiseVersion(db, accountId, now())
  const after = await find(accountId, 3)
  assert.deepEqual([after === before, after?.allowFallback, after?.secret], [false, true, 'sk-first'])
})

test('the nearest credential applies: of the key, of those above it, of the account', async (t) => {
  const { account, store, find } = await setUpCredentials(t)
  const { id: accountId } = await account('pro')
  const [top, middle, leaf] = [id('key_top'), id('key_middle'), id('key_leaf')]
  await store(accountId, 'sk-of-middle', middle)
  const secretOf = async (version: number, keys: readonly KeyId[]) => (await find(accountId, version, keys))?.secret
  assert.equal(await secretOf(1, [top]), undefined)
  assert.equal(await secretOf(1, [leaf, middle, top]), 'sk-of-middle')
  await store(accountId, 'sk-of-account')
  await store(accountId, 'sk-of-leaf', leaf)
  assert.equal(await secretOf(3, [top]), 'sk-of-account')
  assert.equal(await secretOf(3, [middle, top]), 'sk-of-middle')
  assert.equal(await secretOf(3, [leaf, middle, top]), 'sk-of-leaf')
})

test('a key that cannot be opened is refused by its provider, and logged: the operator’s does not take its place', async (t) => {
  const { account, store, find, errors } = await setUpCredentials(t)
  const { id: accountId } = await account('pro')
  const { id: credential } = await store(accountId, 'sk-lost', null, createSealer({ current: Buffer.alloc(32, 9) }))
  assert.equal((await find(accountId, 1))?.secret, 'unreadable-credential')
  assert.deepEqual(errors, [{ credential }])
})

test('the least recently used account is read again [limit: cached-provider-credentials]', async (t) => {
  assert.equal(MAX_CACHED_ACCOUNTS, 10_000)
  const { db, account, store, find } = await setUpCredentials(t, 2)
  const ids = [(await account('pro')).id, (await account('pro')).id, (await account('pro')).id] as const
  for (const each of ids) await store(each, 'sk-own')
  const [first, second, third] = ids
  for (const each of [first, second, first, third]) assert.ok(await find(each, 1))
  await db.deleteFrom('provider_credential').execute()
  assert.ok((await find(first, 1)) && (await find(third, 1)))
  assert.equal(await find(second, 1), undefined)
})
