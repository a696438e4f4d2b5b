/** Holds what a client received against what a plain reader made of the recording. */
import assert from 'node:assert/strict'
import { type Answer, completionOf, errorOf } from '../client.ts'
import type { Choice, Stream, Whole } from '../readers.ts'
import { expectedError } from './recorded-errors.ts'
import type { Recording } from './recordings.ts'
import { type Assembled, assemble, assertWireRules, type ReadStream, readStream, type WireUsage } from './sse.ts'

/** A `chat.completion` that says what the recording says. */
export function assertWhole(answer: Answer, read: Whole): void {
  assert.equal(answer.status, 200, answer.text)
  const { choices, usage } = completionOf(answer)
  assert.deepEqual(
    choices.map(({ index }) => String(index)),
    Object.keys(read.choices),
  )
  for (const { index, message, finish_reason } of choices) {
    assert.equal(message.role, 'assistant')
    const found = {
      content: message.content ?? '',
      reasoning: message.reasoning_content ?? '',
      refusal: message.refusal ?? '',
      toolCalls: (message.tool_calls ?? []).map((call) => ({ id: call.id, ...call.function })),
      finishReason: finish_reason,
      context: message.provider_context,
      images: message.images,
    }
    assertChoice(found, read.choices[index] ?? assert.fail())
  }
  assertUsage(usage, read)
}

/** A stream that says what the recording says. */
export function assertStream(answer: Answer, model: string, read: Whole): void {
  assert.equal(answer.status, 200, answer.text)
  const stream = readStream(answer.text)
  assertWireRules(stream, { model })
  assert.equal(stream.error, undefined)
  const indexes = new Set(stream.chunks.flatMap(({ choices }) => choices.map(({ index }) => String(index))))
  assert.deepEqual([...indexes].sort(), Object.keys(read.choices).sort())
  for (const [index, choice] of Object.entries(read.choices)) assertChoice(assemble(stream, Number(index)), choice)
  assertUsage(stream.chunks.at(-1)?.usage, read)
}

function assertChoice(found: Omit<Assembled, 'role'>, read: Choice): void {
  assert.equal(found.content, read.text)
  assert.equal(found.reasoning, read.reasoning)
  assert.equal(found.refusal, read.refusal)
  assert.equal(found.finishReason, read.finish)
  assert.deepEqual(imagesIn(found.images), read.images)
  if (read.seals !== undefined) assert.deepEqual(sealsIn(found.context), read.seals)
  assertCalls(found, read)
}

/** Calls without an id on the wire, and those that share one, get ids of ours: any, but never the same twice. */
function assertCalls({ toolCalls }: Pick<Assembled, 'toolCalls'>, read: Choice): void {
  assert.equal(toolCalls.length, read.toolCalls.length)
  assert.equal(new Set(toolCalls.map(({ id }) => id)).size, toolCalls.length, 'ids are unique')
  for (const [position, call] of toolCalls.entries()) {
    const wanted = read.toolCalls[position]
    assert.deepEqual([call.name, call.arguments], [wanted?.name, wanted?.arguments])
    const first = read.toolCalls.findIndex(({ id }) => id === wanted?.id)
    if (wanted?.id === '' || first !== position) assert.notEqual(call.id, '')
    else assert.equal(call.id, wanted?.id)
  }
}

function imagesIn(images: unknown): string[] {
  return ((images ?? []) as { image_url: { url: string } }[]).map(({ image_url }) => image_url.url)
}

/** What every protocol's context calls its seals. Each entry says its place, as clients that join deltas want it. */
function sealsIn(context: unknown): string[] {
  const lists = Object.values((context ?? {}) as Record<string, Record<string, Record<string, unknown>[]>>)
  const entries = lists.flatMap((lists) => Object.values(lists).flat())
  for (const [position, { index }] of entries.entries()) assert.equal(index, position)
  return entries.flatMap(({ signature, data, redacted }) => {
    const seal = signature ?? data ?? redacted
    return seal === undefined ? [] : [String(seal)]
  })
}

