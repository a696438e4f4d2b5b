/** Reports by up to three dimensions at once, tags among them, and with any filter. */
import { type Kysely, type RawBuilder, sql } from 'kysely'
import { readRows } from '../../db/dialect.ts'
import type { Database } from '../../db/schema/schema.ts'
import { TAG_KEY_PATTERN } from '../../domain/attribution.ts'
import { GatewayError } from '../../domain/errors.ts'
import type { AccountId, DeviceId, KeyId } from '../../domain/ids.ts'
import type { ModelKind } from '../../domain/model.ts'
import type { Period } from '../../http/period.ts'
import {
  type CountedPart,
  completionParts,
  type Dimension,
  type DimensionFilter,
  NAMES,
  needsKey,
} from './dimension-parts.ts'
import { OTHER_VALUES } from './dimension-sums.ts'
import { DAY_MS } from './period.ts'
import type { Counts } from './queries.ts'

export type { Dimension, DimensionFilter }

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
    const message = `'group_by' has the unknown dimension '${unknown.slice(0, 100)}'. Known are ${NAMES.join(', ')} and tag:<key>; agent and account stand alone.`
    throw new GatewayError('invalid_value', message, { param })
  }
  if (names.length > MAX_DIMENSIONS || new Set(names).size < names.length)
    throw new GatewayError('invalid_value', `'group_by' takes up to ${MAX_DIMENSIONS} different dimensions.`, { param })
  return names as Dimension[]
}

function isDimension(name: string): name is Dimension {
  return NAMES.some((each) => each === name) || (name.startsWith('tag:') && TAG_KEY.test(name.slice('tag:'.length)))
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
  /** Number of groups whose sums have no values. Values beyond the limit of a month are one. */
  readonly leftOut: number
  /** Whether a month had more values than are told apart. */
  readonly isLimited: boolean
}

interface SqlRow extends CountedPart {
  /** 1: of the most expensive groups. */
  readonly is_kept: number
  /** 1: of values that the sums do not tell apart. */
  readonly is_other: number
  /** Groups that the database tells apart. */
  readonly group_count: number
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
  const members = needsKey(choice)
    ? await membersOf(db, accountId, new Set(rows.map(({ key_id: id }) => id)))
    : undefined
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
  const isCut = rows.some((row) => Number(row.is_kept) === 0 && Number(row.is_other) === 0)
  const leftOut = isCut ? Number(rows[0]?.group_count) - MAX_GROUPS : 0
  const isLimited = rows.some((row) => Number(row.is_other) === 1)
  return { sums, isLimited, leftOut: leftOut + (isLimited ? 1 : 0) }
}

async function sumRows(
  db: Kysely<Database>,
  accountId: AccountId,
  choice: DimensionChoice,
): Promise<readonly SqlRow[]> {
  const { dimensions, filter } = choice
  const inner = await completionParts(db, accountId, choice)
  const grouped = db
    .selectFrom(sql<CountedPart>`(${inner})`.as('part'))
    .select(['model', 'key_id', 'd0', 'd1', 'd2'])
    .select(({ fn }) => fn.sum<number>('requests').as('requests'))
    .select(({ fn }) => fn.sum<number>('prompt_tokens').as('prompt_tokens'))
    .select(({ fn }) => fn.sum<number>('completion_tokens').as('completion_tokens'))
    .select(({ fn }) => fn.sum<bigint>('cost_nano_usd').as('cost_nano_usd'))
    .select(({ fn }) => fn.sum<bigint>('margin_nano_usd').as('margin_nano_usd'))
    .groupBy(['model', 'key_id', 'd0', 'd1', 'd2'])
    .having(sql<boolean>`sum(requests) <> 0 or sum(cost_nano_usd) <> 0`) // a correction may have emptied a sum
  const needsAll = needsKey(choice) || dimensions.includes('kind') || filter.kind !== undefined
  const most = needsAll ? sql`` : sql`order by group_cost desc, k0, k1, k2 limit ${sql.lit(MAX_GROUPS)}`
  return await readRows<SqlRow>(
    db,
    sql`with grouped as ${grouped},
      named as materialized (select *, ${isOther(dimensions)} as is_other, ${keyOf('d0')} as k0, ${keyOf('d1')} as k1,
        ${keyOf('d2')} as k2 from grouped),
      costed as materialized (select k0, k1, k2, sum(cost_nano_usd) as group_cost from named
        where is_other = 0 group by k0, k1, k2),
      kept as materialized (select k0, k1, k2 from costed ${most}),
      marked as (select named.*, case when kept.k0 is null then 0 else 1 end as is_kept
        from named left join kept on kept.k0 = named.k0 and kept.k1 = named.k1 and kept.k2 = named.k2 and is_other = 0)
      select model, is_kept, is_other, ${ifKept('key_id')} as key_id, ${ifKept('d0')} as d0, ${ifKept('d1')} as d1,
        ${ifKept('d2')} as d2, (select count(*) from costed) as group_count, sum(requests) as requests,
        sum(prompt_tokens) as prompt_tokens, sum(completion_tokens) as completion_tokens,
        sum(cost_nano_usd) as cost_nano_usd, sum(margin_nano_usd) as margin_nano_usd
      from marked group by 1, 2, 3, 4, 5, 6, 7`,
  )
}

/** Texts, without null, that a join can go by. */
function keyOf(column: 'd0' | 'd1' | 'd2'): RawBuilder<string> {
  return sql`coalesce(cast(${sql.ref(column)} as text), '')`
}

/** Days are numbers. */
function isOther(dimensions: readonly Dimension[]): RawBuilder<number> {
  const texts = (['d0', 'd1', 'd2'] as const).filter((_, at) => dimensions[at] !== 'day')
  const others = texts.map((column) => sql`coalesce(${sql.ref(column)}, '') = ${sql.lit(OTHER_VALUES)}`)
  return sql`case when ${sql.join(others, sql` or `)} then 1 else 0 end`
}

function ifKept(column: 'key_id' | 'd0' | 'd1' | 'd2'): RawBuilder<unknown> {
  return sql`case when is_kept = 1 then ${sql.ref(column)} end`
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
