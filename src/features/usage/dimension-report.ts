/** `GET /usage` by several dimensions or with filters beyond model and key: query, groups, JSON and CSV. */
import { type Static, Type } from 'typebox'
import { endUserOf } from '../../domain/attribution.ts'
import type { AccountId, KeyId, TeamId } from '../../domain/ids.ts'
import { MODEL_KINDS } from '../../domain/model.ts'
import { usdText } from '../../domain/money.ts'
import { oneOf } from '../../http/wire-fields.ts'
import { type CsvField, harmlessText } from '../../lib/table.ts'
import { NOTHING, plus, renderCounts } from './counts.ts'
import { type Dimension, type DimensionFilter, type DimensionSums, MAX_GROUPS } from './dimensions.ts'
import type { Counts } from './queries.ts'

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
