import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { sql } from 'kysely'
import {
  currentLocation,
  openLocation,
  sqliteTest,
  temporaryDatabase,
  testIds,
} from '../../../test/support/database.ts'
import { GatewayError } from '../../domain/errors.ts'
import { type Caller, MEMBER_RIGHTS, SCOPES } from '../../domain/identity/caller.ts'
import type { AccountId } from '../../domain/ids.ts'
import { createAuthenticator } from './authenticator.ts'
import { keyForm } from './key.ts'
import { createKey, FULL_ACCESS, findKey, type NewKey, revokeKeys, updateKey } from './queries.ts'

const ADDRESS = '203.0.113.7'
const ACCOUNT = 'acc_a' as AccountId

async function setUp(t: TestContext) {
  let time = Date.UTC(2026, 0, 1)
  const path = await currentLocation(t)
  const database = await temporaryDatabase(t, path)
  const now = () => time
  await database.db
    .insertInto('account')
    .values({ id: ACCOUNT, name: 'a', plan: 'free', created_at: 1, changed_at: 1 })
    .execute()
  const { db, batch, onChange } = database
  const authenticator = createAuthenticator({ db, batch, onChange, now })
  const create = (rights: Partial<NewKey> = {}) =>
    createKey(db, { accountId: ACCOUNT, name: 'k', ...FULL_ACCESS, ...rights }, { now, ids: testIds })
  return { path, database, db, authenticator, create, now, advance: (ms: number) => (time += ms) }
}

type SetUp = Awaited<ReturnType<typeof setUp>>

function caller({ authenticator }: SetUp, secret: string, address = ADDRESS): Promise<Caller> {
  return Promise.resolve().then(() => authenticator.authenticate(`Bearer ${secret}`, address))
}
async function refusal(
  { authenticator }: SetUp,
  authorization: string | undefined,
  address = ADDRESS,
): Promise<GatewayError> {
  try {
    await authenticator.authenticate(authorization, address)
  } catch (error) {
    assert.ok(error instanceof GatewayError)
    return error
  }
  throw new Error('was let in')
}
/** Asks again until it is so; the test runner's time-out ends it. */
async function eventually(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await new Promise((resolve) => setTimeout(resolve, 20))
}

test('Bearer and Basic are accepted, in any case; a password is not', async (t) => {
  const it = await setUp(t)
  const { key, secret } = await it.create()
  const basic = (pair: string) => Buffer.from(pair).toString('base64')
  for (const header of [
    `Bearer ${secret}`,
    `bearer ${secret}`,
    `BEARER  ${secret} `,
    `Basic ${basic(`${secret}:`)}`,
    `basic ${basic(`${secret}:`)}`,
  ]) {
    assert.equal((await it.authenticator.authenticate(header, ADDRESS)).keyId, key.id, header)
  }
  for (const header of [
    secret,
    `Basic ${basic(`${secret}:x`)}`,
    `Basic ${basic(secret)}`,
    `Basic ${basic(`:${secret}`)}`,
    `Digest ${secret}`,
  ]) {
    assert.equal((await refusal(it, header)).code, 'invalid_credential', header)
  }
})

test('a missing header is missing_credential', async (t) => {
  const it = await setUp(t)
  assert.equal((await refusal(it, undefined)).code, 'missing_credential')
  assert.equal((await refusal(it, '')).code, 'missing_credential')
})

test('KEY-5: unknown, revoked, expired and malformed keys have the same answer [limit: credential-length]', async (t) => {
  const it = await setUp(t)
  const revoked = await it.create()
  await revokeKeys(it.db, { accountId: ACCOUNT, id: revoked.key.id, cascade: true }, it.now())
  const expired = await it.create({ expiresAt: it.now() + 10 })
  it.advance(10)
  const unknown = keyForm.mint((length) => 'x'.repeat(length))
  const malformed = ['x', 'tp_', `tp_${'a'.repeat(46)}`, 'é'.repeat(49), 'x'.repeat(5000), 'a b c', '\u0000']
  for (let round = 0; round < 2; round++) {
    for (const secret of [unknown, revoked.secret, expired.secret, ...malformed]) {
      const { status, code, type, message, param } = await refusal(it, `Bearer ${secret}`)
      assert.deepEqual(
        [status, code, type, param],
        [401, 'invalid_credential', 'authentication_error', undefined],
        secret,
      )
      assert.equal(message, 'The credential is not valid: it is wrong, expired or revoked.')
    }
  }
})

