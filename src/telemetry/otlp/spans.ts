/**
 * Writes the traces of requests as spans: one of kind SERVER for the request, one of kind CLIENT for each attempt at a
 * provider, with the GenAI semantic conventions. It runs when a trace has ended, which is after its response.
 */
import { type Attributes, SpanKind, SpanStatusCode } from '@opentelemetry/api'
import type { ChatMessage, ContentPart, ToolCall } from '../../domain/chat.ts'
import type { CompletionRecord } from '../../domain/completion.ts'
import type { AttemptTrace, RequestTrace, TraceStep } from '../../domain/trace.ts'
import { parseJson } from '../../lib/json.ts'
import { operationOf } from '../gen-ai-metrics.ts'
import { attributeName, type SpanEvent, type SpanWriter } from './span-encoder.ts'

/** What spans of a destination have besides, by the role of a span. */
export interface SpanExtras {
  readonly request: Attributes
  readonly attempt: Attributes
}

export interface SpanDetails {
  readonly extras?: SpanExtras | undefined
  /** Returns the attributes with the prompt and the answer. Absent for receivers that get neither. */
  readonly contentOf?: ((trace: RequestTrace) => Attributes) | undefined
  /** The receiver is not the operator's, whose hosts are not its business. */
  readonly isForeign: boolean
}

/** Spans of a trace. */
export function spanCount({ attempts }: RequestTrace): number {
  return attempts.length + 1
}

/** Writes the spans of a trace. */
export function writeTrace(writer: SpanWriter, trace: RequestTrace, details: SpanDetails): void {
  const last = trace.attempts.at(-1)
  // First, since what throws between two spans would leave half a trace to the next one.
  const content = last && details.contentOf?.(trace)
  writeRequestSpan(writer, trace, details)
  for (const attempt of trace.attempts) {
    writeAttemptSpan(writer, { trace, attempt, isLast: attempt === last, content, details })
  }
}

function writeRequestSpan(writer: SpanWriter, trace: RequestTrace, { extras }: SpanDetails): void {
  const { context, parentSpanId, record, request, route, startedAt, endedAt = startedAt } = trace
  writer.begin({
    name: route ?? operationName(record, request?.model ?? ''),
    kind: route === undefined ? SpanKind.INTERNAL : SpanKind.SERVER,
    traceId: context.traceId,
    spanId: context.spanId,
    isSampled: context.sampled,
    parentSpanId,
    isParentRemote: true,
    startMs: unixMs(trace, startedAt),
    endMs: unixMs(trace, Math.max(startedAt, endedAt)),
  })
  writeHttp(writer, trace)
  writeRequest(writer, trace)
  writeAttributes(writer, extras?.request)
  for (const step of trace.steps) writer.event(eventOf(trace, step))
  writer.end(isFailure(trace) ? SpanStatusCode.ERROR : SpanStatusCode.UNSET)
}

function unixMs({ startedAt, startedAtUnixMs }: RequestTrace, at: number): number {
  return startedAtUnixMs + (at - startedAt)
}

function eventOf(trace: RequestTrace, { name, at, value }: TraceStep): SpanEvent {
  const span = { name: `turnpike.${name}`, atMs: unixMs(trace, at) }
  return name === 'queue'
    ? { ...span, attribute: QUEUE_WAIT_MS, value }
    : { ...span, attribute: AMOUNT_USD, value: value / 1e9 }
}

/** A server span fails with the server, not with its client. */
function isFailure({ status, record, route }: RequestTrace): boolean {
  if (record?.status === 'failed' || record?.status === 'incomplete') return true
  return route !== undefined && status !== undefined && status >= 500
}

function operationName(record: CompletionRecord | undefined, model: string): string {
  return `${operationOf(record?.api)} ${model}`
}

