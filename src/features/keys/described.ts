/** Keys with what their row does not have: who made them, and what they spent of their budget. */
import type { Kysely } from 'kysely'
import type { Database } from '../../db/schema.ts'
import type { KeyId, UserId } from '../../domain/ids.ts'
import type { NanoUsd } from '../../domain/money.ts'
import { monthNumber, monthStart } from '../../lib/months.ts'
import type { ApiKey } from './key.ts'
import type { KeyReference } from './queries.ts'

export interface KeyCreator {
  readonly userId: UserId
  readonly email: string
  readonly name: string
}

export interface DescribedKey extends ApiKey {
  /** Undefined: it is nobody's. */
  readonly creator: KeyCreator | undefined
  /** In this calendar month, UTC; undefined: it has no budget. */
  readonly spentNanoUsd: NanoUsd | undefined
  /** Unix milliseconds at which the budget begins anew; undefined: it has none. */
  readonly resetsAt: number | undefined
}

/** Resolves with what describes each of `keys`, which are of one account. @param now Unix milliseconds. */
export async function keyDescriber(
  db: Kysely<Database>,
  keys: readonly ApiKey[],
  now: number,
): Promise<(key: ApiKey) => DescribedKey> {
  const month = monthNumber(now)
  const [creators, spending] = await Promise.all([creatorsOf(db, keys), spendingOf(db, keys, month)])
  return (key) => {
    const hasBudget = key.monthlyBudgetNanoUsd !== undefined
    return {
      ...key,
      creator: key.createdBy === undefined ? undefined : creators.get(key.createdBy),
      spentNanoUsd: hasBudget ? (spending.get(key.id) ?? 0n) : undefined,
      resetsAt: hasBudget ? monthStart(month + 1) : undefined,
    }
  }
}

async function creatorsOf(db: Kysely<Database>, keys: readonly ApiKey[]): Promise<ReadonlyMap<UserId, KeyCreator>> {
  const ids = [...new Set(keys.flatMap(({ createdBy }) => createdBy ?? []))]
  if (ids.length === 0) return new Map()
  const rows = await db.selectFrom('person').select(['id as userId', 'email', 'name']).where('id', 'in', ids).execute()
  return new Map(rows.map((row) => [row.userId, row]))
}

/** Of a key whose budget has not been asked for yet, what the next request would find: the usage of the month. */
async function spendingOf(
  db: Kysely<Database>,
  keys: readonly ApiKey[],
  month: number,
): Promise<ReadonlyMap<KeyId, NanoUsd>> {
  const [first, ...others] = keys.filter(({ monthlyBudgetNanoUsd }) => monthlyBudgetNanoUsd !== undefined)
  if (first === undefined) return new Map()
  const { accountId } = first
  const ids = [first, ...others].map(({ id }) => id)
  const rows = await db
    .selectFrom('key_spending')
    .select(['key_id', 'month', 'spent_nano_usd'])
    .where('account_id', '=', accountId)
    .where('key_id', 'in', ids)
    .execute()
  const noted = rows.map((row): [KeyId, NanoUsd] => [row.key_id, row.month < month ? 0n : row.spent_nano_usd])
  const known = new Map(noted)
  const unknown = ids.filter((id) => !known.has(id))
  return unknown.length === 0 ? known : new Map([...known, ...(await costsOf(db, { accountId, ids: unknown, month }))])
}

interface Costs extends Pick<KeyReference, 'accountId'> {
  readonly ids: readonly KeyId[]
  readonly month: number
}

async function costsOf(
  db: Kysely<Database>,
  { accountId, ids, month }: Costs,
): Promise<readonly (readonly [KeyId, NanoUsd])[]> {
  const rows = await db
    .selectFrom('usage_rollup')
    .select(({ fn }) => ['key_id', fn.sum<NanoUsd>('cost_nano_usd').as('cost')])
    .where('account_id', '=', accountId)
    .where('day', '>=', monthStart(month) / DAY_MS)
    .where('key_id', 'in', ids)
    .groupBy('key_id')
    .execute()
  return rows.map(({ key_id, cost }) => [key_id, cost] as const)
}

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

/** How many requests a key has made in the last 24 hours, the begun hour before them included. @param now Unix milliseconds. */
export async function requestsOfLastDay(
  db: Kysely<Database>,
  { accountId, id }: KeyReference,
  now: number,
): Promise<number> {
  const { requests } = await db
    .selectFrom('usage_hour')
    .select(({ fn }) => fn.sum<number | null>('requests').as('requests'))
    .where('account_id', '=', accountId)
    .where('hour', '>=', Math.floor((now - DAY_MS) / HOUR_MS))
    .where('key_id', '=', id)
    .executeTakeFirstOrThrow()
  return requests ?? 0
}
