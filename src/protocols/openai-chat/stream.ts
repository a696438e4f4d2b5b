/**
 * A streamed answer, read chunk by chunk: the hottest code of the house. One JSON parse a chunk, no closure, and no
 * object but the events themselves.
 */
import type { ChatEvent, FinishReason, ToolCallEvent } from '../../domain/chat.ts'
import { isRecord, type Json, parseJson, textOf } from '../../lib/json.ts'
import { brokenAnswer } from '../broken-answer.ts'
import { type Frame, ProviderError, type StreamParser } from '../protocol.ts'
import { addDetail, contextOf, detailsIn } from './context.ts'
import { failureOf } from './errors.ts'
import type { OpenAiChatOptions } from './options.ts'
import { madeUpCallId } from './response.ts'
import { parseUsage } from './usage.ts'
import {
  argumentsText,
  type ChoiceSink,
  hasError,
  isBreakdown,
  parseFinish,
  readExtensions,
  readTexts,
} from './wire.ts'

/** The OpenAI API's own limit of `n`. */
const MAX_CHOICES = 128

interface Call {
  /** The host's index, where it gives one. */
  readonly wireIndex: number | undefined
  id: string
  name: string
  /** Set when the call has a name and has been told. */
  toolIndex: number | undefined
  /** Argument text that came before the name. */
  held: string
  hasArguments: boolean
  /** Its arguments are whole; what would still come is not of them. */
  isClosed: boolean
  /** Its arguments are free text, which may be empty. */
  isCustom: boolean
}

interface Choice extends ChoiceSink {
  /** Where the current push appends. */
  events: ChatEvent[]
  readonly calls: Call[]
  /** How many of them have been told. */
  told: number
  /** What has come of `reasoning_details`. */
  readonly details: Json[]
  finish: FinishReason | undefined
}

interface State {
  readonly choices: (Choice | undefined)[]
  answerId: string
  isDone: boolean
  readonly vendorField: string | undefined
}

/**
 * One per call. Complete is a stream in which every choice that appeared has its finish reason, whether or not usage
 * and `[DONE]` follow. A finish event may come twice for a choice, when later chunks say more than `stop`: the later
 * counts. Annotations and other extensions are passed piece by piece, as they come. Usage in a chunk that reports an
 * error is still appended before the throw, so that it can be settled.
 */
export function streamParser({ vendorField }: Pick<OpenAiChatOptions, 'vendorField'> = {}): StreamParser {
  const state: State = { choices: [], answerId: '', isDone: false, vendorField }
  return {
    push(frame, events) {
      if (state.isDone) return true
      if (frame.data.startsWith('[DONE]')) {
        state.isDone = true
        return true
      }
      const chunk = parseChunk(frame)
      if (chunk !== undefined) readChunk(state, chunk, events)
      return false
    },
    end(events) {
      if (!isComplete(state)) throw brokenAnswer('The provider closed the stream before the end of the answer.')
      for (const choice of state.choices) {
        if (choice === undefined) continue
        choice.events = events
        closeCalls(choice)
      }
    },
  }
}

/** @returns undefined for frames that say nothing: blank data, and event types that are not of this format. */
function parseChunk(frame: Frame): Json | undefined {
  const { data, event } = frame
  const chunk = parseJson(data)
  if (isRecord(chunk)) {
    if (event === 'error') throw new ProviderError(failureOf('error' in chunk ? chunk : { error: chunk }, 200))
    return chunk
  }
  if (event === 'error') throw new ProviderError(failureOf({ error: data }, 200))
  if (data.trim() === '' || (event !== '' && event !== 'message')) return undefined
  throw brokenAnswer('The provider sent a chunk that cannot be read.')
}

function readChunk(state: State, chunk: Json, events: ChatEvent[]): void {
  const { choices, usage } = chunk
  const vendor = state.vendorField === undefined ? undefined : chunk[state.vendorField]
  if (hasError(chunk)) {
    readUsage(usage, chunk, events)
    throw new ProviderError(failureOf(chunk, 200))
  }
  if (isRecord(vendor) && hasError(vendor)) throw new ProviderError(failureOf(vendor, 200))
  if (state.answerId === '') state.answerId = textOf(chunk.id)
  if (Array.isArray(choices)) {
    for (const choice of choices) if (isRecord(choice)) readChoice(state, choice, events)
  }
  if (isRecord(usage)) readUsage(usage, chunk, events)
  else if (isRecord(vendor)) readUsage(vendor.usage, chunk, events)
}

/** @param chunk It has the service tier: every chunk of an answer does. */
function readUsage(value: unknown, chunk: Json, events: ChatEvent[]): void {
  const usage = parseUsage(value, chunk.service_tier)
  if (usage !== undefined) events.push({ type: 'usage', usage })
}

function readChoice(state: State, wire: Json, events: ChatEvent[]): void {
  const choice = choiceAt(state, wire.index ?? 0)
  const { delta, finish_reason: raw } = wire
  choice.events = events
  if (isRecord(delta)) readDelta(state, choice, wire)
  if (isRecord(wire.usage)) readUsage(wire.usage, wire, events)
  if (isBreakdown(raw)) throw new ProviderError(failureOf({ error: wire.error ?? { code: raw } }, 200))
  if (typeof raw === 'string' && raw !== '') readFinish(choice, raw)
}

