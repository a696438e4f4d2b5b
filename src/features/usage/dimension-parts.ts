/**
 * What a report by dimensions adds up: sums of whole days where they can answer, and completions for the rest. What
 * agents used is read from the same parts.
 */
import { type Kysely, type RawBuilder, sql } from 'kysely'
import { CUSTOM_PLAN, dialectOf, readRows } from '../../db/database.ts'
import type { Database } from '../../db/schema/schema.ts'
import { given, within } from '../../db/shared-queries.ts'
import type { AccountId } from '../../domain/ids.ts'
import type { Period } from '../../http/period.ts'
import { monthNumber } from '../../lib/time.ts'
import { type CompletionFilter, matching } from './completion-list.ts'
import { OTHER_VALUES } from './dimension-sums.ts'
import { DAY_MS, firstAgentAfter, idsBornIn, splitPeriod } from './period.ts'
import { type CountColumns, type Counts, MARGIN, type SumChoice, toCounts, unitsSince } from './queries.ts'

export const NAMES = ['team', 'member', 'key', 'model', 'provider', 'kind', 'session', 'end_user', 'day'] as const
type Name = (typeof NAMES)[number]
/** `tag:` and the key of a tag, or another dimension. */
export type Dimension = Name | `tag:${string}`

export interface DimensionFilter extends Omit<CompletionFilter, 'period' | 'status' | 'agentId'> {
  readonly memberId?: string | undefined
  readonly kind?: string | undefined
}

/** A row of `completionParts`: some completions of a model, a key where one is needed, and of the values of the dimensions. */
export interface CountedPart {
  readonly model: string
  readonly key_id: string
  readonly d0: string | number | null
  readonly d1: string | number | null
  readonly d2: string | number | null
  readonly requests: number
  readonly prompt_tokens: number
  readonly completion_tokens: number
  readonly cost_nano_usd: bigint
  readonly margin_nano_usd: bigint
}

export interface PartsChoice {
  readonly period: Period
  readonly filter: DimensionFilter
  readonly dimensions: readonly (Dimension | 'agent')[]
}

/** Selects the completions of a period that meet a condition, in parentheses. */
type SelectCompletions = (period: Period, condition: RawBuilder<boolean>) => RawBuilder<unknown>

const ALL = sql<boolean>`true`

/** The sums of whole days, which may be many. */
export interface SummedParts {
  /** Index of their dimension among those of the report. Undefined: it is none of them. */
  readonly at: number | undefined
  /** @param condition Of their column `value`; undefined: all. */
  select(condition?: RawBuilder<boolean>): RawBuilder<CountedPart>
  /** By model, what is summed of them, and of the completions without a value, from sums that are few. */
  readonly total: RawBuilder<CountedPart>
}

/** Parts in which each completion is counted once, to be read in one statement. */
export interface CompletionParts {
  /** Undefined: completions alone answer. */
  readonly summed: SummedParts | undefined
  /** Of the completions without a value, in the days that are summed. */
  readonly none: readonly RawBuilder<CountedPart>[]
  readonly unsummed: readonly RawBuilder<CountedPart>[]
}

/** Sums answer where dimensions and filters need only one of theirs, since they are kept by one at a time. */
export async function completionParts(
  db: Kysely<Database>,
  accountId: AccountId,
  choice: PartsChoice,
  completions: SelectCompletions = (part, condition) =>
    sql`${rowParts(db, accountId, { ...choice, part, table: 'completion' }).where(condition)}`,
): Promise<CompletionParts> {
  const { period, dimensions } = choice
  const { units: days, head, tail } = splitPeriod(period, DAY_MS)
  const whole: Period = { start: days.start * DAY_MS, end: days.end * DAY_MS }
  const stored = storedBy(choice)
  const until = stored && (await summedUntil(db, accountId, { stored, whole }))
  if (stored === undefined || until === undefined || until <= whole.start)
    return { summed: undefined, none: [], unsummed: [sql`select * from ${completions(period, ALL)} as part`] }
  const since = sql<boolean>`created_at >= ${progressOf(accountId)}`
  const unsummed = [
    sql`${rowParts(db, accountId, { ...choice, part: whole, table: 'usage_late' })}`,
    completions({ start: until, end: whole.end }, since),
    completions(head, ALL),
    completions(tail, ALL),
  ].map((part) => sql<CountedPart>`select * from ${part} as part`)
  const at = dimensions.findIndex((name) => (name === 'member' ? 'key' : name) === stored.dimension)
  return { ...sumParts(accountId, { choice, stored, days }, at === -1 ? undefined : at), unsummed }
}

