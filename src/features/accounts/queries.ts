import type { Kysely, Selectable } from 'kysely'
import { nextChangedAt } from '../../db/changed-at.ts'
import type { AccountTable, Database } from '../../db/schema.ts'
import type { AccountId, IdSource } from '../../domain/ids.ts'
import { foundBy } from './search.ts'

export interface Account {
  readonly id: AccountId
  readonly name: string
  readonly plan: string
  /** Unix milliseconds. */
  readonly createdAt: number
}

/** An account as JSON answers show it. */
export interface AccountView {
  readonly id: AccountId
  readonly object: 'account'
  readonly name: string
  readonly plan: string
  readonly created_at: string
}

export async function createAccount(
  db: Kysely<Database>,
  { name, plan }: Pick<Account, 'name' | 'plan'>,
  { now, ids }: { readonly now: () => number; readonly ids: Pick<IdSource, 'account'> },
): Promise<Account> {
  const time = now()
  const row = await db
    .insertInto('account')
    .values({ id: ids.account(), name, plan, created_at: time, changed_at: nextChangedAt('account', time) })
    .returningAll()
    .executeTakeFirstOrThrow()
  return toAccount(row)
}

export interface AccountPage {
  /** Part of the name, in capitals or not, or a whole id; undefined: all accounts. */
  readonly search?: string | undefined
  readonly limit: number
  readonly order: 'asc' | 'desc'
  /** The id of the last one of the page before; undefined: from the start. */
  readonly after?: string | undefined
}

/** By age. */
export async function listAccounts(db: Kysely<Database>, page: AccountPage): Promise<readonly Account[]> {
  const { limit, order, after, search } = page
  const rows = await db
    .selectFrom('account')
    .selectAll()
    .$if(search !== undefined, (query) => query.where(foundBy(search as string)))
    .$if(after !== undefined, (query) => query.where('id', order === 'asc' ? '>' : '<', after as AccountId))
    .orderBy('id', order)
    .limit(limit)
    .execute()
  return rows.map(toAccount)
}

export async function findAccount(db: Kysely<Database>, id: AccountId): Promise<Account | undefined> {
  const row = await db.selectFrom('account').selectAll().where('id', '=', id).executeTakeFirst()
  return row === undefined ? undefined : toAccount(row)
}

export interface AccountChange {
  readonly id: AccountId
  /** Absent: unchanged. The plan's name is not checked. */
  readonly plan?: string | undefined
  readonly name?: string | undefined
}

/** Undefined when there is no such account. `now` is Unix milliseconds. */
export async function updateAccount(
  db: Kysely<Database>,
  { id, plan, name }: AccountChange,
  now: number,
): Promise<Account | undefined> {
  const change = { ...(plan === undefined ? {} : { plan }), ...(name === undefined ? {} : { name }) }
  const row = await db
    .updateTable('account')
    .set({ ...change, changed_at: nextChangedAt('account', now) })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirst()
  return row === undefined ? undefined : toAccount(row)
}

export function renderAccount({ id, name, plan, createdAt }: Account): AccountView {
  return { id, object: 'account', name, plan, created_at: new Date(createdAt).toISOString() }
}

function toAccount({ id, name, plan, created_at }: Selectable<AccountTable>): Account {
  return { id, name, plan, createdAt: created_at }
}
