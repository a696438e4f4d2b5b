/** Usage on the wire. */
import { type Static, Type } from 'typebox'
import type { AccountCredit } from '../../domain/account-credit.ts'
import { readAgentReference } from '../../domain/agent.ts'
import { parseAttemptLog } from '../../domain/attempt-log.ts'
import type { FinishReason } from '../../domain/chat.ts'
import type { AttemptNote, AttemptOutcome, CompletionStatus, UsageSource } from '../../domain/completion.ts'
import { type NanoUsd, usdNumber, usdText } from '../../domain/money.ts'
import type { Period } from '../../http/period.ts'
import type { CsvField } from '../../lib/csv.ts'
import type { CompletionRow } from './completion-list.ts'
import type { Report, Sum } from './report.ts'

const nullable = <Value>(type: 'string' | 'number' | 'integer', description: string) =>
  Type.Unsafe<Value | null>({ type: [type, 'null'], description })
const oneOf = <Value extends string>(values: readonly Value[], options: object) =>
  Type.Unsafe<Value>({ type: 'string', enum: values, ...options })
const time = (description: string) => Type.Optional(Type.String({ description, examples: ['2026-01-01T00:00:00Z'] }))
const usd = (description: string) => Type.Number({ description: `USD, at most 9 decimals. ${description}` })

const GROUPINGS = ['model', 'key', 'day', 'agent'] as const
export type Grouping = (typeof GROUPINGS)[number]

const STATUSES = ['completed', 'failed', 'client_left', 'incomplete'] as const satisfies readonly CompletionStatus[]
const OUTCOMES = [
  'answered',
  'abandoned',
  'rejected',
  'credentials',
  'quota',
  'rate_limited',
  'not_found',
  'overloaded',
  'failed',
  'cut',
] as const satisfies readonly AttemptOutcome[]

export const ReportQuery = Type.Object({
  period_start: time('ISO 8601 UTC; default: the first of this month.'),
  period_end: time('ISO 8601 UTC, not included; default: the first of the next month.'),
  group_by: Type.Optional(
    oneOf(GROUPINGS, {
      description:
        'Adds `groups`: by model, by API key, by UTC day, or by agent. Completions outside agents are in no agent’s group.',
    }),
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
  total_cost_usd: usd('The exact sum of the completions’ costs.'),
  credit_remaining_usd: nullable<number>('number', 'The balance, now. Null: no limit.'),
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
        ...COUNTS,
      }),
      { description: 'With `group_by` only. Days in order, everything else the most expensive first.' },
    ),
  ),
})

/** A CSV file: RFC 4180, UTF-8. */
export const ReportFile = Type.String({ description: 'RFC 4180, UTF-8; columns group, tokens, requests, cost_usd.' })

export const CompletionQuery = {
  period_start: time('ISO 8601 UTC: only completions created at or after it.'),
  period_end: time('ISO 8601 UTC: only completions created before it.'),
  model: Type.Optional(Type.String({ description: 'Only this model, by the ID in its rows.' })),
  key_id: Type.Optional(Type.String({ description: 'Only what was asked with this API key.' })),
  status: Type.Optional(oneOf(STATUSES, { description: 'Only those that ended like this.' })),
}

const AttemptView = Type.Object({
  provider: Type.String({ description: 'Who was called, by the name in the configuration.' }),
  model: Type.String({ description: 'The model by the provider’s own name.' }),
  outcome: oneOf(OUTCOMES, {
    description:
      'answered: its answer began, and nothing broke it off. cut: the provider broke it off. abandoned: the client left ' +
      'or Turnpike ended the request before there was an answer. rejected: the provider refused the request itself. ' +
      'Else why it gave no answer: it refused the operator’s credentials or was out of quota, limited their rate, did ' +
      'not know the model, was overloaded, or failed.',
  }),
  status: nullable<number>('integer', 'HTTP status of the provider’s answer. Null: there was none.'),
  started_ms: Type.Integer({ description: 'From the request’s arrival to the call.' }),
  duration_ms: Type.Integer({ description: 'From the call to the first event of its answer, or to its failure.' }),
})