test('KEY-1: a key with a wrong checksum is rejected without a query', async (t) => {
  const it = await setUp(t)
  await it.authenticator.refresh()
  await it.database.close()
  assert.equal((await refusal(it, `Bearer tp_${'a'.repeat(46)}`)).code, 'invalid_credential')
  const wellFormed = keyForm.mint((length) => 'x'.repeat(length))
  assert.equal((await refusal(it, `Bearer ${wellFormed}`)).code, 'database_unavailable')
})

test('a cached key returns synchronously the same frozen caller for all requests', async (t) => {
  const it = await setUp(t)
  const { key, secret } = await it.create({ scopes: ['chat'], models: ['m1'], requestsPerMinute: 5 })
  await it.authenticator.refresh() // a change that is noticed while a key is read keeps it from being remembered
  const first = await caller(it, secret)
  const second = it.authenticator.authenticate(`Bearer ${secret}`, ADDRESS)
  assert.equal(second, first)
  assert.ok(Object.isFrozen(first))
  assert.deepEqual(first, {
    kind: 'key',
    userId: undefined,
    role: undefined,
    accountId: ACCOUNT,
    keyId: key.id,
    guardrails: undefined,
    contentCapture: undefined,
    plan: 'free',
    models: new Set(['m1']),
    requestsPerMinute: 5,
    rateKeyId: key.id,
    monthlyBudgetNanoUsd: undefined,
    ancestors: undefined,
    isLimited: true,
    dataPolicies: undefined,
    requireTags: undefined,
    tags: undefined,
    providerCredentials: undefined,
    scopes: new Set(['chat']),
  })
})

test('a key without scopes has full access to its account, and not operator', async (t) => {
  const it = await setUp(t)
  const { scopes, models, requestsPerMinute } = await caller(it, (await it.create()).secret)
  assert.deepEqual([...scopes], [...SCOPES.filter((scope) => scope !== 'operator'), ...MEMBER_RIGHTS])
  assert.deepEqual([models, requestsPerMinute], [undefined, undefined])
})

test('a hundred concurrent requests with a new key are authenticated', async (t) => {
  const it = await setUp(t)
  const { secret } = await it.create()
  const callers = await Promise.all(Array.from({ length: 100 }, () => caller(it, secret)))
  assert.equal(new Set(callers).size, 1)
})

test('a key is rejected from the millisecond of its expiry, even if it is cached', async (t) => {
  const it = await setUp(t)
  const { secret } = await it.create({ expiresAt: it.now() + 100 })
  await caller(it, secret)
  it.advance(99)
  await caller(it, secret)
  it.advance(1)
  assert.equal((await refusal(it, `Bearer ${secret}`)).code, 'invalid_credential')
})

test('IP-1: the allowlist accepts IPv4, IPv6 and blocks, and a mapped address is its IPv4 address', async (t) => {
  const it = await setUp(t)
  const { secret } = await it.create({ ipAllowlist: ['203.0.113.0/24', '2001:db8::/32', '::ffff:198.51.100.7'] })
  for (const address of ['203.0.113.7', '::ffff:203.0.113.7', '::FFFF:cb00:7107', '2001:db8:1::5', '198.51.100.7']) {
    assert.ok(await caller(it, secret, address), address)
  }
  for (const address of ['203.0.114.7', '::ffff:203.0.114.7', '2001:db9::1', '198.51.100.8', '', 'unknown', '::1']) {
    const { code, status, type } = await refusal(it, `Bearer ${secret}`, address)
    assert.deepEqual([code, status, type], ['address_not_allowed', 403, 'permission_denied'], address)
  }
})

