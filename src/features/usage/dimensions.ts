/** Reports by up to three dimensions at once, tags among them, and with any filter. */
import { type Kysely, type RawBuilder, sql } from 'kysely'
import { type Static, Type } from 'typebox'
import { readRows } from '../../db/database.ts'
import type { Database } from '../../db/schema/schema.ts'
import { endUserOf, TAG_KEY_PATTERN } from '../../domain/attribution.ts'
import { GatewayError } from '../../domain/errors.ts'
import type { AccountId, DeviceId, KeyId, TeamId } from '../../domain/ids.ts'
import { MODEL_KINDS, type ModelKind } from '../../domain/model.ts'
import { usdText } from '../../domain/money.ts'
import type { Period } from '../../http/period.ts'
import { oneOf } from '../../http/wire-fields.ts'
import { type CsvField, harmlessText } from '../../lib/table.ts'
import {
  type CompletionParts,
  type CountedPart,
  completionParts,
  type Dimension,
  type DimensionFilter,
  NAMES,
  needsKey,
  SUMMED,
  unionOf,
} from './dimension-parts.ts'
import { OTHER_VALUES } from './dimension-sums.ts'
import { DAY_MS } from './period.ts'
import { type Counts, minus, NOTHING, plus, renderCounts } from './queries.ts'

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

interface DimensionSums {
  /** In no order: a group may have several. */
  readonly sums: readonly DimensionSum[]
  /** Number of groups whose sums have no values. Values beyond the limit of a month are one. */
  readonly leftOut: number
  /** Whether a month had more values than are told apart. */
  readonly isLimited: boolean
}

interface SqlRow extends CountedPart {
  /** 1: of the most expensive groups. Rows that are neither are the totals of their models. */
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
    .filter((row) => !isTotal(row))
    .filter(({ model }) => filter.kind === undefined || kindOf(model) === filter.kind)
    .filter((row) => filter.memberId === undefined || members?.get(row.key_id) === filter.memberId)
    .map((row) => ({
      model: row.model,
      values: Number(row.is_kept) === 1 ? dimensions.map((_, at) => dimensionValue(row, at)) : undefined,
      ...countsOf(row),
    }))
  const leftOut = Math.max(0, Number(rows.find((row) => Number(row.is_kept) === 1)?.group_count ?? 0) - MAX_GROUPS)
  const isLimited = rows.some((row) => Number(row.is_other) === 1)
  const others = leftOut === 0 ? [] : remainders(rows)
  return { sums: [...sums, ...others], isLimited, leftOut: leftOut + (isLimited ? 1 : 0) }
}

function countsOf(row: SqlRow): Counts {
  return {
    requests: Number(row.requests),
    promptTokens: Number(row.prompt_tokens),
    completionTokens: Number(row.completion_tokens),
    costNanoUsd: BigInt(row.cost_nano_usd),
    marginNanoUsd: BigInt(row.margin_nano_usd),
  }
}

const isTotal = (row: SqlRow) => Number(row.is_kept) === 0 && Number(row.is_other) === 0

/** By model, its total without the groups that were read. */
function remainders(rows: readonly SqlRow[]): readonly DimensionSum[] {
  const left = new Map(rows.filter(isTotal).map((row) => [row.model, countsOf(row)]))
  for (const row of rows) {
    const counts = left.get(row.model)
    if (counts !== undefined && !isTotal(row)) left.set(row.model, minus(counts, countsOf(row)))
  }
  return [...left].map(([model, counts]) => ({ model, values: undefined, ...counts }))
}

async function sumRows(
  db: Kysely<Database>,
  accountId: AccountId,
  choice: DimensionChoice,
): Promise<readonly SqlRow[]> {
  const { dimensions, filter } = choice
  const parts = await completionParts(db, accountId, choice)
  const isAll = needsKey(choice) || dimensions.includes('kind') || filter.kind !== undefined
  const groups = isAll ? allGroups(parts, dimensions) : costliestGroups(parts, dimensions)
  return readRows<SqlRow>(db, sql`with ${restOf(parts)} ${groups}`)
}

/** Defines what is added to the sums of whole days. It is read several times. */
function restOf({ none, unsummed }: CompletionParts): RawBuilder<unknown> {
  const marked = (part: RawBuilder<CountedPart>, isNone: 0 | 1) =>
    sql`select ${sql.lit(isNone)} as is_none, one.* from (${part}) as one`
  const all = [marked(unionOf(unsummed), 0), ...none.map((part) => marked(part, 1))]
  return sql`rest as materialized (${sql.join(all, sql` union all `)})`
}

