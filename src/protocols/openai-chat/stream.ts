/**
 * Parses a streamed answer chunk by chunk, on the hottest path: one JSON parse a chunk, no closure, and no object but
 * the events themselves.
 */
import type { ChatEvent, FinishReason, ToolCallEvent } from '../../domain/chat.ts'
import { isRecord, type Json, parseJson, textOf } from '../../lib/json.ts'
import { brokenAnswer, type Frame, ProviderError, type StreamParser } from '../protocol.ts'
import { failureOf } from './errors.ts'
import {
  argumentsText,
  type ChoiceSink,
  contextOf,
  createReasoningDetails,
  detailsIn,
  generatedCallId,
  hasError,
  isBreakdown,
  type NamedStop,
  parseFinish,
  parseUsage,
  type ReasoningDetails,
  readExtensions,
  readTexts,
  stopSequenceOf,
} from './response.ts'

/** The OpenAI API's own limit of `n`. */
const MAX_CHOICES = 128

interface Call {
  /** The host's index, where it gives one. */
  readonly wireIndex: number | undefined
  id: string
  name: string
  /** Set when the call has a name and was emitted. */
  toolIndex: number | undefined
  /** Argument text that precedes the name. */
  held: string
  hasArguments: boolean
  /** Its arguments are complete; further text is ignored. */
  isClosed: boolean
  /** Its arguments are free text, which may be empty. */
  isCustom: boolean
}

interface Choice extends ChoiceSink {
  /** The events of the current push. */
  events: ChatEvent[]
  readonly calls: Call[]
  /** The latest call with each index, and with each id. */
  readonly callsByIndex: Map<number, Call>
  readonly callsById: Map<string, Call>
  /** The number of emitted calls. */
  emitted: number
  /** The number of calls, from the first, with complete arguments. */
  closed: number
  /** The `reasoning_details` so far. */
  readonly details: ReasoningDetails
  /** The number of emitted pieces of `details`. */
  emittedPieces: number
  finish: FinishReason | undefined
}

interface State {
  readonly choices: (Choice | undefined)[]
  answerId: string
  isDone: boolean
}

/**
 * Parses the stream of one call. It is complete when every choice that appeared has its finish reason, whether or not
 * usage and `[DONE]` follow. A finish event may come twice for a choice, when a later chunk is more specific than
 * `stop`: the later counts. Annotations and other extensions are passed on piece by piece. Usage in a chunk that
 * reports an error is still appended before the throw, so that it can be settled.
 */
export function streamParser(): StreamParser {
  const state: State = { choices: [], answerId: '', isDone: false }
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
        emitDetails(choice)
      }
    },
  }
}

/** @returns undefined for blank data, and for event types that are not of this format. */
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
  if (hasError(chunk)) {
    readUsage(usage, chunk, events)
    throw new ProviderError(failureOf(chunk, 200))
  }
  if (state.answerId === '') state.answerId = textOf(chunk.id)
  if (Array.isArray(choices)) {
    for (const choice of choices) if (isRecord(choice)) readChoice(state, choice, events)
  }
  if (isRecord(usage)) readUsage(usage, chunk, events)
}

/** @param chunk Has the service tier, like every chunk of an answer. */
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
  if (typeof raw === 'string' && raw !== '') readFinish(choice, raw, stopSequenceOf(wire))
}

function choiceAt(state: State, index: unknown): Choice {
  if (typeof index !== 'number' || !Number.isInteger(index) || index < 0 || index >= MAX_CHOICES) {
    throw brokenAnswer('The provider sent a choice without a usable index.')
  }
  let choice = state.choices[index]
  if (choice === undefined) {
    choice = newChoice(index)
    state.choices[index] = choice
  }
  return choice
}

function newChoice(index: number): Choice {
  return {
    index,
    events: [],
    calls: [],
    callsByIndex: new Map(),
    callsById: new Map(),
    emitted: 0,
    closed: 0,
    details: createReasoningDetails(),
    emittedPieces: 0,
    finish: undefined,
  }
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
  for (const detail of detailsIn(delta)) choice.details.add(detail)
}

/**
 * Emits all details so far, unless they were emitted before: before the finish, and at the end when later ones
 * followed.
 */
