/** Completions on the wire. */

import { type Static, Type } from 'typebox'
import { readAgentReference } from '../../domain/agent.ts'
import { endUserOf, tagsOfText } from '../../domain/attribution.ts'
import type { FinishReason } from '../../domain/chat.ts'
import {
  API_NAMES,
  type AttemptNote,
  type AttemptOutcome,
  type CompletionStatus,
  FALLBACK_REASONS,
  parseAttemptLog,
  type UsageSource,
} from '../../domain/completion.ts'
import type { Right } from '../../domain/identity/caller.ts'
import type { AccountId, AgentId, KeyId } from '../../domain/ids.ts'
import { usdNumber } from '../../domain/money.ts'
import { type ChargeLine, readStoredByok } from '../../domain/price/price.ts'
import { pageSchema } from '../../http/page.ts'
import { timeParameter } from '../../http/period.ts'
import { isoTime, nullable, oneOf, usd } from '../../http/wire-fields.ts'
import type { Bounds, CompletionFilter, CompletionRow } from './completion-list.ts'
import type { Names } from './names.ts'
import type { Overview } from './overview.ts'
import { LINE_KINDS, lineUsd, type Pricing } from './pricing.ts'

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

const STATUSES = ['completed', 'failed', 'client_left', 'incomplete'] as const satisfies readonly CompletionStatus[]

const PROBLEMS = OUTCOMES.filter((outcome) => outcome !== 'answered')

const MILLISECONDS = { pattern: '^[0-9]{1,9}$', examples: ['2000'] }
const DOLLARS = { pattern: '^[0-9]{1,9}(\\.[0-9]{1,9})?$', examples: ['0.25'] }

function bound(field: string, how: 'at least' | 'at most', format: typeof DOLLARS) {
  return Type.Optional(Type.String({ ...format, description: `Only completions whose \`${field}\` is ${how} this.` }))
}

export const FILTER_QUERY = {
  model: Type.Optional(Type.String({ description: 'Only this model.' })),
  key_id: Type.Optional(Type.String({ description: 'Only requests of this API key, device or signed-in person.' })),
  status: Type.Optional(oneOf(STATUSES, { description: 'Only completions with this status.' })),
  agent_id: Type.Optional(Type.String({ description: 'Only requests of this agent.' })),
  provider: Type.Optional(
    Type.String({ description: 'Only completions of this provider, by its name in the configuration.' }),
  ),
  client_request_id: Type.Optional(Type.String({ description: 'Only requests with this `client_request_id`.' })),
  request_id: Type.Optional(
    Type.String({
      pattern: '^req_[0-9A-Za-z]{22}$',
      description: 'Only the request with this ID.',
      examples: ['req_00000000exampleexample'],
    }),
  ),
  outcome: Type.Optional(
    oneOf(PROBLEMS, { description: 'Only completions with an attempt of this outcome, as in `attempt_log`.' }),
  ),
  min_duration_ms: bound('duration_ms', 'at least', MILLISECONDS),
  max_duration_ms: bound('duration_ms', 'at most', MILLISECONDS),
  min_cost_usd: bound('cost_usd', 'at least', DOLLARS),
  max_cost_usd: bound('cost_usd', 'at most', DOLLARS),
  tag: Type.Optional(Type.String({ description: 'Only requests with this tag, as `key=value`.' })),
  session_id: Type.Optional(Type.String({ description: 'Only requests of this session.' })),
  end_user: Type.Optional(
    Type.String({ description: 'Only requests of this end user: the hash, or the name that the client sends.' }),
  ),
}

