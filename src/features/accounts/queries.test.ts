import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { currentLocation, temporaryDatabase } from '../../../test/support/database.ts'
import { testIds } from '../../../test/support/ids.ts'
import { openCreditFixture, serveRoutes } from '../../../test/support/ledger/credit-service.ts'
import { type AccountId, createIdSource } from '../../domain/ids.ts'
import { callerOf } from '../../http/caller.ts'
import { auditWriter } from '../audit/log.ts'
import { createBudgets } from '../credit/budgets/store.ts'
import { type CreateFirstKey, createSignInLink, ensureFirstAccount, ensureFirstStart, signInUrl } from './bootstrap.ts'
import { createAccount, findAccount, listAccounts, renderAccount, updateAccount } from './queries.ts'
import { accountsAdminRoutes } from './routes.ts'

const ALL = { limit: 100, order: 'asc' } as const
const born = { now: () => 1_700_000_000_000, ids: testIds }

test('an account is created, found, listed by age, and rendered', async (t) => {
  const { db } = await temporaryDatabase(t)
  const bornAt = (ms: number) => ({ now: () => ms, ids: createIdSource(() => ms, randomBytes) })
  const first = await createAccount(db, { name: 'one', plan: 'free' }, bornAt(1))
  const second = await createAccount(db, { name: 'two', plan: 'pro' }, bornAt(born.now()))
  assert.deepEqual(await listAccounts(db, ALL), [first, second])
  assert.deepEqual(await findAccount(db, first.id), first)
  assert.equal(await findAccount(db, 'acc_none' as AccountId), undefined)
  const created_at = '2023-11-14T22:13:20.000Z'
  const data_policy = null
  assert.deepEqual(renderAccount(second), {
    ...{ id: second.id, object: 'account', name: 'two', plan: 'pro', data_policy, created_at },
  })
})

test('a change of the plan increases changed_at even if the clock stands still', async (t) => {
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

test('the first start creates one account and returns one secret; later starts none', async (t) => {
  const path = await currentLocation(t)
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
    { id: accountId, name: 'Default', plan: 'unlimited', dataPolicy: undefined, createdAt: born.now() },
  ])
  const again = await temporaryDatabase(t, path)
  const later = await ensureFirstStart(again.db, { plan: 'unlimited', createFirstKey }, born)
  assert.deepEqual(later, { accountId, secret: undefined })
})

test('a command before the first start creates the account, and the first start still returns the secret', async (t) => {
  const { db } = await temporaryDatabase(t)
  const ids = await Promise.all([1, 2, 3].map(() => ensureFirstAccount(db, 'free', born)))
  assert.equal(new Set(ids).size, 1)
  const createFirstKey: CreateFirstKey = async (_inside, accountId) => ({ id: 'key_1', secret: `of ${accountId}` })
  const { accountId, secret } = await ensureFirstStart(db, { plan: 'free', createFirstKey }, born)
  assert.deepEqual([accountId, secret], [ids[0], `of ${ids[0]}`])
})

test('if the first key cannot be created, the next start retries', async (t) => {
  const { db } = await temporaryDatabase(t)
  const failing: CreateFirstKey = () => Promise.reject(new Error('no'))
  await assert.rejects(ensureFirstStart(db, { plan: 'free', createFirstKey: failing }, born))
  const working: CreateFirstKey = async () => ({ id: 'key_1', secret: 's' })
  assert.equal((await ensureFirstStart(db, { plan: 'free', createFirstKey: working }, born)).secret, 's')
})

