/** What the official SDK makes of our answers, whole and streamed, and that both are the same answer. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import OpenAI from 'openai'
import type { ChatEvent, FinishReason } from '../../../domain/chat.ts'
import { brokenEnd } from '../../../domain/kept-events.ts'
import { createAnswer } from './answer.ts'
import { createStreamRenderer } from './stream.ts'

const head = { id: 'chatcmpl-1', created: 1_700_000_000, model: 'm1' }
const bill = { usage: { promptTokens: 10, completionTokens: 5, cachedTokens: 3 }, costUsd: 0.5 }
const request = { model: 'm1', messages: [{ role: 'user', content: 'hi' }] } satisfies OpenAI.ChatCompletionCreateParams

function clientOf(body: string, contentType: string): OpenAI {
  const answer = async () => new Response(body, { headers: { 'content-type': contentType } })
  return new OpenAI({ apiKey: 'k', baseURL: 'http://gateway.invalid/v1', fetch: answer, maxRetries: 0 })
}

function streamOf(events: readonly ChatEvent[], includeUsage: boolean): string {
  const stream = createStreamRenderer({ ...head, includeUsage })
  return events.map((event) => stream.push(event)).join('') + stream.close(bill)
}

function answerOf(events: readonly ChatEvent[]): string {
  const answer = createAnswer()
  for (const event of events) answer.push(event)
  return answer.render({ ...head, ...bill })
}

/** The helper overwrites fields it does not know with each delta, so reasoning is joined here from its chunks. */
async function streamed(events: readonly ChatEvent[], includeUsage: boolean): Promise<OpenAI.ChatCompletion> {
  const client = clientOf(streamOf(events, includeUsage), 'text/event-stream; charset=utf-8')
  const stream = client.chat.completions.stream(request)
  const reasoning = new Map<number, string>()
  stream.on('chunk', ({ choices }) => {
    for (const { index, delta } of choices) {
      reasoning.set(index, (reasoning.get(index) ?? '') + (Reflect.get(delta, 'reasoning_content') ?? ''))
    }
  })
  const completion = await stream.finalChatCompletion()
  for (const { index, message } of completion.choices) {
    Reflect.set(message, 'reasoning_content', reasoning.get(index))
  }
  return completion
}

/** The fields of a message that both forms must agree on; the helper leaves out, or adds, empty ones. */
function essence(completion: OpenAI.ChatCompletion): unknown {
  const choices = completion.choices.map(({ index, finish_reason, message, logprobs }) => ({
    index,
    finish_reason,
    role: message.role,
    content: message.content ?? '',
    refusal: message.refusal ?? '',
    reasoning: Reflect.get(message, 'reasoning_content') ?? '',
    logprobs: logprobs?.content ?? [],
    calls: (message.tool_calls ?? []).map((call) => ({
      id: call.id,
      type: call.type,
      name: call.type === 'function' && call.function.name,
      arguments: call.type === 'function' && call.function.arguments,
    })),
  }))
  return { id: completion.id, model: completion.model, choices, usage: completion.usage }
}

const pieces = fc.array(fc.string({ unit: 'grapheme' }), { maxLength: 4 })
const finishes = fc.constantFrom<FinishReason>('stop', 'length', 'content_filter')
const choiceParts = fc.record({
  reasoning: pieces,
  texts: pieces,
  withLogprobs: fc.boolean(),
  refusals: pieces,
  calls: fc.array(fc.record({ name: fc.string({ minLength: 1 }), fragments: pieces }), { maxLength: 3 }),
  reason: finishes,
})

/** The events of one choice, its parallel tool calls interleaved. */
function eventsOf(
  index: number,
  parts: typeof choiceParts extends fc.Arbitrary<infer Parts> ? Parts : never,
): ChatEvent[] {
  const events: ChatEvent[] = parts.reasoning.map((text) => ({ type: 'reasoning', index, text }))
  for (const text of parts.texts) {
    const logprobs = { content: [{ token: text, logprob: -1, bytes: null, top_logprobs: [] }], refusal: null }
    events.push({ type: 'text', index, text, ...(parts.withLogprobs ? { logprobs } : {}) })
  }
  for (const text of parts.refusals) events.push({ type: 'refusal', index, text })
  parts.calls.forEach(({ name }, toolIndex) => {
    events.push({ type: 'tool-call', index, toolIndex, id: `call_${index}_${toolIndex}`, name, arguments: '' })
  })
  const longest = Math.max(0, ...parts.calls.map(({ fragments }) => fragments.length))
  for (let at = 0; at < longest; at++) {
    parts.calls.forEach(({ fragments }, toolIndex) => {
      const fragment = fragments[at]
      if (fragment !== undefined) events.push({ type: 'tool-call', index, toolIndex, arguments: fragment })
    })
  }
  events.push({ type: 'finish', index, reason: parts.reason, raw: parts.reason })
  return events
}

/** Merges the choices' events in turn, as a provider that generates side by side. */
function interleaved(lists: readonly ChatEvent[][]): ChatEvent[] {
  const longest = Math.max(...lists.map((list) => list.length))
  return Array.from({ length: longest }, (_, at) => lists.flatMap((list) => list[at] ?? [])).flat()
}

test('any answer, streamed and put together by the SDK, is the answer given whole', async () => {
  const answers = fc.tuple(fc.array(choiceParts, { minLength: 1, maxLength: 3 }), fc.boolean())
  await fc.assert(
    fc.asyncProperty(answers, async ([choices, includeUsage]) => {
      const events = interleaved(choices.map((parts, index) => eventsOf(index, parts)))
      const whole = await clientOf(answerOf(events), 'application/json').chat.completions.create(request)
      assert.deepEqual(essence(await streamed(events, includeUsage)), essence(whole))
      whole.choices.forEach(({ message }, index) => {
        assert.equal(message.content ?? '', choices[index]?.texts.join(''))
        assert.equal(message.tool_calls?.length ?? 0, choices[index]?.calls.length)
      })
    }),
    { numRuns: 150 },
  )
})

test('the SDK’s plain loop over a stream sees text, one finish reason and the usage', async () => {
  const events: ChatEvent[] = [
    { type: 'text', index: 0, text: 'Hel' },
    { type: 'text', index: 0, text: 'lo' },
    { type: 'finish', index: 0, reason: 'stop', raw: 'stop' },
  ]
  const client = clientOf(streamOf(events, false), 'text/event-stream')
  let text = ''
  const reasons: string[] = []
  let total: number | undefined
  for await (const chunk of await client.chat.completions.create({ ...request, stream: true })) {
    text += chunk.choices[0]?.delta.content ?? ''
    if (chunk.choices[0]?.finish_reason) reasons.push(chunk.choices[0].finish_reason)
    total = chunk.usage?.total_tokens ?? total
  }
  assert.deepEqual([text, reasons, total], ['Hello', ['stop'], 15])
})

test('an error inside a stream reaches the SDK’s caller as an error with its message', async () => {
  const stream = createStreamRenderer({ ...head, includeUsage: false })
  const fault = { message: 'The partial answer may be incomplete.', code: 'provider_error', requestId: 'req_1' }
  const body = stream.push({ type: 'text', index: 0, text: 'Hel' }) + brokenEnd(fault)
  const reading = clientOf(body, 'text/event-stream').chat.completions.stream(request).finalChatCompletion()
  await assert.rejects(reading, (error: Error) => {
    assert.match(error.message, /may be incomplete/)
    assert.equal(Reflect.get(error, 'type'), 'upstream_error')
    return true
  })
})