export const CompletionQuery = {
  period_start: timeParameter('ISO 8601 UTC: only completions created at or after this time.'),
  period_end: timeParameter('ISO 8601 UTC: only completions created before this time.'),
  ...FILTER_QUERY,
  provider: Type.Optional(
    Type.String({
      description:
        'Only completions of this provider, by its name in the configuration. Requires a period of at most 7 days.',
    }),
  ),
  client_request_id: Type.Optional(
    Type.String({
      description: 'Only requests with this `client_request_id`. Requires a period of at most 7 days.',
    }),
  ),
  tag: Type.Optional(
    Type.String({ description: 'Only requests with this tag, as `key=value`. Requires a period of at most 7 days.' }),
  ),
  session_id: Type.Optional(
    Type.String({ description: 'Only requests of this session. Requires a period of at most 7 days.' }),
  ),
  end_user: Type.Optional(
    Type.String({
      description:
        'Only requests of this end user: the hash, or the name that the client sends. Requires a period of at most 7 days.',
    }),
  ),
  include: Type.Optional(
    oneOf(['overview'] as const, {
      description:
        '`overview` adds a histogram of the listed completions over the period, by default over the last 24 hours. A CSV file has none.',
    }),
  ),
  format: Type.Optional(
    oneOf(['json', 'csv'] as const, {
      description: '`csv` returns a file. By default the `Accept` header decides; `application/json` is preferred.',
    }),
  ),
}

const AttemptView = Type.Object({
  provider: Type.String({ description: 'Name of the called provider in the configuration.' }),
  model: Type.String({ description: 'Name of the model at the provider.' }),
  outcome: oneOf(OUTCOMES, {
    description:
      'answered: the answer began and was not broken off. cut: the provider broke it off. abandoned: the client disconnected, or Turnpike ended the request, before an answer. rejected: the provider rejected the request itself. Other values are the reason of the failure: rejected credentials or exhausted quota, a rate limit, an unknown model, overload, or an error.',
  }),
  status: nullable<number>('integer', 'HTTP status of the provider. Null: no response.'),
  started_ms: Type.Integer({ description: 'From the arrival of the request to the call.' }),
  duration_ms: Type.Integer({ description: 'From the call to the first event of its answer, or to its failure.' }),
  reason: Type.Optional(
    oneOf(FALLBACK_REASONS, {
      description: 'Why another model might answer next. Only of failures of requests that several models may answer.',
    }),
  ),
  provider_credential_id: Type.Optional(
    Type.String({ description: 'The account’s own credential of the call. Absent: the operator’s.' }),
  ),
  message: Type.Optional(
    Type.String({
      description:
        'Why the call failed, in the provider’s words without secrets and quotations. For operators; of rejected requests, and of calls with the account’s own credential, also for those who manage keys.',
    }),
  ),
})

