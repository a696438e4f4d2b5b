/** Steps of an OpenAI-compatible answer, billed as such a provider bills: each token as it is generated. */
import { chunk, completion, counts, frame, SSE_HEAD, usageChunk } from '../../support/providers/answers.ts'
import { bill, body, delay, end, type Framing, head, type Script, type Step, sse } from './byte-script.ts'

/** Of every prompt, whatever it says. */
export const PROMPT_TOKENS = 10
const JSON_HEAD = { 'content-type': 'application/json' } as const

/** The head of an event stream. */
export const streamHead = (framing: Framing = 'chunked'): Step => head(200, SSE_HEAD, framing)

export const role: Step = sse(chunk({ role: 'assistant', content: '' }))

/** A word, which is one token by everybody's count, and its place on the bill. */
export function word(text = ' hello'): Script {
  return [bill(1), sse(chunk({ content: text }))]
}

/** Words, `gapMs` apart. */
export function words(count: number, gapMs = 0): Script {
  const one = gapMs > 0 ? [...word(), delay(gapMs)] : word()
  return Array.from({ length: count }, () => one).flat()
}

/** The end of a good stream: the reason, the usage, `[DONE]`. */
export function finish(tokens: number, reason = 'stop'): Script {
  return [sse(chunk({}, reason)), sse(usageChunk(counts(PROMPT_TOKENS, tokens))), body(frame('[DONE]')), end]
}

export interface StreamShape {
  readonly words: number
  readonly gapMs?: number
  readonly framing?: Framing
}

/** A stream that goes well. */
export function goodStream(shape: StreamShape): Script {
  return [...streamBegun(shape), ...finish(shape.words)]
}

/** A stream up to its last word, for what is to happen then. */
export function streamBegun({ words: count, gapMs = 0, framing = 'chunked' }: StreamShape): Script {
  return [streamHead(framing), role, ...words(count, gapMs)]
}

/** A whole answer of so many words; `usage` replaces what is told of them. */
export function goodAnswer(count: number, usage: unknown = counts(PROMPT_TOKENS, count)): Script {
  const text = JSON.stringify(completion({ content: ' hello'.repeat(count) }, { usage }))
  return [bill(count), ...whole(200, text)]
}

/** An error as such providers tell it. */
export function failure(status: number, headers: Readonly<Record<string, string>> = {}): Script {
  return whole(status, JSON.stringify({ error: { message: `status ${status}`, type: 'error' } }), headers)
}

/** A whole body of JSON, or of what should be. */
export function whole(status: number, text: string, headers: Readonly<Record<string, string>> = {}): Script {
  return [head(status, { ...JSON_HEAD, ...headers }, Buffer.byteLength(text)), body(text), end]
}
