/**
 * Reads a recorded answer in the Messages format for tests: puts the message together as the format's description says
 * and looks at it. Written apart from the codec on purpose, so that the two cannot share a mistake.
 */
import { dataOf, sseBlocks } from './sse-blocks.ts'

export interface ReadMessage {
  readonly text: string
  readonly reasoning: string
  readonly toolCalls: readonly { readonly id: string; readonly name: string; readonly arguments: string }[]
  readonly finish: string | undefined
  readonly usage: Readonly<Record<string, number>>
  /** Signatures and opaque data of the thinking, in order. */
  readonly seals: readonly string[]
  /** The answer is an error, ends in one, or cannot be told as one answer. */
  readonly isError: boolean
}
export interface ReadMessageStream extends ReadMessage {
  /** Bytes after which the message is complete; undefined when that never comes. */
  readonly terminalOffset: number | undefined
}

// biome-ignore lint/suspicious/noExplicitAny: a recording is any JSON
type Anything = any

export function readWholeMessage(body: string): ReadMessage {
  const answer: Anything = JSON.parse(body)
  return { ...describe(answer, (block) => JSON.stringify(block.input)), isError: answer.type === 'error' }
}

export function readMessageStream(bytes: Uint8Array): ReadMessageStream {
  let message: Anything = { content: [], usage: {} }
  let seen = false
  let isError = false
  for (const { event, end } of eventsOf(bytes)) {
    isError ||= event.type === 'error' || (event.type === 'message_start' && seen)
    if (isError) break
    if (event.type === 'message_start') {
      message = { ...event.message, content: [] }
    }
    if (event.type === 'content_block_start') message.content[event.index] = { ...event.content_block, json: '' }
    if (event.type === 'content_block_delta') {
      grow(message.content[event.index], event.delta)
      seen ||= ['text', 'thinking', 'tool_use'].includes(message.content[event.index].type)
    }
    if (event.type === 'message_delta') {
      message.stop_reason = event.delta.stop_reason
      const said = Object.entries(event.usage).filter(([, count]) => count !== null)
      message.usage = { ...message.usage, ...Object.fromEntries(said) }
    }
    if (event.type === 'message_stop') return { ...streamed(message), isError, terminalOffset: end }
  }
  return { ...streamed(message), isError, terminalOffset: undefined }
}

function streamed(message: Anything): Omit<ReadMessage, 'isError'> {
  return describe(message, (block) => block.json || '{}')
}

function grow(block: Anything, delta: Anything): void {
  if (delta.type === 'text_delta') block.text += delta.text
  if (delta.type === 'thinking_delta') block.thinking += delta.thinking
  if (delta.type === 'signature_delta') block.signature = (block.signature ?? '') + delta.signature
  if (delta.type === 'input_json_delta') block.json += delta.partial_json
}

function eventsOf(bytes: Uint8Array): { event: Anything; end: number }[] {
  const blocks = sseBlocks(bytes).filter((block) => block.isWhole && dataOf(block).startsWith('{'))
  return blocks.map((block) => ({ event: JSON.parse(dataOf(block)), end: block.end }))
}

function describe(message: Anything, argumentsOf: (block: Anything) => string): Omit<ReadMessage, 'isError'> {
  const blocks = (message.content ?? []).filter((block: Anything) => block !== undefined)
  const of = (type: string): Anything[] => blocks.filter((block: Anything) => block.type === type)
  const toolCalls = of('tool_use').map((block) => ({ id: block.id, name: block.name, arguments: argumentsOf(block) }))
  return {
    text: of('text').reduce((text, block) => text + block.text, ''),
    reasoning: of('thinking').reduce((text, block) => text + block.thinking, ''),
    toolCalls,
    finish: finishOf(message.stop_reason, toolCalls.length > 0),
    usage: usageOf(message.usage ?? {}, blocks.filter(isFound).length),
    seals: blocks.flatMap((block: Anything) =>
      block.type === 'thinking' ? [block.signature] : block.type === 'redacted_thinking' ? [block.data] : [],
    ),
  }
}

function finishOf(raw: string | null | undefined, hasCalls: boolean): string | undefined {
  if (!raw) return undefined
  if (raw === 'max_tokens' || raw === 'model_context_window_exceeded') return 'length'
  if (raw === 'refusal') return 'content_filter'
  return hasCalls ? 'tool_calls' : 'stop'
}

/** A search that succeeded, which is charged for even where the usage does not count it. */
function isFound({ type, content }: Anything): boolean {
  return type === 'web_search_tool_result' && Array.isArray(content)
}

/** Uses of tools that the provider ran are an object of their own. */
function usageOf(usage: Anything, found: number): Readonly<Record<string, number>> {
  const { input_tokens: input, output_tokens: output, cache_read_input_tokens: read } = usage
  const written = usage.cache_creation_input_tokens
  const thinking = usage.output_tokens_details?.thinking_tokens
  const counts: Record<string, number | undefined> = {
    promptTokens: input === undefined ? undefined : input + (read ?? 0) + (written ?? 0),
    completionTokens: output,
    cachedTokens: read,
    cacheWriteTokens: written,
    reasoningTokens: thinking,
  }
  const present = Object.entries(counts).filter(([, count]) => typeof count === 'number')
  const hour = usage.cache_creation?.ephemeral_1h_input_tokens
  if (hour > 0) present.push(['cacheWrite1hTokens', hour])
  const searches = usage.server_tool_use?.web_search_requests ?? found
  const uses = searches > 0 ? { serverToolUses: { web_search: searches } } : {}
  return { ...Object.fromEntries(present), ...uses } as unknown as Record<string, number>
}