export function unionOf(parts: readonly RawBuilder<CountedPart>[]): RawBuilder<CountedPart> {
  return sql`${sql.join(parts, sql` union all `)}`
}

interface Stored {
  readonly dimension: string
  /** Undefined: all. */
  readonly value: string | undefined
}

/** Undefined: no sums can answer. Model, kind and day are known of all sums. */
function storedBy({ dimensions, filter }: PartsChoice): Stored | undefined {
  const { provider, teamId, sessionId, endUser, keyId, memberId, clientRequestId, requestId, tag } = filter
  const mark = tag?.indexOf('=') ?? -1
  if (clientRequestId !== undefined || requestId !== undefined || (tag !== undefined && mark <= 0)) return undefined
  const values: Readonly<Record<string, string | undefined>> = {
    ...given({ provider, team: teamId, session: sessionId, end_user: endUser, key: keyId }),
    ...(tag === undefined ? {} : { [`tag:${tag.slice(0, mark)}`]: tag.slice(mark + 1) }),
  }
  const grouped = dimensions
    .filter((name) => name !== 'model' && name !== 'kind' && name !== 'day')
    .map((name) => (name === 'member' ? 'key' : name))
  const names = new Set([...grouped, ...Object.keys(values), ...(memberId === undefined ? [] : ['key'])])
  const [dimension = 'provider'] = names
  return names.size > 1 ? undefined : { dimension, value: values[dimension] }
}

/** Undefined: there are no sums, or the value may be among those that they do not tell apart. */
async function summedUntil(
  db: Kysely<Database>,
  accountId: AccountId,
  { stored, whole }: { readonly stored: Stored; readonly whole: Period },
): Promise<number | undefined> {
  const progress = db.selectFrom('usage_progress').select('summed_until').where('account_id', '=', accountId)
  const until = (await progress.executeTakeFirst())?.summed_until
  if (stored.value === undefined || until === undefined) return until
  const others = db
    .selectFrom('usage_dimension')
    .select('day')
    .where('account_id', '=', accountId)
    .where(ofMonths(whole))
    .where('dimension', '=', stored.dimension)
    .where('value', '=', OTHER_VALUES)
  return (await others.limit(1).executeTakeFirst()) === undefined ? until : undefined
}

/** A list, which an index on the columns after it goes with; a range where it would be long. */
const LISTED_MONTHS = 60

function ofMonths({ start, end }: Period) {
  const [first, last] = [monthNumber(start), monthNumber(Math.max(start, end - 1))]
  if (last - first >= LISTED_MONTHS) return sql<boolean>`month >= ${first} and month <= ${last}`
  const months = Array.from({ length: last - first + 1 }, (_, at) => sql.lit(first + at))
  return sql<boolean>`month in (${sql.join(months)})`
}

function progressOf(accountId: AccountId): RawBuilder<number> {
  return sql`(select summed_until from usage_progress where account_id = ${accountId})`
}

interface SumsChoice {
  readonly choice: PartsChoice
  readonly stored: Stored
  readonly days: Period
}

/** Completions without a tag are all but those with it: any other dimension has all, with an empty value. */
function sumParts(
  accountId: AccountId,
  sums: SumsChoice,
  at: number | undefined,
): Pick<CompletionParts, 'summed' | 'none'> {
  const { dimension, value } = sums.stored
  const part = (name: string, options: SumOptions) => sumPart(accountId, { ...sums, dimension: name, ...options })
  const all = part('provider', { isNone: true })
  const total = value === undefined ? all : part(dimension, {})
  const hasNone = dimension.startsWith('tag:') && value === undefined
  return {
    summed: { at, select: (condition) => part(dimension, { condition }), total },
    none: hasNone ? [all, part(dimension, { isNone: true, sign: '-' })] : [],
  }
}

export const SUMMED = ['requests', 'prompt_tokens', 'completion_tokens', 'cost_nano_usd', 'margin_nano_usd'] as const

interface SumOptions {
  /** Whether the sums count as those without a value. */
  readonly isNone?: boolean
  readonly sign?: '-'
  readonly condition?: RawBuilder<boolean> | undefined
}

