/** Compares hourly rollups with completions, and daily with hourly ones, each window in one consistent statement. */
import { type Kysely, sql } from 'kysely'
import { readRows } from '../../../db/database.ts'
import type { Database } from '../../../db/schema/schema.ts'
import { type AccountId, completionIdFloor } from '../../../domain/ids.ts'
import { monthNumber } from '../../../lib/time.ts'
import type { UsageRow } from './charges.ts'
import type { Report } from './finding.ts'
import { USAGE_COLUMNS } from './ledger-page.ts'

export const HOUR_MS = 3_600_000
const DAY_HOURS = 24
/** The most completions of a window, by the rollups. */
const WINDOW_REQUESTS = 20_000
const WINDOW_HOURS = 168
/** The difference between the times in an ID and `created_at` if the clock is set in between. */
const ID_TOLERANCE_MS = 60_000
const WIDE_TOLERANCE_MS = 86_400_000

export interface Hours {
  readonly start: number
  /** Exclusive. */
  readonly end: number
}

/** Reads the range of hours in which an account has completions or rollups; undefined if there are none. */
export async function hoursOf(db: Kysely<Database>, id: AccountId): Promise<Hours | undefined> {
  const [row] = await readRows(
    db,
    sql<{ first_sum: number | null; last_sum: number | null; first_row: number | null; last_row: number | null }>`
      select (select min(hour) from usage_hour where account_id = ${id}) as first_sum,
        (select max(hour) from usage_hour where account_id = ${id}) as last_sum,
        (select created_at from completion where account_id = ${id} order by id limit 1) as first_row,
        (select created_at from completion where account_id = ${id} order by id desc limit 1) as last_row`,
  )
  const starts = [row?.first_sum, hourOf(row?.first_row, -1)].filter((hour) => typeof hour === 'number')
  const ends = [row?.last_sum, hourOf(row?.last_row, 1)].filter((hour) => typeof hour === 'number')
  return starts.length === 0 ? undefined : { start: Math.min(...starts), end: Math.max(...ends) + 1 }
}

function hourOf(at: number | null | undefined, more: number): number | undefined {
  return at == null ? undefined : Math.floor(at / HOUR_MS) + more
}

/** Returns the next window to compare. */
export async function nextWindow(db: Kysely<Database>, id: AccountId, { start, end }: Hours): Promise<Hours> {
  const rows = await db
    .selectFrom('usage_hour')
    .select(['hour', ({ fn }) => fn.sum<number>('requests').as('requests')])
    .where('account_id', '=', id)
    .where('hour', '>=', start)
    .where('hour', '<', start + WINDOW_HOURS)
    .groupBy('hour')
    .orderBy('hour')
    .execute()
  let requests = 0
  const full = rows.find((row, at) => {
    requests += row.requests
    return requests > WINDOW_REQUESTS && at > 0
  })
  return { start, end: Math.min(end, full?.hour ?? start + WINDOW_HOURS) }
}

interface ComparedRow {
  readonly hour: number
  readonly key_id: string
  readonly model: string
  readonly requests: number
  readonly prompt_tokens: number
  readonly completion_tokens: number
  readonly cost_nano_usd: bigint
  readonly margin_nano_usd: bigint
  /** Completions that cost something. */
  readonly charged: number
  readonly sum_requests: number
  readonly sum_prompt_tokens: number
  readonly sum_completion_tokens: number
  readonly sum_cost_nano_usd: bigint
  readonly sum_margin_nano_usd: bigint
}

