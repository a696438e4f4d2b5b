/** A streamed answer, read event by event. */
import type { ChatEvent } from '../../domain/chat.ts'
import { isRecord, type Json, parseJson, textOf } from '../../lib/json.ts'
import { brokenAnswer } from '../broken-answer.ts'
import { type Frame, ProviderError, type StreamParser } from '../protocol.ts'
import { type ContextEntry, renderContext } from './context.ts'
import { failureOf } from './errors.ts'
import { type Counts, readCounts, usageOf } from './usage.ts'
import { ANSWER_TOOL, madeUpCallId, parseFinish } from './wire.ts'

/** What has come of a content block. */
interface OpenBlock {
  readonly kind: 'text' | 'thinking' | 'redacted_thinking' | 'tool' | 'answer' | 'other'
  /** Of tools. */
  readonly id: string
  readonly toolIndex: number
  /** The whole input, where a server sends it with the start of the block. */
  readonly input: string
  /** UTF-16 units of what was told as text or arguments. */
  toldLength: number
  thinking: string
  signature: string
  readonly data: string
}

interface State {
  /** Where the current push appends. */
  events: ChatEvent[]
  /** In order of their start. */
  readonly blocks: OpenBlock[]
  /** By their index on the wire. */
  readonly open: Map<unknown, OpenBlock>
  messageId: string
  toolCount: number
  counts: Counts
  /** Whether `counts` hold something that was not told yet. */
  hasNewCounts: boolean
  hasBegun: boolean
  /** Whether the client may have seen something. */
  hasTold: boolean
  stopReason: string
  isDone: boolean
}

/**
 * One per call. Finish and context are told at `message_stop`, which alone ends a stream. The counts of the first event
 * wait for the first content, so that an error before it is one before the answer; the tokens of the answer that it
 * counts are left out, since they are only a beginning.
 */
export function streamParser(): StreamParser {
  const state: State = {
    events: [],
    blocks: [],
    open: new Map(),
    messageId: '',
    toolCount: 0,
    counts: {},
    hasNewCounts: false,
    hasBegun: false,
    hasTold: false,
    stopReason: '',
    isDone: false,
  }
  return {
    push(frame, events) {
      if (state.isDone) return true
      const event = parseFrame(frame)
      state.events = events
      if (event !== undefined) readEvent(state, event)
      return state.isDone
    },
    end() {
      if (!state.isDone) throw brokenAnswer('The provider closed the stream before the end of the answer.')
    },
  }
}

/** @returns undefined for frames that say nothing: blank data, and events of other kinds that are not JSON. */
function parseFrame({ event, data }: Frame): Json | undefined {
  const parsed = parseJson(data)
  if (isRecord(parsed)) return parsed
  if (event === 'error') throw new ProviderError(failureOf({ error: { message: data } }, 200))
  const isOurs = event === '' || event === 'message' || event.startsWith('message_') || event.startsWith('content_')
  if (data.trim() === '' || data.startsWith('[DONE]') || !isOurs) return undefined
  throw brokenAnswer('The provider sent an event that cannot be read.')
}

function readEvent(state: State, event: Json): void {
  switch (event['type']) {
    case 'content_block_delta':
      readDelta(state, event)
      break
    case 'content_block_start':
      startBlock(state, event)
      break
    case 'content_block_stop':
      stopBlock(state, event)
      break
    case 'message_start':
      startMessage(state, event)
      break
    case 'message_delta':
      readMessageDelta(state, event)
      break
    case 'message_stop':
      stopMessage(state)
      break
    case 'error':
      tellCounts(state)
      throw new ProviderError(failureOf(event, 200))
  }
}

/** A message that begins anew is no harm as long as nothing of the first was told. */
function startMessage(state: State, { message }: Json): void {
  if (state.hasTold) throw brokenAnswer('The provider began its answer anew in the middle of it.')
  state.blocks.length = 0
  state.open.clear()
  state.stopReason = ''
  state.hasBegun = true
  if (!isRecord(message)) return
  const { output: _, thinking: __, ...input } = readCounts(message['usage'])
  state.messageId = textOf(message['id'])
  addCounts(state, input)
}

/** Counts are totals: a later one replaces an earlier one. */
function addCounts(state: State, counts: Counts): void {
  state.counts = { ...state.counts, ...counts }
  state.hasNewCounts = true
}

function tellCounts(state: State): void {
  if (!state.hasNewCounts) return
  state.hasNewCounts = false
  const usage = usageOf(state.counts)
  if (usage !== undefined) state.events.push({ type: 'usage', usage })
}