function allGroups({ summed }: CompletionParts, dimensions: readonly Dimension[]): RawBuilder<SqlRow> {
  return sql`select model, 1 - is_other as is_kept, is_other, key_id, d0, d1, d2, 0 as group_count, ${SUMS}
    from (select keyed.*, ${isOther(dimensions)} as is_other from ${keyedPart(summed?.select())}) as named
    group by model, is_other, key_id, d0, d1, d2 having ${HAS_SOME}`
}

/**
 * The many sums of days are read once for the costs of all groups, with nothing but these and their keys, and then only those
 * of the groups that are kept. The condition within a case keeps PostgreSQL, which expects few rows, from comparing each
 * row with each group.
 */
function costliestGroups({ summed }: CompletionParts, dimensions: readonly Dimension[]): RawBuilder<SqlRow> {
  const keys = sql.raw(dimensions.map((_, at) => `k${at}`).join(', '))
  const key = summed?.at === undefined ? undefined : sql.ref(`k${summed.at}`)
  const known = key && sql<boolean>`value <> ${OTHER}`
  const kept = key && sql<boolean>`value in (select ${key} from kept)`
  const others = key && summed && remainder(summed.select(sql`value = ${OTHER}`), 1)
  const unsummed = sql`select ${PART_COLUMNS} from rest where is_none = 0`
  const total = remainder(summed === undefined ? unsummed : sql`${unsummed} union all ${summed.total}`, 0)
  return sql`, costed as materialized (select ${keys}, sum(cost_nano_usd) as group_cost
      from ${keyedPart(summed?.select(known))} group by ${keys} having ${HAS_SOME}),
    kept as materialized (select ${keys} from costed order by group_cost desc, ${keys} limit ${sql.lit(MAX_GROUPS)})
    select model, 1 as is_kept, 0 as is_other, key_id, d0, d1, d2, (select count(*) from costed) as group_count, ${SUMS}
    from ${keyedPart(summed?.select(kept))} where case when (${keys}) in (select ${keys} from kept) then 1 else 0 end = 1
    group by model, key_id, d0, d1, d2 having ${HAS_SOME}
    union all ${sql.join(others === undefined ? [total] : [others, total], sql` union all `)}`
}

const OTHER = sql.lit(OTHER_VALUES)
const SUMS = sql.raw(SUMMED.map((name) => `sum(${name}) as ${name}`).join(', '))
const PART_COLUMNS = sql.raw(['model, key_id, d0, d1, d2', ...SUMMED].join(', '))
/** A correction may have emptied a sum. */
const HAS_SOME = sql<boolean>`sum(requests) <> 0 or sum(cost_nano_usd) <> 0`

/** Parts with texts, without null, that groups can be compared by. @param summed Of whole days; undefined: there are none. */
function keyedPart(summed: RawBuilder<CountedPart> | undefined): RawBuilder<unknown> {
  const sums = summed === undefined ? sql`` : sql`${summed} union all`
  return sql`(select part.*, ${keyOf('d0')} as k0, ${keyOf('d1')} as k1, ${keyOf('d2')} as k2
    from (${sums} select ${PART_COLUMNS} from rest) as part) as keyed`
}

/** By model alone. */
function remainder(part: RawBuilder<unknown>, isOtherValue: 0 | 1): RawBuilder<unknown> {
  return sql`select model, 0, ${sql.lit(isOtherValue)}, null, null, null, null, 0, ${SUMS} from (${part}) as part
    group by model having ${HAS_SOME}`
}

function keyOf(column: 'd0' | 'd1' | 'd2'): RawBuilder<string> {
  return sql`coalesce(cast(${sql.ref(column)} as text), '')`
}