/** Aggregates a union of both sides: SQLite executes a full join as a nested loop. */
function compare(db: Kysely<Database>, id: AccountId, { start, end }: Hours, toleranceMs: number) {
  return readRows(
    db,
    sql<ComparedRow>`
      select hour, key_id, model, sum(requests) as requests, sum(prompt_tokens) as prompt_tokens,
        sum(completion_tokens) as completion_tokens, sum(cost_nano_usd) as cost_nano_usd, sum(charged) as charged,
        sum(sum_requests) as sum_requests, sum(sum_prompt_tokens) as sum_prompt_tokens,
        sum(sum_completion_tokens) as sum_completion_tokens, sum(sum_cost_nano_usd) as sum_cost_nano_usd,
        sum(margin_nano_usd) as margin_nano_usd, sum(sum_margin_nano_usd) as sum_margin_nano_usd
      from (select created_at / ${sql.lit(HOUR_MS)} as hour, key_id, model, 1 as requests, prompt_tokens,
          completion_tokens, cost_nano_usd, case when cost_nano_usd > 0 then 1 else 0 end as charged,
          0 as sum_requests, 0 as sum_prompt_tokens, 0 as sum_completion_tokens, 0 as sum_cost_nano_usd,
          cost_nano_usd - coalesce(provider_cost_nano_usd, cost_nano_usd) as margin_nano_usd, 0 as sum_margin_nano_usd
        from completion
        where account_id = ${id} and id > ${completionIdFloor(start * HOUR_MS - toleranceMs)}
          and id < ${completionIdFloor(end * HOUR_MS + toleranceMs)}
          and created_at >= ${start * HOUR_MS} and created_at < ${end * HOUR_MS}
        union all
        select hour, key_id, model, 0, 0, 0, 0, 0, requests, prompt_tokens, completion_tokens, cost_nano_usd, 0,
          margin_nano_usd
        from usage_hour where account_id = ${id} and hour >= ${start} and hour < ${end}) as parts
      group by hour, key_id, model`,
  )
}

/** The sums of an hour's completions with a cost. */
export type HourCounts = Map<number, { count: number; cost: bigint }>

export interface WindowResult {
  readonly counts: HourCounts
  /** The part of the rollups before `keptFrom` without rows: retention deleted those. */
  readonly goneNanoUsd: bigint
}

/** @param keptFrom The first hour of which all rows must exist. */
export async function compareHours(
  db: Kysely<Database>,
  { id, window, keptFrom }: { readonly id: AccountId; readonly window: Hours; readonly keptFrom: number },
  report: Report,
): Promise<WindowResult> {
  const counts: HourCounts = new Map()
  let goneNanoUsd = 0n
  const doubtful = new Set<number>()
  for (const row of await compare(db, id, window, ID_TOLERANCE_MS)) {
    const sum = counts.get(row.hour) ?? { count: 0, cost: 0n }
    counts.set(row.hour, { count: sum.count + row.charged, cost: sum.cost + row.cost_nano_usd })
    if (row.hour < keptFrom) goneNanoUsd += row.sum_cost_nano_usd - row.cost_nano_usd
    if (!agrees(row, keptFrom)) doubtful.add(row.hour)
  }
  for (const hour of doubtful) {
    const again = await compare(db, id, { start: hour, end: hour + 1 }, WIDE_TOLERANCE_MS)
    for (const row of again) if (!agrees(row, keptFrom)) reportHour(row, report)
  }
  return { counts, goneNanoUsd }
}

function agrees(row: ComparedRow, keptFrom: number): boolean {
  const pairs: readonly (readonly [number | bigint, number | bigint])[] = [
    [row.requests, row.sum_requests],
    [row.prompt_tokens, row.sum_prompt_tokens],
    [row.completion_tokens, row.sum_completion_tokens],
    [row.cost_nano_usd, row.sum_cost_nano_usd],
  ]
  if (row.hour >= keptFrom && row.margin_nano_usd !== row.sum_margin_nano_usd) return false
  return pairs.every(([rows, sum]) => (row.hour < keptFrom ? rows <= sum : rows === sum))
}

function reportHour(row: ComparedRow, report: Report): void {
  const text = (requests: number, tokens: number, [cost, margin]: readonly [bigint, bigint]) =>
    `${requests} requests, ${tokens} tokens, ${cost}, margin ${margin}`
  report(
    'rollup_hour',
    `${hourName(row.hour)} ${row.model} ${row.key_id}`,
    text(row.requests, row.prompt_tokens + row.completion_tokens, [row.cost_nano_usd, row.margin_nano_usd]),
    text(row.sum_requests, row.sum_prompt_tokens + row.sum_completion_tokens, [
      row.sum_cost_nano_usd,
      row.sum_margin_nano_usd,
    ]),
  )
}

/** Finds completions of a window that have tokens and no cost. */
export function unchargedRows(db: Kysely<Database>, id: AccountId, { start, end }: Hours) {
  return readRows(
    db,
    sql<UsageRow & { readonly id: string }>`
      select c.id, ${USAGE_COLUMNS} from completion as c
      where c.account_id = ${id} and c.id > ${completionIdFloor(start * HOUR_MS - ID_TOLERANCE_MS)}
        and c.id < ${completionIdFloor(end * HOUR_MS + ID_TOLERANCE_MS)}
        and c.created_at >= ${start * HOUR_MS} and c.created_at < ${end * HOUR_MS}
        and c.cost_nano_usd = 0 and (c.prompt_tokens > 0 or c.completion_tokens > 0) and c.status <> 'failed'`,
  )
}

