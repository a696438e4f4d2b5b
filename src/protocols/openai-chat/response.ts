/** A whole answer, read into the same events as a stream. */
import type { ChatEvent } from '../../domain/chat.ts'
import { isRecord, type Json, parseJson, textOf } from '../../lib/json.ts'
import { brokenAnswer } from '../broken-answer.ts'
import { ProviderError } from '../protocol.ts'
import { contextOf, detailsIn } from './context.ts'
import { failureOf } from './errors.ts'
import { parseUsage } from './usage.ts'
import { argumentsText, calledTool, hasError, isBreakdown, parseFinish, readExtensions, readTexts } from './wire.ts'

/**
 * Throws `ProviderError` for what is no whole answer: no JSON, an `error` in its place, no choices, a choice that
 * broke down or holds nothing. A choice without a finish reason gets no finish event: none is ever invented.
 */
export function parseResponse(body: string): ChatEvent[] {
  const answer = parseAnswer(body)
  const { choices } = answer
  if (!Array.isArray(choices) || choices.length === 0) throw brokenAnswer('The provider answered without choices.')
  const events: ChatEvent[] = []
  choices.forEach((choice: unknown, position) => {
    if (!isRecord(choice)) throw brokenAnswer('The provider answered with an unreadable choice.')
    readChoice(choice, { position, answerId: textOf(answer.id) }, events)
  })
  const usage = parseUsage(answer.usage, answer.service_tier)
  if (usage !== undefined) events.push({ type: 'usage', usage })
  return events
}

function parseAnswer(body: string): Json {
  const answer = parseJson(body)
  if (!isRecord(answer)) throw brokenAnswer('The provider answered with something that is not JSON.')
  if (hasError(answer)) throw new ProviderError(failureOf(answer, 200))
  return answer
}

interface ChoicePlace {
  readonly position: number
  readonly answerId: string
}

function readChoice(choice: Json, place: ChoicePlace, events: ChatEvent[]): void {
  const index =
    typeof choice.index === 'number' && Number.isInteger(choice.index) && choice.index >= 0
      ? choice.index
      : place.position
  const raw = textOf(choice.finish_reason)
  if (isBreakdown(raw)) throw new ProviderError(failureOf({ error: choice.error ?? { code: raw } }, 200))
  const before = events.length
  const message = isRecord(choice.message) ? choice.message : {}
  readTexts({ index, events }, message, choice.logprobs)
  const calls = toolCalls(message)
  calls.forEach((call, toolIndex) => {
    events.push(toolCallEvent(call, { index, toolIndex, answerId: place.answerId }))
  })
  readExtensions({ index, events }, message)
  const details = detailsIn(message)
  if (details.length > 0) {
    events.push({ type: 'extension', index, field: 'provider_context', value: contextOf(details) })
  }
  if (raw === '' && events.length === before) throw brokenAnswer('The provider answered with an empty choice.')
  if (raw === '') return
  const reason = parseFinish(raw, calls.length > 0)
  const isNull = message.content === null && calls.length === 0
  events.push(
    isNull ? { type: 'finish', index, reason, raw, contentIsNull: true } : { type: 'finish', index, reason, raw },
  )
}

/** Current and legacy (`function_call`) calls alike. */
function toolCalls(message: Json): readonly Json[] {
  if (Array.isArray(message.tool_calls) && message.tool_calls.length > 0) return message.tool_calls.filter(isRecord)
  return isRecord(message.function_call) ? [{ function: message.function_call }] : []
}

interface CallPlace {
  readonly index: number
  readonly toolIndex: number
  readonly answerId: string
}

function toolCallEvent(call: Json, { index, toolIndex, answerId }: CallPlace): ChatEvent {
  const { called, isCustom } = calledTool(call)
  const name = textOf(called.name)
  if (name === '') throw brokenAnswer('The provider called a tool without a name.')
  const id = textOf(call.id) || madeUpCallId(answerId, index, toolIndex)
  const event = { type: 'tool-call', index, toolIndex, id, name } as const
  if (isCustom) return { ...event, arguments: textOf(called.input), custom: true }
  return { ...event, arguments: argumentsText(called.arguments) || '{}' }
}

/** For hosts that give calls no id: unique within a conversation as far as the host's answer ids are. */
export function madeUpCallId(answerId: string, index: number, toolIndex: number): string {
  return `call_${answerId.replace(/[^A-Za-z0-9_-]/g, '').slice(-24)}_${index}_${toolIndex}`
}
