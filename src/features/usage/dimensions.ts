/** Reports by up to three dimensions at once, tags among them, and with any filter: sums of the stored completions. */
import { type Kysely, type RawBuilder, sql } from 'kysely'
import { dialectOf, readRows } from '../../db/dialect.ts'
import { within } from '../../db/query.ts'
import type { Database } from '../../db/schema/schema.ts'
import { TAG_KEY_PATTERN } from '../../domain/attribution.ts'
import { GatewayError } from '../../domain/errors.ts'
import type { AccountId, DeviceId, KeyId } from '../../domain/ids.ts'
import type { ModelKind } from '../../domain/model.ts'
import type { Period } from '../../http/period.ts'
import { type CompletionFilter, matching } from './completion-list.ts'
import { DAY_MS, idsBornIn } from './period.ts'
import { type Counts, MARGIN, unitsSince } from './queries.ts'

const NAMES = ['team', 'member', 'key', 'model', 'provider', 'kind', 'session', 'end_user', 'day'] as const
type Name = (typeof NAMES)[number]
/** `tag:` and the key of a tag, or another dimension. */
export type Dimension = Name | `tag:${string}`

export const MAX_DIMENSIONS = 3
/** Groups of a report; all others are one. */
export const MAX_GROUPS = 1_000

const TAG_KEY = new RegExp(TAG_KEY_PATTERN)

/** Comma-separated, repeated, or both. Throws 400. */
export function parseDimensions(value: string | readonly string[]): readonly Dimension[] {
  const names = [value].flat().flatMap((text) => text.split(','))
  const param = 'group_by'
  const unknown = names.find((name) => !isDimension(name))
  if (unknown !== undefined) {
    const message = `'group_by' has the unknown dimension '${unknown.slice(0, 100)}'. Known are ${NAMES.join(', ')} and tag:<key>; agent stands alone.`
    throw new GatewayError('invalid_value', message, { param })
  }
  if (names.length > MAX_DIMENSIONS || new Set(names).size < names.length)
    throw new GatewayError('invalid_value', `'group_by' takes up to ${MAX_DIMENSIONS} different dimensions.`, { param })
  return names as Dimension[]
}

function isDimension(name: string): name is Dimension {
  return NAMES.some((each) => each === name) || (name.startsWith('tag:') && TAG_KEY.test(name.slice('tag:'.length)))
}

export interface DimensionFilter extends Omit<CompletionFilter, 'period' | 'status' | 'agentId'> {
  readonly memberId?: string | undefined
  readonly kind?: string | undefined
}

export interface DimensionChoice {
  readonly period: Period
  readonly dimensions: readonly Dimension[]
  readonly filter: DimensionFilter
  readonly kindOf: (model: string) => ModelKind
}

export interface DimensionSum extends Counts {
  readonly model: string
  /** One for each dimension; null: the completion has none. Undefined: of groups beyond the most expensive ones. */
  readonly values: readonly (string | null)[] | undefined
}

export interface DimensionSums {
  /** In no order: a group may have several. */
  readonly sums: readonly DimensionSum[]
  /** Number of groups whose sums have no values. */
  readonly leftOut: number
}

interface SqlRow {
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
  /** 1: of the most expensive groups. */
  readonly is_kept: number
  /** Of its group, by cost, from 1; of several, the last. */
  readonly place: number
}

/**
 * By model and dimensions. The database leaves out the groups beyond `MAX_GROUPS`, so that a report over a million tag values
 * does not occupy the process; where a dimension or filter is known only here, all groups are read.
 */
export async function sumDimensions(
  db: Kysely<Database>,
  accountId: AccountId,
  choice: DimensionChoice,
): Promise<DimensionSums> {
  const { dimensions, filter, kindOf } = choice
  const rows = await sumRows(db, accountId, choice)
  const needsMembers = dimensions.includes('member') || filter.memberId !== undefined
  const members = needsMembers ? await membersOf(db, accountId, new Set(rows.map(({ key_id: id }) => id))) : undefined
  const dimensionValue = (row: SqlRow, at: number): string | null => {
    const dimension = dimensions[at]
    if (dimension === 'kind') return kindOf(row.model)
    if (dimension === 'member') return members?.get(row.key_id) ?? null
    const value = [row.d0, row.d1, row.d2][at] ?? null
    if (dimension === 'day') return new Date(Number(value) * DAY_MS).toISOString().slice(0, 10)
    return value === null ? null : String(value)
  }
  const sums = rows
    .filter(({ model }) => filter.kind === undefined || kindOf(model) === filter.kind)
    .filter((row) => filter.memberId === undefined || members?.get(row.key_id) === filter.memberId)
    .map((row) => ({
      model: row.model,
      values: Number(row.is_kept) === 1 ? dimensions.map((_, at) => dimensionValue(row, at)) : undefined,
      requests: Number(row.requests),
      promptTokens: Number(row.prompt_tokens),
      completionTokens: Number(row.completion_tokens),
      costNanoUsd: BigInt(row.cost_nano_usd),
      marginNanoUsd: BigInt(row.margin_nano_usd),
    }))
  const places = rows.reduce((most, { place }) => Math.max(most, Number(place)), 0)
  return { sums, leftOut: Math.max(0, places - MAX_GROUPS) }
}

