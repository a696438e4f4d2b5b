/** Parses a streamed response event by event. The last event has the whole response, which completes what was not streamed. */
import type { ChatEvent } from '../../domain/chat.ts'
import { isRecord, type Json, parseJson, textOf } from '../../lib/json.ts'
import { hasError } from '../openai-chat/response.ts'
import { brokenAnswer, type Frame, type StreamParser } from '../protocol.ts'
import { failureIn } from './errors.ts'
import {
  announce,
  completeItem,
  emitArguments,
  emitUsage,
  endResponse,
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
  isDone: boolean
}

/**
 * One per call. Complete is a stream with its terminal event. Events of unknown types are ignored. Usage of a response
 * that failed is still appended before the throw, so that it can be settled.
 */
export function streamParser(): StreamParser {
  const state: State = { output: newOutput([]), items: new Map(), isDone: false }
  return {
    push(frame, events) {
      if (state.isDone || frame.data.startsWith('[DONE]')) return true
      const event = parseEvent(frame)
      if (event !== undefined) readEvent(state, event, events)
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

function readEvent(state: State, event: Json, events: ChatEvent[]): void {
  const { output } = state
  output.events = events
  switch (event['type']) {
    case 'response.output_text.delta':
      emitText(state, event)
      break
    case 'response.function_call_arguments.delta':
    case 'response.custom_tool_call_input.delta':
      emitArguments(output, itemAt(state, event), textOf(event['delta']))
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
  if (item['type'] === 'function_call' || item['type'] === 'custom_tool_call') startCall(state.output, item, progress)
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
  if (!Array.isArray(items)) return
  items.forEach((item: unknown, position) => {
    if (isRecord(item)) completeItem(state.output, item, itemAt(state, { output_index: position }))
  })
}

function itemAt({ items }: State, { output_index: index }: Json): ItemProgress {
  const position = typeof index === 'number' ? index : 0
  const known = items.get(position)
  if (known !== undefined) return known
  const item = newItem()
  items.set(position, item)
  return item
}
