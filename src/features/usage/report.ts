/** Adds up what the database gives: the account's total, by model, and by whatever else was asked for. */
import { readAgentReference } from '../../domain/agent.ts'
import { GatewayError } from '../../domain/errors.ts'
import type { Period } from '../../http/period.ts'
import { DAY_MS, HOUR_MS } from './period.ts'
import type { AgentSum, Counts, Dimension, Interval, UsageSum } from './queries.ts'
import type { Grouping } from './report-shapes.ts'

export interface Sum extends Counts {
  /** Of what: a model's ID, a key's id, a day as `2026-01-31`, an agent's id, or `all`. */
  readonly key: string
}

export interface SeriesSum extends Sum {
  /** Unix milliseconds of the first moment of the hour or day. */
  readonly at: number
}

export interface Report {
  readonly total: Counts
  /** The most expensive first, then by name. Models without a completion are absent. */
  readonly models: readonly Sum[]
  /** Undefined when none were asked for. Days in order, anything else like the models. */
  readonly groups: readonly Sum[] | undefined
  /** Undefined without an interval. By time, then by key. Hours and days without a completion are absent. */
  readonly series: readonly SeriesSum[] | undefined
}

export interface ReportChoice {
  readonly grouping: Grouping | undefined
  readonly interval: Interval | undefined
}

/** What the database must tell apart. */
export function dimensionsOf({ grouping, interval }: ReportChoice): {
  readonly by: Dimension | undefined
  readonly interval: Interval | undefined
} {
  return { by: grouping === 'key' ? 'key' : undefined, interval: grouping === 'day' ? 'day' : interval }
}

const UNIT_MS = { hour: HOUR_MS, day: DAY_MS } as const satisfies Record<Interval, number>
const MAX_HOURLY_MS = 32 * 86_400_000
const MAX_DAILY_MS = 400 * 86_400_000

/** Throws 400 with `param` where there is no series: of days and agents, and of periods that are too long for it. */
export function checkInterval({ grouping, interval }: ReportChoice, { start, end }: Period): void {
  if (interval === undefined) return
  const param = 'interval'
  if (grouping === 'day' || grouping === 'agent')
    throw new GatewayError('invalid_value', `'interval' does not go with 'group_by=${grouping}'.`, { param })
  const longest = interval === 'hour' ? MAX_HOURLY_MS : MAX_DAILY_MS
  if (end - start <= longest) return
  const message = `'interval=${interval}' is for periods of at most ${longest / DAY_MS} days.`
  throw new GatewayError('invalid_value', message, { param })
}

/** @param sums Told apart by `dimensionsOf(choice)`. */
export function buildReport(
  sums: readonly UsageSum[],
  { grouping, interval, agents }: ReportChoice & { readonly agents: readonly AgentSum[] },
): Report {
  const models = addUp(sums, ({ model }) => model).toSorted(byCost)
  const groups = grouping === 'agent' ? agentGroups(agents) : groupsOf(sums, models, grouping)
  const series = interval === undefined ? undefined : seriesOf(sums, groups, { grouping, interval })
  return { total: models.reduce<Counts>(plus, NOTHING), models, groups, series }
}

function agentGroups(sums: readonly AgentSum[]): readonly Sum[] {
  const ofAgents = sums.flatMap(({ reference, ...sum }) => {
    const agentId = readAgentReference(reference)?.agentId
    return agentId === undefined ? [] : [{ ...sum, agentId }]
  })
  return addUp(ofAgents, ({ agentId }) => agentId).toSorted(byCost)
}

function groupsOf(
  sums: readonly UsageSum[],
  models: readonly Sum[],
  grouping: Exclude<Grouping, 'agent'> | undefined,
): readonly Sum[] | undefined {
  switch (grouping) {
    case undefined:
      return undefined
    case 'model':
      return models
    case 'key':
      return addUp(sums, ({ member }) => member).toSorted(byCost)
    case 'day':
      return addUp(sums, ({ unit }) => dayText(unit)).toSorted(byKey)
  }
}

/** Groups that a series tells apart; all others are one, whose key is empty. */
const MAX_SERIES_GROUPS = 50

function seriesOf(
  sums: readonly UsageSum[],
  groups: readonly Sum[] | undefined,
  { grouping, interval }: { readonly grouping: Grouping | undefined; readonly interval: Interval },
): readonly SeriesSum[] {
  const shown = new Set(groups?.slice(0, MAX_SERIES_GROUPS).map(({ key }) => key))
  const keyOf = ({ model, member }: UsageSum): string => {
    if (grouping === undefined) return 'all'
    const key = grouping === 'key' ? member : model
    return shown.has(key) ? key : ''
  }
  const units = Map.groupBy(sums, ({ unit }) => unit)
  return [...units]
    .toSorted(([one], [other]) => one - other)
    .flatMap(([unit, ofUnit]) => {
      const at = unit * UNIT_MS[interval]
      return addUp(ofUnit, keyOf)
        .toSorted(byKey)
        .map((sum) => ({ at, ...sum }))
    })
}

function addUp<One extends Counts>(sums: readonly One[], keyOf: (sum: One) => string): readonly Sum[] {
  const added = new Map<string, Sum>()
  for (const sum of sums) {
    const key = keyOf(sum)
    added.set(key, { key, ...plus(added.get(key) ?? NOTHING, sum) })
  }
  return [...added.values()]
}

const NOTHING: Counts = { requests: 0, promptTokens: 0, completionTokens: 0, costNanoUsd: 0n }

function plus(one: Counts, other: Counts): Counts {
  return {
    requests: one.requests + other.requests,
    promptTokens: one.promptTokens + other.promptTokens,
    completionTokens: one.completionTokens + other.completionTokens,
    costNanoUsd: one.costNanoUsd + other.costNanoUsd,
  }
}

function dayText(day: number): string {
  return new Date(day * DAY_MS).toISOString().slice(0, 10)
}

function byCost(one: Sum, other: Sum): number {
  if (one.costNanoUsd === other.costNanoUsd) return byKey(one, other)
  return one.costNanoUsd > other.costNanoUsd ? -1 : 1
}

function byKey(one: Sum, other: Sum): number {
  return one.key < other.key ? -1 : 1
}
