/**
 * Parses a streamed answer event by event. The events carry no stop reason but one, `messageStop`; usage follows it in
 * `metadata`. Blocks are counted over all kinds, tool calls by themselves.
 */
import type { ChatEvent, FinishReason } from '../../domain/chat.ts'
import { isRecord, type Json, parseJson, textOf } from '../../lib/json.ts'
import { nativeEvent } from '../anthropic-messages/response.ts'
import { ANSWER_TOOL } from '../conversation.ts'
import { EXCEPTION_PREFIX } from '../framing.ts'
import { brokenAnswer, type Frame, ProviderError, type StreamParser } from '../protocol.ts'
import type { UrlCitation } from '../server-tools.ts'
import { type ContextEntry, renderContext } from './context.ts'
import { failureOf } from './errors.ts'
import {
  addPages,
  annotationEvents,
  type Cited,
  isClientCall,
  parseFinish,
  parseUsage,
  readCitation,
} from './response.ts'

interface ToolBlock {
  /** Undefined for the answer tool, whose arguments are text, and for calls that the service runs itself. */
  readonly toolIndex: number | undefined
  readonly isAnswer: boolean
  hasArguments: boolean
}
interface ReasoningBlock {
  text: string
  signature: string
  readonly redacted: Buffer[]
  readonly textBefore: number
  readonly callsBefore: number
}

interface State {
  readonly tools: Map<number, ToolBlock>
  /** The reasoning blocks in order of their start. */
  readonly reasoning: Map<number, ReasoningBlock>
  /** The block of the last text, with what it cites; undefined: another block followed it. */
  text: (Cited & { readonly block: number }) | undefined
  readonly pages: UrlCitation[]
  textLength: number
  calls: number
  finish: FinishReason | undefined
  hasUsage: boolean
}

/** Creates the parser of one call. A stream is complete with its `messageStop`, whether or not usage follows. */
export function streamParser(): StreamParser {
  const state: State = {
    tools: new Map(),
    reasoning: new Map(),
    text: undefined,
    pages: [],
    textLength: 0,
    calls: 0,
    finish: undefined,
    hasUsage: false,
  }
  return {
    push(frame, events) {
      const payload = parsePayload(frame)
      if (payload === undefined) return false
      if (frame.event === 'metadata') readUsage(state, payload, events)
      else if (state.finish === undefined) readEvent(state, frame.event, { payload, events })
      return state.finish !== undefined && state.hasUsage
    },
    end() {
      if (state.finish === undefined) {
        throw brokenAnswer('The provider closed the stream before the end of the answer.')
      }
    },
  }
}

/** @returns undefined for unreadable events of an unknown kind. */
function parsePayload({ event, data }: Frame): Json | undefined {
  const payload = parseJson(data)
  if (event.startsWith(EXCEPTION_PREFIX)) {
    const type = event.slice(EXCEPTION_PREFIX.length)
    throw new ProviderError(failureOf({ status: 200, type, body: payload }))
  }
  if (isRecord(payload)) return payload
  if (!EVENTS.has(event)) return undefined
  throw brokenAnswer('The provider sent an event that cannot be read.')
}

const EVENTS: ReadonlySet<string> = new Set([
  'messageStart',
  'contentBlockStart',
  'contentBlockDelta',
  'contentBlockStop',
  'messageStop',
  'metadata',
])

function readUsage(state: State, payload: Json, events: ChatEvent[]): void {
  const usage = parseUsage(payload['usage'], payload['serviceTier'])
  if (usage === undefined) return
  state.hasUsage = true
  events.push({ type: 'usage', usage })
}

interface Read {
  readonly payload: Json
  readonly events: ChatEvent[]
}

function readEvent(state: State, event: string, { payload, events }: Read): void {
  switch (event) {
    case 'contentBlockStart':
      if (isRecord(payload['start'])) beginBlock(state, payload, events)
      break
    case 'contentBlockDelta':
      if (isRecord(payload['delta'])) readDelta(state, { payload, delta: payload['delta'] }, events)
      break
    case 'contentBlockStop':
      closeCall(state.tools.get(blockIndex(payload)), events)
      break
    case 'messageStop':
      finish(state, textOf(payload['stopReason']), events)
      break
    default:
      break
  }
}

function blockIndex(payload: Json): number {
  const index = payload['contentBlockIndex']
  return typeof index === 'number' ? index : 0
}

