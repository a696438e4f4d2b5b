import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { Database } from '../../db/schema.ts'
import type { AccountId } from '../../domain/ids.ts'
import type { Model } from '../../domain/model.ts'
import type { NanoUsd } from '../../domain/money.ts'
import type { Period } from '../../http/period.ts'
import { firstAgentAfter, idsBornIn } from './id-range.ts'
import { DAY_MS, HOUR_MS, splitPeriod } from './period.ts'

/** What sums can be told apart by, beside their model. */
export type Dimension = 'key' | 'day'

export interface UsageSum {
  readonly model: string
  /** The key's id, or the day since 1970-01-01 UTC; empty without a dimension. */
  readonly member: string | number
  readonly requests: number
  /** Prompt and completion together. */
  readonly tokens: number
  readonly costNanoUsd: NanoUsd
}

/**
 * Exact sums of one account, in no order, from one look at the database: whatever they are added up to agrees.
 * Whole UTC days and hours come from the sums kept of them, what sticks out on either side from the rows themselves.
 */
export async function sumUsage(
  db: Kysely<Database>,
  accountId: AccountId,
  { period, by }: { readonly period: Period; readonly by: Dimension | undefined },
): Promise<readonly UsageSum[]> {
  const days = splitPeriod(period, DAY_MS)
  const early = splitPeriod(days.head, HOUR_MS)
  const late = splitPeriod(days.tail, HOUR_MS)
  const parts = daySums(db, accountId, { days: days.units, by })
    .unionAll(hourSums(db, accountId, { hours: early.units, by }))
    .unionAll(hourSums(db, accountId, { hours: late.units, by }))
    .unionAll(rowSums(db, accountId, { period: early.head, by }))
    .unionAll(rowSums(db, accountId, { period: early.tail, by }))
    .unionAll(rowSums(db, accountId, { period: late.head, by }))
    .unionAll(rowSums(db, accountId, { period: late.tail, by }))
  const rows = await db
    .selectFrom(parts.as('part'))
    .select(['model', 'member', ({ fn }) => fn.sum<number>('requests').as('requests')])
    .select(({ fn }) => fn.sum<number>('tokens').as('tokens'))
    .select(({ fn }) => fn.sum<bigint>('cost_nano_usd').as('cost_nano_usd'))
    .groupBy(['model', 'member'])
    .execute()
  return rows.map(({ cost_nano_usd: costNanoUsd, ...row }) => ({ ...row, costNanoUsd }))
}

export interface AgentSum extends Omit<UsageSum, 'model' | 'member'> {
  /** Which run's: see `agentReference`. */
  readonly reference: string
}

/**
 * What agents used, run by run, through the index of their completions: the sums that are kept do not tell whose a
 * completion was. Without bounds on the id, which would lead through all completions of the period instead. Clients' own names for their requests can look like an agent's, but never like a run's.
 */
export async function sumAgents(
  db: Kysely<Database>,
  accountId: AccountId,
  period: Period,
): Promise<readonly AgentSum[]> {
  const rows = await db
    .selectFrom('completion')
    .select(sql<string>`client_request_id`.as('reference'))
    .select(({ fn }) => fn.countAll().as('requests'))
    .select(sql<number>`sum(prompt_tokens + completion_tokens)`.as('tokens'))
    .select(({ fn }) => fn.sum<bigint>('cost_nano_usd').as('cost_nano_usd'))
    .where('account_id', '=', accountId)
    .where('client_request_id', '>=', sql.lit('agt_')) // literals: the condition of the index
    .where('client_request_id', '<', sql.lit('agt`'))
    .where('client_request_id', '<', firstAgentAfter(period))
    .where('created_at', '>=', period.start)
    .where('created_at', '<', period.end)
    .groupBy('client_request_id')
    .execute()
  return rows.map(({ cost_nano_usd: costNanoUsd, requests, ...row }) => ({
    ...row,
    requests: Number(requests),
    costNanoUsd,
  }))
}

/** Notes each price the first time it is seen: usage rows name it for ever. `now` is Unix milliseconds. */
export async function recordPriceVersions(db: Kysely<Database>, models: readonly Model[], now: number): Promise<void> {
  const rows = models.flatMap(({ id: model, price, priceVersion: id }) => {
    if (price === undefined || id === undefined) return []
    const cached = { cached_input_micro_usd: price.cachedInputMicroUsd ?? null }
    const written = { cache_write_micro_usd: price.cacheWriteMicroUsd ?? null }
    const fresh = { input_micro_usd: price.inputMicroUsd, output_micro_usd: price.outputMicroUsd }
    return [{ id, model, ...fresh, ...cached, ...written, first_seen_at: now }]
  })
  const known = await db.selectFrom('price_version').select('id').execute()
  const knownIds = new Set(known.map(({ id }) => id))
  const fresh = rows.filter(({ id }) => !knownIds.has(id))
  if (fresh.length === 0) return
  await db.transaction().execute(async (inside) => {
    for (const row of fresh)
      await inside
        .insertInto('price_version')
        .values(row)
        .onConflict((on) => on.doNothing())
        .execute()
  })
}

const TOKENS = sql<number>`prompt_tokens + completion_tokens`.as('tokens')
const NO_MEMBER = sql<string>`''`
const KEY = sql<string>`key_id`

function memberOf(by: Dimension | undefined, day: RawBuilder<number>) {
  const member: RawBuilder<string | number> = by === 'day' ? day : by === 'key' ? KEY : NO_MEMBER
  return member.as('member')
}

interface Part {
  readonly by: Dimension | undefined
}

function daySums(db: Kysely<Database>, accountId: AccountId, { days, by }: Part & { readonly days: Period }) {
  return db
    .selectFrom('usage_rollup')
    .select(['model', memberOf(by, sql<number>`day`), 'requests', TOKENS, 'cost_nano_usd'])
    .where('account_id', '=', accountId)
    .where('day', '>=', days.start)
    .where('day', '<', days.end)
}

function hourSums(db: Kysely<Database>, accountId: AccountId, { hours, by }: Part & { readonly hours: Period }) {
  return db
    .selectFrom('usage_hour')
    .select(['model', memberOf(by, sql<number>`hour / 24`), 'requests', TOKENS, 'cost_nano_usd'])
    .where('account_id', '=', accountId)
    .where('hour', '>=', hours.start)
    .where('hour', '<', hours.end)
}

function rowSums(db: Kysely<Database>, accountId: AccountId, { period, by }: Part & { readonly period: Period }) {
  const { above, below } = idsBornIn(period)
  return db
    .selectFrom('completion')
    .select(['model', memberOf(by, sql<number>`created_at / ${sql.lit(DAY_MS)}`), sql<number>`1`.as('requests')])
    .select([TOKENS, 'cost_nano_usd'])
    .where('account_id', '=', accountId)
    .where('id', '>', above)
    .where('id', '<', below)
    .where('created_at', '>=', period.start)
    .where('created_at', '<', period.end)
}