test('a sign-in link is stored as a hash, expires after 15 minutes, and differs each time', async (t) => {
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

async function setUp(t: TestContext, names: readonly string[]) {
  const fixture = await openCreditFixture(t)
  const { db, now, credit, clock } = fixture
  const writeAudit = auditWriter({ now, ids: testIds })
  const budgets = createBudgets({ db, now, ids: testIds, writeAudit })
  const deps = { db, now, ids: testIds, callerOf, credit, writeAudit, budgets }
  const plans = () => ({ all: {}, standard: 'pro' })
  const routes = accountsAdminRoutes({ ...deps, plans, cursorKey: Buffer.alloc(32, 1), changed: () => {} })
  const ask = await serveRoutes(t, fixture, [routes])
  const made: string[] = []
  const ids = createIdSource(now, randomBytes) // in order: a millisecond each
  for (const name of names) {
    made.push((await createAccount(db, { name, plan: 'pro' }, { now, ids })).id)
    clock.now += 1
  }
  const search = async (text: string, more = '') => {
    return ask(`/admin/accounts?order=asc&search=${encodeURIComponent(text)}${more}`, `${made[0]} operator`)
  }
  const found = async (text: string) => namesIn((await search(text)).body)
  return { made, search, found }
}

const namesIn = ({ data }: { readonly data: readonly { readonly name: string }[] }) =>
  data.map(({ name }) => name).sort()

test('accounts are found by any part of their name, ignoring case', async (t) => {
  const { found } = await setUp(t, ['Acme Robotics', 'acme', 'Globex', 'Öl & Ärger', 'ÖLMÜHLE', 'Straße', 'ΑΘΗΝΑ'])
  assert.deepEqual(await found('ACME'), ['Acme Robotics', 'acme'])
  assert.deepEqual(await found('me rob'), ['Acme Robotics'])
  assert.deepEqual(await found(' globex '), ['Globex'])
  for (const text of ['öl', 'ÖL', 'Öl']) assert.deepEqual(await found(text), ['ÖLMÜHLE', 'Öl & Ärger'].sort(), text)
  assert.deepEqual(await found('mühle'), ['ÖLMÜHLE'])
  assert.deepEqual(await found('STRAß'), ['Straße'])
  assert.deepEqual(await found('αθην'), ['ΑΘΗΝΑ'])
  assert.deepEqual(await found('nobody'), [])
})

test('wildcards of the database are ordinary characters', async (t) => {
  const { found } = await setUp(t, ['100%', '100 percent', 'a_b', 'axb', 'c\\d', "O'Hara", '[x]*?'])
  assert.deepEqual(await found('0%'), ['100%'])
  assert.deepEqual(await found('%'), ['100%'])
  assert.deepEqual(await found('A_B'), ['a_b'])
  assert.deepEqual(await found('\\'), ['c\\d'])
  assert.deepEqual(await found("o'h"), ["O'Hara"])
  assert.deepEqual(await found('[x]*?'), ['[x]*?'])
})

test('an account is found by its complete ID only', async (t) => {
  const { made, search, found } = await setUp(t, ['one', 'two'])
  const [, second = ''] = made
  assert.deepEqual(await found(second), ['two'])
  assert.deepEqual(await found(second.slice(0, -1)), [])
  const other = second.replace(/[a-zA-Z](?=[^a-zA-Z]*$)/, (letter) =>
    letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase(),
  )
  assert.notEqual(other, second)
  assert.deepEqual((await search(other)).body.data, [], 'ids differ by their capitals')
})

test('results have pages, whose cursors are valid only for their search', async (t) => {
  const { search } = await setUp(t, ['team 1', 'x', 'team 2', 'y', 'team 3', 'team 4', 'z'])
  const seen: string[] = []
  let next = ''
  for (const hasMore of [true, false]) {
    const { body } = await search('TEAM', `&limit=2${next}`)
    seen.push(...namesIn(body))
    assert.equal(body.has_more, hasMore)
    next = `&cursor=${body.next_cursor}`
  }
  assert.deepEqual(seen, ['team 1', 'team 2', 'team 3', 'team 4'])
  const { body } = await search('team', '&limit=2')
  const elsewhere = await search('tea', `&limit=2&cursor=${body.next_cursor}`)
  assert.deepEqual([elsewhere.status, elsewhere.body.error.param], [400, 'cursor'])
})

test('a search has 1 to 100 characters [limit: account-search]', async (t) => {
  const { search, found } = await setUp(t, ['ö'.repeat(100)])
  assert.equal((await found('Ö'.repeat(100))).length, 1)
  assert.deepEqual(await found('abcdefghijklmnopqrstuvwxyzäöüßéèêçñøåæœðþłžšřčďťňůýáíóúàìòùâîôûãõ'), [])
  for (const [text, code] of [
    ['', 'out_of_range'],
    ['x'.repeat(101), 'out_of_range'],
    ['   ', 'invalid_value'],
    ['a\u0000b', 'invalid_value'],
  ] as const) {
    const { status, body } = await search(text)
    assert.deepEqual([status, body.error.param, body.error.code], [400, 'search', code], JSON.stringify(text))
  }
})