function beginBlock(state: State, payload: Json, events: ChatEvent[]): void {
  const start = payload['start']
  const toolUse = isRecord(start) ? start['toolUse'] : undefined
  if (!isRecord(toolUse)) return
  endText(state)
  const name = textOf(toolUse['name'])
  const isAnswer = name === ANSWER_TOOL
  const isClients = !isAnswer && isClientCall(toolUse)
  if (isClients && name === '') throw brokenAnswer('The provider called a tool without a name.')
  const toolIndex = isClients ? state.calls++ : undefined
  state.tools.set(blockIndex(payload), { toolIndex, isAnswer, hasArguments: false })
  if (toolIndex === undefined) return
  const id = textOf(toolUse['toolUseId']) || `tooluse_${toolIndex}`
  events.push({ type: 'tool-call', index: 0, toolIndex, id, name, arguments: '' })
}

interface Delta {
  readonly payload: Json
  readonly delta: Json
}

function readDelta(state: State, { payload, delta }: Delta, events: ChatEvent[]): void {
  const { text, toolUse, reasoningContent, citation } = delta
  if (typeof text === 'string') readText(state, text, { payload, events })
  if (citation !== undefined && state.text !== undefined) readCitation(state.text, citation, events)
  if (isRecord(reasoningContent)) readReasoning(state, { payload, delta: reasoningContent }, events)
  if (!isRecord(toolUse)) return
  const input = textOf(toolUse['input'])
  const block = state.tools.get(blockIndex(payload))
  if (block === undefined) throw brokenAnswer('The provider sent arguments of a tool call that did not begin.')
  if (input === '') return
  block.hasArguments = true
  if (block.isAnswer) emitText(state, input, events)
  else if (block.toolIndex !== undefined) {
    events.push({ type: 'tool-call', index: 0, toolIndex: block.toolIndex, arguments: input })
  }
}

/** Texts of two blocks are two blocks for clients that have such. */
function readText(state: State, text: string, { payload, events }: Read): void {
  const block = blockIndex(payload)
  if (state.text?.block !== block) {
    if (state.text !== undefined) {
      events.push(nativeEvent('stop'))
      endText(state)
    }
    state.text = { block, start: state.textLength, citations: [] }
  }
  emitText(state, text, events)
}

function endText(state: State): void {
  if (state.text !== undefined) addPages(state.pages, state.text, state.textLength)
  state.text = undefined
}

function emitText(state: State, text: string, events: ChatEvent[]): void {
  if (text === '') return
  state.textLength += text.length
  events.push({ type: 'text', index: 0, text })
}

function readReasoning(state: State, { payload, delta }: Delta, events: ChatEvent[]): void {
  const block = reasoningAt(state, blockIndex(payload))
  const text = textOf(delta['text'])
  block.text += text
  block.signature += textOf(delta['signature'])
  const redacted = textOf(delta['redactedContent'])
  if (redacted !== '') block.redacted.push(Buffer.from(redacted, 'base64'))
  if (text !== '') events.push({ type: 'reasoning', index: 0, text })
}

function reasoningAt(state: State, index: number): ReasoningBlock {
  const known = state.reasoning.get(index)
  if (known !== undefined) return known
  const { textLength: textBefore, calls: callsBefore } = state
  const block = { text: '', signature: '', redacted: [], textBefore, callsBefore }
  state.reasoning.set(index, block)
  return block
}

/** Completes a call without parameters, which has no argument text, by the JSON text `{}`. */
function closeCall(block: ToolBlock | undefined, events: ChatEvent[]): void {
  if (block?.toolIndex === undefined || block.hasArguments) return
  block.hasArguments = true
  events.push({ type: 'tool-call', index: 0, toolIndex: block.toolIndex, arguments: '{}' })
}

function finish(state: State, raw: string, events: ChatEvent[]): void {
  if (raw === '') throw brokenAnswer('The provider ended the answer without a stop reason.')
  const reason = parseFinish(raw, state.calls > 0)
  if (reason === 'tool_calls') for (const block of state.tools.values()) closeCall(block, events)
  endText(state)
  events.push(...annotationEvents(state.pages))
  const context = renderContext([...state.reasoning.values()].flatMap(contextEntries))
  if (context !== undefined) events.push({ type: 'extension', index: 0, field: 'provider_context', value: context })
  state.finish = reason
  events.push({ type: 'finish', index: 0, reason, raw })
}

/** Reasoning without a signature cannot be returned. */
function contextEntries({ text, signature, redacted, textBefore, callsBefore }: ReasoningBlock): ContextEntry[] {
  const entries: ContextEntry[] = []
  const position = { textBefore, callsBefore }
  if (redacted.length > 0) entries.push({ redacted: Buffer.concat(redacted).toString('base64'), ...position })
  if (signature !== '') entries.push({ text, signature, ...position })
  return entries
}
