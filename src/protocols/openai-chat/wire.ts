/**
 * The parts of the wire that we read, checked by hand: a schema library costs more than the parse itself, for every
 * token. What is not what it should be reads as absent, unless the answer would lose something by it.
 *
 * Source: https://platform.openai.com/docs/api-reference/chat, and the recorded answers of the hosts.
 */
import type { ChatEvent, FinishReason } from '../../domain/chat.ts'
import { isRecord, type Json, textOf } from '../../lib/json.ts'

const FINISH_REASONS: Readonly<Record<string, FinishReason>> = {
  stop: 'stop',
  length: 'length',
  tool_calls: 'tool_calls',
  content_filter: 'content_filter',
  function_call: 'tool_calls',
  tool_use: 'tool_calls',
  model_length: 'length',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  sensitive: 'content_filter',
}

/** Words in the place of a finish reason that say that there is no whole answer. */
const BREAKDOWNS: readonly string[] = ['error', 'abort', 'insufficient_system_resource', 'network_error']

/** @param raw A finish reason or anything else. @returns whether it says that the host broke down. */
export function isBreakdown(raw: unknown): boolean {
  return typeof raw === 'string' && BREAKDOWNS.includes(raw)
}

/**
 * Hosts have many words for a normal end (`eos`, `end_turn`, …), so an unknown one is `stop`.
 * @param calledTools Whether the choice has tool calls; then the answer never just stopped.
 */
export function parseFinish(raw: string, calledTools: boolean): FinishReason {
  const reason = Object.hasOwn(FINISH_REASONS, raw) ? FINISH_REASONS[raw] : undefined
  return calledTools && (reason === undefined || reason === 'stop') ? 'tool_calls' : (reason ?? 'stop')
}

/** JSON text of a tool call's arguments, which some hosts send as an object; '' when there are none. */
export function argumentsText(value: unknown): string {
  if (typeof value === 'string') return value
  return value === undefined || value === null ? '' : JSON.stringify(value)
}

/** What a tool call, or a fragment of one, says of the function or the custom tool that is called. */
export function calledTool(call: Json): { readonly called: Json; readonly isCustom: boolean } {
  if (isRecord(call.function)) return { called: call.function, isCustom: false }
  return isRecord(call.custom) ? { called: call.custom, isCustom: true } : NOTHING_CALLED
}

const NOTHING_CALLED = { called: {}, isCustom: false }

/** Whether a choice's `logprobs` says anything. */
export function hasLogprobs(logprobs: unknown): boolean {
  if (!isRecord(logprobs)) return false
  const { content, refusal } = logprobs
  return (Array.isArray(content) && content.length > 0) || (Array.isArray(refusal) && refusal.length > 0)
}

/** Whether a body or chunk says that there is an error in place of an answer. */
export function hasError(body: Json): boolean {
  const { error } = body
  return (error !== undefined && error !== null && error !== '') || body.object === 'error'
}

/** Where events of one choice go. */
export interface ChoiceSink {
  readonly index: number
  readonly events: ChatEvent[]
}

/**
 * Appends the reasoning, text and refusal of a message or delta, in this order. Two names for reasoning are in use;
 * a host that sends both sends the same text twice.
 */
export function readTexts(sink: ChoiceSink, message: Json, logprobs: unknown): void {
  const { index, events } = sink
  const reasoning = textOf(message.reasoning_content) || textOf(message.reasoning)
  if (reasoning !== '') events.push({ type: 'reasoning', index, text: reasoning })
  const { content } = message
  const refusal = textOf(message.refusal)
  if (Array.isArray(content)) readParts(sink, content)
  else if (refusal === '' && hasLogprobs(logprobs))
    events.push({ type: 'text', index, text: textOf(content), logprobs })
  else if (typeof content === 'string' && content !== '') events.push({ type: 'text', index, text: content })
  if (refusal === '') return
  if (hasLogprobs(logprobs)) events.push({ type: 'refusal', index, text: refusal, logprobs })
  else events.push({ type: 'refusal', index, text: refusal })
}

/** Appends what is carried without being understood. */
export function readExtensions(sink: ChoiceSink, message: Json): void {
  carry(sink, 'annotations', message.annotations)
  carry(sink, 'audio', message.audio)
  carry(sink, 'images', message.images)
}

function carry(sink: ChoiceSink, field: string, value: unknown): void {
  if (value === undefined || value === null || (Array.isArray(value) && value.length === 0)) return
  sink.events.push({ type: 'extension', index: sink.index, field, value })
}

/** Content in parts: `{type: 'text', text}` and `{type: 'thinking', thinking: string | {text}[]}`; others are unknown. */
function readParts({ index, events }: ChoiceSink, parts: readonly unknown[]): void {
  for (const part of parts) {
    if (!isRecord(part)) continue
    const text = part.type === 'thinking' ? thinkingText(part.thinking) : textOf(part.text)
    if (text !== '') events.push({ type: part.type === 'thinking' ? 'reasoning' : 'text', index, text })
  }
}

function thinkingText(value: unknown): string {
  if (!Array.isArray(value)) return textOf(value)
  return value.map((part: unknown) => (isRecord(part) ? textOf(part.text) : '')).join('')
}