interface DayRow {
  readonly day: number
  readonly key_id: string
  readonly model: string
  readonly hours_nano_usd: bigint
  readonly day_nano_usd: bigint
}

/** Finds days whose rollups differ from those of their hours. */
export async function compareDays(db: Kysely<Database>, id: AccountId, days: Hours, report: Report): Promise<void> {
  const rows = await readRows(
    db,
    sql<DayRow>`
      select day, key_id, model, sum(cost_nano_usd) as hours_nano_usd, sum(day_cost) as day_nano_usd
      from (select hour / ${sql.lit(DAY_HOURS)} as day, key_id, model, requests, prompt_tokens, completion_tokens,
          cost_nano_usd, margin_nano_usd, 0 as day_requests, 0 as day_prompt, 0 as day_completion, 0 as day_cost, 0 as day_margin
        from usage_hour
        where account_id = ${id} and hour >= ${days.start * DAY_HOURS} and hour < ${days.end * DAY_HOURS}
        union all
        select day, key_id, model, 0, 0, 0, 0, 0, requests, prompt_tokens, completion_tokens, cost_nano_usd,
          margin_nano_usd
        from usage_rollup where account_id = ${id} and day >= ${days.start} and day < ${days.end}) as parts
      group by day, key_id, model
      having sum(requests) <> sum(day_requests) or sum(prompt_tokens) <> sum(day_prompt)
        or sum(completion_tokens) <> sum(day_completion) or sum(cost_nano_usd) <> sum(day_cost)
        or sum(margin_nano_usd) <> sum(day_margin)`,
  )
  for (const row of rows) {
    const date = new Date(row.day * DAY_HOURS * HOUR_MS).toISOString().slice(0, 10)
    report('rollup_day', `${date} ${row.model} ${row.key_id}`, row.hours_nano_usd, row.day_nano_usd)
  }
}

/** Completions that one statement looks up. */
const MOST_IDS = 200_000
const NUMBERS_A_PAGE = 5_000

/**
 * Completions are read before the ledger, so the charge of each exists by then.
 * @param hours With the number of completions that have a cost and of those that were charged.
 */
export async function findUnmatched(
  db: Kysely<Database>,
  id: AccountId,
  hours: readonly number[],
  report: Report,
): Promise<void> {
  const counts = new Map<string, number>()
  const sorted = hours.toSorted((one, other) => one - other)
  for (const hour of sorted) {
    if (counts.size > MOST_IDS) report('charge_missing', hourName(hour), 'as many charges as completions', 'others')
    else for (const row of await chargedIn(db, id, hour)) counts.set(row.id, 0)
  }
  const [first] = sorted
  if (first === undefined || counts.size === 0) return
  await countCharges(db, { id, since: first * HOUR_MS }, counts)
  for (const [completionId, count] of counts) {
    if (count === 0) report('charge_missing', completionId, 'a charge', 'none')
    if (count > 1) report('charge_repeated', completionId, 1, count)
  }
}

function hourName(hour: number): string {
  return new Date(hour * HOUR_MS).toISOString().slice(0, 13)
}

function chargedIn(db: Kysely<Database>, id: AccountId, hour: number) {
  return readRows(
    db,
    sql<{ readonly id: string }>`
      select id from completion
      where account_id = ${id} and id > ${completionIdFloor(hour * HOUR_MS - ID_TOLERANCE_MS)}
        and id < ${completionIdFloor((hour + 1) * HOUR_MS + ID_TOLERANCE_MS)}
        and created_at >= ${hour * HOUR_MS} and created_at < ${(hour + 1) * HOUR_MS} and cost_nano_usd > 0`,
  )
}