function emitDetails(choice: Choice): void {
  const { index, details, events } = choice
  if (details.pieces() === choice.emittedPieces) return
  choice.emittedPieces = details.pieces()
  events.push({ type: 'extension', index, field: 'provider_context', value: contextOf(details.list()) })
}

/** A later reason replaces an earlier one unless it is less specific: never by `stop`, and never `tool_calls`. */
function readFinish(choice: Choice, raw: string, named?: NamedStop): void {
  closeCalls(choice)
  const reason = parseFinish(raw, choice.calls.length > 0)
  const earlier = choice.finish
  if (earlier === reason || (earlier !== undefined && reason === 'stop') || earlier === 'tool_calls') return
  if (earlier === undefined) emitDetails(choice)
  choice.finish = reason
  choice.events.push({ type: 'finish', index: choice.index, reason, raw, ...named })
}

function readCall(state: State, choice: Choice, wire: Json): void {
  const custom = isRecord(wire.custom) ? wire.custom : undefined
  const called = custom ?? (isRecord(wire.function) ? wire.function : {})
  const name = textOf(called.name)
  const text = custom === undefined ? argumentsText(called.arguments) : textOf(custom.input)
  const call = callOf(choice, wire, name)
  if (custom !== undefined) call.isCustom = true
  if (call.toolIndex !== undefined) {
    if (text !== '' && !call.isClosed) emitArguments(choice, call, text)
    return
  }
  call.held += text
  if (call.id === '') nameCall(choice, call, textOf(wire.id))
  if (name === '') return
  call.name = name
  emitCall(state, choice, call)
}

/**
 * Returns the call of a fragment: by index, else by ID, else the last one. A fragment with a name and a new ID begins a
 * call, even under the index of another one, because some hosts send 0 for each. Without an index, a name suffices.
 */
function callOf(choice: Choice, wire: Json, name: string): Call {
  const id = textOf(wire.id)
  const wireIndex = typeof wire.index === 'number' ? wire.index : undefined
  const known = knownCall(choice, wireIndex, id)
  const mayBegin = name !== '' && (wireIndex === undefined || id !== '')
  if (known !== undefined && !(mayBegin && known.name !== '' && known.id !== id)) return known
  const call: Call = { wireIndex, id: '', name: '', ...NEW_CALL }
  choice.calls.push(call)
  if (wireIndex !== undefined) choice.callsByIndex.set(wireIndex, call)
  nameCall(choice, call, id)
  return call
}

const NEW_CALL = { toolIndex: undefined, held: '', hasArguments: false, isClosed: false, isCustom: false }

function knownCall({ calls, callsByIndex, callsById }: Choice, wireIndex: number | undefined, id: string) {
  if (wireIndex !== undefined) return callsByIndex.get(wireIndex)
  return id === '' ? calls.at(-1) : callsById.get(id)
}

function nameCall({ callsById }: Choice, call: Call, id: string): void {
  call.id = id
  if (id !== '') callsById.set(id, call)
}

function emitCall(state: State, choice: Choice, call: Call): void {
  const { index } = choice
  const toolIndex = choice.emitted++
  call.toolIndex = toolIndex
  call.hasArguments = call.held !== ''
  if (call.id === '') nameCall(choice, call, generatedCallId(state.answerId, index, toolIndex))
  const { id, name, held } = call
  call.held = ''
  const event: ToolCallEvent = { type: 'tool-call', index, toolIndex, id, name, arguments: held }
  choice.events.push(call.isCustom ? { ...event, custom: true } : event)
}

function emitArguments(choice: Choice, call: Call, text: string): void {
  call.hasArguments = true
  const toolIndex = call.toolIndex ?? 0
  const event: ToolCallEvent = { type: 'tool-call', index: choice.index, toolIndex, arguments: text }
  choice.events.push(call.isCustom ? { ...event, custom: true } : event)
}

/** Completes calls of tools without parameters, which often have no argument text, by the JSON text `{}`. */
function closeCalls(choice: Choice): void {
  for (; choice.closed < choice.calls.length; choice.closed++) {
    const call = choice.calls[choice.closed]
    if (call === undefined) continue
    if (call.toolIndex === undefined) throw brokenAnswer('The provider called a tool without a name.')
    if (!call.hasArguments && !call.isCustom) emitArguments(choice, call, '{}')
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
