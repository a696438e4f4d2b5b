/** Reads the event streams that the gateway sends, and holds every one of them against the rules of the wire. */
import assert from 'node:assert/strict'

export interface WireUsage {
  readonly prompt_tokens: number
  readonly completion_tokens: number
  readonly total_tokens: number
  readonly cost?: number
  readonly prompt_tokens_details?: { readonly cached_tokens?: number; readonly cache_write_tokens?: number }
  readonly completion_tokens_details?: { readonly reasoning_tokens?: number }
}
export interface WireToolCall {
  readonly index: number
  readonly id?: string
  readonly type?: string
  readonly function: { readonly name?: string; readonly arguments: string }
}
export interface WireDelta {
  readonly role?: string
  readonly content?: string | null
  readonly reasoning_content?: string | null
  readonly refusal?: string | null
  readonly tool_calls?: readonly WireToolCall[]
  readonly provider_context?: unknown
  readonly images?: unknown
}
export interface WireChunk {
  readonly id: string
  readonly object: string
  readonly created: number
  readonly model: string
  readonly choices: readonly {
    readonly index: number
    readonly delta: WireDelta
    readonly finish_reason: string | null
  }[]
  readonly usage?: WireUsage | null
}
export interface WireError {
  readonly type: string
  readonly message: string
  readonly code: string
  readonly param?: string
  readonly retry_after?: number
  readonly request_id?: string
}

export interface ReadStream {
  readonly chunks: readonly WireChunk[]
  /** Of the error event, where there is one. */
  readonly error: WireError | undefined
  /** Whether the text ended with `[DONE]`. */
  readonly done: boolean
  readonly comments: readonly string[]
}

/** Parses an event-stream text into payloads and comments, knowing `data:` alone. */
export function readStream(text: string): ReadStream {
  const chunks: WireChunk[] = []
  const comments: string[] = []
  let error: WireError | undefined
  let done = false
  for (const block of text.replace(/\r\n?/g, '\n').split('\n\n')) {
    const lines = block.split('\n')
    comments.push(...lines.filter((line) => line.startsWith(':')).map((line) => line.slice(1).trim()))
    const data = lines.filter((line) => line.startsWith('data:')).map((line) => line.slice(5).replace(/^ /, ''))
    if (data.length === 0) continue
    assert.equal(done, false, 'nothing comes after [DONE]')
    const payload = data.join('\n')
    if (payload === '[DONE]') {
      done = true
      continue
    }
    const value = JSON.parse(payload) as WireChunk | { readonly error: WireError }
    assert.equal(error, undefined, 'nothing but [DONE] comes after an error event')
    if ('error' in value) error = value.error
    else chunks.push(value)
  }
  return { chunks, error, done, comments }
}

/** What a client has put together when the stream is over. */
export interface Assembled {
  readonly role: string | undefined
  readonly content: string
  readonly reasoning: string
  readonly refusal: string
  readonly toolCalls: readonly { readonly id: string; readonly name: string; readonly arguments: string }[]
  readonly finishReason: string | undefined
  readonly context: unknown
  readonly images: unknown
}

/** Puts one choice together, as any client would. */
export function assemble(stream: ReadStream, index = 0): Assembled {
  const deltas = stream.chunks.flatMap(({ choices }) => choices.filter((choice) => choice.index === index))
  const text = (field: 'content' | 'reasoning_content' | 'refusal'): string =>
    deltas.map(({ delta }) => delta[field] ?? '').join('')
  const calls: { id: string; name: string; arguments: string }[] = []
  for (const fragment of deltas.flatMap(({ delta }) => delta.tool_calls ?? [])) {
    const call = calls[fragment.index] ?? { id: '', name: '', arguments: '' }
    call.id += fragment.id ?? ''
    call.name += fragment.function.name ?? ''
    call.arguments += fragment.function.arguments
    calls[fragment.index] = call
  }
  return {
    role: deltas.find(({ delta }) => delta.role !== undefined)?.delta.role,
    content: text('content'),
    reasoning: text('reasoning_content'),
    refusal: text('refusal'),
    toolCalls: calls,
    finishReason: deltas.find(({ finish_reason }) => finish_reason !== null)?.finish_reason ?? undefined,
    context: deltas.find(({ delta }) => delta.provider_context)?.delta.provider_context,
    images: deltas.find(({ delta }) => delta.images)?.delta.images,
  }
}

