/** Parses a streamed answer event by event. */
import type { ChatEvent } from '../../domain/chat.ts'
import { isRecord, type Json, parseJson, textOf } from '../../lib/json.ts'
import { ANSWER_TOOL } from '../conversation.ts'
import { brokenAnswer, type Frame, ProviderError, type StreamParser } from '../protocol.ts'
import type { UrlCitation } from '../server-tools.ts'
import { type ContextEntry, renderContext } from './context.ts'
import { failureOf } from './errors.ts'
import {
  type Counts,
  citationEvent,
  citePages,
  generatedCallId,
  isForeign,
  nativeEvent,
  otherFields,
  parseFinish,
  readCounts,
  stopSequenceOf,
  usageOf,
  withResult,
} from './response.ts'

/** A content block so far. */
interface OpenBlock {
  readonly kind: 'text' | 'thinking' | 'redacted_thinking' | 'tool' | 'answer' | 'other'
  /** The ID of a tool call. */
  readonly id: string
  readonly toolIndex: number
  /** The whole input, where a server sends it with the start of the block. */
  readonly input: string
  /** UTF-16 units of the emitted text or arguments. */
  emittedLength: number
  thinking: string
  signature: string
  readonly data: string
  /** The citations of a text as on the wire; at most 256. */
  readonly citations: Json[]
}

interface State {
  /** The events of the current push. */
  events: ChatEvent[]
  /** The blocks in order of their start. */
  readonly blocks: OpenBlock[]
  /** The open blocks by their index on the wire. */
  readonly open: Map<unknown, OpenBlock>
  messageId: string
  toolCount: number
  counts: Counts
  /** Whether `counts` changed since they were last emitted. */
  hasNewCounts: boolean
  hasBegun: boolean
  /** Whether the client may have received something. */
  hasEmitted: boolean
  stopReason: string
  stopSequence: ReturnType<typeof stopSequenceOf>
  isDone: boolean
}

/**
 * One per call. Finish and context are emitted at `message_stop`, which alone ends a stream. The counts of the first
 * event wait for the first content, so that an earlier error precedes the answer; its count of output tokens is
 * ignored, since it is only a beginning.
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
    hasEmitted: false,
    stopReason: '',
    stopSequence: undefined,
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

/** @returns undefined for blank data, and for events of other kinds that are not JSON. */
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
      emitCounts(state)
      throw new ProviderError(failureOf(event, 200))
  }
}