const HTTP_METHOD = attributeName('http.request.method')
const HTTP_ROUTE = attributeName('http.route')
const HTTP_STATUS = attributeName('http.response.status_code')
const ERROR_TYPE = attributeName('error.type')
const OPERATION = attributeName('gen_ai.operation.name')
const PROVIDER_KIND = attributeName('gen_ai.provider.name')
const REQUEST_MODEL = attributeName('gen_ai.request.model')
const REQUEST_STREAM = attributeName('gen_ai.request.stream')
const REQUEST_MAX_TOKENS = attributeName('gen_ai.request.max_tokens')
const REQUEST_TEMPERATURE = attributeName('gen_ai.request.temperature')
const REQUEST_TOP_P = attributeName('gen_ai.request.top_p')
const RESPONSE_ID = attributeName('gen_ai.response.id', { isUnique: true })
const RESPONSE_MODEL = attributeName('gen_ai.response.model')
const FINISH_REASONS = attributeName('gen_ai.response.finish_reasons')
const FIRST_CHUNK_SECONDS = attributeName('gen_ai.response.time_to_first_chunk', { isUnique: true })
const INPUT_TOKENS = attributeName('gen_ai.usage.input_tokens')
const OUTPUT_TOKENS = attributeName('gen_ai.usage.output_tokens')
const CACHE_READ_TOKENS = attributeName('gen_ai.usage.cache_read.input_tokens')
const CACHE_WRITE_TOKENS = attributeName('gen_ai.usage.cache_creation.input_tokens')
const REASONING_TOKENS = attributeName('gen_ai.usage.reasoning.output_tokens')
const COST_USD = attributeName('turnpike.cost_usd', { isUnique: true })
const ACCOUNT_ID = attributeName('turnpike.account_id')
const KEY_ID = attributeName('turnpike.key_id')
const STATUS = attributeName('turnpike.status')
const USAGE_SOURCE = attributeName('turnpike.usage_source')
const PRICE_VERSION = attributeName('turnpike.price_version')
const ATTEMPTS = attributeName('turnpike.attempts')
const CLIENT_REQUEST_ID = attributeName('turnpike.client_request_id', { isUnique: true })
const PROVIDER = attributeName('turnpike.provider')
const OUTCOME = attributeName('turnpike.outcome')
const QUEUE_WAIT_MS = attributeName('turnpike.queue.wait_ms', { isUnique: true })
const AMOUNT_USD = attributeName('turnpike.amount_usd', { isUnique: true })

function writeHttp(writer: SpanWriter, { route, status, errorCode, record }: RequestTrace): void {
  if (route === undefined) {
    writer.attribute(ERROR_TYPE, errorCode)
    return
  }
  const space = route.indexOf(' ')
  writer.attribute(HTTP_METHOD, space < 0 ? route : route.slice(0, space))
  if (space >= 0) writer.attribute(HTTP_ROUTE, route.slice(space + 1))
  writer.attribute(HTTP_STATUS, status)
  writer.attribute(ERROR_TYPE, errorCode ?? (record?.status === 'completed' ? undefined : record?.status))
}

function writeRequest(writer: SpanWriter, { request, record }: RequestTrace): void {
  if (request === undefined) return
  writer.attribute(OPERATION, operationOf(record?.api))
  writer.attribute(REQUEST_MODEL, request.model)
  writer.attribute(REQUEST_STREAM, request.stream)
  writer.attribute(REQUEST_MAX_TOKENS, request.maxTokens)
  writer.attribute(REQUEST_TEMPERATURE, request.temperature)
  writer.attribute(REQUEST_TOP_P, request.topP)
  if (record === undefined) return
  writeFirstChunk(writer, record, record.firstByteMs)
  writeAccount(writer, record)
}

