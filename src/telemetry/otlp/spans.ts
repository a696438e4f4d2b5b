/**
 * Converts the traces of requests to spans: one of kind SERVER for the request, one of kind CLIENT for each attempt at a
 * provider, with the GenAI semantic conventions. It runs when a batch is sent, never while a request runs.
 */
import {
  type Attributes,
  type HrTime,
  type SpanContext,
  SpanKind,
  type SpanStatus,
  SpanStatusCode,
} from '@opentelemetry/api'
import type { Resource } from '@opentelemetry/resources'
import type { ReadableSpan } from '@opentelemetry/sdk-trace'
import type { ChatMessage, ContentPart, ToolCall } from '../../domain/chat.ts'
import type { CompletionRecord } from '../../domain/completion.ts'
import type { AttemptTrace, RequestTrace, TraceStep } from '../../domain/trace.ts'
import { parseJson } from '../../lib/json.ts'
import { operationOf } from '../gen-ai-metrics.ts'

/** What spans of a destination have besides, by the role of a span. */
export interface SpanExtras {
  readonly request: Attributes
  readonly attempt: Attributes
}

export interface SpanSource {
  readonly resource: Resource
  readonly scope: { readonly name: string; readonly version: string }
  readonly extras?: SpanExtras | undefined
  /** Returns the attributes with the prompt and the answer. Absent for receivers that get neither. */
  readonly contentOf?: ((trace: RequestTrace) => Attributes) | undefined
  /** The receiver is not the operator's, whose hosts are not its business. */
  readonly isForeign: boolean
}

export function spansOf(trace: RequestTrace, source: SpanSource): ReadableSpan[] {
  const { startedAt, startedAtUnixMs } = trace
  const unixMs = (at: number): number => startedAtUnixMs + (at - startedAt)
  const last = trace.attempts.at(-1)
  const attempts = trace.attempts.map((attempt) =>
    attemptSpan({ trace, attempt, source, unixMs, isLast: attempt === last }),
  )
  return [requestSpan(trace, source, unixMs), ...attempts]
}

/** Spans of a trace. */
export function spanCount({ attempts }: RequestTrace): number {
  return attempts.length + 1
}

function requestSpan(trace: RequestTrace, source: SpanSource, unixMs: (at: number) => number): ReadableSpan {
  const { context, parentSpanId, record, request, route } = trace
  const { traceId } = context
  const parent = parentSpanId && { traceId, spanId: parentSpanId, traceFlags: 1, isRemote: true }
  return spanOf({
    source,
    name: route ?? operationName(record, request?.model ?? ''),
    kind: route === undefined ? SpanKind.INTERNAL : SpanKind.SERVER,
    context: contextOf(trace, context.spanId),
    parent: parent || undefined,
    startMs: unixMs(trace.startedAt),
    endMs: unixMs(trace.endedAt ?? trace.startedAt),
    attributes: { ...httpAttributes(trace), ...requestAttributes(trace), ...source.extras?.request },
    events: trace.steps.map((step) => eventOf(step, unixMs)),
    status: isFailure(trace) ? ERROR : UNSET,
  })
}

const UNSET: SpanStatus = { code: SpanStatusCode.UNSET }
const ERROR: SpanStatus = { code: SpanStatusCode.ERROR }

/** A server span fails with the server, not with its client. */
function isFailure({ status, record, route }: RequestTrace): boolean {
  if (record?.status === 'failed' || record?.status === 'incomplete') return true
  return route !== undefined && status !== undefined && status >= 500
}

function operationName(record: CompletionRecord | undefined, model: string): string {
  return `${operationOf(record?.api)} ${model}`
}

function httpAttributes({ route, status, errorCode, record }: RequestTrace): Attributes {
  if (route === undefined) return errorCode === undefined ? {} : { 'error.type': errorCode }
  const [method = '', path = ''] = route.split(' ')
  const error = errorCode ?? (record === undefined || record.status === 'completed' ? undefined : record.status)
  return {
    'http.request.method': method,
    ...(path !== '' && { 'http.route': path }),
    ...(status !== undefined && { 'http.response.status_code': status }),
    ...(error !== undefined && { 'error.type': error }),
  }
}

function requestAttributes({ request, record, attempts }: RequestTrace): Attributes {
  if (request === undefined) return {}
  const { model, stream, maxTokens, temperature, topP } = request
  const answering = attempts.at(-1)
  return {
    'gen_ai.operation.name': operationOf(record?.api),
    'gen_ai.request.model': model,
    'gen_ai.request.stream': stream,
    ...(maxTokens !== undefined && { 'gen_ai.request.max_tokens': maxTokens }),
    ...(temperature !== undefined && { 'gen_ai.request.temperature': temperature }),
    ...(topP !== undefined && { 'gen_ai.request.top_p': topP }),
    ...(answering !== undefined && { 'gen_ai.provider.name': answering.kind }),
    ...(record !== undefined && { ...usageAttributes(record), ...accountAttributes(record) }),
  }
}