function choiceAt(state: State, index: unknown): Choice {
  if (typeof index !== 'number' || !Number.isInteger(index) || index < 0 || index >= MAX_CHOICES) {
    throw brokenAnswer('The provider sent a choice without a usable index.')
  }
  let choice = state.choices[index]
  if (choice === undefined) {
    choice = { index, events: [], calls: [], told: 0, details: [], finish: undefined }
    state.choices[index] = choice
  }
  return choice
}

function readDelta(state: State, choice: Choice, wire: Json): void {
  const { delta } = wire
  if (!isRecord(delta)) return
  readTexts(choice, delta, wire.logprobs)
  const { tool_calls: calls, function_call: legacy } = delta
  if (Array.isArray(calls)) {
    for (const call of calls) if (isRecord(call)) readCall(state, choice, call)
  } else if (isRecord(legacy)) {
    readCall(state, choice, { index: 0, function: legacy })
  }
  if (choice.finish === 'stop' && choice.calls.length > 0) readFinish(choice, 'tool_calls')
  readExtensions(choice, delta)
  if (delta.reasoning_details !== undefined) readDetails(choice, delta)
}

/** Told as one before the finish; what comes later makes it be told again. */
function readDetails(choice: Choice, delta: Json): void {
  for (const detail of detailsIn(delta)) addDetail(choice.details, detail)
  if (choice.finish !== undefined) tellDetails(choice)
}

function tellDetails({ index, details, events }: Choice): void {
  if (details.length === 0) return
  events.push({ type: 'extension', index, field: 'provider_context', value: contextOf(details) })
}

/** A later word replaces an earlier one unless it says less; `stop` says least, `tool_calls` is never taken back. */
function readFinish(choice: Choice, raw: string): void {
  closeCalls(choice)
  const reason = parseFinish(raw, choice.calls.length > 0)
  const earlier = choice.finish
  if (earlier === reason || (earlier !== undefined && reason === 'stop') || earlier === 'tool_calls') return
  if (earlier === undefined) tellDetails(choice)
  choice.finish = reason
  choice.events.push({ type: 'finish', index: choice.index, reason, raw })
}

function readCall(state: State, choice: Choice, wire: Json): void {
  const custom = isRecord(wire.custom) ? wire.custom : undefined
  const called = custom ?? (isRecord(wire.function) ? wire.function : {})
  const name = textOf(called.name)
  const text = custom === undefined ? argumentsText(called.arguments) : textOf(custom.input)
  const call = callOf(choice, wire, name)
  if (custom !== undefined) call.isCustom = true
  if (call.toolIndex !== undefined) {
    if (text !== '' && !call.isClosed) tellArguments(choice, call, text)
    return
  }
  call.held += text
  if (call.id === '') call.id = textOf(wire.id)
  if (name === '') return
  call.name = name
  tellCall(state, choice, call)
}

/**
 * The call a fragment belongs to: by index, else by id, else the last one. A fragment with a name and an id of its
 * own begins a call, even under the index of another one, since some hosts send 0 for each; without any index, a name
 * is enough.
 */
function callOf(choice: Choice, wire: Json, name: string): Call {
  const id = textOf(wire.id)
  const wireIndex = typeof wire.index === 'number' ? wire.index : undefined
  const known = knownCall(choice.calls, wireIndex, id)
  const mayBegin = name !== '' && (wireIndex === undefined || id !== '')
  if (known !== undefined && !(mayBegin && known.name !== '' && known.id !== id)) return known
  const call: Call = { wireIndex, id, name: '', ...NEW_CALL }
  choice.calls.push(call)
  return call
}

const NEW_CALL = { toolIndex: undefined, held: '', hasArguments: false, isClosed: false, isCustom: false }

function knownCall(calls: readonly Call[], wireIndex: number | undefined, id: string): Call | undefined {
  for (let at = calls.length - 1; at >= 0; at--) {
    const call = calls[at]
    if (call === undefined) continue
    if (wireIndex === undefined ? id === '' || call.id === id : call.wireIndex === wireIndex) return call
  }
  return undefined
}

function tellCall(state: State, choice: Choice, call: Call): void {
  const { index } = choice
  const toolIndex = choice.told++
  call.toolIndex = toolIndex
  call.hasArguments = call.held !== ''
  if (call.id === '') call.id = madeUpCallId(state.answerId, index, toolIndex)
  const { id, name, held } = call
  call.held = ''
  const event: ToolCallEvent = { type: 'tool-call', index, toolIndex, id, name, arguments: held }
  choice.events.push(call.isCustom ? { ...event, custom: true } : event)
}

function tellArguments(choice: Choice, call: Call, text: string): void {
  call.hasArguments = true
  const toolIndex = call.toolIndex ?? 0
  const event: ToolCallEvent = { type: 'tool-call', index: choice.index, toolIndex, arguments: text }
  choice.events.push(call.isCustom ? { ...event, custom: true } : event)
}

/** A call of a tool without parameters often comes without any argument text; JSON text it must be all the same. */
function closeCalls(choice: Choice): void {
  for (const call of choice.calls) {
    if (call.toolIndex === undefined) throw brokenAnswer('The provider called a tool without a name.')
    if (!call.hasArguments && !call.isCustom) tellArguments(choice, call, '{}')
    call.isClosed = true
  }
}

function isComplete(state: State): boolean {
  let seen = 0
  for (const choice of state.choices) {
    if (choice === undefined) continue
    if (choice.finish === undefined) return false
    seen++
  }
  return seen > 0
}