const FINISH_REASONS = ['stop', 'length', 'tool_calls', 'content_filter']

/** Asserts what holds of every stream, whole or broken off. */
export function assertWireRules(stream: ReadStream, expected: { model: string; includeUsage?: boolean }): void {
  assert.equal(stream.done, true, 'the stream ends with [DONE]')
  const [first] = stream.chunks
  for (const chunk of stream.chunks) {
    assert.equal(chunk.object, 'chat.completion.chunk')
    assert.match(chunk.id, /^chatcmpl-[0-9A-Za-z]{20,}$/)
    assert.equal(chunk.id, first?.id)
    assert.equal(chunk.created, first?.created)
    assert.equal(chunk.model, expected.model)
    for (const { index } of chunk.choices) assert.ok(Number.isInteger(index) && index >= 0)
  }
  const indexes = new Set(stream.chunks.flatMap(({ choices }) => choices.map(({ index }) => index)))
  for (const index of indexes) assertChoiceRules(stream, index)
  if (stream.error === undefined) assertUsageRules(stream, expected.includeUsage ?? false)
  else assertErrorRules(stream)
}

function assertChoiceRules(stream: ReadStream, index: number): void {
  const own = stream.chunks.flatMap(({ choices }) => choices.filter((choice) => choice.index === index))
  assert.equal(own[0]?.delta.role, 'assistant', "the role is in the choice's first delta")
  assert.equal(own.filter(({ delta }) => 'role' in delta).length, 1, 'the role comes once')
  for (const field of ['provider_context', 'images']) {
    assert.ok(own.filter(({ delta }) => field in delta).length <= 1, `${field} comes once`)
  }
  const finishes = own.flatMap(({ finish_reason }) => finish_reason ?? [])
  for (const reason of finishes) assert.ok(FINISH_REASONS.includes(reason), reason)
  const fragments = own.flatMap(({ delta }) => delta.tool_calls ?? [])
  if (stream.error === undefined) {
    assert.equal(finishes.length, 1, 'one finish_reason per choice')
    assert.notEqual(own.at(-1)?.finish_reason, null, 'the finish_reason is on the last chunk of the choice')
    if (fragments.length > 0) assert.notEqual(finishes[0], 'stop', 'never stop where there are tool calls')
  }
  const seen = new Set<number>()
  for (const fragment of fragments) {
    assert.equal(typeof fragment.function.arguments, 'string')
    const isFirst = !seen.has(fragment.index)
    if (isFirst) assert.equal(fragment.index, seen.size, 'tool calls count from 0 without gaps')
    seen.add(fragment.index)
    assert.equal(typeof fragment.id, isFirst ? 'string' : 'undefined')
    assert.equal(fragment.type, isFirst ? 'function' : undefined)
    assert.equal(typeof fragment.function.name, isFirst ? 'string' : 'undefined')
  }
}

function assertUsageRules({ chunks }: ReadStream, includeUsage: boolean): void {
  const withUsage = chunks.filter(({ usage }) => usage !== undefined && usage !== null)
  assert.equal(withUsage.length, 1, 'usage comes once')
  assert.equal(withUsage[0], chunks.at(-1), 'nothing after the usage but [DONE]')
  const empty = chunks.filter(({ choices }) => choices.length === 0)
  assert.equal(empty.length, includeUsage ? 1 : 0, 'a chunk without choices only when asked for')
  if (includeUsage) assert.equal(empty[0], chunks.at(-1))
  const usage = withUsage[0]?.usage
  assert.equal(usage?.total_tokens, (usage?.prompt_tokens ?? 0) + (usage?.completion_tokens ?? 0))
}

function assertErrorRules({ error, chunks }: ReadStream): void {
  for (const field of [error?.type, error?.message, error?.code]) assert.equal(typeof field, 'string')
  const finished = chunks.some(({ choices }) => choices.some(({ finish_reason }) => finish_reason !== null))
  assert.equal(finished, false, 'no finish_reason is invented')
}