/** Days are numbers. */
function isOther(dimensions: readonly Dimension[]): RawBuilder<number> {
  const texts = (['d0', 'd1', 'd2'] as const).filter((_, at) => dimensions[at] !== 'day')
  const others = texts.map((column) => sql`coalesce(${sql.ref(column)}, '') = ${OTHER}`)
  return sql`case when ${sql.join(others, sql` or `)} then 1 else 0 end`
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

// `GET /usage` by several dimensions or with filters beyond model and key: query, groups, JSON and CSV.

export const DIMENSION_FILTERS = {
  team_id: Type.Optional(Type.String({ description: 'Only requests of this team.' })),
  member_id: Type.Optional(Type.String({ description: 'Only requests of this person, their keys and devices.' })),
  provider: Type.Optional(Type.String({ description: 'Only completions of this provider.' })),
  kind: Type.Optional(oneOf(MODEL_KINDS, { description: 'Only models of this kind.' })),
  tag: Type.Optional(Type.String({ description: 'Only requests with this tag, as `key=value`.' })),
  session_id: Type.Optional(Type.String({ description: 'Only requests of this session.' })),
  end_user: Type.Optional(Type.String({ description: 'Only requests of this end user: the hash, or the name.' })),
}
const FilterQuery = Type.Object({
  ...DIMENSION_FILTERS,
  model: Type.Optional(Type.String()),
  key_id: Type.Optional(Type.String()),
})

export function readDimensionFilter(query: Static<typeof FilterQuery>, accountId: AccountId): DimensionFilter {
  return {
    model: query.model,
    keyId: query.key_id as KeyId | undefined,
    provider: query.provider,
    clientRequestId: undefined,
    teamId: query.team_id as TeamId | undefined,
    memberId: query.member_id,
    kind: query.kind,
    tag: query.tag,
    sessionId: query.session_id,
    endUser: query.end_user === undefined ? undefined : endUserOf(accountId, query.end_user),
  }
}

/** Whether sums by model and key cannot answer. */
export function hasDimensionFilter(query: Static<typeof FilterQuery>): boolean {
  return Object.keys(DIMENSION_FILTERS).some((name) => query[name as keyof typeof DIMENSION_FILTERS] !== undefined)
}

interface Group extends Counts {
  readonly values: readonly (string | null)[]
}

export interface DimensionGroups {
  /** Days in order where they are the first dimension, otherwise the most expensive first. */
  readonly groups: readonly Group[]
  /** Undefined: none are left out. */
  readonly other: (Counts & { readonly groups: number }) | undefined
  /** Whether `other` has values beyond the limit of a month. */
  readonly isLimited: boolean
}

export function groupDimensions(
  { sums, leftOut, isLimited }: DimensionSums,
  dimensions: readonly Dimension[],
): DimensionGroups {
  const added = new Map<string, Group>()
  let remainder = NOTHING
  for (const sum of sums) {
    if (sum.values === undefined) {
      remainder = plus(remainder, sum)
      continue
    }
    const name = JSON.stringify(sum.values)
    added.set(name, { values: sum.values, ...plus(added.get(name) ?? NOTHING, sum) })
  }
  const ranked = [...added.values()].toSorted(byCost)
  const groups = ranked.slice(0, MAX_GROUPS)
  const rest = ranked.slice(MAX_GROUPS)
  const others = rest.length + leftOut
  return {
    groups: dimensions[0] === 'day' ? groups.toSorted((one, two) => compare(textOf(one), textOf(two))) : groups,
    isLimited,
    other: others === 0 ? undefined : { groups: others, ...rest.reduce<Counts>(plus, remainder) },
  }
}

function byCost(one: Group, other: Group): number {
  if (one.costNanoUsd === other.costNanoUsd) return compare(textOf(one), textOf(other))
  return one.costNanoUsd > other.costNanoUsd ? -1 : 1
}

function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0
}

function textOf({ values }: Group): string {
  return values.map((value) => value ?? '').join(',')
}

export function renderDimensionGroups(
  { groups, other, isLimited }: DimensionGroups,
  dimensions: readonly Dimension[],
  isOperator: boolean,
) {
  return {
    groups: groups.map((group) => ({
      key: textOf(group),
      keys: Object.fromEntries(dimensions.map((name, at) => [name, group.values[at] ?? null])),
      ...renderCounts(group, isOperator),
    })),
    ...(isLimited ? { values_limited: true } : {}),
    ...(other === undefined ? {} : { other: { groups: other.groups, ...renderCounts(other, isOperator) } }),
  }
}

/** Dollars as decimal text, exact however many there are. The last row may be `other`. */
export function dimensionRows(
  { groups, other }: DimensionGroups,
  dimensions: readonly Dimension[],
): readonly (readonly CsvField[])[] {
  const counts = (sum: Counts) => [sum.promptTokens + sum.completionTokens, sum.requests, usdText(sum.costNanoUsd)]
  const rows = groups.map((group) => [...group.values.map((value) => harmlessText(value ?? '')), ...counts(group)])
  const rest = other === undefined ? [] : [[...dimensions.map(() => 'other'), ...counts(other)]]
  return [[...dimensions, 'tokens', 'requests', 'cost_usd'], ...rows, ...rest]
}
