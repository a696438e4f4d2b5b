/** Parses a streamed response event by event. The last event has the whole response, which completes what was not streamed. */
import { isRecord, type Json, parseJson, textOf } from '../../lib/json.ts'
import { hasError } from '../openai-chat/response.ts'
import { brokenAnswer, type Frame, MAX_WAITING_CALLS, type StreamParser } from '../protocol.ts'
import {
  announce,
  completeItem,
  emitArguments,
  emitUsage,
  endResponse,
  failureIn,
  type ItemProgress,
  newItem,
  newOutput,
  type Output,
  PART_SEPARATOR,
  startCall,
  textEvent,
} from './response.ts'

interface State {
  readonly output: Output
  /** The items by `output_index`. */
  readonly items: Map<number, ItemProgress>
  /** The call whose arguments are incomplete. */
  open: OpenCall | undefined
  /** Events of other items since then, by `output_index`. */
  readonly waiting: Map<number, WaitingEvent[]>
  waitingSize: number
  isDone: boolean
}

interface WaitingEvent {
  readonly event: Json
  /** In characters. */
  readonly size: number
}

interface OpenCall {
  readonly position: number
  arguments: string
}

/**
 * One per call. Complete is a stream with its terminal event. Events of unknown types are ignored. Usage of a response
 * that failed is still appended before the throw, so that it can be settled. Where a host interleaves items, the others
 * wait until the arguments of a call are complete, since clients receive calls one after another.
 */
export function streamParser(): StreamParser {
  const state: State = {
    ...{ output: newOutput([]), items: new Map(), isDone: false },
    ...{ open: undefined, waiting: new Map(), waitingSize: 0 },
  }
  return {
    push(frame, events) {
      if (state.isDone || frame.data.startsWith('[DONE]')) return true
      const event = parseEvent(frame)
      state.output.events = events
      if (event !== undefined) readOrWait(state, { event, size: frame.data.length })
      return state.isDone
    },
    end() {
      if (!state.isDone) throw brokenAnswer('The provider closed the stream before the end of the answer.')
    },
  }
}

/** @returns undefined for blank data, and for event types that are not of this format. */
function parseEvent({ data, event }: Frame): Json | undefined {
  const parsed = parseJson(data)
  if (isRecord(parsed)) {
    if (event === 'error' || parsed['type'] === 'error' || hasError(parsed)) throw failureIn(parsed)
    return parsed
  }
  if (event === 'error') throw failureIn({ message: data })
  if (data.trim() === '' || (event !== '' && !event.startsWith('response.'))) return undefined
  throw brokenAnswer('The provider sent an event that cannot be read.')
}

/** Reads an event, and those that waited for it. One that has to wait itself is kept. */
function readOrWait(state: State, entry: WaitingEvent): void {
  if (hasToWait(state, entry.event)) wait(state, entry)
  else {
    readEvent(state, entry.event)
    readWaiting(state)
  }
}

/** Reads the events that wait, item by item, until the arguments of a call are incomplete again. */
function readWaiting(state: State): void {
  for (const [position, entries] of state.waiting) {
    if (state.open !== undefined) return
    state.waiting.delete(position)
    for (const { event, size } of entries) {
      state.waitingSize -= size
      readEvent(state, event)
    }
  }
}

/** Returns whether an event belongs to another item than the call whose arguments are incomplete. */
function hasToWait(state: State, { output_index: position }: Json): boolean {
  const { open, waiting } = state
  if (open === undefined || typeof position !== 'number' || position === open.position) return false
  if (waiting.size > 0 || !isRecord(parseJson(open.arguments))) return true
  state.open = undefined
  return false
}

function wait(state: State, entry: WaitingEvent): void {
  state.waitingSize += entry.size
  if (state.waitingSize > MAX_WAITING_CALLS) throw brokenAnswer('The provider interleaves calls that are too large.')
  const position = positionOf(entry.event)
  const others = state.waiting.get(position)
  if (others === undefined) state.waiting.set(position, [entry])
  else others.push(entry)
}

