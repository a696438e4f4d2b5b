/** Adds up what the database gives: the account's total, by model, and by whatever else was asked for. */

import { type Static, Type } from 'typebox'
import type { AccountCredit } from '../../domain/credit.ts'
import { GatewayError } from '../../domain/errors.ts'
import type { AccountId } from '../../domain/ids.ts'
import type { ModelKind } from '../../domain/model.ts'
import { usdNumber, usdText } from '../../domain/money.ts'
import { type Period, timeParameter } from '../../http/period.ts'
import { isoTime, nullable, oneOf, usd } from '../../http/wire-fields.ts'
import { type CsvField, harmlessText } from '../../lib/table.ts'
import type { AgentSum } from './dimension-parts.ts'
import { DIMENSION_FILTERS } from './dimensions.ts'
import type { Names } from './names.ts'
import { DAY_MS, HOUR_MS } from './period.ts'
import {
  type Counts,
  type Dimension,
  type Interval,
  NOTHING,
  plus,
  renderCounts,
  tokensOf,
  type UsageSum,
} from './queries.ts'

export interface Sum extends Counts {
  /** Of what: a model's ID or kind, a day as `2026-01-31`, the ID of a key, agent or account, or `all`. */
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
  const by = grouping === 'key' || grouping === 'account' ? grouping : undefined
  return { by, interval: grouping === 'day' ? 'day' : interval }
}

const UNIT_MS = { hour: HOUR_MS, day: DAY_MS } as const satisfies Record<Interval, number>
const MAX_HOURLY_MS = 32 * 86_400_000
const MAX_DAILY_MS = 400 * 86_400_000

/** Throws 400 with `param` where there is no series: of days, agents and accounts, and of periods that are too long for it. */
export function checkInterval({ grouping, interval }: ReportChoice, { start, end }: Period): void {
  if (interval === undefined) return
  const param = 'interval'
  if (grouping === 'day' || grouping === 'agent' || grouping === 'account')
    throw new GatewayError('invalid_value', `'interval' does not go with 'group_by=${grouping}'.`, { param })
  const longest = interval === 'hour' ? MAX_HOURLY_MS : MAX_DAILY_MS
  if (end - start <= longest) return
  const message = `'interval=${interval}' is for periods of at most ${longest / DAY_MS} days.`
  throw new GatewayError('invalid_value', message, { param })
}

/** What the sums do not say. */
interface Lookups {
  readonly agents: readonly AgentSum[]
  /** By a model's ID. */
  readonly kindOf: (model: string) => ModelKind
}

/** @param sums Told apart by `dimensionsOf(choice)`. */
export function buildReport(
  sums: readonly UsageSum[],
  { grouping, interval, agents, kindOf }: ReportChoice & Lookups,
): Report {
  const models = addUp(sums, ({ model }) => model).toSorted(byCost)
  const groups = grouping === 'agent' ? agentGroups(agents) : groupsOf(sums, { models, grouping, kindOf })
  const series = interval === undefined ? undefined : seriesOf(sums, groups, { grouping, interval, kindOf })
  return { total: models.reduce<Counts>(plus, NOTHING), models, groups, series }
}

function agentGroups(sums: readonly AgentSum[]): readonly Sum[] {
  return addUp(sums, ({ agentId }) => agentId).toSorted(byCost)
}