const CompletionView = Type.Object({
  id: Type.String({ description: '`id` of the response.' }),
  object: Type.Literal('completion'),
  created_at: Type.String({ description: 'ISO 8601 UTC.' }),
  key_id: Type.String({ description: 'ID of the API key, device or person that made the request.' }),
  key_name: nullable<string>('string', 'Name of the key or device, or the person’s e-mail address. Null: deleted.'),
  model: Type.String({ description: 'ID of the model, even if the request named an alias.' }),
  provider: Type.String({ description: 'Name of the provider that answered, in the configuration.' }),
  status: oneOf(STATUSES, {
    description:
      'completed: the client received the whole answer. failed: nothing was generated. incomplete: the provider broke off. client_left: the client disconnected.',
  }),
  stream: Type.Boolean(),
  finish_reason: nullable<FinishReason>('string', 'Finish reason of the first choice. Null: none.'),
  prompt_tokens: Type.Integer({ description: 'Including cached tokens.' }),
  completion_tokens: Type.Integer({ description: 'Including reasoning tokens.' }),
  cached_tokens: Type.Integer({ description: 'Prompt tokens read from the provider’s cache.' }),
  cache_write_tokens: Type.Integer({ description: 'Prompt tokens written to the provider’s cache.' }),
  reasoning_tokens: Type.Integer({
    description: 'Reasoning tokens among the completion tokens, if the provider reports them.',
  }),
  cost_usd: usd('Charge of the completion.'),
  usage_source: oneOf(['provider', 'estimated', 'bounded'] as const satisfies readonly UsageSource[], {
    description:
      'Source of the token counts: the provider, or Turnpike if the provider’s count did not arrive. bounded: the provider reported more than the request can have used, or less than was delivered; the nearest possible figures are charged.',
  }),
  byok: Type.Optional(
    Type.Literal(true, {
      description: 'The provider was called with the account’s own credential. Absent: it was not.',
    }),
  ),
  list_cost_usd: Type.Optional(
    usd('Cost at the model’s price, of which `cost_usd` is the fee. Only with `byok`, and unless the process died.'),
  ),
  provider_cost_usd: Type.Optional(usd('What the operator owes to providers for it. Only for operators.')),
  unbilled_usd: usd('Cost beyond `cost_usd` that was not charged, because the account reached its overrun cap.'),
  price_version: Type.String({ description: 'Version of the price that was charged. A version never changes.' }),
  duration_ms: Type.Integer({ description: 'From the arrival of the request to the end of the answer.' }),
  first_byte_ms: nullable<number>('integer', 'From the arrival of the request to the first byte. Null: none.'),
  attempts: Type.Integer({ description: 'Number of calls to providers.' }),
  attempt_log: Type.Array(AttemptView, {
    description:
      'The calls, in order; of more than 128 the newest. A single successful call is derived from the completion: with the model’s ID, and the time to the first byte of the whole request. Empty: unknown.',
  }),
  client_request_id: nullable<string>('string', 'Name that the client gave to its request. Null: none.'),
  agent_id: nullable<string>('string', 'The agent that made the request. Null: none.'),
  run_id: nullable<string>('string', 'The run of the agent.'),
  api: oneOf(API_NAMES, { description: 'The API that the request came by.' }),
  request_id: nullable<string>('string', '`req_…` of the HTTP request, as in `x-request-id`. Null: unknown.'),
  tags: Type.Record(Type.String(), Type.String(), { description: 'Tags of the request.' }),
  session_id: nullable<string>('string', 'The client’s session. Null: none.'),
  end_user: nullable<string>('string', 'Hash of the client’s name for its user. Null: none.'),
})

const RULE = Type.String({
  description:
    'Rule of the price that applied: `base` is the price itself, `above_200000` a tier, `flex` a service tier, `discount` a time of day, `cache_write_1h` a lifetime of cache writes, `byok` the account’s own credential. Several rules are joined by `+`.',
})

const PricingView = Type.Object(
  {
    price_version: Type.String({ description: 'Version of the price that was charged.' }),
    input_per_million: Type.Number({ description: 'USD per million tokens.' }),
    cached_input_per_million: nullable<number>('number', 'USD per million tokens. Null: as input.'),
    cache_write_per_million: nullable<number>('number', 'USD per million tokens. Null: as input.'),
    output_per_million: Type.Number({ description: 'USD per million tokens.' }),
    rule: RULE,
    lines: Type.Array(
      Type.Object({
        kind: oneOf(LINE_KINDS, {
          description:
            'input and output: prompt and completion tokens without a separate line. request, image and server_tool are fees, with 0 `tokens`.',
        }),
        name: Type.Optional(Type.String({ description: 'Name of a server tool.' })),
        tokens: Type.Integer(),
        above_prompt_tokens: Type.Optional(
          Type.Integer({
            description: 'Threshold of a tier that prices only the excess above it.',
          }),
        ),
        usd_per_million: Type.Number({ description: 'Rate of tokens; 0 for fees.' }),
        uses: Type.Optional(Type.Integer({ description: 'Number of units of a fee.' })),
        usd_per_use: Type.Optional(Type.Number({ description: 'Price of a unit of a fee.' })),
        cost_usd: Type.Number({ description: 'USD, exact: at most 12 decimals.' }),
      }),
      {
        description:
          'Lines whose sum, rounded up to the next nano-dollar, is `cost_usd` of the completion; with `byok` its `list_cost_usd`.',
      },
    ),
    byok_fee_percent: Type.Optional(
      Type.Number({ description: 'Percent of `list_cost_usd` that is charged, rounded up. Only with `byok`.' }),
    ),
  },
  { description: 'How the cost came about.' },
)

