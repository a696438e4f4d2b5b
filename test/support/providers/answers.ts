/** What an OpenAI-compatible provider says, and scripts that say it. */
import type { ProviderCall, Reply, Script } from './fake-provider.ts'

export interface TokenCounts {
  readonly prompt_tokens: number
  readonly completion_tokens: number
  readonly total_tokens: number
}
type Fields = Readonly<Record<string, unknown>>

/** The body of a call, as far as scripts decide by it. */
export interface ReceivedBody {
  readonly model: string
  readonly messages: readonly { readonly role: string; readonly content: unknown }[]
  readonly stream?: boolean
  readonly n?: number
  readonly tools?: readonly unknown[]
  readonly [field: string]: unknown
}

export function bodyOf(call: ProviderCall): ReceivedBody {
  return JSON.parse(call.body) as ReceivedBody
}

export function counts(prompt: number, completion: number): TokenCounts {
  return { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion }
}

const HEAD = { id: 'up-1', created: 1760000000, model: 'up-model' } as const

/** A whole answer; `over` replaces top-level fields. */
export function completion(message: Fields, over: Fields = {}): Fields {
  const finish = 'tool_calls' in message ? 'tool_calls' : 'stop'
  const choices = [{ index: 0, message: { role: 'assistant', ...message }, finish_reason: finish }]
  return { ...HEAD, object: 'chat.completion', choices, usage: counts(10, 5), ...over }
}

export function chunk(delta: Fields, finish: string | null = null, over: Fields = {}): Fields {
  return { ...HEAD, object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason: finish }], ...over }
}

export function usageChunk(usage: TokenCounts): Fields {
  return { ...HEAD, object: 'chat.completion.chunk', choices: [], usage }
}

/** A streamed answer of `words` pieces `t0 t1 …`, whose usage is 10 prompt tokens and one token a word. */
export function textChunks(words: number): Fields[] {
  const pieces = Array.from({ length: words }, (_, i) => chunk({ content: `t${i} ` }))
  return [chunk({ role: 'assistant', content: '' }), ...pieces, chunk({}, 'stop'), usageChunk(counts(10, words))]
}

export function frame(payload: Fields | string): string {
  return `data: ${typeof payload === 'string' ? payload : JSON.stringify(payload)}\n\n`
}

/** Whole event-stream text, `[DONE]` included. */
export function eventStream(payloads: readonly (Fields | string)[]): string {
  return [...payloads, '[DONE]'].map(frame).join('')
}

export function answerJson(body: unknown, status = 200, headers: Readonly<Record<string, string>> = {}): Script {
  return (_, reply) => {
    reply.head(status, { 'content-type': 'application/json', ...headers })
    reply.end(JSON.stringify(body))
  }
}

export const SSE_HEAD = { 'content-type': 'text/event-stream; charset=utf-8' } as const

/** Sends the frames one after another, `gapMs` apart, and ends well. */
export function answerStream(payloads: readonly (Fields | string)[], gapMs = 0): Script {
  return async (_, reply) => {
    reply.head(200, SSE_HEAD)
    if (await sendFrames(reply, payloads, gapMs)) reply.end(frame('[DONE]'))
  }
}

/** @returns false when the caller went away. */
export async function sendFrames(reply: Reply, payloads: readonly (Fields | string)[], gapMs = 0): Promise<boolean> {
  for (const payload of payloads) {
    if (!(await reply.write(frame(payload)))) return false
    if (gapMs > 0 && !(await reply.wait(gapMs))) return false
  }
  return true
}

/** Answers like a provider does: JSON or a stream as asked, `n` choices, and bills what it sent. */
export const ordinary: Script = async (call, reply) => {
  const { stream, n = 1 } = bodyOf(call)
  if (stream === true) {
    reply.head(200, SSE_HEAD)
    if (await sendFrames(reply, textChunks(5))) reply.end(frame('[DONE]'))
  } else {
    const { choices } = completion({ content: 'Hello from upstream' }) as { choices: readonly Fields[] }
    const all = Array.from({ length: n }, (_, index) => ({ ...choices[0], index }))
    reply.head(200, { 'content-type': 'application/json' })
    reply.end(JSON.stringify(completion({}, { choices: all })))
  }
  reply.bill({ promptTokens: 10, completionTokens: 5 })
}

/** Takes the request and never answers. */
export const silent: Script = () => {}

/** One word, which is one token, every `gapMs`, up to `words`; bills those that were sent. */
export function slowStream(words: number, gapMs: number): Script {
  return async (_, reply) => {
    reply.head(200, SSE_HEAD)
    await reply.write(frame(chunk({ role: 'assistant', content: '' })))
    let sent = 0
    while (sent < words && (await reply.write(frame(chunk({ content: ' hello' }))))) {
      sent += 1
      if (!(await reply.wait(gapMs))) break
    }
    reply.bill({ promptTokens: 10, completionTokens: sent })
    if (sent === words && (await sendFrames(reply, textChunks(words).slice(-2)))) reply.end(frame('[DONE]'))
  }
}

/** Ten words a second until the test has `told` it to end, which it does well; two and a half minutes at most. */
export function streamUntil(told: Promise<void>): Script {
  return async (_, reply) => {
    let isTold = false
    void told.then(() => {
      isTold = true
    })
    reply.head(200, SSE_HEAD)
    let words = 0
    for (; !isTold && words < 1500; words += 1) {
      if (!(await reply.write(frame(chunk({ content: ' hello' })))) || !(await reply.wait(100))) return
    }
    if (await sendFrames(reply, textChunks(words).slice(-2))) reply.end(frame('[DONE]'))
  }
}

/** Answers with exactly these bytes. */
export function answerBytes(head: Readonly<Record<string, string>>, bytes?: string | Uint8Array, status = 200): Script {
  return (_, reply) => {
    reply.head(status, head)
    reply.end(bytes)
  }
}
