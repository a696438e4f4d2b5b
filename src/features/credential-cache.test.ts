import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { temporaryDatabase } from '../../test/support/database.ts'
import type { Caller } from '../domain/identity/caller.ts'
import type { AccountId, KeyId, UserId } from '../domain/ids.ts'
import {
  createCredentialCache,
  createLastUsed,
  includesOwner,
  MAX_UNWRITTEN_USES,
  type RowIds,
  type Used,
} from './credential-cache.ts'

interface Credential {
  readonly id: string
  readonly caller: Caller
}

/** Credentials that are nothing but a caller of an account and a person, with a load that the test answers. */
async function setUp(t: TestContext, capacity = 10) {
  let time = 0
  const { db, onChange } = await temporaryDatabase(t)
  const accountIds = ['acc_a', 'acc_b'] as AccountId[]
  for (const id of accountIds) {
    await db.insertInto('account').values({ id, name: id, plan: 'free', created_at: 1, changed_at: 1 }).execute()
  }
  const loads: string[] = []
  const ended: ((caller: Caller) => boolean)[] = []
  const store = new Map<string, Credential>()
  const gate = { wait: Promise.resolve() }
  const cache = createCredentialCache<Credential>({
    ...{ db, onChange, capacity, negativeCapacity: 10, now: () => time },
    tables: ['member', 'person', 'account'],
    async load(id) {
      loads.push(id)
      await gate.wait
      return store.get(id)
    },
    dependsOn: ({ caller }, rows) => includesOwner(rows, caller),
    isEndedBy: (caller, rows) => includesOwner(rows, caller),
    onEnded: (isEnded) => void ended.push(isEnded),
  })
  t.after(cache.close)
  await cache.refresh()
  const add = (id: string, accountId: string, userId = 'usr_ada') => {
    const caller = { accountId, userId } as Caller
    store.set(id, { id, caller })
    return caller
  }
  const touch = async (accountId: AccountId, changedAt: number) => {
    await db.updateTable('account').set({ changed_at: changedAt }).where('id', '=', accountId).execute()
    await cache.refresh()
  }
  const remove = async (accountId: AccountId, userId: string) => {
    const member = { account_id: accountId, user_id: userId as UserId, role: 'owner' as const }
    await db
      .insertInto('member')
      .values({ ...member, created_at: 1, removed_at: 2, changed_at: 2 })
      .execute()
    await cache.refresh()
  }
  return { cache, loads, ended, store, gate, add, touch, remove, advance: (ms: number) => (time += ms) }
}

test('concurrent loads of one credential are one query, and its result is cached', async (t) => {
  const { cache, loads, add } = await setUp(t)
  add('x', 'acc_a')
  const [first, second] = await Promise.all([cache.load('x'), cache.load('x')])
  assert.equal(first, second)
  assert.deepEqual([loads, cache.get('x')], [['x'], first])
})

test('a change of a row evicts the credentials that depend on it, and no others', async (t) => {
  const { cache, add, touch } = await setUp(t)
  add('x', 'acc_a')
  add('y', 'acc_b')
  await Promise.all([cache.load('x'), cache.load('y')])
  await touch('acc_a' as AccountId, 5)
  assert.deepEqual([cache.get('x'), cache.get('y')?.id], [undefined, 'y'])
})

test('what is read while a change arrives is returned but not cached', async (t) => {
  const { cache, gate, add, touch } = await setUp(t)
  add('x', 'acc_a')
  let open = () => {}
  gate.wait = new Promise((resolve) => {
    open = resolve
  })
  const loading = cache.load('x')
  await touch('acc_b' as AccountId, 5)
  open()
  assert.equal((await loading)?.id, 'x')
  assert.equal(cache.get('x'), undefined)
})

test('the negative cache lasts 5 s, and no longer than until the next change', async (t) => {
  const { cache, touch, advance } = await setUp(t)
  assert.equal(await cache.load('x'), undefined)
  assert.equal(cache.isMissing('x'), true)
  advance(5_000)
  assert.equal(cache.isMissing('x'), false)
  await cache.load('x')
  await touch('acc_a' as AccountId, 5)
  assert.equal(cache.isMissing('x'), false)
})

test('a removed member is reported as ended, in that account alone', async (t) => {
  const { cache, ended, add, remove, touch } = await setUp(t)
  const callers = [add('x', 'acc_a'), add('y', 'acc_b'), add('z', 'acc_a', 'usr_bob')]
  await Promise.all(['x', 'y', 'z'].map(cache.load))
  await touch('acc_b' as AccountId, 5)
  assert.equal(ended.length, 0)
  await remove('acc_a' as AccountId, 'usr_ada')
  assert.deepEqual(
    ended.map((isEnded) => callers.map(isEnded)),
    [[true, false, false]],
  )
  assert.deepEqual([cache.get('x'), cache.get('z')?.id], [undefined, 'z'])
})

test('the least recently used credential leaves a full cache', async (t) => {
  const { cache, add } = await setUp(t, 2)
  for (const id of ['x', 'y', 'z']) add(id, 'acc_a')
  for (const id of ['x', 'y', 'z']) await cache.load(id)
  assert.deepEqual(
    ['x', 'y', 'z'].map((id) => cache.get(id) !== undefined),
    [false, true, true],
  )
})

test('owners are matched by account, person, or membership of that account', () => {
  const caller = { accountId: 'acc_a', userId: 'usr_ada' } as Caller
  const none = { api_key: [], device: [], session: [], member: [], person: [], account: [] }
  const includes = (rows: Partial<Record<keyof RowIds, readonly string[]>>) =>
    includesOwner(
      Object.fromEntries(
        Object.entries({ ...none, ...rows }).map(([table, ids]) => [table, new Set(ids)]),
      ) as unknown as RowIds,
      caller,
    )
  assert.equal(includes({ account: ['acc_a'] }), true)
  assert.equal(includes({ person: ['usr_ada'] }), true)
  assert.equal(includes({ member: ['acc_a usr_ada'] }), true)
  assert.equal(
    includes({ member: ['acc_b usr_ada'], person: ['usr_bob'], account: ['acc_b'], device: ['acc_a'] }),
    false,
  )
})

test(`the last uses of ${MAX_UNWRITTEN_USES} credentials wait to be written, and no more [limit: last-uses]`, async (t) => {
  const { db } = await temporaryDatabase(t)
  for (const table of ['api_key', 'device'] as const) {
    let written = 0
    const batch = async (statements: readonly unknown[]) => {
      written += statements.length
    }
    const row = ['acc_a' as AccountId, 'key_a' as KeyId] as const
    const uses = createLastUsed<Used>({ db, batch, table, rowOf: () => row })
    for (let id = 0; id <= MAX_UNWRITTEN_USES; id++) uses.note({ unwrittenUseAt: undefined }, 1)
    await uses.close()
    assert.equal(written, MAX_UNWRITTEN_USES)
  }
})
