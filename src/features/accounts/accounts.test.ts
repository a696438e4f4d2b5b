import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { currentPlace, temporaryDatabase, testIds } from '../../../test/support/database.ts'
import { type AccountId, createIdSource } from '../../domain/ids.ts'
import { type CreateFirstKey, ensureFirstAccount, ensureFirstStart } from './first-account.ts'
import { createAccount, findAccount, listAccounts, renderAccount, updateAccount } from './queries.ts'
import { createSignInLink, signInUrl } from './sign-in-link.ts'

const ALL = { limit: 100, order: 'asc' } as const
const born = { now: () => 1_700_000_000_000, ids: testIds }

test('an account is created, found, listed by age, and shown as the interface says', async (t) => {
  const { db } = await temporaryDatabase(t)
  const bornAt = (ms: number) => ({ now: () => ms, ids: createIdSource(() => ms, randomBytes) })
  const first = await createAccount(db, { name: 'one', plan: 'free' }, bornAt(1))
  const second = await createAccount(db, { name: 'two', plan: 'pro' }, bornAt(born.now()))
  assert.deepEqual(await listAccounts(db, ALL), [first, second])
  assert.deepEqual(await findAccount(db, first.id), first)
  assert.equal(await findAccount(db, 'acc_none' as AccountId), undefined)
  const created_at = '2023-11-14T22:13:20.000Z'
  assert.deepEqual(renderAccount(second), { id: second.id, object: 'account', name: 'two', plan: 'pro', created_at })
})

test('a plan is changed, and the change can be seen by its changed_at even when the clock stood still', async (t) => {
  const { db } = await temporaryDatabase(t)
  const { id } = await createAccount(db, { name: 'one', plan: 'free' }, born)
  const changedAt = async () =>
    (await db.selectFrom('account').select('changed_at').executeTakeFirstOrThrow()).changed_at
  const before = await changedAt()
  assert.equal((await updateAccount(db, { id, plan: 'pro' }, born.now()))?.plan, 'pro')
  const after = await changedAt()
  assert.ok(after > before)
  await updateAccount(db, { id, plan: 'free' }, 5)
  assert.ok((await changedAt()) > after)
  assert.equal(await updateAccount(db, { id: 'acc_none' as AccountId, plan: 'pro' }, 1), undefined)
})

test('the first start makes one account and tells one secret; later ones none', async (t) => {
  const path = await currentPlace(t)
  const { db } = await temporaryDatabase(t, path)
  let keys = 0
  const createFirstKey: CreateFirstKey = async () => ({ id: `key_${++keys}`, secret: `secret ${keys}` })
  const start = () => ensureFirstStart(db, { plan: 'unlimited', createFirstKey }, born)
  const starts = await Promise.all([start(), start(), start()])
  const { accountId } = await start()
  assert.deepEqual(
    starts.map(({ secret }) => secret).filter((secret) => secret !== undefined),
    ['secret 1'],
  )
  assert.deepEqual(new Set(starts.map((each) => each.accountId)), new Set([accountId]))
  assert.deepEqual(await listAccounts(db, ALL), [
    { id: accountId, name: 'Default', plan: 'unlimited', createdAt: born.now() },
  ])
  const again = await temporaryDatabase(t, path)
  const later = await ensureFirstStart(again.db, { plan: 'unlimited', createFirstKey }, born)
  assert.deepEqual(later, { accountId, secret: undefined })
})

test('a command before the first start makes the account, and the first start still tells its secret', async (t) => {
  const { db } = await temporaryDatabase(t)
  const ids = await Promise.all([1, 2, 3].map(() => ensureFirstAccount(db, 'free', born)))
  assert.equal(new Set(ids).size, 1)
  const createFirstKey: CreateFirstKey = async (_inside, accountId) => ({ id: 'key_1', secret: `of ${accountId}` })
  const { accountId, secret } = await ensureFirstStart(db, { plan: 'free', createFirstKey }, born)
  assert.deepEqual([accountId, secret], [ids[0], `of ${ids[0]}`])
})

test('when the first key cannot be made, the next start tries again', async (t) => {
  const { db } = await temporaryDatabase(t)
  const failing: CreateFirstKey = () => Promise.reject(new Error('no'))
  await assert.rejects(ensureFirstStart(db, { plan: 'free', createFirstKey: failing }, born))
  const working: CreateFirstKey = async () => ({ id: 'key_1', secret: 's' })
  assert.equal((await ensureFirstStart(db, { plan: 'free', createFirstKey: working }, born)).secret, 's')
})

test('a sign-in link is kept as a hash, for 15 minutes, and differs each time', async (t) => {
  const { db } = await temporaryDatabase(t)
  const { id } = await createAccount(db, { name: 'one', plan: 'free' }, born)
  const tokens = [await createSignInLink(db, id, 1000), await createSignInLink(db, id, 1000)]
  assert.equal(new Set(tokens).size, 2)
  const rows = await db.selectFrom('sign_in_link').selectAll().execute()
  for (const { hash, ...row } of rows) {
    assert.deepEqual(row, { account_id: id, created_at: 1000, expires_at: 901_000, used_at: null })
    assert.equal(hash.length, 32)
  }
  for (const token of tokens) assert.match(token, /^[\w-]{43}$/)
  assert.equal(signInUrl('https://ai.example.com', 'abc'), 'https://ai.example.com/app/sign-in#token=abc')
})