function usageAttributes(record: CompletionRecord): Attributes {
  const { id, model, promptTokens, completionTokens, cachedTokens, cacheWriteTokens, reasoningTokens } = record
  const { finishReason, firstByteMs, stream, costNanoUsd } = record
  return {
    'gen_ai.response.id': id,
    'gen_ai.response.model': model,
    'gen_ai.usage.input_tokens': promptTokens,
    'gen_ai.usage.output_tokens': completionTokens,
    ...(cachedTokens > 0 && { 'gen_ai.usage.cache_read.input_tokens': cachedTokens }),
    ...(cacheWriteTokens > 0 && { 'gen_ai.usage.cache_creation.input_tokens': cacheWriteTokens }),
    ...(reasoningTokens > 0 && { 'gen_ai.usage.reasoning.output_tokens': reasoningTokens }),
    ...(finishReason !== undefined && { 'gen_ai.response.finish_reasons': [finishReason] }),
    ...(stream && firstByteMs !== undefined && { 'gen_ai.response.time_to_first_chunk': firstByteMs / 1000 }),
    'turnpike.cost_usd': Number(costNanoUsd) / 1e9,
  }
}

function accountAttributes(record: CompletionRecord): Attributes {
  const { accountId, keyId, status, usageSource, attempts, clientRequestId, priceVersion } = record
  return {
    'turnpike.account_id': accountId,
    'turnpike.key_id': keyId,
    'turnpike.status': status,
    'turnpike.usage_source': usageSource,
    'turnpike.price_version': priceVersion,
    'turnpike.attempts': attempts,
    ...(clientRequestId !== undefined && { 'turnpike.client_request_id': clientRequestId }),
  }
}

interface AttemptSpanInput {
  readonly trace: RequestTrace
  readonly attempt: AttemptTrace
  readonly source: SpanSource
  readonly unixMs: (at: number) => number
  readonly isLast: boolean
}

/** The usage of an answer is that of its attempt, which is the last one. */
function attemptSpan({ trace, attempt, source, unixMs, isLast }: AttemptSpanInput): ReadableSpan {
  const { record, context } = trace
  const { model, outcome, startedAt } = attempt
  const operation = operationOf(record?.api)
  return spanOf({
    source,
    name: `${operation} ${model}`,
    kind: SpanKind.CLIENT,
    context: contextOf(trace, attempt.spanId),
    parent: { traceId: context.traceId, spanId: context.spanId, traceFlags: 1, isRemote: false },
    startMs: unixMs(startedAt),
    endMs: unixMs(attempt.endedAt ?? trace.endedAt ?? startedAt),
    attributes: {
      'gen_ai.operation.name': operation,
      'gen_ai.provider.name': attempt.kind,
      'gen_ai.request.model': model,
      'turnpike.provider': attempt.provider,
      ...(!source.isForeign && serverAttributes(attempt.baseUrl)),
      ...outcomeAttributes(attempt),
      ...(isLast &&
        outcome === undefined &&
        record !== undefined && { ...usageAttributes(record), 'gen_ai.response.model': model }),
      ...(trace.request?.stream === true &&
        attempt.firstEventMs !== undefined && {
          'gen_ai.response.time_to_first_chunk': attempt.firstEventMs / 1000,
        }),
      ...(isLast && source.contentOf?.(trace)),
      ...source.extras?.attempt,
    },
    events: [],
    status: outcome === undefined || outcome === 'abandoned' ? UNSET : ERROR,
  })
}

function outcomeAttributes({ outcome, status }: AttemptTrace): Attributes {
  return {
    'turnpike.outcome': outcome ?? 'answered',
    ...(status > 0 && { 'http.response.status_code': status }),
    ...(outcome !== undefined && outcome !== 'abandoned' && { 'error.type': outcome }),
  }
}

/** Operators configure few addresses. */
const servers = new Map<string, Attributes>()

function serverAttributes(baseUrl: string): Attributes {
  let known = servers.get(baseUrl)
  if (known === undefined) {
    known = /^https?:/.test(baseUrl) ? addressOf(new URL(baseUrl)) : {}
    servers.set(baseUrl, known)
  }
  return known
}