/** Receivers add up the tokens of all spans: one alone has them, that of the attempt that answered. */
function writeUsage(writer: SpanWriter, record: CompletionRecord, model: string): void {
  const { finishReason } = record
  writer.attribute(RESPONSE_ID, record.id)
  writer.attribute(RESPONSE_MODEL, model)
  writer.attribute(INPUT_TOKENS, record.promptTokens)
  writer.attribute(OUTPUT_TOKENS, record.completionTokens)
  writer.attribute(CACHE_READ_TOKENS, unlessZero(record.cachedTokens))
  writer.attribute(CACHE_WRITE_TOKENS, unlessZero(record.cacheWriteTokens))
  writer.attribute(REASONING_TOKENS, unlessZero(record.reasoningTokens))
  if (finishReason !== undefined) writer.attribute(FINISH_REASONS, [finishReason])
}

/** @param firstMs Milliseconds to the first event of a stream. */
function writeFirstChunk(
  writer: SpanWriter,
  { stream }: Pick<CompletionRecord, 'stream'>,
  firstMs: number | undefined,
): void {
  if (stream && firstMs !== undefined) writer.attribute(FIRST_CHUNK_SECONDS, firstMs / 1000)
}

function unlessZero(count: number): number | undefined {
  return count === 0 ? undefined : count
}

function writeAccount(writer: SpanWriter, record: CompletionRecord): void {
  writer.attribute(ACCOUNT_ID, record.accountId)
  writer.attribute(KEY_ID, record.keyId)
  writer.attribute(STATUS, record.status)
  writer.attribute(COST_USD, Number(record.costNanoUsd) / 1e9)
  writer.attribute(USAGE_SOURCE, record.usageSource)
  writer.attribute(PRICE_VERSION, record.priceVersion)
  writer.attribute(ATTEMPTS, record.attempts)
  writer.attribute(CLIENT_REQUEST_ID, record.clientRequestId)
}

interface AttemptSpan {
  readonly trace: RequestTrace
  readonly attempt: AttemptTrace
  readonly isLast: boolean
  /** Of the last attempt. */
  readonly content: Attributes | undefined
  readonly details: SpanDetails
}

function writeAttemptSpan(writer: SpanWriter, { trace, attempt, isLast, content, details }: AttemptSpan): void {
  const { record, context } = trace
  const { model, outcome, startedAt, firstEventMs } = attempt
  const operation = operationOf(record?.api)
  writer.begin({
    name: `${operation} ${model}`,
    kind: SpanKind.CLIENT,
    traceId: context.traceId,
    spanId: attempt.spanId,
    isSampled: context.sampled,
    parentSpanId: context.spanId,
    isParentRemote: false,
    startMs: unixMs(trace, startedAt),
    endMs: unixMs(trace, Math.max(startedAt, attempt.endedAt ?? trace.endedAt ?? startedAt)),
  })
  writer.attribute(OPERATION, operation)
  writer.attribute(PROVIDER_KIND, attempt.kind)
  writer.attribute(REQUEST_MODEL, model)
  writer.attribute(PROVIDER, attempt.provider)
  if (!details.isForeign) writeAttributes(writer, serverAttributes(attempt.baseUrl))
  writeOutcome(writer, attempt)
  // What is charged is the usage of the last attempt.
  if (isLast && record !== undefined && (outcome === undefined || hasUsage(record))) writeUsage(writer, record, model)
  if (trace.request !== undefined) writeFirstChunk(writer, trace.request, firstEventMs)
  if (isLast) writeAttributes(writer, content)
  writeAttributes(writer, details.extras?.attempt)
  writer.end(outcome === undefined || outcome === 'abandoned' ? SpanStatusCode.UNSET : SpanStatusCode.ERROR)
}

function hasUsage({ promptTokens, completionTokens }: CompletionRecord): boolean {
  return promptTokens + completionTokens > 0
}

function writeOutcome(writer: SpanWriter, { outcome, status }: AttemptTrace): void {
  writer.attribute(OUTCOME, outcome ?? 'answered')
  writer.attribute(HTTP_STATUS, unlessZero(status))
  writer.attribute(ERROR_TYPE, outcome === 'abandoned' ? undefined : outcome)
}

function writeAttributes(writer: SpanWriter, attributes: Attributes | undefined): void {
  for (const name in attributes) writer.attribute(attributeName(name), attributes[name])
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