test('an unreadable allowlist allows no address', async (t) => {
  const it = await setUp(t)
  for (const list of ['["203.0.113.0/24", "nonsense"]', '[null]', '[{}]']) {
    const { key, secret } = await it.create()
    await it.db.updateTable('api_key').set({ ip_allowlist: list }).where('id', '=', key.id).execute()
    assert.equal((await refusal(it, `Bearer ${secret}`)).code, 'address_not_allowed', list)
  }
})

test('changes of revocation, rights and plan take effect when refresh resolves', async (t) => {
  const it = await setUp(t)
  const { key, secret } = await it.create()
  const other = await it.create()
  await it.authenticator.refresh()
  await caller(it, secret)
  const untouched = await caller(it, other.secret)
  const rights = { ...FULL_ACCESS, scopes: ['chat'] as const }
  await updateKey(it.db, { accountId: ACCOUNT, id: key.id, name: 'k', rights, disabledAt: undefined }, it.now())
  await it.authenticator.refresh()
  assert.deepEqual((await caller(it, secret)).scopes, new Set(['chat']))
  assert.equal(await caller(it, other.secret), untouched)
  await it.db.updateTable('account').set({ plan: 'pro', changed_at: sql`changed_at + 1` }).execute()
  await it.authenticator.refresh()
  assert.equal((await caller(it, other.secret)).plan, 'pro')
  await revokeKeys(it.db, { accountId: ACCOUNT, id: key.id, cascade: true }, it.now())
  await it.authenticator.refresh()
  assert.equal((await refusal(it, `Bearer ${secret}`)).code, 'invalid_credential')
})

test('a change is noticed even if the clock went back', async (t) => {
  const it = await setUp(t)
  const { key, secret } = await it.create()
  await caller(it, secret)
  await it.authenticator.refresh()
  await revokeKeys(it.db, { accountId: ACCOUNT, id: key.id, cascade: true }, it.now() - 86_400_000)
  await it.authenticator.refresh()
  assert.equal((await refusal(it, `Bearer ${secret}`)).code, 'invalid_credential')
})

test('a secret in the negative cache is valid once its key exists', async (t) => {
  const it = await setUp(t)
  const { key, secret } = await it.create()
  const credential = await it.db.selectFrom('credential').selectAll().executeTakeFirstOrThrow()
  await it.db.deleteFrom('credential').execute()
  assert.equal((await refusal(it, `Bearer ${secret}`)).code, 'invalid_credential')
  await it.db.insertInto('credential').values(credential).execute()
  const again = { accountId: ACCOUNT, id: key.id, name: 'again', rights: FULL_ACCESS, disabledAt: undefined }
  await updateKey(it.db, again, it.now())
  await it.authenticator.refresh()
  assert.equal((await caller(it, secret)).keyId, key.id)
})

test('KEY-4: a key that another process revoked is rejected', async (t) => {
  const it = await setUp(t)
  const { key, secret } = await it.create()
  await caller(it, secret)
  const module = (path: string) => JSON.stringify(new URL(path, import.meta.url).href)
  const code = `import { openLocation } from ${module('../../../test/support/database.ts')}
    import { revokeKeys } from ${module('./queries.ts')}
    const { db, close } = await openLocation(${JSON.stringify(it.path)})
    await revokeKeys(db, { accountId: '${ACCOUNT}', id: '${key.id}', cascade: true }, Date.now())
    await close()`
  const child = spawn(process.execPath, ['--input-type=module', '-e', code], { stdio: 'inherit' })
  assert.deepEqual(await once(child, 'exit'), [0, null])
  await eventually(async () => {
    try {
      await caller(it, secret)
      return false
    } catch (error) {
      return error instanceof GatewayError && error.code === 'invalid_credential'
    }
  })
})

