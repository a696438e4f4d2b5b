/**
 * Reads a recorded answer in the OpenAI chat format for tests: the plainest reading of the format there is, written
 * apart from the codecs on purpose, so that the two cannot share a mistake. It knows whole recordings only.
 */
import { dataOf, sseBlocks } from './sse-blocks.ts'

export interface ReadToolCall {
  readonly id: string
  readonly name: string
  readonly arguments: string
}
export interface ReadChoice {
  readonly text: string
  readonly reasoning: string
  readonly refusal: string
  readonly toolCalls: readonly ReadToolCall[]
  readonly finish: string | undefined
}
export interface ReadUsage {
  readonly promptTokens?: number
  readonly completionTokens?: number
  readonly cachedTokens?: number
  readonly cacheWriteTokens?: number
  readonly reasoningTokens?: number
  readonly audioInputTokens?: number
  readonly audioOutputTokens?: number
  readonly imageOutputTokens?: number
  readonly serviceTier?: string
}
export interface ReadAnswer {
  /** By index. */
  readonly choices: Readonly<Record<number, ReadChoice>>
  readonly usage: ReadUsage | undefined
  /** The answer is an error, or ends in one. */
  readonly isError: boolean
}
export interface ReadStream extends ReadAnswer {
  /** Bytes after which every choice that the recording has is finished; undefined when that never comes. */
  readonly terminalOffset: number | undefined
}

interface Draft {
  text: string
  reasoning: string
  refusal: string
  readonly calls: Map<string, { id: string; name: string; arguments: string }>
  finish: string | undefined
}
// The reader trusts recordings: what it reads out of them is compared, not believed.
// biome-ignore lint/suspicious/noExplicitAny: a recording is any JSON
type Anything = any

export function readWhole(body: string): ReadAnswer {
  const answer: Anything = JSON.parse(body)
  const drafts: Record<number, Draft> = {}
  for (const choice of answer.choices ?? []) add(drafts, choice.index, choice.message ?? {}, choice.finish_reason)
  const isBroken = (answer.choices ?? []).some((choice: Anything) => BROKEN.has(choice.finish_reason))
  return { choices: finished(drafts), usage: usageOf(answer.usage), isError: Boolean(answer.error) || isBroken }
}

export function readStream(bytes: Uint8Array): ReadStream {
  const drafts: Record<number, Draft> = {}
  const indices = new Set<number>()
  const chunks = framesOf(bytes)
  for (const { chunk } of chunks) for (const choice of chunk.choices ?? []) indices.add(choice.index)
  let usage: Anything
  let terminalOffset: number | undefined
  let isError = false
  for (const { chunk, end } of chunks) {
    if (chunk.error) isError = true
    if (isError) break
    for (const choice of chunk.choices ?? []) add(drafts, choice.index, choice.delta ?? {}, choice.finish_reason)
    usage = chunk.usage ?? (chunk.x_groq ?? chunk.x_vendor)?.usage ?? usage
    const isOver = indices.size > 0 && [...indices].every((index) => drafts[index]?.finish)
    if (isOver) terminalOffset ??= end
  }
  return { choices: finished(drafts), usage: usageOf(usage), isError, terminalOffset }
}

const BROKEN = new Set(['error', 'insufficient_system_resource'])

function framesOf(bytes: Uint8Array): { chunk: Anything; end: number }[] {
  const blocks = sseBlocks(bytes).filter((block) => block.isWhole && !['', '[DONE]'].includes(dataOf(block)))
  return blocks.map((block) => ({ chunk: JSON.parse(dataOf(block)), end: block.end }))
}

function add(drafts: Record<number, Draft>, index: number, message: Anything, finish: string | null | undefined): void {
  const draft = drafts[index] ?? { text: '', reasoning: '', refusal: '', calls: new Map(), finish: undefined }
  drafts[index] = draft
  if (typeof message.content === 'string') draft.text += message.content
  else for (const part of message.content ?? []) addPart(draft, part)
  draft.reasoning += message.reasoning_content || message.reasoning || ''
  draft.refusal += message.refusal ?? ''
  const calls = message.function_call ? [{ index: 0, function: message.function_call }] : (message.tool_calls ?? [])
  calls.forEach((call: Anything, position: number) => {
    const key = String(call.index ?? position)
    const known = draft.calls.get(key) ?? { id: '', name: '', arguments: '' }
    draft.calls.set(key, {
      id: known.id || call.id || '',
      name: known.name || call.function.name || '',
      arguments: known.arguments + (call.function.arguments ?? ''),
    })
  })
  if (finish) draft.finish = finish
}

function addPart(draft: Draft, part: Anything): void {
  if (part.type === 'text') draft.text += part.text
  if (part.type === 'thinking') draft.reasoning += part.thinking.map((piece: Anything) => piece.text).join('')
}

function finished(drafts: Record<number, Draft>): Record<number, ReadChoice> {
  const entries = Object.entries(drafts).map(([index, { calls, finish, ...texts }]) => {
    const toolCalls = [...calls.values()].map((call) => ({ ...call, arguments: call.arguments || '{}' }))
    return [index, { ...texts, toolCalls, finish: finishOf(finish, toolCalls.length > 0) }]
  })
  return Object.fromEntries(entries)
}

function finishOf(raw: string | undefined, hasCalls: boolean): string | undefined {
  if (raw === undefined) return undefined
  if (raw === 'function_call' || raw === 'tool_calls') return 'tool_calls'
  if (raw === 'length' || raw === 'model_length') return 'length'
  if (raw === 'content_filter') return raw
  return hasCalls ? 'tool_calls' : 'stop'
}

function usageOf(usage: Anything): ReadUsage | undefined {
  if (!usage) return undefined
  const { prompt_tokens: prompt, completion_tokens: completion, total_tokens: total } = usage
  const reasoning = usage.completion_tokens_details?.reasoning_tokens
  const cached = [
    usage.prompt_tokens_details?.cached_tokens,
    usage.prompt_cache_hit_tokens,
    usage.cached_tokens,
    usage.num_cached_tokens,
  ].find((count) => typeof count === 'number')
  const written = usage.prompt_tokens_details?.cache_write_tokens
  return {
    promptTokens: prompt,
    // What the total counts beyond the prompt is the completion, whatever the host calls it.
    completionTokens: total > prompt + completion ? total - prompt : completion,
    ...(typeof cached === 'number' ? { cachedTokens: cached } : {}),
    ...(typeof written === 'number' ? { cacheWriteTokens: written } : {}),
    ...(typeof reasoning === 'number' ? { reasoningTokens: reasoning } : {}),
    ...seldomClasses(usage),
  }
}

/** Of what most answers have none. */
function seldomClasses(usage: Anything): Partial<ReadUsage> {
  const heard = usage.prompt_tokens_details?.audio_tokens
  const { audio_tokens: spoken, image_tokens: drawn } = usage.completion_tokens_details ?? {}
  return {
    ...(heard > 0 ? { audioInputTokens: heard } : {}),
    ...(spoken > 0 ? { audioOutputTokens: spoken } : {}),
    ...(drawn > 0 ? { imageOutputTokens: drawn } : {}),
  }
}