export const CompletionView = Type.Object({
  id: Type.String({ description: 'The `id` of the answer.' }),
  object: Type.Literal('completion'),
  created_at: Type.String({ description: 'ISO 8601 UTC.' }),
  key_id: Type.String({ description: 'The API key that asked.' }),
  model: Type.String({ description: 'The model’s ID, also where the request named an alias.' }),
  provider: Type.String({ description: 'Who answered, by the name in the configuration.' }),
  status: oneOf(STATUSES, {
    description:
      'completed: the client got a whole answer. failed: nothing was generated for it. ' +
      'incomplete: the provider broke off. client_left: the client did.',
  }),
  stream: Type.Boolean(),
  finish_reason: nullable<FinishReason>('string', 'Of the first choice. Null: none was given.'),
  prompt_tokens: Type.Integer({ description: 'Cached ones included.' }),
  completion_tokens: Type.Integer({ description: 'Reasoning included.' }),
  cached_tokens: Type.Integer({ description: 'Prompt tokens read from the provider’s cache.' }),
  cost_usd: usd('What this completion was charged.'),
  usage_source: oneOf(['provider', 'estimated'] as const satisfies readonly UsageSource[], {
    description: 'Who counted the tokens: the provider, or Turnpike where the provider’s count did not arrive.',
  }),
  price_version: Type.String({ description: 'The price it was charged at; it never changes.' }),
  duration_ms: Type.Integer({ description: 'From the request’s arrival to the end of the answer.' }),
  first_byte_ms: nullable<number>('integer', 'From the request’s arrival to the first byte. Null: there was none.'),
  attempts: Type.Integer({ description: 'Calls made to providers.' }),
  attempt_log: Type.Array(AttemptView, {
    description:
      'The calls in order, the newest 10. A single call that answered is told from the row: the model by its ID, the ' +
      'time to the first byte of the whole request. Empty: not known.',
  }),
  client_request_id: nullable<string>('string', 'What the client called its request. Null: it did not say.'),
  agent_id: nullable<string>('string', 'The agent that asked. Null: it was none.'),
  run_id: nullable<string>('string', 'The run of the agent.'),
})

export function renderReport(
  report: Report,
  { period, credit }: { readonly period: Period; readonly credit: AccountCredit },
): Static<typeof ReportView> {
  const { total, models, groups } = report
  const { remainingNanoUsd: remaining, heldNanoUsd } = credit
  return {
    period_start: new Date(period.start).toISOString(),
    period_end: new Date(period.end).toISOString(),
    total_tokens: total.tokens,
    total_cost_usd: usdNumber(total.costNanoUsd),
    credit_remaining_usd: remaining === undefined ? null : usdNumber(remaining),
    held_usd: usdNumber(heldNanoUsd),
    breakdown_by_model: models.map(({ key: model, tokens, ...sum }) => ({ model, tokens, ...renderCost(sum) })),
    ...(groups === undefined ? {} : { groups: groups.map(renderGroup) }),
  }
}

/** Dollars as decimal text, exact however many there are. */
export function reportRows(sums: readonly Sum[]): readonly (readonly CsvField[])[] {
  const rows = sums.map(({ key, tokens, requests, costNanoUsd }) => [key, tokens, requests, usdText(costNanoUsd)])
  return [['group', 'tokens', 'requests', 'cost_usd'], ...rows]
}

export function renderCompletion(row: CompletionRow): Static<typeof CompletionView> {
  const { client_request_id: name } = row
  const agent = name === null ? undefined : readAgentReference(name)
  return {
    id: row.id,
    object: 'completion',
    created_at: new Date(row.created_at).toISOString(),
    key_id: row.key_id,
    model: row.model,
    provider: row.provider,
    status: row.status,
    stream: row.stream === 1,
    finish_reason: row.finish_reason,
    prompt_tokens: row.prompt_tokens,
    completion_tokens: row.completion_tokens,
    cached_tokens: row.cached_tokens,
    cost_usd: usdNumber(row.cost_nano_usd),
    usage_source: row.usage_source,
    price_version: row.price_version,
    duration_ms: row.duration_ms,
    first_byte_ms: row.first_byte_ms,
    attempts: row.attempts,
    attempt_log: attemptsOf(row).map(renderAttempt),
    client_request_id: agent === undefined ? name : null,
    agent_id: agent?.agentId ?? null,
    run_id: agent?.runId ?? null,
  }
}

/** Where nothing was noted and an answer was delivered, the one call gave it; nobody knows more of other such rows. */
function attemptsOf(row: CompletionRow): readonly AttemptNote[] {
  const noted = parseAttemptLog(row.attempt_log)
  if (noted !== undefined) return noted
  const delivered = row.status === 'completed' || (row.status === 'client_left' && row.first_byte_ms !== null)
  if (row.attempts !== 1 || !delivered) return []
  const { provider, model, first_byte_ms: firstByteMs, duration_ms: durationMs } = row
  return [{ provider, model, outcome: 'answered', status: 200, startedMs: 0, durationMs: firstByteMs ?? durationMs }]
}

function renderAttempt(note: AttemptNote): Static<typeof AttemptView> {
  const { provider, model, outcome, status, startedMs, durationMs } = note
  return {
    provider,
    model,
    outcome,
    status: status === 0 ? null : status,
    started_ms: startedMs,
    duration_ms: durationMs,
  }
}

function renderGroup({ key, tokens, requests, costNanoUsd }: Sum) {
  return { key, tokens, requests, ...renderCost({ costNanoUsd }) }
}

function renderCost({ costNanoUsd }: { readonly costNanoUsd: NanoUsd }): { readonly cost_usd: number } {
  return { cost_usd: usdNumber(costNanoUsd) }
}
