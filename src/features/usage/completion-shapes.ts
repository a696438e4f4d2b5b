/** Completions on the wire. */

import { type Static, Type } from 'typebox'
import { readAgentReference } from '../../domain/agent.ts'
import type { FinishReason } from '../../domain/chat.ts'
import {
  type AttemptNote,
  type AttemptOutcome,
  type CompletionStatus,
  parseAttemptLog,
  type UsageSource,
} from '../../domain/completion.ts'
import type { AgentId, KeyId } from '../../domain/ids.ts'
import { usdNumber } from '../../domain/money.ts'
import type { ChargeLine } from '../../domain/price/price.ts'
import { pageSchema } from '../../http/page.ts'
import { timeParameter } from '../../http/period.ts'
import type { CompletionFilter, CompletionRow } from './completion-list.ts'
import type { Names } from './names.ts'
import type { Overview } from './overview.ts'
import { LINE_KINDS, lineUsd, type Pricing } from './pricing.ts'
import { isoTime, nullable, oneOf, usd } from './wire-fields.ts'

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

export const FILTER_QUERY = {
  model: Type.Optional(Type.String({ description: 'Only this model, by the ID in its rows.' })),
  key_id: Type.Optional(Type.String({ description: 'Only requests of this API key, device or signed-in person.' })),
  status: Type.Optional(oneOf(STATUSES, { description: 'Only completions with this status.' })),
  agent_id: Type.Optional(Type.String({ description: 'Only requests of this agent.' })),
  provider: Type.Optional(
    Type.String({ description: 'Only completions of this provider, by its name in the configuration.' }),
  ),
  client_request_id: Type.Optional(Type.String({ description: 'Only requests with this name, given by the client.' })),
}

export const CompletionQuery = {
  period_start: timeParameter('ISO 8601 UTC: only completions created at or after it.'),
  period_end: timeParameter('ISO 8601 UTC: only completions created before it.'),
  ...FILTER_QUERY,
  provider: Type.Optional(
    Type.String({
      description:
        'Only completions of this provider, by its name in the configuration. Needs a period of at most 7 days.',
    }),
  ),
  client_request_id: Type.Optional(
    Type.String({
      description: 'Only requests with this name, given by the client. Needs a period of at most 7 days.',
    }),
  ),
  include: Type.Optional(
    oneOf(['overview'] as const, {
      description:
        '`overview`: adds a histogram of what is listed, over the period, else over the last 24 hours. A CSV file has none.',
    }),
  ),
  format: Type.Optional(
    oneOf(['json', 'csv'] as const, {
      description:
        '`csv` is a file of what is listed. Without it the `Accept` header decides; `application/json` is preferred.',
    }),
  ),
}