function groupsOf(
  sums: readonly UsageSum[],
  {
    models,
    grouping,
    kindOf,
  }: Pick<Lookups, 'kindOf'> & {
    readonly models: readonly Sum[]
    readonly grouping: Exclude<Grouping, 'agent'> | undefined
  },
): readonly Sum[] | undefined {
  switch (grouping) {
    case undefined:
      return undefined
    case 'model':
      return models
    case 'kind':
      return addUp(sums, ({ model }) => kindOf(model)).toSorted(byCost)
    case 'key':
    case 'account':
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
  {
    grouping,
    interval,
    kindOf,
  }: Pick<Lookups, 'kindOf'> & { readonly grouping: Grouping | undefined; readonly interval: Interval },
): readonly SeriesSum[] {
  const shown = new Set(groups?.slice(0, MAX_SERIES_GROUPS).map(({ key }) => key))
  const keyOf = ({ model, member }: UsageSum): string => {
    if (grouping === undefined) return 'all'
    const key = grouping === 'key' ? member : grouping === 'kind' ? kindOf(model) : model
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

const GROUPINGS = ['model', 'kind', 'key', 'day', 'agent', 'account'] as const
export type Grouping = (typeof GROUPINGS)[number]

/** What the kept sums can be grouped by. Undefined: several, or something else. */
export function groupingOf(value: string | readonly string[] | undefined): Grouping | undefined {
  return GROUPINGS.find((each) => each === value)
}

/** In place of an account's ID. */
export const ALL = 'all'

export const ReportQuery = Type.Object({
  period_start: timeParameter('ISO 8601 UTC. Default: the first day of this month.'),
  period_end: timeParameter('ISO 8601 UTC, exclusive. Default: the first day of the next month.'),
  group_by: Type.Optional(
    Type.Unsafe<string | readonly string[]>({
      type: ['string', 'array'],
      items: { type: 'string' },
      description:
        'Adds `groups` by model, kind of model, API key, UTC day or agent; or by up to three of tag:<key>, team, member, key, model, provider, kind, session, end_user and day, comma-separated or repeated. Groups by agent omit completions outside agents. With `account=all` also by account.',
      examples: ['tag:customer,model'],
    }),
  ),
  ...DIMENSION_FILTERS,
  interval: Type.Optional(
    oneOf(['hour', 'day'] as const satisfies readonly Interval[], {
      description:
        'Adds `series`: the same sums by UTC hour, for periods of at most 32 days, or by UTC day, for at most 400. It requires no `group_by`, or one by model, kind or API key. A CSV file has no series.',
    }),
  ),
  model: Type.Optional(Type.String({ description: 'Only this model.' })),
  key_id: Type.Optional(Type.String({ description: 'Only requests of this API key.' })),
  account: Type.Optional(
    Type.Unsafe<AccountId | typeof ALL>({
      type: 'string',
      description:
        'ID of any account of the installation, whose usage is reported, or `all`: the sums of all accounts, by model, kind, day or account. Only for operators.',
    }),
  ),
  format: Type.Optional(
    oneOf(['json', 'csv', 'focus'] as const, {
      default: 'json',
      description:
        '`csv` returns a file of the groups; without `group_by`, of the groups by model. `focus` returns a FOCUS file of the period, with all filters, without `group_by` and `interval`.',
    }),
  ),
})

const MARGIN = 'Of the costs, what is left when the providers are paid. Only for operators.'
const COUNTS = {
  tokens: Type.Integer({ description: 'Prompt and completion tokens.' }),
  requests: Type.Integer({ description: 'Number of completions, including failed and free ones.' }),
  cost_usd: usd('Exact sum of the costs of the completions.'),
  margin_usd: Type.Optional(usd(MARGIN)),
}

export const ReportView = Type.Object({
  period_start: Type.String({ description: 'ISO 8601 UTC.' }),
  period_end: Type.String({ description: 'ISO 8601 UTC, exclusive.' }),
  total_tokens: Type.Integer({ description: 'Prompt and completion tokens.' }),
  total_prompt_tokens: Type.Integer({ description: 'Prompt tokens.' }),
  total_completion_tokens: Type.Integer({ description: 'Completion tokens.' }),
  total_requests: COUNTS.requests,
  total_cost_usd: usd('Exact sum of the costs of the completions.'),
  total_margin_usd: Type.Optional(usd(MARGIN)),
  credit_remaining_usd: Type.Number({
    description:
      'Current balance; of all accounts, their sum. Without a credit limit: `unlimited_credit_usd` of the plan, else its `monthly_credit_usd`, else 1000000, whatever was spent.',
  }),
  unlimited: Type.Boolean({
    description: 'Whether spending has no credit limit, because the plan is postpaid.',
  }),
  held_usd: Type.Number({ description: 'Part of the balance that requests in flight have reserved.' }),
  breakdown_by_model: Type.Array(
    Type.Object({ model: Type.String(), tokens: COUNTS.tokens, cost_usd: COUNTS.cost_usd }),
    { description: 'Most expensive first.' },
  ),
  groups: Type.Optional(
    Type.Array(
      Type.Object({
        key: Type.String({
          description:
            'The model’s ID or kind, the API key’s id, the day as 2026-01-31, or the agent’s or account’s id.',
        }),
        name: Type.Optional(
          nullable<string>(
            'string',
            'For groups by key, agent and account: the name of the key, agent, device or account, or the person’s e-mail address. Null: deleted.',
          ),
        ),
        keys: Type.Optional(
          Type.Record(Type.String(), nullable<string>('string', 'Null: the requests have none.'), {
            description:
              'The value of each dimension, for several of them and for those but model, kind, key, day, agent.',
          }),
        ),
        ...COUNTS,
      }),
      { description: 'Only with `group_by`. Days are in order, other groups most expensive first.' },
    ),
  ),
  other: Type.Optional(
    Type.Object(
      { groups: Type.Integer({ description: 'Number of groups.' }), ...COUNTS },
      { description: 'The groups after the 1000 most expensive. Absent: there are none.' },
    ),
  ),
  values_limited: Type.Optional(
    Type.Boolean({
      description:
        'True: a month has more values of the tag, sessions or end users than are told apart (100,000, unless the operator sets another number). Later ones are in `other`, as one group.',
    }),
  ),
  series: Type.Optional(
    Type.Array(
      Type.Object({
        at: Type.String({ description: 'Start of the hour or day, ISO 8601 UTC.' }),
        key: Type.String({
          description: '`key` of the group; `all` without `group_by`. Empty: all groups except the 50 most expensive.',
        }),
        ...COUNTS,
        prompt_tokens: Type.Integer(),
        completion_tokens: Type.Integer(),
      }),
      {
        description:
          'Only with `interval`: sums that add up exactly to the groups and to the total. Hours and days without completions are omitted.',
      },
    ),
  ),
})

/** A CSV file: RFC 4180, UTF-8. */
export const ReportFile = Type.String({
  description: 'RFC 4180, UTF-8; columns group, tokens, requests, cost_usd; by account also name.',
})

interface ReportContext {
  readonly period: Period
  readonly credit: Pick<AccountCredit, 'remainingNanoUsd' | 'heldNanoUsd'>
  /** USD that an account without a limit is shown. */
  readonly unlimitedCreditUsd: number
  /** Of what the groups are of; undefined: they have none. */
  readonly names: Names | undefined
  readonly isOperator: boolean
}

export function renderReport(report: Report, context: ReportContext): Static<typeof ReportView> {
  const { period, credit, names, unlimitedCreditUsd, isOperator } = context
  const { total, models, groups, series } = report
  const { remainingNanoUsd: remaining, heldNanoUsd } = credit
  return {
    period_start: isoTime(period.start),
    period_end: isoTime(period.end),
    total_tokens: tokensOf(total),
    total_prompt_tokens: total.promptTokens,
    total_completion_tokens: total.completionTokens,
    total_requests: total.requests,
    total_cost_usd: usdNumber(total.costNanoUsd),
    ...(isOperator && { total_margin_usd: usdNumber(total.marginNanoUsd) }),
    credit_remaining_usd: remaining === undefined ? unlimitedCreditUsd : usdNumber(remaining),
    unlimited: remaining === undefined,
    held_usd: usdNumber(heldNanoUsd),
    breakdown_by_model: models.map(({ key: model, ...sum }) => ({
      model,
      tokens: tokensOf(sum),
      cost_usd: usdNumber(sum.costNanoUsd),
    })),
    ...(groups === undefined ? {} : { groups: groups.map((sum) => renderGroup(sum, names, isOperator)) }),
    ...(series === undefined ? {} : { series: series.map(renderSeries) }),
  }
}

/** Dollars as decimal text, exact however many there are. @param names Adds a column of them. */
export function reportRows(sums: readonly Sum[], names?: Names): readonly (readonly CsvField[])[] {
  const nameOf = ({ key }: Sum) => (names === undefined ? [] : [harmlessText(names.get(key) ?? '')])
  const rows = sums.map((sum) => [sum.key, tokensOf(sum), sum.requests, usdText(sum.costNanoUsd), ...nameOf(sum)])
  return [['group', 'tokens', 'requests', 'cost_usd', ...(names === undefined ? [] : ['name'])], ...rows]
}

function renderGroup(sum: Sum, names: Names | undefined, isOperator: boolean) {
  const { key } = sum
  return { key, ...(names === undefined ? {} : { name: names.get(key) ?? null }), ...renderCounts(sum, isOperator) }
}

function renderSeries(sum: SeriesSum) {
  const { at, key, promptTokens, completionTokens } = sum
  const tokens = { prompt_tokens: promptTokens, completion_tokens: completionTokens }
  return { at: isoTime(at), key, ...renderCounts(sum), ...tokens }
}
