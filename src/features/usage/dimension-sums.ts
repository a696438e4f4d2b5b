/**
 * Adds completions to `usage_dimension`, piece by piece in the background: requests write nothing more for it. Reports add
 * what is not summed yet from the completions themselves, so they are exact at every moment.
 */
import { type Kysely, type RawBuilder, sql, type Transaction } from 'kysely'
import { customPlan, dialectOf } from '../../db/database.ts'
import type { Database } from '../../db/schema/schema.ts'
import { within } from '../../db/shared-queries.ts'
import type { AccountId } from '../../domain/ids.ts'
import type { Period } from '../../http/period.ts'
import { inBatches } from '../../jobs/batched-deletion.ts'
import { every, type JobKind } from '../../jobs/job.ts'
import { monthNumber, monthStart } from '../../lib/time.ts'
import { DAY_MS, ID_TOLERANCE_MS, idsBornIn } from './period.ts'
import { MARGIN } from './queries.ts'

/** Values of a tag, of sessions or of end users that the sums of an account tell apart in a month, unless set. */
export const MAX_VALUES = 100_000
/** What the values beyond the limit are called; no value has this character. */
export const OTHER_VALUES = '*'
const EVERY_MS = 10 * 60_000
/**
 * Before an account's newest completion. Longer than `LATE_AFTER_MS` by more than any transaction of the ledger takes; the
 * ledger's time, which never goes back, is the newest completion's at least, so no clock of a process is asked.
 */
const SUMMED_AFTER_MS = 60 * 60_000
/** Completions summed in one transaction. */
const PIECE_ROWS = 1_000
const ACCOUNTS_PER_QUERY = 500

interface Limits {
  readonly maxValues?: number
  readonly pieceRows?: number
}

export function dimensionSumsJobs({
  db,
  now,
  maxValues,
}: {
  readonly db: Kysely<Database>
  /** Unix milliseconds. */
  readonly now: () => number
  readonly maxValues: number
}): Readonly<Record<string, JobKind>> {
  return {
    'usage.dimensions': every(EVERY_MS, async (_job, { signal }) => {
      if (await isNewHere(db, now())) return
      await sumCompletions(db, { maxValues }, signal)
    }),
  }
}

/** Processes of the release before, which copy no late completions, may still be running. */
async function isNewHere(db: Kysely<Database>, now: number): Promise<boolean> {
  const row = await sql<{ applied_at: number }>`
    select applied_at from schema_migration where name = '0038-usage-dimensions'`.execute(db)
  return now - Number(row.rows[0]?.applied_at ?? now) < SUMMED_AFTER_MS
}

/** Sums all accounts. One that is new here begins at the next call. */
export async function sumCompletions(db: Kysely<Database>, limits: Limits = {}, signal?: AbortSignal): Promise<void> {
  let after = ''
  for (;;) {
    const accounts = await readAccounts(db, after)
    for (const { account_id: accountId, newest, has_late: hasLate, summed_until: from } of accounts) {
      const until = (newest ?? 0) - SUMMED_AFTER_MS
      const summer = createSummer({ db, accountId, until }, limits)
      if (Number(hasLate) === 1) await inBatches(summer.sumLate, signal)
      if (until > from) await inBatches(summer.sumNext, signal)
    }
    const last = accounts.at(-1)
    if (last === undefined) break
    after = last.account_id
  }
  await sql`insert into usage_progress (account_id, summed_until) select id, 0 from account
    where not exists (select 1 from usage_progress as known where known.account_id = account.id)
    on conflict do nothing`.execute(db)
}

function readAccounts(db: Kysely<Database>, after: string) {
  return db
    .selectFrom('usage_progress')
    .select(['account_id', 'summed_until'])
    .select(({ selectFrom }) =>
      selectFrom('completion')
        .select('completion.created_at')
        .whereRef('completion.account_id', '=', 'usage_progress.account_id')
        .orderBy('completion.id', 'desc')
        .limit(1)
        .as('newest'),
    )
    .select(
      sql<number>`case when exists (select 1 from usage_late where usage_late.account_id = usage_progress.account_id)
        then 1 else 0 end`.as('has_late'),
    )
    .where('account_id', '>', after as AccountId)
    .orderBy('account_id')
    .limit(ACCOUNTS_PER_QUERY)
    .execute()
}

interface SummedAccount {
  readonly db: Kysely<Database>
  readonly accountId: AccountId
  /** Unix milliseconds. */
  readonly until: number
}