function startBlock(state: State, event: Json): void {
  const wire = isRecord(event['content_block']) ? event['content_block'] : {}
  const block = openBlock(state, wire)
  state.open.set(event['index'], block)
  state.blocks.push(block)
  const { kind, toolIndex, id, thinking } = block
  if (kind === 'tool') {
    tell(state, { type: 'tool-call', index: 0, toolIndex, id, name: textOf(wire['name']), arguments: '' })
  } else if (kind === 'text') {
    tellText(state, block, textOf(wire['text']))
  } else if (kind !== 'answer') {
    tellCounts(state) // the model is at work
    if (kind === 'thinking' && thinking !== '') tell(state, { type: 'reasoning', index: 0, text: thinking })
  }
}

function openBlock(state: State, wire: Json): OpenBlock {
  const { type, name, input } = wire
  const kind = kindOf(type, name)
  if (kind === 'tool' && textOf(name) === '') throw brokenAnswer('The provider called a tool without a name.')
  const toolIndex = kind === 'tool' ? state.toolCount++ : 0
  return {
    kind,
    id: kind === 'tool' ? textOf(wire['id']) || madeUpCallId(state.messageId, toolIndex) : '',
    toolIndex,
    input: isRecord(input) && Object.keys(input).length > 0 ? JSON.stringify(input) : '',
    toldLength: 0,
    thinking: textOf(wire['thinking']),
    signature: textOf(wire['signature']),
    data: textOf(wire['data']),
  }
}

/** Blocks of other types are the provider's own business: its tools, its containers, and whatever is added later. */
function kindOf(type: unknown, name: unknown): OpenBlock['kind'] {
  if (type === 'tool_use') return name === ANSWER_TOOL ? 'answer' : 'tool'
  return type === 'text' || type === 'thinking' || type === 'redacted_thinking' ? type : 'other'
}

function readDelta(state: State, event: Json): void {
  const block = state.open.get(event['index'])
  const { delta } = event
  if (block === undefined || !isRecord(delta)) return
  switch (delta['type']) {
    case 'text_delta':
      if (block.kind === 'text') tellText(state, block, textOf(delta['text']))
      break
    case 'input_json_delta':
      tellInput(state, block, textOf(delta['partial_json']))
      break
    case 'thinking_delta':
      tellThinking(state, block, textOf(delta['thinking']))
      break
    case 'signature_delta':
      block.signature += textOf(delta['signature'])
      break
  }
}

function tellText(state: State, block: OpenBlock, text: string): void {
  if (text === '') return
  block.toldLength += text.length
  tell(state, { type: 'text', index: 0, text })
}

function tellInput(state: State, block: OpenBlock, text: string): void {
  if (block.kind === 'answer') tellText(state, block, text)
  if (block.kind !== 'tool' || text === '') return
  block.toldLength += text.length
  tell(state, { type: 'tool-call', index: 0, toolIndex: block.toolIndex, arguments: text })
}

function tellThinking(state: State, block: OpenBlock, text: string): void {
  if (block.kind !== 'thinking' || text === '') return
  block.thinking += text
  tell(state, { type: 'reasoning', index: 0, text })
}

function tell(state: State, event: ChatEvent): void {
  tellCounts(state)
  state.hasTold = true
  state.events.push(event)
}

function stopBlock(state: State, event: Json): void {
  const block = state.open.get(event['index'])
  if (block === undefined) return
  state.open.delete(event['index'])
  if (block.toldLength === 0) tellInput(state, block, block.input)
}

function readMessageDelta(state: State, { delta, usage }: Json): void {
  if (isRecord(delta)) state.stopReason = textOf(delta['stop_reason']) || state.stopReason
  addCounts(state, readCounts(usage))
  tellCounts(state)
}

function stopMessage(state: State): void {
  const { stopReason: raw, blocks, events } = state
  if (!state.hasBegun || raw === '') throw brokenAnswer('The provider ended its answer without a stop reason.')
  const reason = parseFinish(raw, state.toolCount > 0)
  // A call without parameters comes without any text. Where the answer was cut off, the text is missing instead.
  if (reason !== 'length') {
    for (const block of blocks) if (block.toldLength === 0) tellInput(state, block, '{}')
  }
  const context = renderContext(blocks.flatMap(contextEntry))
  if (context !== undefined) events.push({ type: 'extension', index: 0, field: 'provider_context', value: context })
  events.push({ type: 'finish', index: 0, reason, raw })
  state.isDone = true
}

function contextEntry({ kind, id, toldLength, thinking, signature, data }: OpenBlock): ContextEntry[] {
  switch (kind) {
    case 'thinking':
      return [{ type: kind, thinking, signature }]
    case 'redacted_thinking':
      return data === '' ? [] : [{ type: kind, data }]
    case 'tool':
      return [{ type: 'tool_use', id }]
    case 'text':
    case 'answer':
      return toldLength === 0 ? [] : [{ type: 'text', length: toldLength }]
    case 'other':
      return []
  }
}
