/**
 * A whole message: the content blocks of an answer in the order of its events, and its usage; and what it shares with
 * streamed ones, their ending and citations.
 */
import type { ChatEvent, ChatRequest, FinishReason, NativeEvent, ToolCallEvent } from '../../../domain/chat.ts'
import { isRecord, type Json, parseJson, textOf } from '../../../lib/json.ts'
import type { Bill, WholeAnswer } from '../../client-api.ts'
import { encodeContext } from '../../opaque-context.ts'

/** A content block that may still grow. */
type OpenBlock =
  | { readonly type: 'text'; text: string; citations: unknown[] | null; isWhole: boolean }
  | { readonly type: 'native'; readonly block: Json; input: string }
  | { readonly type: 'thinking'; thinking: string; signature: string }
  | { readonly type: 'redacted_thinking'; readonly data: string }
  | OpenCall

interface OpenCall {
  readonly type: 'tool_use'
  readonly id: string
  readonly name: string
  input: string
}

export function createMessage(request: ChatRequest): WholeAnswer {
  const blocks: OpenBlock[] = []
  const calls = new Map<number, OpenCall>()
  const others: Record<string, unknown> = {}
  const ending = createEnding(request)
  return {
    push(event) {
      ending.push(event)
      if (event.type !== 'finish') gather({ blocks, calls, others }, event)
    },
    render({ id, model, usage, costUsd }) {
      const content = [...blocks.map(renderBlock), ...ending.contextBlocks()]
      return JSON.stringify({
        id: messageId(id),
        type: 'message',
        role: 'assistant',
        model,
        content,
        ...others,
        ...ending.stop(),
        usage: { ...otherUsage(others), ...renderUsage({ usage, costUsd }) },
      })
    },
  }
}

interface OpenMessage {
  readonly blocks: OpenBlock[]
  /** The open calls of `blocks`, by `toolIndex`. */
  readonly calls: Map<number, OpenCall>
  /** The fields besides the content. */
  readonly others: Record<string, unknown>
}

function gather(message: OpenMessage, event: Exclude<ChatEvent, { type: 'finish' }>): void {
  const { blocks } = message
  const last = blocks.at(-1)
  switch (event.type) {
    case 'text':
    case 'refusal':
      if (last?.type === 'text' && !last.isWhole) last.text += event.text
      else if (event.text !== '') blocks.push({ type: 'text', text: event.text, citations: null, isWhole: false })
      break
    case 'reasoning': {
      const { text, signature = '', redacted } = event
      if (redacted !== undefined) blocks.push({ type: 'redacted_thinking', data: redacted })
      else if (last?.type === 'thinking' && last.signature === '') {
        last.thinking += text
        last.signature = signature
      } else if (text + signature !== '') blocks.push({ type: 'thinking', thinking: text, signature })
      break
    }
    case 'tool-call':
      gatherCall(message, event)
      break
    case 'native':
      if (event.protocol === 'anthropic') gatherNative(message, event)
      break
    case 'extension':
      if (event.field === 'annotations') gatherPages(message, event.value)
  }
}

/** Citations of other providers, each in the block of its text. */
function gatherPages({ blocks }: OpenMessage, annotations: unknown): void {
  const texts = blocks.filter((block) => block.type === 'text')
  if (texts.some(({ citations }) => citations !== null)) return // Anthropic's own
  for (const { citation, start = Number.POSITIVE_INFINITY } of pageCitations(annotations)) {
    const block = blockAt(texts, start)
    if (block !== undefined) block.citations = [...(block.citations ?? []), citation]
  }
}

/** Unknown blocks, and unknown fields of others. */
function gatherNative(message: OpenMessage, { part, value }: NativeEvent): void {
  const { blocks } = message
  const last = blocks.at(-1)
  if (part === 'start') blocks.push({ type: 'native', block: value, input: '' })
  else if (part === 'stop' && last?.type === 'text') last.isWhole = true
  else if (part === 'message') Object.assign(message.others, value)
  else if (part === 'delta' && last?.type === 'text' && value['type'] === 'citations_delta') {
    last.citations ??= []
    last.citations.push(value['citation'])
  } else if (part === 'delta' && last?.type === 'native') last.input += textOf(value['partial_json'])
}