export const WholeCompletionView = Type.Object({
  ...CompletionView.properties,
  pricing: Type.Unsafe<Static<typeof PricingView> | null>({
    anyOf: [PricingView, { type: 'null' }],
    description:
      'Calculation of the cost. Null: the price is unknown, the charge was corrected later, or the charge is not based on the tokens, as after a failure.',
  }),
})

const OverviewView = Type.Object({
  period_start: Type.String({ description: 'ISO 8601 UTC.' }),
  period_end: Type.String({ description: 'ISO 8601 UTC, exclusive.' }),
  interval: oneOf(['minute', 'hour', 'day'] as const, { description: 'The unit of a bucket.' }),
  width: Type.Integer({ description: 'Length of a bucket in this unit.' }),
  buckets: Type.Array(
    Type.Object({
      at: Type.String({
        description: 'Start of the bucket, ISO 8601 UTC. The first bucket may start before the period.',
      }),
      completed: Type.Integer(),
      failed: Type.Integer(),
      client_left: Type.Integer(),
      incomplete: Type.Integer(),
    }),
    {
      description:
        'The buckets of the period in order, including empty ones; at most 91. Only completions in the period are counted.',
    },
  ),
})

export const CompletionPage = Type.Object({
  ...pageSchema(CompletionView).properties,
  overview: Type.Optional(OverviewView),
})

export const CompletionFileView = Type.String({
  description:
    'RFC 4180, UTF-8; columns id, created_at, model, provider, status, stream, finish_reason, key_id, prompt_tokens, ' +
    'cached_tokens, cache_write_tokens, completion_tokens, reasoning_tokens, cost_usd, usage_source, first_byte_ms, ' +
    'duration_ms, attempts, client_request_id, unbilled_usd, api, request_id, tags, session_id, end_user. What is null in JSON is empty.',
})

export interface Reading {
  /** Of keys. */
  readonly names: Names
  /** Of who reads, for messages of providers and what operators owe to them; undefined: none are shown. */
  readonly rights?: ReadonlySet<Right>
}

export function renderCompletion(row: CompletionRow, { names, rights }: Reading): Static<typeof CompletionView> {
  const { client_request_id: name } = row
  const agent = name === null ? undefined : readAgentReference(name)
  return {
    id: row.id,
    object: 'completion',
    created_at: isoTime(row.created_at),
    key_id: row.key_id,
    key_name: names.get(row.key_id) ?? null,
    model: row.model,
    provider: row.provider,
    status: row.status,
    stream: row.stream === 1,
    finish_reason: row.finish_reason,
    prompt_tokens: row.prompt_tokens,
    completion_tokens: row.completion_tokens,
    cached_tokens: row.cached_tokens,
    cache_write_tokens: row.cache_write_tokens,
    reasoning_tokens: row.reasoning_tokens,
    cost_usd: usdNumber(row.cost_nano_usd),
    usage_source: row.usage_bounded === 1 ? 'bounded' : row.usage_source,
    ...renderByok(row),
    ...(rights?.has('operator') && { provider_cost_usd: usdNumber(row.provider_cost_nano_usd ?? row.cost_nano_usd) }),
    unbilled_usd: usdNumber(row.unbilled_nano_usd ?? 0n),
    price_version: row.price_version,
    duration_ms: row.duration_ms,
    first_byte_ms: row.first_byte_ms,
    attempts: row.attempts,
    attempt_log: attemptsOf(row).map((note) => renderAttempt(note, rights)),
    client_request_id: agent === undefined ? name : null,
    agent_id: agent?.agentId ?? null,
    run_id: agent?.runId ?? null,
    api: row.api ?? 'chat_completions',
    request_id: row.request_id,
    tags: tagsOfText(row.tags),
    session_id: row.session_id,
    end_user: row.end_user,
  }
}