function addressOf({ hostname, port, protocol }: URL): Attributes {
  const usual = protocol === 'https:' ? 443 : 80
  return { 'server.address': hostname, 'server.port': port === '' ? usual : Number(port) }
}

function eventOf({ name, at, value }: TraceStep, unixMs: (at: number) => number) {
  const attributes = name === 'queue' ? { 'turnpike.queue.wait_ms': value } : { 'turnpike.amount_usd': value / 1e9 }
  return { name: `turnpike.${name}`, time: hrTime(unixMs(at)), attributes }
}

function contextOf({ context: { traceId, sampled } }: RequestTrace, spanId: string): SpanContext {
  return { traceId, spanId, traceFlags: sampled ? 1 : 0 }
}

interface SpanInput {
  readonly source: SpanSource
  readonly name: string
  readonly kind: SpanKind
  readonly context: SpanContext
  readonly parent: SpanContext | undefined
  readonly startMs: number
  readonly endMs: number
  readonly attributes: Attributes
  readonly events: ReadableSpan['events']
  readonly status: SpanStatus
}

function spanOf({ source, context, parent, startMs, endMs, ...span }: SpanInput): ReadableSpan {
  return {
    ...span,
    spanContext: () => context,
    ...(parent !== undefined && { parentSpanContext: parent }),
    startTime: hrTime(startMs),
    endTime: hrTime(Math.max(startMs, endMs)),
    duration: hrTime(Math.max(0, endMs - startMs)),
    ended: true,
    links: [],
    resource: source.resource,
    instrumentationScope: source.scope,
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  }
}

function hrTime(unixMs: number): HrTime {
  const seconds = Math.floor(unixMs / 1000)
  return [seconds, Math.round((unixMs - seconds * 1000) * 1e6)]
}

/** A chat completion, as content capture renders answers. */
interface Answer {
  readonly choices: readonly { readonly message: ChatMessage; readonly finish_reason: string | null }[]
}

type Part = Readonly<Record<string, unknown>>

/**
 * Returns the attributes of the GenAI conventions that have a prompt and its answer, as JSON text. Images, audio and files
 * are parts without their data.
 * @param answer JSON text of a chat completion. Undefined if there was none.
 */
export function contentAttributes(messages: readonly ChatMessage[], answer: string | undefined): Attributes {
  const after = messages.findIndex(({ role }) => role !== 'system' && role !== 'developer')
  const count = after < 0 ? messages.length : after
  const instructions = messages.slice(0, count).flatMap(partsOf)
  const input = messages.slice(count).map((message) => ({ role: message.role, parts: partsOf(message) }))
  const { choices } = answer === undefined ? { choices: [] } : (JSON.parse(answer) as Answer) // our own rendering
  const output = choices.map(({ message, finish_reason: reason }) => ({
    role: 'assistant',
    parts: partsOf(message),
    ...(reason !== null && { finish_reason: reason === 'tool_calls' ? 'tool_call' : reason }),
  }))
  return {
    ...(instructions.length > 0 && { 'gen_ai.system_instructions': JSON.stringify(instructions) }),
    ...(input.length > 0 && { 'gen_ai.input.messages': JSON.stringify(input) }),
    ...(output.length > 0 && { 'gen_ai.output.messages': JSON.stringify(output) }),
  }
}

function partsOf({ role, content, tool_calls: calls, tool_call_id: id, ...message }: ChatMessage): readonly Part[] {
  const said = typeof content === 'string' ? [textPart(content)] : (content ?? []).map(contentPart)
  if (role === 'tool') {
    const response = typeof content === 'string' ? content : said
    return [{ type: 'tool_call_response', id, response }]
  }
  const { reasoning_content: reasoning, refusal } = message
  return [
    ...(reasoning ? [{ type: 'reasoning', content: reasoning }] : []),
    ...said,
    ...(refusal ? [textPart(refusal)] : []),
    ...(calls ?? []).map(callPart),
  ]
}

function textPart(content: string): Part {
  return { type: 'text', content }
}

function contentPart(part: ContentPart): Part {
  if (part.type === 'text') return textPart(part.text)
  return part.type === 'refusal' ? textPart(part.refusal) : { type: part.type }
}

/** Calls of custom tools have their own form in answers. */
interface CustomCall {
  readonly id: string
  readonly type: 'custom'
  readonly custom: { readonly name: string; readonly input: string }
}

function callPart(call: ToolCall | CustomCall): Part {
  const { id } = call
  if (call.type === 'custom') return { type: 'tool_call', id, name: call.custom.name, arguments: call.custom.input }
  const { name, arguments: text } = call.function
  return { type: 'tool_call', id, name, arguments: parseJson(text) ?? text }
}