/** @param position In all texts together. */
function blockAt<Block extends { readonly text: string }>(
  texts: readonly Block[],
  position: number,
): Block | undefined {
  let end = 0
  for (const block of texts) {
    end += block.text.length
    if (position < end) return block
  }
  return texts.at(-1)
}

function gatherCall({ blocks, calls }: OpenMessage, event: ToolCallEvent): void {
  const { toolIndex, id = '', name = '', arguments: input } = event
  const known = calls.get(toolIndex)
  if (known !== undefined) {
    known.input += input
    return
  }
  const call: OpenCall = { type: 'tool_use', id, name, input }
  calls.set(toolIndex, call)
  blocks.push(call)
}

function renderBlock(block: OpenBlock): unknown {
  switch (block.type) {
    case 'text':
      return { type: 'text', text: block.text, citations: block.citations }
    case 'native':
      return block.input === '' ? block.block : { ...block.block, input: inputOf(block.input) }
    case 'tool_use':
      return { type: 'tool_use', id: block.id, name: block.name, input: inputOf(block.input) }
    default:
      return block
  }
}

/** Arguments that are not a JSON object are returned as text under `arguments`: the API requires an object. */
function inputOf(text: string): unknown {
  const input = text.trim() === '' ? {} : parseJson(text)
  return isRecord(input) ? input : { arguments: text }
}

/** Returns `msg_` and the completion ID without its prefix. */
export function messageId(id: string): string {
  return `msg_${id.replace(/^[a-z]+[_-]/, '')}`
}

/** @param others Fields that the gateway does not read. */
export function otherUsage({ usage }: Json): Json {
  return isRecord(usage) ? usage : {}
}

/** Renders the usage. `input_tokens` excludes tokens that were read from a cache or written to it. */
export function renderUsage({ usage, costUsd }: Bill): Record<string, unknown> {
  const { promptTokens, completionTokens, cachedTokens = 0, cacheWriteTokens = 0, cacheWrite1hTokens = 0 } = usage
  return {
    input_tokens: Math.max(0, promptTokens - cachedTokens - cacheWriteTokens),
    cache_creation_input_tokens: cacheWriteTokens,
    cache_read_input_tokens: cachedTokens,
    cache_creation: {
      ephemeral_5m_input_tokens: Math.max(0, cacheWriteTokens - cacheWrite1hTokens),
      ephemeral_1h_input_tokens: cacheWrite1hTokens,
    },
    output_tokens: completionTokens,
    cost: costUsd,
  }
}

/* The end of a message, whole or streamed: its stop reason, and the contexts of other providers. */

export interface Stop {
  readonly stop_reason: string | null
  readonly stop_sequence: string | null
}

interface RedactedThinking {
  readonly type: 'redacted_thinking'
  readonly data: string
}

export interface Ending {
  push(event: ChatEvent): void
  /**
   * Blocks for the end of the content, which clients return with it: the provider's context in the form of encrypted
   * thinking. Only for clients that must expect such blocks, or whose tool loop needs them.
   */
  contextBlocks(): readonly RedactedThinking[]
  stop(): Stop
}

interface EndingState {
  /** Undefined until the answer has ended. */
  finish: Extract<ChatEvent, { type: 'finish' }> | undefined
  context: unknown
  hasCalled: boolean
  /** The end of the text, as long as the longest stop sequence. */
  tail: string
}

/** Longer sequences are not searched for in texts, because the search would take time for each piece. */
const MAX_SEQUENCE_LENGTH = 256