/** Each function sums a piece and returns the number of its completions; 0: nothing is left. */
function createSummer({ db, accountId, until }: SummedAccount, limits: Limits) {
  const { maxValues = MAX_VALUES, pieceRows = PIECE_ROWS } = limits
  const fullValues = createFullValues(db, accountId, maxValues)

  async function sumNext(): Promise<number> {
    const from = await readProgress(db, accountId)
    const times = await nextTimes(db, accountId, { period: { start: from, end: until }, pieceRows })
    const end = times.length < pieceRows ? until : Math.max(...times) + 1
    if (times.length === 0) {
      await moveProgress(db, accountId, { from, to: end }) // so that the next call has nothing to look for
      return 0
    }
    const months = monthsOf({ start: Math.min(...times) - ID_TOLERANCE_MS, end })
    const full = await fullValues(months, times.length)
    await db.transaction().execute(async (inside) => {
      if (!(await moveProgress(inside, accountId, { from, to: end }))) return
      await addPart(inside, { accountId, months, full, part: createdIn(accountId, { start: from, end }) })
    })
    return times.length
  }

  async function sumLate(): Promise<number> {
    const rows = await lateRows(db, accountId, pieceRows)
    if (rows.length === 0) return 0
    const times = rows.map(({ created_at: at }) => at)
    const months = monthsOf({ start: Math.min(...times), end: Math.max(...times) + 1 })
    const full = await fullValues(months, rows.length)
    await db.transaction().execute(async (inside) => {
      const from = await readProgress(inside, accountId)
      if (!(await moveProgress(inside, accountId, { from, to: from }))) return
      const keys = sql.join(rows.map(({ id, part }) => sql`(${id}, ${sql.lit(part)})`))
      const these = sql`account_id = ${accountId} and (id, part) in (values ${keys})`
      await addPart(inside, {
        accountId,
        months,
        full,
        part: sql`select ${COPIED}, sign from usage_late where ${these}`,
      })
      await sql`delete from usage_late where ${these}`.execute(inside)
    })
    return rows.length
  }

  return { sumNext, sumLate }
}

async function readProgress(db: Kysely<Database>, accountId: AccountId): Promise<number> {
  const row = db.selectFrom('usage_progress').select('summed_until').where('account_id', '=', accountId)
  return (await row.executeTakeFirstOrThrow()).summed_until
}

/** Locks the account's row before anything is read, so that no late completion is missed. @returns False: another process did. */
async function moveProgress(
  inside: Kysely<Database>,
  accountId: AccountId,
  { from, to }: { readonly from: number; readonly to: number },
): Promise<boolean> {
  const moved = await inside
    .updateTable('usage_progress')
    .set({ summed_until: to })
    .where('account_id', '=', accountId)
    .where('summed_until', '=', from)
    .executeTakeFirst()
  return moved.numUpdatedRows === 1n
}

/** When the next completions were created, in the order of their IDs. */
async function nextTimes(
  db: Kysely<Database>,
  accountId: AccountId,
  { period, pieceRows }: { readonly period: Period; readonly pieceRows: number },
): Promise<readonly number[]> {
  const { above, below } = idsBornIn(period)
  const rows = await db
    .selectFrom('completion')
    .select('created_at')
    .where('account_id', '=', accountId)
    .where('id', '>', above)
    .where('id', '<', below)
    .where(within('created_at', period))
    .orderBy('id')
    .limit(pieceRows)
    .execute()
  return rows.map(({ created_at: at }) => at)
}

function lateRows(db: Kysely<Database>, accountId: AccountId, limit: number) {
  return db
    .selectFrom('usage_late')
    .select(['id', 'part', 'created_at'])
    .where('account_id', '=', accountId)
    .orderBy('id')
    .limit(limit)
    .execute()
}

function monthsOf({ start, end }: Period): readonly number[] {
  const [first, last] = [monthNumber(Math.max(0, start)), monthNumber(end - 1)]
  return Array.from({ length: last - first + 1 }, (_, at) => first + at)
}

/** By month and dimension. */
type FullValues = readonly (readonly [month: number, dimension: string])[]

/**
 * Returns the dimensions that take no new values in a month, since a piece could bring more than the limit. It counts
 * values when so many completions were summed since the last count that the limit may be reached.
 */
function createFullValues(db: Kysely<Database>, accountId: AccountId, maxValues: number) {
  const counted = new Map<number, { most: number; readonly full: readonly string[] }>()

  async function count(month: number, rows: number) {
    const values = await countValues(db, accountId, month)
    const full = values.filter(({ count }) => count + rows > maxValues).map(({ dimension }) => dimension)
    const others = values.filter(({ dimension }) => !full.includes(dimension))
    return { most: others.reduce((most, { count }) => Math.max(most, count), 0), full }
  }

  return async (months: readonly number[], rows: number): Promise<FullValues> => {
    const pairs: (readonly [number, string])[] = []
    for (const month of months) {
      let known = counted.get(month)
      if (known === undefined || known.most + rows > maxValues) known = await count(month, rows)
      counted.set(month, { ...known, most: known.most + rows })
      pairs.push(...known.full.map((dimension) => [month, dimension] as const))
    }
    return pairs
  }
}

/** Of the dimensions whose values clients choose. */
async function countValues(db: Kysely<Database>, accountId: AccountId, month: number) {
  const rows = await db
    .selectFrom('usage_dimension')
    .select(['dimension', sql<number>`count(distinct value)`.as('count')])
    .where('account_id', '=', accountId)
    .where('month', '=', month)
    .where(sql<boolean>`(dimension in ('session', 'end_user') or dimension like 'tag:%')`)
    .groupBy('dimension')
    .execute()
  return rows.map(({ dimension, count }) => ({ dimension, count: Number(count) }))
}

