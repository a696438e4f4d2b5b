import { type Kysely, type RawBuilder, type SqlBool, sql } from 'kysely'
import type { Database } from '../../db/schema/schema.ts'
import { given, within } from '../../db/shared-queries.ts'
import type { AccountId, KeyId } from '../../domain/ids.ts'
import type { Model } from '../../domain/model.ts'
import { type NanoUsd, usdNumber } from '../../domain/money.ts'
import { storePrice } from '../../domain/price/price.ts'
import type { Period } from '../../http/period.ts'
import { DAY_MS, HOUR_MS, idsBornIn, NEVER, splitPeriod } from './period.ts'

/** What sums can be grouped by, beside their model. */
export type Dimension = 'key' | 'account'

/** Units of time that there are sums of. */
export type Interval = 'hour' | 'day'

/** Undefined: of all. */
export interface UsageFilter {
  readonly model: string | undefined
  readonly keyId: KeyId | undefined
}

export interface SumChoice {
  readonly period: Period
  readonly filter: UsageFilter
  readonly by: Dimension | undefined
  /** Told apart by it as well. */
  readonly interval: Interval | undefined
}

/** Of completions. */
export interface Counts {
  readonly requests: number
  readonly promptTokens: number
  readonly completionTokens: number
  readonly costNanoUsd: NanoUsd
  /** See `marginOf`. */
  readonly marginNanoUsd: NanoUsd
}

export interface UsageSum extends Counts {
  readonly model: string
  /** The ID of the key or account; empty without a dimension. */
  readonly member: string
  /** The hour or day since 1970-01-01 UTC; 0 without an interval. */
  readonly unit: number
}

/**
 * Exact sums of one account (undefined: of all), in no order, from one look at the database: whatever they are added up to agrees.
 * Whole UTC days and hours come from the sums kept of them, what sticks out on either side from the rows themselves.
 */
export async function sumUsage(
  db: Kysely<Database>,
  accountId: AccountId | undefined,
  choice: SumChoice,
): Promise<readonly UsageSum[]> {
  const rows = await db
    .selectFrom(sumParts(db, accountId, choice).as('part'))
    .select(['model', 'member', 'unit', ({ fn }) => fn.sum<number>('requests').as('requests')])
    .select(({ fn }) => fn.sum<number>('prompt_tokens').as('prompt_tokens'))
    .select(({ fn }) => fn.sum<number>('completion_tokens').as('completion_tokens'))
    .select(({ fn }) => fn.sum<bigint>('cost_nano_usd').as('cost_nano_usd'))
    .select(({ fn }) => fn.sum<bigint>('margin_nano_usd').as('margin_nano_usd'))
    .groupBy(['model', 'member', 'unit'])
    .execute()
  return rows.map(({ model, member, unit, ...counts }) => ({ model, member, unit, ...toCounts(counts) }))
}

/** What `sumUsage` adds up: each completion of the period is in exactly one of these rows. */
export function sumParts(db: Kysely<Database>, accountId: AccountId | undefined, { period, ...choice }: SumChoice) {
  const days = choice.interval === 'hour' ? { units: NEVER, head: period, tail: NEVER } : splitPeriod(period, DAY_MS)
  const early = splitPeriod(days.head, HOUR_MS)
  const late = splitPeriod(days.tail, HOUR_MS)
  return daySums(db, accountId, { ...choice, days: days.units })
    .unionAll(hourSums(db, accountId, { ...choice, hours: early.units }))
    .unionAll(hourSums(db, accountId, { ...choice, hours: late.units }))
    .unionAll(rowSums(db, accountId, { ...choice, period: early.head }))
    .unionAll(rowSums(db, accountId, { ...choice, period: early.tail }))
    .unionAll(rowSums(db, accountId, { ...choice, period: late.head }))
    .unionAll(rowSums(db, accountId, { ...choice, period: late.tail }))
}