function renderByok(row: CompletionRow): { readonly byok?: true; readonly list_cost_usd?: number } {
  const byok = readStoredByok(row)
  if (byok === undefined) return {}
  const { listNanoUsd: list } = byok
  return { byok: true, ...(list === undefined ? {} : { list_cost_usd: usdNumber(BigInt(list)) }) }
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

/** Messages about the operator's accounts are the operator's; clients get those about their own requests anyway. */
function mayReadMessage({ outcome, credentialId }: AttemptNote, rights: ReadonlySet<Right>): boolean {
  const isTheirs = outcome === 'rejected' || credentialId !== undefined
  return rights.has('operator') || (isTheirs && rights.has('keys'))
}

function renderAttempt(note: AttemptNote, rights: ReadonlySet<Right> | undefined): Static<typeof AttemptView> {
  const { message } = note
  const isShown = message !== undefined && rights !== undefined && mayReadMessage(note, rights)
  const { provider, model, outcome, status, startedMs, durationMs, reason, credentialId } = note
  return {
    provider,
    model,
    outcome,
    status: status === 0 ? null : status,
    started_ms: startedMs,
    duration_ms: durationMs,
    ...(reason !== undefined && { reason }),
    ...(credentialId === undefined ? {} : { provider_credential_id: credentialId }),
    ...(isShown && { message }),
  }
}

function renderLine(line: ChargeLine) {
  const cost_usd = lineUsd(line)
  if ('tokens' in line) {
    const { kind, tokens, microUsd, abovePromptTokens: above } = line
    const place = above === undefined ? {} : { above_prompt_tokens: above }
    return { kind, tokens, ...place, usd_per_million: dollars(microUsd), cost_usd }
  }
  const { kind, name, uses, nanoUsd } = line
  const usd_per_use = usdNumber(BigInt(nanoUsd))
  return { kind, ...(name === undefined ? {} : { name }), tokens: 0, usd_per_million: 0, uses, usd_per_use, cost_usd }
}

export function renderPricing(row: CompletionRow, pricing: Pricing | undefined): Static<typeof PricingView> | null {
  if (pricing === undefined) return null
  const { price, rule, lines } = pricing
  const byok = readStoredByok(row)
  const { cachedInputMicroUsd: cached, cacheWriteMicroUsd: written } = price
  return {
    price_version: row.price_version,
    input_per_million: dollars(price.inputMicroUsd),
    cached_input_per_million: cached === undefined ? null : dollars(cached),
    cache_write_per_million: written === undefined ? null : dollars(written),
    output_per_million: dollars(price.outputMicroUsd),
    rule,
    lines: lines.map(renderLine),
    ...(byok === undefined ? {} : { byok_fee_percent: byok.feePpm / 1e4 }),
  }
}

export function renderOverview({ period, interval, width, buckets }: Overview): Static<typeof OverviewView> {
  return {
    period_start: isoTime(period.start),
    period_end: isoTime(period.end),
    interval,
    width,
    buckets: buckets.map(({ at, counts }) => ({ at: isoTime(at), ...counts })),
  }
}

function dollars(microUsd: number): number {
  return microUsd / 1e6
}

export type UntimedFilter = Omit<CompletionFilter, 'period'>

const FilterQuery = Type.Object(FILTER_QUERY)

/** @param accountId Of the caller, for the hash of an end user. */
export function readUntimedFilter(query: Static<typeof FilterQuery>, accountId: AccountId): UntimedFilter {
  const { model, key_id: keyId, status, agent_id: agentId, provider, client_request_id: clientRequestId } = query
  return {
    model,
    keyId: keyId as KeyId | undefined,
    status,
    agentId: agentId as AgentId | undefined,
    provider,
    clientRequestId,
    requestId: query.request_id,
    tag: query.tag,
    sessionId: query.session_id,
    endUser: query.end_user === undefined ? undefined : endUserOf(accountId, query.end_user),
    outcome: query.outcome,
    durationMs: boundsOf(numberOf(query.min_duration_ms), numberOf(query.max_duration_ms)),
    costUsd: boundsOf(query.min_cost_usd, query.max_cost_usd),
  }
}

/** Undefined without any, so that a filter without bounds is none. */
function boundsOf<Value>(min: Value | undefined, max: Value | undefined): Bounds<Value> | undefined {
  return min === undefined && max === undefined ? undefined : { min, max }
}

function numberOf(text: string | undefined): number | undefined {
  return text === undefined ? undefined : Number(text)
}
