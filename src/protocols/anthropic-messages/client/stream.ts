/**
 * A streamed message: `message_start`, content blocks one after another, `message_delta` with the stop reason and usage,
 * `message_stop`. The stop reason is held back until `close`, because what follows it upstream decides the end.
 */
import type { ChatEvent, NativeEvent, ToolCallEvent, Usage } from '../../../domain/chat.ts'
import type { Json } from '../../../lib/json.ts'
import { type AnswerStream, type Bill, createCallSequence, type StreamStart } from '../../client-api.ts'
import { brokenAnswer } from '../../protocol.ts'
import { createEnding, type Ending, messageId, otherUsage, pageCitations, renderUsage } from './answer.ts'

interface State {
  readonly start: StreamStart
  hasBegun: boolean
  /** The index of the last block. */
  index: number
  /** Whether Anthropic has cited a source. */
  hasOwnCitations: boolean
  /** The type of the open block. Undefined if no block is open. */
  open: 'text' | 'thinking' | 'tool_use' | 'native' | undefined
  /** The index of the last tool call. */
  toolIndex: number
  /** Tool calls without argument text so far. */
  readonly emptyCalls: Set<number>
  readonly ending: Ending
  /** The provider's counts so far. */
  usage: Usage
  /** The fields besides the content, which the gateway does not read. */
  others: Json
}

export function createMessageStream(start: StreamStart): AnswerStream {
  const ending = createEnding(start.request)
  const state: State = {
    start,
    hasBegun: false,
    index: -1,
    hasOwnCitations: false,
    open: undefined,
    toolIndex: -1,
    emptyCalls: new Set(),
    ending,
    usage: {},
    others: {},
  }
  let text = ''
  const calls = createCallSequence((event) => {
    text += renderEvent(state, event)
  })
  return {
    push(event) {
      ending.push(event)
      if (event.type === 'native' && event.protocol !== 'anthropic') return ''
      text = ''
      calls.push(event)
      return text
    },
    close(bill) {
      text = ''
      calls.end()
      const contexts = ending.contextBlocks().map((block) => wholeBlock(state, block))
      const end = eventText('message_delta', endOf(state, bill))
      return text + begin(state) + contexts.join('') + closeBlock(state) + end + eventText('message_stop', {})
    },
  }
}

function renderEvent(state: State, event: ChatEvent): string {
  switch (event.type) {
    case 'text':
    case 'refusal':
      if (event.text === '') return ''
      return openBlock(state, 'text', EMPTY_TEXT) + delta(state, { type: 'text_delta', text: event.text })
    case 'reasoning':
      return renderReasoning(state, event)
    case 'tool-call':
      return renderToolCall(state, event)
    case 'native':
      return renderNative(state, event)
    case 'extension':
      return event.field === 'annotations' ? renderPages(state, event.value) : ''
    case 'usage':
      if (!state.hasBegun) state.usage = { ...state.usage, ...event.usage }
      return ''
    default:
      return ''
  }
}

/** Unknown blocks, and unknown fields of others. */
function renderNative(state: State, { part, value }: NativeEvent): string {
  if (part === 'message') state.others = { ...state.others, ...value }
  if (part === 'stop') return closeBlock(state)
  if (part === 'start') {
    const text = startBlock(state, value)
    state.open = 'native'
    return text
  }
  if (value['type'] === 'citations_delta') state.hasOwnCitations = true
  const isFitting = state.open === 'native' || (state.open === 'text' && value['type'] === 'citations_delta')
  return part === 'delta' && isFitting ? delta(state, value) : ''
}

/** Citations of other providers arrive at the end: those of a closed text block are omitted. */
function renderPages(state: State, annotations: unknown): string {
  if (state.open !== 'text' || state.hasOwnCitations) return ''
  const pages = pageCitations(annotations)
  return pages.map(({ citation }) => delta(state, { type: 'citations_delta', citation })).join('')
}

function endOf({ ending, others }: State, bill: Bill): object {
  const { container, usage: _, ...fields } = others
  const stop = container === undefined ? ending.stop() : { ...ending.stop(), container }
  return { delta: stop, ...fields, usage: { ...otherUsage(others), ...renderUsage(bill) } }
}

const EMPTY_TEXT = { type: 'text', text: '', citations: null }
const EMPTY_THINKING = { type: 'thinking', thinking: '', signature: '' }

function renderReasoning(
  state: State,
  { text, signature, redacted }: Extract<ChatEvent, { type: 'reasoning' }>,
): string {
  if (redacted !== undefined) return wholeBlock(state, { type: 'redacted_thinking', data: redacted })
  let rendered = ''
  if (text !== '') {
    rendered = openBlock(state, 'thinking', EMPTY_THINKING) + delta(state, { type: 'thinking_delta', thinking: text })
  }
  if (signature === undefined) return rendered
  rendered += openBlock(state, 'thinking', EMPTY_THINKING) + delta(state, { type: 'signature_delta', signature })
  return rendered + closeBlock(state)
}

const NO_ARGUMENTS = '{}'

/** The sequence of calls ensures that a call is complete before the next one begins. */
function renderToolCall(state: State, { toolIndex, id, name, arguments: input }: ToolCallEvent): string {
  let text = ''
  if (toolIndex > state.toolIndex) {
    state.toolIndex = toolIndex
    text = startBlock(state, { type: 'tool_use', id, name, input: {} })
    state.open = 'tool_use'
    state.emptyCalls.add(toolIndex)
  } else if (toolIndex < state.toolIndex || state.open !== 'tool_use') {
    // Only the end shows that a call has no arguments; its input is empty already.
    if (input === NO_ARGUMENTS && state.emptyCalls.has(toolIndex)) return ''
    throw brokenAnswer('The provider continued a tool call after it had begun another block.')
  }
  if (input === '') return text
  state.emptyCalls.delete(toolIndex)
  return text + delta(state, { type: 'input_json_delta', partial_json: input })
}

function openBlock(state: State, type: 'text' | 'thinking', empty: object): string {
  if (state.open === type) return ''
  const text = startBlock(state, empty)
  state.open = type
  return text
}

function startBlock(state: State, block: object): string {
  const before = begin(state) + closeBlock(state)
  state.index += 1
  return before + eventText('content_block_start', { index: state.index, content_block: block })
}

/** Renders a block without deltas. */
function wholeBlock(state: State, block: object): string {
  const text = startBlock(state, block)
  state.open = 'thinking'
  return text + closeBlock(state)
}

function closeBlock(state: State): string {
  if (state.open === undefined) return ''
  state.open = undefined
  return eventText('content_block_stop', { index: state.index })
}

function delta({ index }: State, change: object): string {
  return eventText('content_block_delta', { index, delta: change })
}

/** Uses the provider's count of the prompt so far, else the expected one. */
function begin(state: State): string {
  if (state.hasBegun) return ''
  state.hasBegun = true
  const { id, model, promptTokens: expected } = state.start
  const tokens = { ...state.usage, promptTokens: state.usage.promptTokens || expected, completionTokens: 1 }
  const usage = renderUsage({ usage: tokens, costUsd: undefined })
  const empty = { content: [], stop_reason: null, stop_sequence: null, usage }
  return eventText('message_start', {
    message: { id: messageId(id), type: 'message', role: 'assistant', model, ...empty },
  })
}

function eventText(type: string, data: object): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`
}
