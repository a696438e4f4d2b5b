/** Rows of accounts, and their figures for operators: amounts of the ledger, and the number of members. */
import { type Kysely, type RawBuilder, type Selectable, sql } from 'kysely'
import { nextChangedAt } from '../../db/changed-at.ts'
import type { AccountTable, Database } from '../../db/schema/schema.ts'
import { pageBy } from '../../db/shared-queries.ts'
import { type DataPolicy, policyOf, policyText } from '../../domain/data-policy.ts'
import type { AccountId, IdSource } from '../../domain/ids.ts'
import type { NanoUsd } from '../../domain/money.ts'
import type { PageRequest } from '../../http/page.ts'
import { renderDataPolicy } from '../../http/wire-fields.ts'
import { monthNumber, monthStart } from '../../lib/time.ts'

export interface Account {
  readonly id: AccountId
  readonly name: string
  readonly plan: string
  readonly dataPolicy?: DataPolicy | undefined
  /** Unix milliseconds. */
  readonly createdAt: number
}

/** An account in JSON. */
export interface AccountView {
  readonly id: AccountId
  readonly object: 'account'
  readonly name: string
  readonly plan: string
  readonly data_policy: ReturnType<typeof renderDataPolicy>
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

export interface AccountPage extends Omit<PageRequest, 'after'>, Partial<Pick<PageRequest, 'after'>> {
  /** Part of the name, ignoring case, or a whole id; undefined: all accounts. */
  readonly search?: string | undefined
}

/** By age. */
export async function listAccounts(db: Kysely<Database>, page: AccountPage): Promise<readonly Account[]> {
  const { search } = page
  const rows = await db
    .selectFrom('account')
    .selectAll()
    .$if(search !== undefined, (query) => query.where(matchesSearch(search as string)))
    .$call(pageBy('id', page))
    .execute()
  return rows.map(toAccount)
}

export async function findAccount(db: Kysely<Database>, id: AccountId): Promise<Account | undefined> {
  const row = await db.selectFrom('account').selectAll().where('id', '=', id).executeTakeFirst()
  return row === undefined ? undefined : toAccount(row)
}

/** Finds an account by its ID; where none has it, all with this name. */
export async function findAccountsNamed(db: Kysely<Database>, text: string): Promise<readonly Account[]> {
  const byId = await findAccount(db, text as AccountId)
  if (byId !== undefined) return [byId]
  const rows = await db.selectFrom('account').selectAll().where('name', '=', text).orderBy('id').execute()
  return rows.map(toAccount)
}

export interface AccountChange {
  readonly id: AccountId
  /** Absent: unchanged. The plan's name is not checked. */
  readonly plan?: string | undefined
  readonly name?: string | undefined
  /** Null: none. */
  readonly dataPolicy?: DataPolicy | null | undefined
}

/** Undefined when there is no such account. `now` is Unix milliseconds. */
export async function updateAccount(
  db: Kysely<Database>,
  { id, plan, name, dataPolicy }: AccountChange,
  now: number,
): Promise<Account | undefined> {
  const change = {
    ...(plan !== undefined && { plan }),
    ...(name !== undefined && { name }),
    ...(dataPolicy !== undefined && { data_policy: policyText(dataPolicy ?? undefined) }),
  }
  const row = await db
    .updateTable('account')
    .set({ ...change, changed_at: nextChangedAt('account', now) })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirst()
  return row === undefined ? undefined : toAccount(row)
}

export function renderAccount({ id, name, plan, dataPolicy, createdAt }: Account): AccountView {
  const created_at = new Date(createdAt).toISOString()
  return { id, object: 'account', name, plan, data_policy: renderDataPolicy(dataPolicy), created_at }
}

function toAccount({ id, name, plan, data_policy, created_at }: Selectable<AccountTable>): Account {
  return { id, name, plan, dataPolicy: policyOf(data_policy), createdAt: created_at }
}

/** Whether an account's name contains the text, ignoring case, or its id is the text. The same on both databases. */
function matchesSearch(search: string): RawBuilder<boolean> {
  const pattern = `%${folded(search).replace(/[\\%_]/g, '\\$&')}%`
  return sql<boolean>`(${foldedName(search)} like ${pattern} escape '\\' or id = ${search})`
}

/** Lowers the case of a name. The databases know A to Z only; other letters of the search are replaced one by one. */
function foldedName(search: string): RawBuilder<string> {
  const others = new Set(folded(search).match(/[^\p{ASCII}]/gu))
  return [...others]
    .filter((letter) => capitalOf(letter) !== letter)
    .reduce((name, letter) => sql<string>`replace(${name}, ${capitalOf(letter)}, ${letter})`, sql<string>`lower(name)`)
}

/** Lowers the case letter by letter, so that the number of letters stays. */
function folded(text: string): string {
  return Array.from(text, (letter) => {
    const small = letter.toLowerCase()
    return capitalOf(small) === letter ? small : letter
  }).join('')
}

/** The letter itself where its capital is several letters, or has another lower case. */
function capitalOf(letter: string): string {
  const capital = letter.toUpperCase()
  return [...capital].length === 1 && capital.toLowerCase() === letter ? capital : letter
}

export interface AccountFigures {
  readonly balanceNanoUsd: NanoUsd
  /** Reserved by requests in flight. */
  readonly heldNanoUsd: NanoUsd
  /** In this calendar month, UTC. */
  readonly spentNanoUsd: NanoUsd
  /** Of the completions of this month, what is left when the providers are paid. */
  readonly marginNanoUsd: NanoUsd
  /** The unspent part of the monthly allowance. */
  readonly allowanceNanoUsd: NanoUsd
  /** How many people. */
  readonly members: number
  /** Undefined: the cap of the plan. */
  readonly maxOverrunNanoUsd: NanoUsd | undefined
}

const NOTHING: AccountFigures = {
  balanceNanoUsd: 0n,
  heldNanoUsd: 0n,
  spentNanoUsd: 0n,
  marginNanoUsd: 0n,
  allowanceNanoUsd: 0n,
  members: 0,
  maxOverrunNanoUsd: undefined,
}

/** Reads figures of accounts that are not in their row. It does not grant an allowance that is due. */
export async function readFigures(
  db: Kysely<Database>,
  ids: readonly AccountId[],
  now: number,
): Promise<(id: AccountId) => AccountFigures> {
  if (ids.length === 0) return () => NOTHING
  const month = monthNumber(now)
  const [credits, members, margins] = await Promise.all([
    db.selectFrom('credit').selectAll().where('account_id', 'in', ids).execute(),
    countMembers(db, ids),
    sumMargins(db, ids, Math.floor(monthStart(month) / DAY_MS)),
  ])
  const credit = new Map(credits.map((row) => [row.account_id, row]))
  return (id) => {
    const row = credit.get(id)
    if (row === undefined) return { ...NOTHING, members: members.get(id) ?? 0 }
    return {
      marginNanoUsd: margins.get(id) ?? 0n,
      balanceNanoUsd: row.balance_nano_usd,
      heldNanoUsd: row.held_nano_usd,
      spentNanoUsd: row.month < month ? 0n : row.spent_nano_usd,
      allowanceNanoUsd: row.allowance_nano_usd,
      members: members.get(id) ?? 0,
      maxOverrunNanoUsd: row.max_overrun_nano_usd ?? undefined,
    }
  }
}

const DAY_MS = 86_400_000

/** @param day Since 1970-01-01 UTC; its margins are the first of the sums. */
async function sumMargins(
  db: Kysely<Database>,
  ids: readonly AccountId[],
  day: number,
): Promise<ReadonlyMap<AccountId, NanoUsd>> {
  const rows = await db
    .selectFrom('usage_rollup')
    .select(({ fn }) => ['account_id', fn.sum<bigint>('margin_nano_usd').as('margin_nano_usd')])
    .where('account_id', 'in', ids)
    .where('day', '>=', day)
    .groupBy('account_id')
    .execute()
  return new Map(rows.map(({ account_id: id, margin_nano_usd: margin }) => [id, BigInt(margin)]))
}

async function countMembers(db: Kysely<Database>, ids: readonly AccountId[]): Promise<ReadonlyMap<AccountId, number>> {
  const rows = await db
    .selectFrom('member')
    .select(({ fn }) => ['account_id', fn.countAll<number>().as('people')])
    .where('account_id', 'in', ids)
    .where('removed_at', 'is', null)
    .groupBy('account_id')
    .execute()
  return new Map(rows.map(({ account_id, people }) => [account_id, people]))
}