/** Searches from the first row of that time: a charge follows its completion. */
async function countCharges(
  db: Kysely<Database>,
  { id, since }: { readonly id: AccountId; readonly since: number },
  counts: Map<string, number>,
): Promise<void> {
  const last = await lastNumber(db, id)
  let after = (await firstSince(db, id, { since: since - ID_TOLERANCE_MS, last })) - 1
  for (; after < last; after += NUMBERS_A_PAGE) {
    const rows = await readRows(
      db,
      sql<{ readonly completion_id: string }>`
        select completion_id from ledger where account_id = ${id} and number > ${after}
          and number <= ${after + NUMBERS_A_PAGE} and kind = 'charge' and adjusts is null`,
    )
    for (const { completion_id: completionId } of rows) {
      const count = counts.get(completionId)
      if (count !== undefined) counts.set(completionId, count + 1)
    }
  }
}

export async function lastNumber(db: Kysely<Database>, id: AccountId): Promise<number> {
  const row = await db
    .selectFrom('ledger')
    .select(({ fn }) => fn.max('number').as('last'))
    .where('account_id', '=', id)
    .executeTakeFirst()
  return row?.last ?? 0
}

/** Finds the first row at or after a time by binary search: times never decrease; another check verifies that. */
export async function firstSince(
  db: Kysely<Database>,
  id: AccountId,
  { since, last }: { readonly since: number; readonly last: number },
): Promise<number> {
  let [low, high] = [1, last + 1]
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    const row = await db
      .selectFrom('ledger')
      .select('created_at')
      .where('account_id', '=', id)
      .where('number', '>=', middle)
      .orderBy('number')
      .limit(1)
      .executeTakeFirst()
    if (row !== undefined && row.created_at < since) low = middle + 1
    else high = middle
  }
  return low
}

interface DimensionRow {
  readonly day: number
  readonly model: string
  readonly dimension: string
  readonly day_nano_usd: bigint
  readonly dimension_nano_usd: bigint
}

/** Those that every completion counts in once; the sums by tags and agents are written together with them. */
const WHOLE_DIMENSIONS = ['provider', 'team', 'key', 'session', 'end_user']

/**
 * Finds dimensions whose sums, with what the job has yet to add to them, differ from those of a day that it is past.
 * @param days Of which all completions exist: the sums by day outlive them, those by a dimension are made of them.
 */
export async function compareDimensions(
  db: Kysely<Database>,
  id: AccountId,
  days: Hours,
  report: Report,
): Promise<void> {
  const dimensions = sql.join(
    WHOLE_DIMENSIONS.map((name) => sql`select ${sql.lit(name)} as dimension`),
    sql` union all `,
  )
  const [from, to] = [days.start, days.end].map((day) => day * DAY_HOURS * HOUR_MS)
  const rows = await readRows(
    db,
    sql<DimensionRow>`
      select day, model, dimension, sum(day_cost) as day_nano_usd, sum(cost) as dimension_nano_usd
      from (select day, model, dimension, requests as requests, prompt_tokens + completion_tokens as tokens,
          cost_nano_usd as cost, margin_nano_usd as margin, 0 as day_requests, 0 as day_tokens, 0 as day_cost, 0 as day_margin
        from usage_dimension where account_id = ${id} and month >= ${monthNumber(from ?? 0)}
          and month <= ${monthNumber(to ?? 0)} and dimension in (${sql.join(WHOLE_DIMENSIONS)})
        union all
        select created_at / ${sql.lit(DAY_HOURS * HOUR_MS)}, model, dimension, sign, sign * (prompt_tokens + completion_tokens),
          sign * cost_nano_usd, sign * (cost_nano_usd - coalesce(provider_cost_nano_usd, cost_nano_usd)), 0, 0, 0, 0
        from usage_late cross join (${dimensions}) as known where account_id = ${id}
        union all
        select day, model, dimension, 0, 0, 0, 0, requests, prompt_tokens + completion_tokens, cost_nano_usd, margin_nano_usd
        from usage_rollup cross join (${dimensions}) as known where account_id = ${id}) as parts
      where day >= ${days.start} and day < ${days.end} and day < (select summed_until / ${sql.lit(DAY_HOURS * HOUR_MS)}
        from usage_progress where account_id = ${id})
      group by day, model, dimension
      having sum(requests) <> sum(day_requests) or sum(tokens) <> sum(day_tokens) or sum(cost) <> sum(day_cost)
        or sum(margin) <> sum(day_margin)`,
  )
  for (const row of rows) {
    const date = new Date(row.day * DAY_HOURS * HOUR_MS).toISOString().slice(0, 10)
    report('rollup_dimension', `${date} ${row.model} ${row.dimension}`, row.day_nano_usd, row.dimension_nano_usd)
  }
}