async function sumRows(
  db: Kysely<Database>,
  accountId: AccountId,
  choice: DimensionChoice,
): Promise<readonly SqlRow[]> {
  const { period, dimensions, filter } = choice
  const { above, below } = idsBornIn(period)
  const column = (at: number) => valueSql(db, dimensions[at])
  const needsKey = dimensions.includes('member') || filter.memberId !== undefined
  const inner = db
    .selectFrom('completion')
    .select(['model', 'prompt_tokens', 'completion_tokens', 'cost_nano_usd', MARGIN.as('margin_nano_usd')])
    .select([needsKey ? sql<string>`key_id`.as('key_id') : sql<string>`''`.as('key_id')])
    .select([column(0).as('d0'), column(1).as('d1'), column(2).as('d2')])
    .where('account_id', '=', accountId)
    .where('id', '>', above)
    .where('id', '<', below)
    .where(within('created_at', period))
    .$call((query) => matching(query, { ...filter, period, status: undefined, agentId: undefined }))
  const grouped = db
    .selectFrom(inner.as('part'))
    .select(['model', 'key_id', 'd0', 'd1', 'd2'])
    .select(({ fn }) => fn.countAll<number>().as('requests'))
    .select(({ fn }) => fn.sum<number>('prompt_tokens').as('prompt_tokens'))
    .select(({ fn }) => fn.sum<number>('completion_tokens').as('completion_tokens'))
    .select(({ fn }) => fn.sum<bigint>('cost_nano_usd').as('cost_nano_usd'))
    .select(({ fn }) => fn.sum<bigint>('margin_nano_usd').as('margin_nano_usd'))
    .groupBy(['model', 'key_id', 'd0', 'd1', 'd2'])
  const needsAll = needsKey || dimensions.includes('kind') || filter.kind !== undefined
  const place = needsAll ? sql<number>`1` : sql<number>`dense_rank() over (order by group_cost desc, d0, d1, d2)`
  return await readRows<SqlRow>(
    db,
    sql`with grouped as ${grouped},
      costed as (select *, sum(cost_nano_usd) over (partition by d0, d1, d2) as group_cost from grouped),
      ranked as (select *, ${place} as place from costed),
      marked as (select *, case when place <= ${sql.lit(MAX_GROUPS)} then 1 else 0 end as is_kept from ranked)
      select model, is_kept, ${ifKept('key_id')} as key_id, ${ifKept('d0')} as d0, ${ifKept('d1')} as d1,
        ${ifKept('d2')} as d2, max(place) as place, sum(requests) as requests, sum(prompt_tokens) as prompt_tokens,
        sum(completion_tokens) as completion_tokens, sum(cost_nano_usd) as cost_nano_usd,
        sum(margin_nano_usd) as margin_nano_usd
      from marked group by 1, 2, 3, 4, 5, 6`,
  )
}

function ifKept(column: 'key_id' | 'd0' | 'd1' | 'd2'): RawBuilder<unknown> {
  return sql`case when is_kept = 1 then ${sql.ref(column)} end`
}

const NOTHING = sql<null>`cast(null as text)`
const COLUMNS: Readonly<Record<Exclude<Name, 'day'>, RawBuilder<string | null>>> = {
  team: sql`team_id`,
  key: sql`key_id`,
  provider: sql`provider`,
  session: sql`session_id`,
  end_user: sql`end_user`,
  model: sql`model`,
  kind: NOTHING, // follows from the model
  member: NOTHING, // follows from the key
}

function valueSql(db: Kysely<Database>, dimension: Dimension | undefined): RawBuilder<string | number | null> {
  if (dimension === undefined) return NOTHING
  if (dimension === 'day') return unitsSince(DAY_MS)
  return isTag(dimension) ? tagSql(db, dimension.slice('tag:'.length)) : COLUMNS[dimension]
}

function isTag(dimension: Dimension): dimension is `tag:${string}` {
  return dimension.startsWith('tag:')
}

/** The text after `,key=` up to the next comma. @param key Of letters, digits and `_.:-`. */
function tagSql(db: Kysely<Database>, key: string): RawBuilder<string | null> {
  const find = sql.raw(dialectOf(db) === 'postgres' ? 'strpos' : 'instr')
  const mark = sql.lit(`,${key}=`)
  const rest = sql`substr(',' || tags || ',', ${find}(',' || tags, ${mark}) + ${sql.lit(key.length + 2)})`
  return sql`case when ${find}(',' || tags, ${mark}) > 0 then substr(${rest}, 1, ${find}(${rest}, ',') - 1) end`
}

/** By `key_id` of usage: who created a key, whose a device is, or the person. */
async function membersOf(
  db: Kysely<Database>,
  accountId: AccountId,
  ids: ReadonlySet<string>,
): Promise<ReadonlyMap<string, string>> {
  const keys = await db.selectFrom('api_key').select(['id', 'created_by']).where('account_id', '=', accountId).execute()
  const devices = await db.selectFrom('device').select(['id', 'user_id']).where('account_id', '=', accountId).execute()
  const people = [...ids].filter((id) => id.startsWith('usr_')).map((id): [string, string] => [id, id])
  const ofKeys = keys.flatMap(({ id, created_by: user }): [KeyId, string][] => (user === null ? [] : [[id, user]]))
  return new Map<string, string>([
    ...people,
    ...ofKeys,
    ...devices.map((one): [DeviceId, string] => [one.id, one.user_id]),
  ])
}