const AttemptView = Type.Object({
  provider: Type.String({ description: 'The provider that was called, by its name in the configuration.' }),
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

const CompletionView = Type.Object({
  id: Type.String({ description: 'The `id` of the answer.' }),
  object: Type.Literal('completion'),
  created_at: Type.String({ description: 'ISO 8601 UTC.' }),
  key_id: Type.String({ description: 'The id of the API key, device or person that made the request.' }),
  key_name: nullable<string>('string', 'The key’s name, the device, or the person’s e-mail address. Null: deleted.'),
  model: Type.String({ description: 'The model’s ID, also where the request named an alias.' }),
  provider: Type.String({ description: 'The provider that answered, by its name in the configuration.' }),
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
  cache_write_tokens: Type.Integer({ description: 'Prompt tokens written to the provider’s cache.' }),
  reasoning_tokens: Type.Integer({ description: 'Completion tokens that were reasoning, where the provider says so.' }),
  cost_usd: usd('What this completion was charged.'),
  usage_source: oneOf(['provider', 'estimated', 'bounded'] as const satisfies readonly UsageSource[], {
    description:
      'Who counted the tokens: the provider, or Turnpike where the provider’s count did not arrive. bounded: the ' +
      'provider reported more than the request can have used, or less than was delivered; the nearest possible ' +
      'figures are charged.',
  }),
  unbilled_usd: usd(
    'What its tokens cost beyond `cost_usd`: not charged, since the account’s overrun cap was reached.',
  ),
  price_version: Type.String({ description: 'The price it was charged at; it never changes.' }),
  duration_ms: Type.Integer({ description: 'From the request’s arrival to the end of the answer.' }),
  first_byte_ms: nullable<number>('integer', 'From the request’s arrival to the first byte. Null: there was none.'),
  attempts: Type.Integer({ description: 'Calls made to providers.' }),
  attempt_log: Type.Array(AttemptView, {
    description:
      'The calls in order, the newest 10. A single call that answered is told from the row: the model by its ID, the ' +
      'time to the first byte of the whole request. Empty: not known.',
  }),
  client_request_id: nullable<string>('string', 'The client’s name for its request. Null: none was given.'),
  agent_id: nullable<string>('string', 'The agent that made the request. Null: none.'),
  run_id: nullable<string>('string', 'The run of the agent.'),
})

const RULE = Type.String({
  description:
    'What of the price applied: `base` is the price itself; `above_200000` a tier, `flex` a service tier, `discount` ' +
    'a time of day, `cache_write_1h` a lifetime of cache writes; several are joined by `+`.',
})

const PricingView = Type.Object(
  {
    price_version: Type.String({ description: 'The price that it was charged at.' }),
    input_per_million: Type.Number({ description: 'USD per million tokens.' }),
    cached_input_per_million: nullable<number>('number', 'USD per million tokens. Null: as input.'),
    cache_write_per_million: nullable<number>('number', 'USD per million tokens. Null: as input.'),
    output_per_million: Type.Number({ description: 'USD per million tokens.' }),
    rule: RULE,
    lines: Type.Array(
      Type.Object({
        kind: oneOf(LINE_KINDS, {
          description:
            'input: prompt tokens that have no line of their own; output: completion tokens likewise. request, image ' +
            'and server_tool are fees: their `tokens` are 0.',
        }),
        name: Type.Optional(Type.String({ description: 'Of a server tool.' })),
        tokens: Type.Integer(),
        above_prompt_tokens: Type.Optional(
          Type.Integer({
            description: 'The threshold above which these tokens are, of a tier that prices the excess.',
          }),
        ),
        usd_per_million: Type.Number({ description: 'Of tokens; 0 of fees.' }),
        uses: Type.Optional(Type.Integer({ description: 'Of fees.' })),
        usd_per_use: Type.Optional(Type.Number({ description: 'Of fees.' })),
        cost_usd: Type.Number({ description: 'USD, exact: at most 12 decimals.' }),
      }),
      { description: 'Their sum, rounded up to the next nano-dollar, is `cost_usd` of the completion.' },
    ),
  },
  { description: 'How the cost came about.' },
)

export const WholeCompletionView = Type.Object({
  ...CompletionView.properties,
  pricing: Type.Unsafe<Static<typeof PricingView> | null>({
    anyOf: [PricingView, { type: 'null' }],
    description:
      'How the cost came about. Null: the price is not known, the charge was corrected since, or the tokens were not ' +
      'what was charged, as where it failed.',
  }),
})

const OverviewView = Type.Object({
  period_start: Type.String({ description: 'ISO 8601 UTC.' }),
  period_end: Type.String({ description: 'ISO 8601 UTC, not included.' }),
  interval: oneOf(['minute', 'hour', 'day'] as const, { description: 'The unit of a bucket.' }),
  width: Type.Integer({ description: 'How many of them a bucket is long.' }),
  buckets: Type.Array(
    Type.Object({
      at: Type.String({ description: 'ISO 8601 UTC: its first moment; the first bucket may begin before the period.' }),
      completed: Type.Integer(),
      failed: Type.Integer(),
      client_left: Type.Integer(),
      incomplete: Type.Integer(),
    }),
    { description: 'All of the period, in order, empty ones too; only what is in the period is counted. At most 91.' },
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
    'duration_ms, attempts, client_request_id, unbilled_usd. What is null in JSON is empty.',
})

/** @param names Of keys. */
export function renderCompletion(row: CompletionRow, names: Names): Static<typeof CompletionView> {
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
    unbilled_usd: usdNumber(row.unbilled_nano_usd ?? 0n),
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
  const { cachedInputMicroUsd: cached, cacheWriteMicroUsd: written } = price
  return {
    price_version: row.price_version,
    input_per_million: dollars(price.inputMicroUsd),
    cached_input_per_million: cached === undefined ? null : dollars(cached),
    cache_write_per_million: written === undefined ? null : dollars(written),
    output_per_million: dollars(price.outputMicroUsd),
    rule,
    lines: lines.map(renderLine),
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

export function readUntimedFilter(query: Static<typeof FilterQuery>): UntimedFilter {
  const { model, key_id: keyId, status, agent_id: agentId, provider, client_request_id: clientRequestId } = query
  return {
    model,
    keyId: keyId as KeyId | undefined,
    status,
    agentId: agentId as AgentId | undefined,
    provider,
    clientRequestId,
  }
}