export function createEnding({ stop = [], extra }: ChatRequest): Ending {
  const sequences = stop.filter(({ length }) => length <= MAX_SEQUENCE_LENGTH)
  const longest = Math.max(0, ...sequences.map(({ length }) => length))
  const state: EndingState = { finish: undefined, context: undefined, hasCalled: false, tail: '' }
  return {
    push(event) {
      if (event.type === 'tool-call') state.hasCalled = true
      else if (event.type === 'finish') state.finish = event
      else if (event.type === 'extension' && event.field === 'provider_context') state.context = event.value
      else if (event.type === 'text' && longest > 0) state.tail = (state.tail + event.text).slice(-longest)
    },
    contextBlocks() {
      const isExpected = state.hasCalled || extra['thinking'] !== undefined
      return isExpected ? contextBlocks(state.context) : []
    },
    stop: () => stopOf(state, stop, sequences),
  }
}

/** Thinking that Anthropic signed has blocks of its own. */
function contextBlocks(context: unknown): readonly RedactedThinking[] {
  if (!isRecord(context)) return []
  const { anthropic: _, ...others } = context
  const data = Object.keys(others).length === 0 ? undefined : encodeContext(others)
  return data === undefined ? [] : [{ type: 'redacted_thinking', data }]
}

const STOP_REASONS: Readonly<Record<FinishReason, string>> = {
  stop: 'end_turn',
  length: 'max_tokens',
  tool_calls: 'tool_use',
  content_filter: 'refusal',
}
/** Stop reasons of the same API that are more exact than a finish reason. */
const OWN_REASONS: ReadonlySet<string> = new Set(['stop_sequence', 'pause_turn', 'model_context_window_exceeded'])

/**
 * Returns the stop sequence. Some hosts name it and some leave it at the end of the text; a single one needs no name.
 */
function stopOf(
  { finish, hasCalled, tail }: EndingState,
  requested: readonly string[],
  sought: readonly string[],
): Stop {
  if (finish === undefined) return { stop_reason: null, stop_sequence: null }
  const { reason, raw, stopSequence } = finish
  if (reason === 'stop') {
    const only = raw === 'stop_sequence' && requested.length === 1 ? requested[0] : undefined
    const sequence = stopSequence ?? only ?? sought.find((each) => tail.endsWith(each))
    if (sequence !== undefined) return { stop_reason: 'stop_sequence', stop_sequence: sequence }
  }
  const own = OWN_REASONS.has(raw) ? raw : STOP_REASONS[reason]
  return { stop_reason: hasCalled && own === 'end_turn' ? 'tool_use' : own, stop_sequence: null }
}

/* Pages that other providers' answers cite, as citations of a text block. */

/** Further ones are left out. */
const MAX_CITATIONS = 256

interface PageCitation {
  readonly citation: Json
  /** Start of the cited text in the answer; undefined: unknown. */
  readonly start: number | undefined
}

/**
 * @param annotations Of a message, in the form of chat completions.
 * The text of a page and Anthropic's own fields of it are unknown: see `withoutForeignCitations`.
 */
export function pageCitations(annotations: unknown): readonly PageCitation[] {
  if (!Array.isArray(annotations)) return []
  return annotations.slice(0, MAX_CITATIONS).flatMap((annotation: unknown) => {
    const cited = isRecord(annotation) ? annotation['url_citation'] : undefined
    if (!isRecord(cited) || textOf(cited['url']) === '') return []
    const { start_index: start } = cited
    return [
      {
        citation: {
          type: 'web_search_result_location',
          cited_text: '',
          url: textOf(cited['url']),
          title: textOf(cited['title']),
          encrypted_index: '',
        },
        start: typeof start === 'number' ? start : undefined,
      },
    ]
  })
}

/** A text block of an earlier answer, without citations that are not Anthropic's, which its API rejects. */
export function withoutForeignCitations(block: Json): Json {
  const { citations, ...rest } = block
  if (!Array.isArray(citations)) return block
  const own = citations.filter((citation: unknown) => !isRecord(citation) || citation['encrypted_index'] !== '')
  if (own.length === citations.length) return block
  return own.length === 0 ? rest : { ...block, citations: own }
}