function sumPart(
  accountId: AccountId,
  {
    choice,
    stored,
    days,
    dimension,
    isNone = false,
    sign,
    condition = ALL,
  }: SumsChoice & SumOptions & { readonly dimension: string },
): RawBuilder<CountedPart> {
  const { dimensions, filter, period } = choice
  const value = isNone ? NOTHING : sql`nullif(value, '')`
  const column = (at: number) => {
    const name = dimensions[at]
    if (name === stored.dimension) return value
    return name === 'day' ? sql`day` : name === 'model' ? sql`model` : NOTHING
  }
  // The sums of completions without a tag are few, but made of as many as there are values.
  const add = sql.raw(`${sign ?? ''} ${isNone ? 'sum' : ''}`)
  const summed = sql.join(SUMMED.map((name) => sql`${add}(${sql.ref(name)}) as ${sql.ref(name)}`))
  return sql`select model, ${needsKey(choice) ? sql`value` : NO_KEY} as key_id, ${column(0)} as d0, ${column(1)} as d1,
      ${column(2)} as d2, ${summed}
    from usage_dimension
    where account_id = ${accountId} and ${ofMonths(period)} and dimension = ${dimension} and ${within('day', days)}
      and ${filter.model === undefined ? sql`true` : sql`model = ${filter.model}`}
      and ${stored.value === undefined ? sql`true` : sql`value = ${stored.value}`}
      and ${condition}
    ${sql.raw(isNone ? `group by model${dimensions.includes('day') ? ', day' : ''}` : '')}`
}

type CompletionsTable = 'completion' | 'usage_late'

/** @param table Late completions have a sign. */
function rowParts(
  db: Kysely<Database>,
  accountId: AccountId,
  { part, table, ...choice }: PartsChoice & { readonly part: Period; readonly table: CompletionsTable },
) {
  const { above, below } = idsBornIn(part)
  const column = (at: number) => valueSql(db, choice.dimensions[at])
  const sign = sql.raw(table === 'completion' ? '' : 'sign *')
  return db
    .selectFrom(table as 'completion') // which has the columns that are read here
    .select(['model', needsKey(choice) ? sql<string>`key_id`.as('key_id') : NO_KEY.as('key_id')])
    .select([column(0).as('d0'), column(1).as('d1'), column(2).as('d2'), sql<number>`${sign} 1`.as('requests')])
    .select(sql<number>`${sign} prompt_tokens`.as('prompt_tokens'))
    .select(sql<number>`${sign} completion_tokens`.as('completion_tokens'))
    .select(sql<bigint>`${sign} cost_nano_usd`.as('cost_nano_usd'))
    .select(sql<bigint>`${sign} (${MARGIN})`.as('margin_nano_usd'))
    .where('account_id', '=', accountId)
    .where('id', '>', above)
    .where('id', '<', below)
    .$call((query) => matching(query, { ...choice.filter, period: part, status: undefined, agentId: undefined }))
}

/** Whether who a completion was made by follows from its key. */
export function needsKey({ dimensions, filter }: Pick<PartsChoice, 'dimensions' | 'filter'>): boolean {
  return dimensions.includes('member') || filter.memberId !== undefined
}

const NO_KEY = sql<string>`cast('' as text)`
const NOTHING = sql<null>`cast(null as text)`
const COLUMNS: Readonly<Record<string, RawBuilder<string | null>>> = {
  team: sql`team_id`,
  key: sql`key_id`,
  provider: sql`provider`,
  session: sql`session_id`,
  end_user: sql`end_user`,
  model: sql`model`,
}

/** Null for kinds, which follow from the model, and members, which follow from the key. */
function valueSql(
  db: Kysely<Database>,
  dimension: Dimension | 'agent' | undefined,
): RawBuilder<string | number | null> {
  if (dimension === undefined) return NOTHING
  if (dimension === 'day') return unitsSince(DAY_MS)
  if (dimension === 'agent') return agentOfRequest(db)
  return dimension.startsWith('tag:') ? tagSql(db, dimension.slice('tag:'.length)) : (COLUMNS[dimension] ?? NOTHING)
}

/** Null: of no run. Clients' own names of requests have no slash. */
function agentOfRequest(db: Kysely<Database>): RawBuilder<string | null> {
  const slash = sql`${sql.raw(dialectOf(db) === 'postgres' ? 'strpos' : 'instr')}(client_request_id, '/run_')`
  return sql`case when client_request_id >= 'agt_' and client_request_id < 'agt\`' and ${slash} > 0
    then substr(client_request_id, 1, ${slash} - 1) end`
}

