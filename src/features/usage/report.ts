/** Adds up what the database gives: the account's total, by model, and by whatever else was asked for. */
import { readAgentReference } from '../../domain/agent.ts'
import type { NanoUsd } from '../../domain/money.ts'
import { DAY_MS } from './period.ts'
import type { AgentSum, Dimension, UsageSum } from './queries.ts'
import type { Grouping } from './shapes.ts'

export interface Sum {
  /** Of what: a model's ID, a key's id, a day as `2026-01-31`, or an agent's id. */
  readonly key: string
  readonly requests: number
  /** Prompt and completion together. */
  readonly tokens: number
  readonly costNanoUsd: NanoUsd
}

export interface Report {
  readonly total: Omit<Sum, 'key'>
  /** The most expensive first, then by name. Models without a completion are absent. */
  readonly models: readonly Sum[]
  /** Undefined when none were asked for. Days in order, anything else like the models. */
  readonly groups: readonly Sum[] | undefined
}

/** What the database must tell apart for a grouping. */
export function dimensionOf(grouping: Grouping | undefined): Dimension | undefined {
  return grouping === 'key' || grouping === 'day' ? grouping : undefined
}

/** @param sums Told apart by `dimensionOf(grouping)`. */
export function buildReport(
  sums: readonly UsageSum[],
  { grouping, agents }: { readonly grouping: Grouping | undefined; readonly agents: readonly AgentSum[] },
): Report {
  const models = addUp(sums, ({ model }) => model).toSorted(byCost)
  const groups = grouping === 'agent' ? agentGroups(agents) : groupsOf(sums, models, grouping)
  return { total: totalOf(models), models, groups }
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
      return addUp(sums, ({ member }) => String(member)).toSorted(byCost)
    case 'day':
      return addUp(sums, ({ member }) => dayText(Number(member))).toSorted(byKey)
  }
}

function addUp<One extends Omit<Sum, 'key'>>(sums: readonly One[], keyOf: (sum: One) => string): readonly Sum[] {
  const added = new Map<string, Sum>()
  for (const sum of sums) {
    const key = keyOf(sum)
    added.set(key, { key, ...plus(added.get(key) ?? NOTHING, sum) })
  }
  return [...added.values()]
}

function totalOf(sums: readonly Sum[]): Omit<Sum, 'key'> {
  return sums.reduce<Omit<Sum, 'key'>>(plus, NOTHING)
}

const NOTHING: Omit<Sum, 'key'> = { requests: 0, tokens: 0, costNanoUsd: 0n }

function plus(one: Omit<Sum, 'key'>, other: Omit<Sum, 'key'>): Omit<Sum, 'key'> {
  return {
    requests: one.requests + other.requests,
    tokens: one.tokens + other.tokens,
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