test('the last use is written when the authenticator closes, and never goes back', async (t) => {
  const it = await setUp(t)
  const { key, secret } = await it.create()
  const lastUsedAt = async () => (await findKey(it.db, { accountId: ACCOUNT, id: key.id }))?.lastUsedAt
  await caller(it, secret)
  it.advance(1234)
  await caller(it, secret)
  assert.equal(await lastUsedAt(), undefined)
  await it.authenticator.close()
  assert.equal(await lastUsedAt(), it.now())
  const earlier = createAuthenticator({ ...it.database, now: () => it.now() - 1000 })
  await earlier.authenticate(`Bearer ${secret}`, ADDRESS)
  await earlier.close()
  assert.equal(await lastUsedAt(), it.now())
})

test('without the database unknown keys are 503, and cached keys work', async (t) => {
  const path = await currentLocation(t)
  await temporaryDatabase(t, path)
  const it = await setUp(t)
  const known = await it.create()
  const later = await it.create()
  await it.authenticator.refresh() // of the two creations: what is read while changes come in is not kept
  await caller(it, known.secret)
  await it.database.close()
  assert.ok(await caller(it, known.secret))
  assert.equal((await refusal(it, `Bearer ${later.secret}`)).code, 'database_unavailable')
})

sqliteTest('KEY-2: no secret is anywhere in the file', async (t) => {
  const it = await setUp(t)
  const { secret } = await it.create()
  await caller(it, secret)
  await it.authenticator.close()
  await it.database.close()
  const { readFile } = await import('node:fs/promises')
  const bytes = await readFile(it.path)
  assert.ok(!bytes.includes(secret) && !bytes.includes(secret.slice(8, -4)))
  assert.ok(bytes.includes(secret.slice(0, 8)))
  const again = await openLocation(it.path)
  await again.close()
})

/** Three keys of one account, and a cache of this capacity. */
async function setUpCache(t: TestContext, cache: { capacity: number; negativeCapacity: number }) {
  let time = Date.UTC(2026, 0, 1)
  const { db, batch, onChange } = await temporaryDatabase(t)
  const account = { id: ACCOUNT, name: 'a', plan: 'free', created_at: 1, changed_at: 1 }
  await db.insertInto('account').values(account).execute()
  const create = () =>
    createKey(db, { accountId: ACCOUNT, name: 'k', ...FULL_ACCESS }, { now: () => time, ids: testIds })
  const secrets = [(await create()).secret, (await create()).secret, (await create()).secret] as const
  const authenticator = createAuthenticator({ db, batch, onChange, now: () => time, ...cache })
  await authenticator.refresh()
  const isValid = async (secret: string): Promise<boolean> => {
    try {
      await authenticator.authenticate(`Bearer ${secret}`, ADDRESS)
      return true
    } catch {
      return false
    }
  }
  /** As if the rows were gone, without a notification. */
  const hide = () =>
    db
      .updateTable('credential')
      .set({ kind: 'refresh' as never })
      .execute()
  const show = () => db.updateTable('credential').set({ kind: 'key' }).execute()
  return { secrets, isValid, hide, show, advance: (ms: number) => (time += ms) }
}

test('the least recently used key leaves the cache [limit: known-keys]', async (t) => {
  const { secrets, isValid, hide } = await setUpCache(t, { capacity: 2, negativeCapacity: 10 })
  const [first, second, third] = secrets
  for (const secret of [first, second, first, third]) assert.equal(await isValid(secret), true)
  await hide()
  assert.deepEqual([await isValid(first), await isValid(third), await isValid(second)], [true, true, false])
})

test('the negative cache holds the latest wrong keys, for 5 s [limit: wrong-keys]', async (t) => {
  const { secrets, isValid, hide, show, advance } = await setUpCache(t, { capacity: 10, negativeCapacity: 2 })
  const [first, second, third] = secrets
  await hide()
  for (const secret of [first, second, third]) assert.equal(await isValid(secret), false)
  await show()
  assert.deepEqual([await isValid(second), await isValid(third), await isValid(first)], [false, false, true])
  advance(5_000)
  assert.deepEqual([await isValid(second), await isValid(third)], [true, true])
})