function readEvent(state: State, event: Json): void {
  const { output } = state
  const { events } = output
  switch (event['type']) {
    case 'response.output_text.delta':
      emitText(state, event)
      break
    case 'response.function_call_arguments.delta':
    case 'response.custom_tool_call_input.delta':
      readArguments(state, event)
      break
    case 'response.function_call_arguments.done':
    case 'response.custom_tool_call_input.done':
      if (itemAt(state, event).hasArguments) closeCall(state, event)
      break
    case 'response.refusal.delta':
      emitRefusal(state, event)
      break
    case 'response.reasoning_summary_part.added':
      if (itemAt(state, event).hasReasoning) events.push({ type: 'reasoning', index: 0, text: PART_SEPARATOR })
      break
    case 'response.reasoning_summary_text.delta':
    case 'response.reasoning_text.delta':
    case 'response.reasoning.delta':
      emitReasoning(state, event)
      break
    case 'response.output_item.added':
      addItem(state, event)
      break
    case 'response.output_item.done':
      if (isRecord(event['item'])) completeItem(output, event['item'], itemAt(state, event))
      closeCall(state, event)
      break
    default:
      readState(state, event)
  }
}

function emitText(state: State, event: Json): void {
  const text = textOf(event['delta'])
  if (text === '') return
  announced(state, event).hasText = true
  state.output.events.push(textEvent(text, event['logprobs']))
}

function emitRefusal(state: State, event: Json): void {
  const text = textOf(event['delta'])
  if (text === '') return
  announced(state, event).hasRefusal = true
  state.output.events.push({ type: 'refusal', index: 0, text })
}

function emitReasoning(state: State, event: Json): void {
  const text = textOf(event['delta'])
  if (text === '') return
  announced(state, event).hasReasoning = true
  state.output.events.push({ type: 'reasoning', index: 0, text })
}

function addItem(state: State, event: Json): void {
  const { item } = event
  if (!isRecord(item)) return
  const progress = itemAt(state, event)
  progress.begun = item
  if (item['type'] !== 'function_call' && item['type'] !== 'custom_tool_call') return
  startCall(state.output, item, progress)
  if (!progress.isDone) state.open = { position: positionOf(event), arguments: '' }
}

function readArguments(state: State, event: Json): void {
  const text = textOf(event['delta'])
  emitArguments(state.output, itemAt(state, event), text)
  if (state.open?.position === positionOf(event)) state.open.arguments += text
}

function closeCall(state: State, event: Json): void {
  if (state.open?.position === positionOf(event)) state.open = undefined
}

function announced(state: State, event: Json): ItemProgress {
  const progress = itemAt(state, event)
  announce(state.output, progress)
  return progress
}

/** Events with the state of the whole response. */
function readState(state: State, { type, response }: Json): void {
  if (!isRecord(response)) return
  const { output } = state
  if (output.responseId === '') output.responseId = textOf(response['id'])
  switch (type) {
    case 'response.completed':
    case 'response.incomplete':
      completeItems(state, response)
      endResponse(output, { ...response, status: type === 'response.completed' ? 'completed' : 'incomplete' })
      state.isDone = true
      break
    case 'response.failed':
    case 'response.cancelled':
      emitUsage(output, response)
      throw failureIn(response)
  }
}

/** Completes the items: some hosts send no events for items, and some no output at the end. */
function completeItems(state: State, { output: items }: Json): void {
  const { output, waiting } = state
  while (state.open !== undefined || waiting.size > 0) {
    const position = state.open?.position ?? -1
    const item: unknown = Array.isArray(items) ? items[position] : undefined
    if (isRecord(item)) completeItem(output, item, itemAt(state, { output_index: position }))
    state.open = undefined
    readWaiting(state)
  }
  if (!Array.isArray(items)) return
  items.forEach((item: unknown, position) => {
    if (isRecord(item)) completeItem(output, item, itemAt(state, { output_index: position }))
  })
}

function positionOf({ output_index: index }: Json): number {
  return typeof index === 'number' ? index : 0
}

function itemAt({ items }: State, event: Json): ItemProgress {
  const position = positionOf(event)
  const known = items.get(position)
  if (known !== undefined) return known
  const item = newItem()
  items.set(position, item)
  return item
}
