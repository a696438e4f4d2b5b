/** Reports of usage on the wire. */
import { type Static, Type } from 'typebox'
import type { AccountCredit } from '../../domain/account-credit.ts'
import { usdNumber, usdText } from '../../domain/money.ts'
import type { Period } from '../../http/period.ts'
import type { CsvField } from '../../lib/csv.ts'
import type { Names } from './names.ts'
import type { Counts, Interval } from './queries.ts'
import type { Report, SeriesSum, Sum } from './report.ts'
import { isoTime, nullable, oneOf, time, usd } from './wire-fields.ts'

const GROUPINGS = ['model', 'key', 'day', 'agent'] as const
export type Grouping = (typeof GROUPINGS)[number]

export const ReportQuery = Type.Object({
  period_start: time('ISO 8601 UTC; default: the first of this month.'),
  period_end: time('ISO 8601 UTC, not included; default: the first of the next month.'),
  group_by: Type.Optional(
    oneOf(GROUPINGS, {
      description:
        'Adds `groups`: by model, by API key, by UTC day, or by agent. Completions outside agents are in no agent’s group.',
    }),
  ),
  interval: Type.Optional(
    oneOf(['hour', 'day'] as const satisfies readonly Interval[], {
      description:
        'Adds `series`: the same sums by UTC hour, for periods of at most 32 days, or by UTC day, for at most 400. ' +
        'Without `group_by`, by model or by API key; a CSV file has none.',
    }),
  ),
  model: Type.Optional(Type.String({ description: 'Only this model, in everything that is reported.' })),
  key_id: Type.Optional(
    Type.String({ description: 'Only what was asked with this API key, in everything that is reported.' }),
  ),
  format: Type.Optional(
    oneOf(['json', 'csv'] as const, {
      default: 'json',
      description: '`csv` is a file of the groups alone, without `group_by` those by model.',
    }),
  ),
})

const COUNTS = {
  tokens: Type.Integer({ description: 'Prompt and completion tokens.' }),
  requests: Type.Integer({ description: 'Completions, those that failed or cost nothing included.' }),
  cost_usd: usd('The exact sum of the completions’ costs.'),
}

export const ReportView = Type.Object({
  period_start: Type.String({ description: 'ISO 8601 UTC.' }),
  period_end: Type.String({ description: 'ISO 8601 UTC, not included.' }),
  total_tokens: Type.Integer({ description: 'Prompt and completion tokens.' }),
  total_prompt_tokens: Type.Integer({ description: 'Those of prompts.' }),
  total_completion_tokens: Type.Integer({ description: 'Those that were generated.' }),
  total_requests: COUNTS.requests,
  total_cost_usd: usd('The exact sum of the completions’ costs.'),
  credit_remaining_usd: Type.Number({
    description: 'The balance, now. Without a limit: `unlimited_credit_usd` of the plan, whatever was spent.',
  }),
  unlimited: Type.Boolean({
    description: 'Whether nothing limits what may be spent: the plan is billed after the fact.',
  }),
  held_usd: Type.Number({ description: 'What of it is reserved by requests in flight.' }),
  breakdown_by_model: Type.Array(
    Type.Object({ model: Type.String(), tokens: COUNTS.tokens, cost_usd: COUNTS.cost_usd }),
    { description: 'The most expensive first.' },
  ),
  groups: Type.Optional(
    Type.Array(
      Type.Object({
        key: Type.String({
          description: 'The model’s ID, the API key’s id, the day as 2026-01-31, or the agent’s id.',
        }),
        name: Type.Optional(
          nullable<string>(
            'string',
            'By key and agent: the key’s or agent’s name, the device, the person’s e-mail address. Null: gone.',
          ),
        ),
        ...COUNTS,
      }),
      { description: 'With `group_by` only. Days in order, everything else the most expensive first.' },
    ),
  ),
  series: Type.Optional(
    Type.Array(
      Type.Object({
        at: Type.String({ description: 'ISO 8601 UTC: the first moment of the hour or day.' }),
        key: Type.String({
          description: '`key` of the group; `all` without `group_by`; empty: all but the 50 most expensive groups.',
        }),
        ...COUNTS,
        prompt_tokens: Type.Integer(),
        completion_tokens: Type.Integer(),
      }),
      {
        description:
          'With `interval` only: what adds up to the groups and to the total, to the last digit. Hours and days ' +
          'without a completion are left out.',
      },
    ),
  ),
})

/** A CSV file: RFC 4180, UTF-8. */
export const ReportFile = Type.String({ description: 'RFC 4180, UTF-8; columns group, tokens, requests, cost_usd.' })

export interface ReportContext {
  readonly period: Period
  readonly credit: AccountCredit
  /** USD that an account without a limit is shown. */
  readonly unlimitedCreditUsd: number
  /** Of what the groups are of; undefined: they have none. */
  readonly names: Names | undefined
}

export function renderReport(report: Report, context: ReportContext): Static<typeof ReportView> {
  const { period, credit, names, unlimitedCreditUsd } = context
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
    credit_remaining_usd: remaining === undefined ? unlimitedCreditUsd : usdNumber(remaining),
    unlimited: remaining === undefined,
    held_usd: usdNumber(heldNanoUsd),
    breakdown_by_model: models.map(({ key: model, ...sum }) => ({
      model,
      tokens: tokensOf(sum),
      cost_usd: usdNumber(sum.costNanoUsd),
    })),
    ...(groups === undefined ? {} : { groups: groups.map((sum) => renderGroup(sum, names)) }),
    ...(series === undefined ? {} : { series: series.map(renderSeries) }),
  }
}

/** Dollars as decimal text, exact however many there are. */
export function reportRows(sums: readonly Sum[]): readonly (readonly CsvField[])[] {
  const rows = sums.map((sum) => [sum.key, tokensOf(sum), sum.requests, usdText(sum.costNanoUsd)])
  return [['group', 'tokens', 'requests', 'cost_usd'], ...rows]
}

function renderGroup(sum: Sum, names: Names | undefined) {
  const { key } = sum
  return { key, ...(names === undefined ? {} : { name: names.get(key) ?? null }), ...renderCounts(sum) }
}

function renderSeries(sum: SeriesSum) {
  const { at, key, promptTokens, completionTokens } = sum
  const tokens = { prompt_tokens: promptTokens, completion_tokens: completionTokens }
  return { at: isoTime(at), key, ...renderCounts(sum), ...tokens }
}

function renderCounts(sum: Sum) {
  return { tokens: tokensOf(sum), requests: sum.requests, cost_usd: usdNumber(sum.costNanoUsd) }
}

function tokensOf({ promptTokens, completionTokens }: Counts): number {
  return promptTokens + completionTokens
}