/** Where the recording says nothing the counts are ours. */
function assertUsage(usage: WireUsage | null | undefined, { usage: read }: Whole): void {
  assert.ok(usage)
  assert.equal(usage.total_tokens, usage.prompt_tokens + usage.completion_tokens)
  assert.equal(usage.cost, (usage.prompt_tokens + 2 * usage.completion_tokens) / 1e6)
  if (read === undefined) return
  const { promptTokens, completionTokens, ...details } = read
  if (promptTokens !== undefined) assert.equal(usage.prompt_tokens, promptTokens)
  if (completionTokens !== undefined) assert.equal(usage.completion_tokens, completionTokens)
  assert.equal(usage.prompt_tokens_details?.cached_tokens, details.cachedTokens)
  assert.equal(usage.prompt_tokens_details?.cache_write_tokens, details.cacheWriteTokens)
  assert.equal(usage.completion_tokens_details?.reasoning_tokens, details.reasoningTokens)
}

export interface Expectation {
  readonly model: string
  readonly code: string
}

/** A failure before the first event has a status of its own; after it, an error event and never a finish reason. */
export function assertBrokenOff(answer: Answer, { model, code }: Expectation): void {
  if (answer.status !== 200) {
    assertFailure(answer, code)
    return
  }
  const stream = readStream(answer.text)
  assertWireRules(stream, { model })
  const { error } = stream
  assert.deepEqual([error?.type, error?.code], ['upstream_error', code])
  assert.match(error?.message ?? '', /incomplete/)
}

/** What had arrived before the end reached the client, in full where `exact`. */
export function assertBeginning(answer: Answer, read: Stream, exact: boolean): void {
  if (answer.status !== 200) {
    const isEmpty = Object.values(read.choices).every((choice) => lengthOf(choice) === 0)
    assert.ok(isEmpty || !exact, 'an answer that has begun is a stream')
    return
  }
  const stream = readStream(answer.text)
  for (const [index, choice] of Object.entries(read.choices))
    assertSoFar(stream, { index: Number(index), choice, exact })
}

function lengthOf({ text, reasoning, refusal, toolCalls }: Choice): number {
  return text.length + reasoning.length + refusal.length + toolCalls.length
}

interface Beginning {
  readonly index: number
  readonly choice: Choice
  readonly exact: boolean
}

function assertSoFar(stream: ReadStream, { index, choice, exact }: Beginning): void {
  const found = assemble(stream, index)
  const pairs = [
    [found.content, choice.text],
    [found.reasoning, choice.reasoning],
    [found.refusal, choice.refusal],
    ...found.toolCalls.map((call, place) => [call.arguments, choice.toolCalls[place]?.arguments ?? '']),
  ] as const
  for (const [text, wanted] of pairs) assert.ok(wanted?.startsWith(text ?? ''), `${text} is not how ${wanted} begins`)
  assert.equal(found.finishReason, undefined)
  if (!exact) return
  assert.deepEqual([found.content, found.reasoning, found.refusal], [choice.text, choice.reasoning, choice.refusal])
  assert.deepEqual(
    found.toolCalls.map(({ name }) => name),
    choice.toolCalls.map(({ name }) => name),
  )
}

/** The provider's own failure. */
export function assertFailure(answer: Answer, code = 'provider_error'): void {
  const { type, code: found } = errorOf(answer)
  assert.deepEqual([answer.status, type, found], [503, 'service_unavailable', code], answer.text)
  assert.match(answer.headers['retry-after'] ?? '', /^([1-9]|[1-5]\d|60)$/)
}

/** An error that was recorded with a status of its own. */
export function assertMapped(answer: Answer, recording: Recording): void {
  const { status, type, code, said, isShown, retryAfter } = expectedError(recording)
  const error = errorOf(answer)
  assert.deepEqual([answer.status, error.type, error.code], [status, type, code], answer.text)
  assert.ok(error.message.length > 0 && error.message.length < 600)
  if (said !== '') assert.equal(error.message.startsWith(said), isShown, error.message)
  assert.doesNotMatch(error.message, /<[a-z]|org-[A-Za-z0-9]{8}|sk-[A-Za-z0-9]/i)
  if (isShown) assert.equal(answer.headers['x-should-retry'], 'false')
  else assert.match(answer.headers['retry-after'] ?? '', /^([1-9]|[1-5]\d|60)$/)
  if (retryAfter !== undefined) assert.equal(answer.headers['retry-after'], String(retryAfter))
}
