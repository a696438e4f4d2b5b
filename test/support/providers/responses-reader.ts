/**
 * Reads an answer in the format of the Responses API for tests: puts the items together as the format's description says.
 * Written apart from the codecs on purpose, so that they cannot share a mistake.
 */
import assert from 'node:assert/strict'
import type { ReadChoice, ReadUsage } from './recording-reader.ts'
import { dataOf, sseBlocks } from './sse-blocks.ts'

export interface ReadResponse {
  readonly choice: ReadChoice
  readonly usage: ReadUsage | undefined
  /** The answer is an error, or ends in one. */
  readonly isError: boolean
}

// The reader trusts answers: what it reads out of them is compared, not believed.
// biome-ignore lint/suspicious/noExplicitAny: an answer is any JSON
type Anything = any

export function readWholeResponse(body: string): ReadResponse {
  return describe(JSON.parse(body))
}

/** The items of a stream are those of its deltas, which must come to the items of the response at its end. */
export function readResponseStream(bytes: Uint8Array): ReadResponse & { readonly terminalOffset: number | undefined } {
  const items: Anything[] = []
  let number = 0
  for (const { event, end } of eventsOf(bytes)) {
    assert.equal(event.sequence_number, number++, 'numbers have no gaps')
    grow(items, event)
    if (!/^response\.(completed|incomplete|failed)$/.test(event.type)) continue
    const streamed = describe({ ...event.response, output: items })
    assert.deepEqual(streamed, describe(event.response), 'deltas come to the whole answer')
    return { ...streamed, terminalOffset: end }
  }
  return { ...describe({ output: items }), terminalOffset: undefined }
}

function eventsOf(bytes: Uint8Array): { event: Anything; end: number }[] {
  const blocks = sseBlocks(bytes).filter((block) => block.isWhole && dataOf(block).startsWith('{'))
  return blocks.map((block) => ({ event: JSON.parse(dataOf(block)), end: block.end }))
}

function grow(items: Anything[], event: Anything): void {
  const item = items[event.output_index]
  switch (event.type) {
    case 'response.output_item.added':
      assert.equal(item, undefined, 'an item is added once')
      items[event.output_index] = structuredClone(event.item)
      break
    case 'response.content_part.added':
      item.content[event.content_index] = { ...event.part }
      break
    case 'response.output_text.delta':
      item.content[event.content_index].text += event.delta
      break
    case 'response.refusal.delta':
      item.content[event.content_index].refusal += event.delta
      break
    case 'response.reasoning_summary_part.added':
      item.summary[event.summary_index] = { ...event.part }
      break
    case 'response.reasoning_summary_text.delta':
      item.summary[event.summary_index].text += event.delta
      break
    case 'response.function_call_arguments.delta':
      item.arguments += event.delta
      break
    case 'response.custom_tool_call_input.delta':
      item.input += event.delta
      break
  }
}

function describe({ output, usage, status, incomplete_details: details, error }: Anything): ReadResponse {
  const of = (...types: readonly string[]): Anything[] => output.filter(({ type }: Anything) => types.includes(type))
  const parts = of('message').flatMap(({ content }) => content)
  const calls = of('function_call', 'custom_tool_call')
  const choice: ReadChoice = {
    text: parts.map(({ text = '' }) => text).join(''),
    refusal: parts.map(({ refusal = '' }) => refusal).join(''),
    reasoning: of('reasoning')
      .flatMap(({ summary }) => summary)
      .map(({ text }) => text)
      .join(''),
    toolCalls: calls.map((call) => ({ id: call.call_id, name: call.name, arguments: call.arguments ?? call.input })),
    finish: finishOf(status, details, calls.length > 0),
  }
  return { choice, usage: usageOf(usage), isError: Boolean(error) }
}

function finishOf(status: string, details: Anything, hasCalls: boolean): string | undefined {
  if (status === 'incomplete') return details.reason === 'content_filter' ? 'content_filter' : 'length'
  if (status !== 'completed') return undefined
  return hasCalls ? 'tool_calls' : 'stop'
}

function usageOf(usage: Anything): ReadUsage | undefined {
  if (!usage) return undefined
  return {
    promptTokens: usage.input_tokens,
    completionTokens: usage.output_tokens,
    cachedTokens: usage.input_tokens_details.cached_tokens,
    cacheWriteTokens: usage.input_tokens_details.cache_write_tokens,
    reasoningTokens: usage.output_tokens_details.reasoning_tokens,
  }
}