/** Notes each price the first time it is seen: usage rows name it for ever. `now` is Unix milliseconds. */
export async function recordPriceVersions(db: Kysely<Database>, models: readonly Model[], now: number): Promise<void> {
  const rows = models.flatMap(({ id: model, price, priceVersion, basePrice, pricePeriods }) => {
    const current =
      price === undefined || priceVersion === undefined ? [] : [{ price, version: priceVersion, base: basePrice }]
    const all = pricePeriods ?? current
    return all.map(({ version: id, base, ...each }) => ({
      ...{ id, model, ...storePrice(each.price), first_seen_at: now },
      base_version: base?.version ?? null,
    }))
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

type Part = Omit<SumChoice, 'period'>

/** For all accounts by a list of them, so that the indexes serve, which begin with the account. */
function isOf(accountId: AccountId | undefined): RawBuilder<SqlBool> {
  if (accountId === undefined) return sql`account_id in (select id from account)`
  return sql`account_id = ${accountId}`
}

function daySums(
  db: Kysely<Database>,
  accountId: AccountId | undefined,
  { days, by, filter, interval }: Part & { days: Period },
) {
  return db
    .selectFrom('usage_rollup')
    .select(['model', memberOf(by), unitOf(interval, { day: sql<number>`day`, hour: NO_UNIT })])
    .select(['requests', 'prompt_tokens', 'completion_tokens', 'cost_nano_usd', 'margin_nano_usd'])
    .where(isOf(accountId))
    .where(within('day', days))
    .where(({ and }) => and(given({ model: filter.model, key_id: filter.keyId })))
}

function hourSums(
  db: Kysely<Database>,
  accountId: AccountId | undefined,
  { hours, by, filter, interval }: Part & { hours: Period },
) {
  return db
    .selectFrom('usage_hour')
    .select(['model', memberOf(by), unitOf(interval, { day: sql<number>`hour / 24`, hour: sql<number>`hour` })])
    .select(['requests', 'prompt_tokens', 'completion_tokens', 'cost_nano_usd', 'margin_nano_usd'])
    .where(isOf(accountId))
    .where(within('hour', hours))
    .where(({ and }) => and(given({ model: filter.model, key_id: filter.keyId })))
}

function rowSums(
  db: Kysely<Database>,
  accountId: AccountId | undefined,
  { period, by, filter, interval }: Part & { period: Period },
) {
  const { above, below } = idsBornIn(period)
  return db
    .selectFrom('completion')
    .select(['model', memberOf(by), unitOf(interval, { day: unitsSince(DAY_MS), hour: unitsSince(HOUR_MS) })])
    .select([sql<number>`1`.as('requests'), 'prompt_tokens', 'completion_tokens', 'cost_nano_usd'])
    .select(MARGIN.as('margin_nano_usd'))
    .where(isOf(accountId))
    .where('id', '>', above)
    .where('id', '<', below)
    .where(within('created_at', period))
    .where(({ and }) => and(given({ model: filter.model, key_id: filter.keyId })))
}

/** Which unit of time a completion is of. */
export function unitsSince(unitMs: number): RawBuilder<number> {
  return sql<number>`created_at / ${sql.lit(unitMs)}`
}

const NO_UNIT = sql<number>`0`

function unitOf(interval: Interval | undefined, units: Readonly<Record<Interval, RawBuilder<number>>>) {
  return (interval === undefined ? NO_UNIT : units[interval]).as('unit')
}

function memberOf(by: Dimension | undefined) {
  const column = by === 'key' ? sql<string>`key_id` : sql<string>`account_id`
  return (by === undefined ? sql<string>`''` : column).as('member')
}

/** Of a row of `completion`; the same as `marginOf`. */
export const MARGIN = sql<NanoUsd>`cost_nano_usd - coalesce(provider_cost_nano_usd, cost_nano_usd)`

export interface CountColumns {
  readonly requests: number
  readonly prompt_tokens: number
  readonly completion_tokens: number
  readonly cost_nano_usd: NanoUsd
  readonly margin_nano_usd: NanoUsd
}

/** Counts are numbers here, whatever the database gives. */
export function toCounts(row: CountColumns): Counts {
  const { prompt_tokens: promptTokens, completion_tokens: completionTokens, cost_nano_usd: costNanoUsd } = row
  const { requests, margin_nano_usd: marginNanoUsd } = row
  return { requests: Number(requests), promptTokens, completionTokens, costNanoUsd, marginNanoUsd }
}

// Sums of completions: added up, and in JSON.

export const NOTHING: Counts = { requests: 0, promptTokens: 0, completionTokens: 0, costNanoUsd: 0n, marginNanoUsd: 0n }

export function plus(one: Counts, other: Counts): Counts {
  return {
    requests: one.requests + other.requests,
    promptTokens: one.promptTokens + other.promptTokens,
    completionTokens: one.completionTokens + other.completionTokens,
    costNanoUsd: one.costNanoUsd + other.costNanoUsd,
    marginNanoUsd: one.marginNanoUsd + other.marginNanoUsd,
  }
}

export function minus(one: Counts, other: Counts): Counts {
  return {
    requests: one.requests - other.requests,
    promptTokens: one.promptTokens - other.promptTokens,
    completionTokens: one.completionTokens - other.completionTokens,
    costNanoUsd: one.costNanoUsd - other.costNanoUsd,
    marginNanoUsd: one.marginNanoUsd - other.marginNanoUsd,
  }
}

/** @param isOperator Whether the margin is shown. */
export function renderCounts(sum: Counts, isOperator = false) {
  const counts = { tokens: tokensOf(sum), requests: sum.requests, cost_usd: usdNumber(sum.costNanoUsd) }
  return isOperator ? { ...counts, margin_usd: usdNumber(sum.marginNanoUsd) } : counts
}

export function tokensOf({ promptTokens, completionTokens }: Counts): number {
  return promptTokens + completionTokens
}