/** A message may begin again as long as nothing of the first was emitted. */
function startMessage(state: State, { message }: Json): void {
  if (state.hasEmitted) throw brokenAnswer('The provider restarted its answer in the middle.')
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

function emitCounts(state: State): void {
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
  const before = state.blocks.at(-2)?.kind
  if (kind === 'tool') {
    emit(state, { type: 'tool-call', index: 0, toolIndex, id, name: textOf(wire['name']), arguments: '' })
  } else if (kind === 'text') {
    if (before === 'text') emit(state, nativeEvent('stop'))
    emitText(state, block, textOf(wire['text']))
  } else if (kind !== 'answer') {
    // Counts uses here as well as in the last event, for streams that break off before it.
    state.counts = withResult(state.counts, wire)
    state.hasNewCounts = true
    emitCounts(state) // the model has begun, so the provider charges
    if (kind === 'other' && isForeign(wire['type'])) emit(state, nativeEvent('start', wire))
    if (kind === 'thinking' && thinking !== '') emit(state, { type: 'reasoning', index: 0, text: thinking })
  }
}

function openBlock(state: State, wire: Json): OpenBlock {
  const { type, name, input } = wire
  const kind = kindOf(type, name)
  if (kind === 'tool' && textOf(name) === '') throw brokenAnswer('The provider called a tool without a name.')
  const toolIndex = kind === 'tool' ? state.toolCount++ : 0
  return {
    kind,
    id: kind === 'tool' ? textOf(wire['id']) || generatedCallId(state.messageId, toolIndex) : '',
    toolIndex,
    input: isRecord(input) && Object.keys(input).length > 0 ? JSON.stringify(input) : '',
    emittedLength: 0,
    thinking: textOf(wire['thinking']),
    signature: textOf(wire['signature']),
    data: textOf(wire['data']),
    citations: [],
  }
}

/** Ignores blocks of other types: the provider's own tools and containers, and types that are added later. */
function kindOf(type: unknown, name: unknown): OpenBlock['kind'] {
  if (type === 'tool_use') return name === ANSWER_TOOL ? 'answer' : 'tool'
  return type === 'text' || type === 'thinking' || type === 'redacted_thinking' ? type : 'other'
}

function readDelta(state: State, event: Json): void {
  const block = state.open.get(event['index'])
  const { delta } = event
  if (block === undefined || !isRecord(delta)) return
  if (block.kind === 'other') emit(state, nativeEvent('delta', delta))
  switch (delta['type']) {
    case 'text_delta':
      if (block.kind === 'text') emitText(state, block, textOf(delta['text']))
      break
    case 'input_json_delta':
      emitInput(state, block, textOf(delta['partial_json']))
      break
    case 'thinking_delta':
      emitThinking(state, block, textOf(delta['thinking']))
      break
    case 'citations_delta':
      if (isRecord(delta['citation'])) readCitation(state, block, delta['citation'])
      break
    case 'signature_delta':
      block.signature += textOf(delta['signature'])
      break
  }
}

function readCitation(state: State, block: OpenBlock, citation: Json): void {
  if (block.kind === 'text') emit(state, citationEvent(citation))
  if (block.citations.length < MAX_CITATIONS) block.citations.push(citation)
}

function emitText(state: State, block: OpenBlock, text: string): void {
  if (text === '') return
  block.emittedLength += text.length
  emit(state, { type: 'text', index: 0, text })
}

function emitInput(state: State, block: OpenBlock, text: string): void {
  if (block.kind === 'answer') emitText(state, block, text)
  if (block.kind !== 'tool' || text === '') return
  block.emittedLength += text.length
  emit(state, { type: 'tool-call', index: 0, toolIndex: block.toolIndex, arguments: text })
}

function emitThinking(state: State, block: OpenBlock, text: string): void {
  if (block.kind !== 'thinking' || text === '') return
  block.thinking += text
  emit(state, { type: 'reasoning', index: 0, text })
}

function emit(state: State, event: ChatEvent): void {
  emitCounts(state)
  state.hasEmitted = true
  state.events.push(event)
}

function stopBlock(state: State, event: Json): void {
  const block = state.open.get(event['index'])
  if (block === undefined) return
  state.open.delete(event['index'])
  if (block.emittedLength === 0) emitInput(state, block, block.input)
  const { kind, signature, data: redacted } = block
  if (kind === 'other') emit(state, nativeEvent('stop'))
  if (kind === 'thinking' && signature !== '') emit(state, { type: 'reasoning', index: 0, text: '', signature })
  if (kind === 'redacted_thinking' && redacted !== '') emit(state, { type: 'reasoning', index: 0, text: '', redacted })
}

function readMessageDelta(state: State, event: Json): void {
  const { delta, usage } = event
  const others = otherFields({ ...(isRecord(delta) ? delta : {}), ...event })
  if (isRecord(delta)) {
    state.stopReason = textOf(delta['stop_reason']) || state.stopReason
    state.stopSequence = stopSequenceOf(delta) ?? state.stopSequence
  }
  addCounts(state, readCounts(usage))
  emitCounts(state)
  if (others !== undefined) state.events.push(others)
}

function stopMessage(state: State): void {
  const { stopReason: raw, blocks, events } = state
  if (!state.hasBegun || raw === '') throw brokenAnswer('The provider ended its answer without a stop reason.')
  const reason = parseFinish(raw, state.toolCount > 0)
  // A call without parameters has no text. Where the answer was truncated, the text is missing instead.
  if (reason !== 'length') {
    for (const block of blocks) if (block.emittedLength === 0) emitInput(state, block, '{}')
  }
  const context = renderContext(blocks.flatMap(contextEntry))
  if (context !== undefined) events.push({ type: 'extension', index: 0, field: 'provider_context', value: context })
  const annotations = annotationsOf(blocks)
  if (annotations.length > 0) events.push({ type: 'extension', index: 0, field: 'annotations', value: annotations })
  events.push({ type: 'finish', index: 0, reason, raw, ...state.stopSequence })
  state.isDone = true
}

const MAX_CITATIONS = 256

/** The pages that the emitted text cites. */
function annotationsOf(blocks: readonly OpenBlock[]): readonly UrlCitation[] {
  const annotations: UrlCitation[] = []
  let start = 0
  for (const { kind, emittedLength, citations } of blocks) {
    if (kind !== 'text' && kind !== 'answer') continue
    citePages(annotations, citations, { start, end: start + emittedLength })
    start += emittedLength
  }
  return annotations
}

function contextEntry({ kind, id, emittedLength, thinking, signature, data }: OpenBlock): ContextEntry[] {
  switch (kind) {
    case 'thinking':
      return [{ type: kind, thinking, signature }]
    case 'redacted_thinking':
      return data === '' ? [] : [{ type: kind, data }]
    case 'tool':
      return [{ type: 'tool_use', id }]
    case 'text':
    case 'answer':
      return emittedLength === 0 ? [] : [{ type: 'text', length: emittedLength }]
    case 'other':
      return []
  }
}