/** The text after `,key=` up to the next comma. @param key Of letters, digits and `_.:-`. */
function tagSql(db: Kysely<Database>, key: string): RawBuilder<string | null> {
  const find = sql.raw(dialectOf(db) === 'postgres' ? 'strpos' : 'instr')
  const mark = sql.lit(`,${key}=`)
  const rest = sql`substr(',' || tags || ',', ${find}(',' || tags, ${mark}) + ${sql.lit(key.length + 2)})`
  return sql`case when ${find}(',' || tags, ${mark}) > 0 then substr(${rest}, 1, ${find}(${rest}, ',') - 1) end`
}

/* What agents used: sums of whole days, and the completions of the rest through the index of agents. */

export interface AgentSum extends Counts {
  readonly agentId: string
}

/** Clients' own names for their requests can look like an agent's, but never like a run's. */
export async function sumAgents(
  db: Kysely<Database>,
  accountId: AccountId,
  { period, filter }: Pick<SumChoice, 'period' | 'filter'>,
): Promise<readonly AgentSum[]> {
  const all = { ...filter, provider: undefined, clientRequestId: undefined }
  const calls = (part: Period, condition: RawBuilder<boolean>) =>
    sql`${callParts(db, accountId, { period: part, filter }).where(condition)}`
  const { summed, unsummed } = await completionParts(
    db,
    accountId,
    { period, dimensions: ['agent'], filter: all },
    calls,
  )
  const parts = unionOf([...(summed === undefined ? [] : [summed.select()]), ...unsummed])
  // Of an hour another index serves than of a year.
  const rows = await readRows<CountColumns & { readonly agent_id: string }>(
    db,
    sql`select ${sql.raw(CUSTOM_PLAN)} d0 as agent_id, sum(requests) as requests, sum(prompt_tokens) as prompt_tokens,
        sum(completion_tokens) as completion_tokens, sum(cost_nano_usd) as cost_nano_usd,
        sum(margin_nano_usd) as margin_nano_usd
      from (${parts}) as part where d0 is not null group by d0 having sum(requests) <> 0`,
  )
  return rows.map(({ agent_id: agentId, ...counts }) => ({ agentId, ...toCounts(counts) }))
}

function callParts(
  db: Kysely<Database>,
  accountId: AccountId,
  { period, filter }: Pick<SumChoice, 'period' | 'filter'>,
) {
  return db
    .selectFrom(agentCalls(db, accountId, period).as('one'))
    .select(['model', NO_KEY.as('key_id'), agentOfRequest(db).as('d0'), NOTHING.as('d1'), NOTHING.as('d2')])
    .select([sql<number>`1`.as('requests'), 'prompt_tokens', 'completion_tokens', 'cost_nano_usd'])
    .select(MARGIN.as('margin_nano_usd'))
    .where(within('created_at', period))
    .where(({ and }) => and(given({ model: filter.model, key_id: filter.keyId })))
}

const CALL_COLUMNS = [
  'created_at',
  'model',
  'key_id',
  'prompt_tokens',
  'completion_tokens',
  'cost_nano_usd',
  'provider_cost_nano_usd',
] as const

/**
 * All of the period, and maybe some of the minute before and after. SQLite would read the rows of all agents' calls, whatever
 * the bounds on the id: it gets the ids from the index alone, and then their rows, in the order that a cross join says.
 */
function agentCalls(db: Kysely<Database>, accountId: AccountId, period: Period) {
  const { above, below } = idsBornIn(period)
  const calls = db
    .selectFrom('completion as call')
    .select('call.client_request_id')
    .where('call.account_id', '=', accountId)
    .where('call.client_request_id', '<', firstAgentAfter(period))
    .where('call.client_request_id', '>=', sql.lit('agt_')) // literals: the condition of the index
    .where('call.client_request_id', '<', sql.lit('agt`'))
    .where('call.id', '>', above)
    .where('call.id', '<', below)
  if (dialectOf(db) === 'postgres') return calls.select(CALL_COLUMNS)
  return calls
    .crossJoin('completion as whole')
    .select(CALL_COLUMNS.map((column) => `whole.${column}` as const))
    .where('whole.account_id', '=', accountId)
    .whereRef('whole.id', '=', 'call.id')
}