const COPIED = sql.raw(
  'created_at, key_id, team_id, model, provider, session_id, end_user, tags, client_request_id, prompt_tokens, completion_tokens, cost_nano_usd, provider_cost_nano_usd',
)

function createdIn(accountId: AccountId, period: Period): RawBuilder<unknown> {
  const { above, below } = idsBornIn(period)
  return sql`select ${COPIED}, 1 as sign from completion
    where account_id = ${accountId} and id > ${above} and id < ${below} and ${within('created_at', period)}`
}

interface Part {
  readonly accountId: AccountId
  /** The months of its completions. */
  readonly months: readonly number[]
  readonly full: FullValues
  /** Selects completions with their sign. */
  readonly part: RawBuilder<unknown>
}

async function addPart(inside: Transaction<Database>, { accountId, months, full, part }: Part): Promise<void> {
  const last = months.at(-1) ?? 0
  const later = months
    .slice(0, -1)
    .map((month) => sql`when created_at < ${sql.lit(monthStart(month + 1))} then ${sql.lit(month)}`)
  const month = later.length === 0 ? sql.lit(last) : sql`case ${sql.join(later, sql` `)} else ${sql.lit(last)} end`
  await sql`insert into usage_dimension ${customPlan} (account_id, month, dimension, value, day, model, requests, prompt_tokens,
      completion_tokens, cost_nano_usd, margin_nano_usd)
    with part as materialized (${part}),
      dated as materialized (select part.*, ${month} as month, created_at / ${sql.lit(DAY_MS)} as day from part),
      valued as (${valuesOf(inside, sql`dated`)})
    select ${accountId}, month, dimension, ${keptValue(accountId, full)} as kept, day, model, sum(sign),
      sum(sign * prompt_tokens), sum(sign * completion_tokens), sum(sign * cost_nano_usd), sum(sign * (${MARGIN}))
    from valued where true group by month, dimension, kept, day, model
    on conflict (account_id, month, dimension, value, day, model) do update set
      requests = usage_dimension.requests + excluded.requests,
      prompt_tokens = usage_dimension.prompt_tokens + excluded.prompt_tokens,
      completion_tokens = usage_dimension.completion_tokens + excluded.completion_tokens,
      cost_nano_usd = usage_dimension.cost_nano_usd + excluded.cost_nano_usd,
      margin_nano_usd = usage_dimension.margin_nano_usd + excluded.margin_nano_usd`.execute(inside)
}

/** Values that a month knows are kept beyond the limit. */
function keptValue(accountId: AccountId, full: FullValues): RawBuilder<string> {
  if (full.length === 0) return sql`value`
  const pairs = sql.join(
    full.map(([month, dimension]) => sql`(month = ${sql.lit(month)} and dimension = ${dimension})`),
    sql` or `,
  )
  return sql`case when value <> '' and (${pairs}) and not exists (select 1 from usage_dimension as known
      where known.account_id = ${accountId} and known.month = valued.month and known.dimension = valued.dimension
        and known.value = valued.value)
    then ${OTHER_VALUES} else value end`
}

const SUMMED = sql.raw(
  'month, day, model, sign, prompt_tokens, completion_tokens, cost_nano_usd, provider_cost_nano_usd',
)

/** Each completion once by every dimension; by tags and agents only where it has some. @param table Has `SUMMED` columns. */
export function valuesOf(db: Kysely<Database>, table: RawBuilder<unknown>): RawBuilder<unknown> {
  const isPostgres = dialectOf(db) === 'postgres'
  const find = sql.raw(isPostgres ? 'strpos' : 'instr')
  const tags = isPostgres
    ? sql`unnest(string_to_array(tags, ',')) as tag (pair)`
    : sql`json_each('["' || replace(tags, ',', '","') || '"]') as tag`
  const pair = sql.ref(isPostgres ? 'tag.pair' : 'tag.value')
  const all = (['provider', 'team_id', 'key_id', 'session_id', 'end_user'] as const).map(
    (column) =>
      sql`select ${sql.lit(column.replace('_id', ''))} as dimension, coalesce(${sql.ref(column)}, '') as value, ${SUMMED} from ${table}`,
  )
  return sql`${sql.join(all, sql` union all `)}
    union all select 'agent', substr(client_request_id, 1, ${find}(client_request_id, '/') - 1), ${SUMMED} from ${table}
      where client_request_id >= 'agt_' and client_request_id < 'agt\`' and ${find}(client_request_id, '/run_') > 0
    union all select 'tag:' || substr(${pair}, 1, ${find}(${pair}, '=') - 1), substr(${pair}, ${find}(${pair}, '=') + 1), ${SUMMED}
      from ${table} cross join ${tags} where tags is not null and tags <> ''`
}
