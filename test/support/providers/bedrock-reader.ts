/**
 * Reads an answer of the Converse API for tests: the plainest reading there is, of the binary frames too, written apart
 * from framing and codec on purpose, so that they cannot share a mistake. It knows whole recordings only.
 */
import type { ReadChoice, ReadUsage } from './recording-reader.ts'

export interface ReadAnswer {
  readonly choice: ReadChoice
  readonly usage: ReadUsage | undefined
  /** Signed and redacted reasoning, in order. */
  readonly signed: readonly { readonly text?: string; readonly signature?: string; readonly redacted?: string }[]
  /** The answer is an error, or ends in one. */
  readonly isError: boolean
}
export interface ReadStream extends ReadAnswer {
  /** Bytes after which the answer is complete; undefined when that never comes. */
  readonly terminalOffset: number | undefined
}

// The reader trusts recordings: what it reads out of them is compared, not believed.
// biome-ignore lint/suspicious/noExplicitAny: a recording is any JSON
type Anything = any

interface Draft {
  text: string
  reasoning: string
  calls: { id: string; name: string; arguments: string }[]
  signed: { text?: string; signature?: string; redacted?: string }[]
}

export function readWhole(body: string): ReadAnswer {
  const answer: Anything = JSON.parse(body)
  const draft: Draft = { text: '', reasoning: '', calls: [], signed: [] }
  for (const block of answer.output?.message?.content ?? []) {
    if ('text' in block) draft.text += block.text
    for (const piece of block.citationsContent?.content ?? []) draft.text += piece.text
    const { reasoningText, redactedContent } = block.reasoningContent ?? {}
    draft.reasoning += reasoningText?.text ?? ''
    if (reasoningText?.signature) draft.signed.push({ text: reasoningText.text, signature: reasoningText.signature })
    if (redactedContent) draft.signed.push({ redacted: redactedContent })
    const { toolUse } = block
    if (!toolUse || toolUse.type === 'server_tool_use') continue
    draft.calls.push({ id: toolUse.toolUseId, name: toolUse.name, arguments: JSON.stringify(toolUse.input) })
  }
  return finished(draft, answer.stopReason, answer.usage)
}

export function readStream(bytes: Uint8Array): ReadStream {
  const draft: Draft = { text: '', reasoning: '', calls: [], signed: [] }
  const callOf = new Map<number, { id: string; name: string; arguments: string }>()
  const signedOf = new Map<number, { text: string; signature: string }>()
  let stop: string | undefined
  let usage: Anything
  let terminalOffset: number | undefined
  let isError = false
  for (const { kind, name, payload, end } of messagesOf(bytes)) {
    if (kind !== 'event') isError = true
    if (isError) break
    const index = payload.contentBlockIndex
    if (name === 'contentBlockStart' && payload.start?.toolUse) {
      const { toolUseId, name: tool, type } = payload.start.toolUse
      if (type !== 'server_tool_use') callOf.set(index, { id: toolUseId, name: tool, arguments: '' })
    }
    if (name === 'contentBlockDelta') {
      const { text = '', toolUse, reasoningContent } = payload.delta
      draft.text += text
      const call = callOf.get(index)
      if (call && toolUse) call.arguments += toolUse.input
      if (reasoningContent) addReasoning(draft, signedOf, { index, reasoningContent })
    }
    if (name === 'messageStop') {
      stop = payload.stopReason
      terminalOffset = end
    }
    usage = payload.usage ?? usage
  }
  draft.calls = [...callOf.values()]
  draft.signed.push(...[...signedOf.values()].filter(({ signature }) => signature !== ''))
  return { ...finished(draft, stop, usage), isError, terminalOffset }
}

function addReasoning(
  draft: Draft,
  signedOf: Map<number, { text: string; signature: string }>,
  { index, reasoningContent }: { index: number; reasoningContent: Anything },
): void {
  const { text = '', signature = '', redactedContent } = reasoningContent
  draft.reasoning += text
  if (redactedContent) draft.signed.push({ redacted: redactedContent })
  const known = signedOf.get(index) ?? { text: '', signature: '' }
  signedOf.set(index, { text: known.text + text, signature: known.signature + signature })
}

interface Message {
  readonly kind: string
  readonly name: string
  readonly payload: Anything
  readonly end: number
}

/** Offsets just behind each message. */
export function messageEnds(bytes: Uint8Array): number[] {
  return messagesOf(bytes).map(({ end }) => end)
}

function messagesOf(bytes: Uint8Array): Message[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const found: Message[] = []
  let at = 0
  while (at < bytes.length) {
    const length = view.getUint32(at)
    const headersLength = view.getUint32(at + 4)
    const headers = new Map<string, string>()
    let place = at + 12
    while (place < at + 12 + headersLength) {
      const nameLength = view.getUint8(place)
      const valueLength = view.getUint16(place + 1 + nameLength + 1)
      const text = (from: number, count: number) => Buffer.from(bytes.subarray(from, from + count)).toString('utf8')
      headers.set(text(place + 1, nameLength), text(place + 4 + nameLength, valueLength))
      place += 4 + nameLength + valueLength
    }
    const payload = Buffer.from(bytes.subarray(place, at + length - 4)).toString('utf8')
    at += length
    const kind = headers.get(':message-type') ?? ''
    const name = headers.get(':event-type') ?? headers.get(':exception-type') ?? ''
    found.push({ kind, name, payload: JSON.parse(payload || '{}'), end: at })
  }
  return found
}

function finished(draft: Draft, stop: string | undefined, usage: Anything): ReadAnswer {
  const toolCalls = draft.calls.map((call) => ({ ...call, arguments: call.arguments || '{}' }))
  const { text, reasoning, signed } = draft
  return {
    choice: { text, reasoning, refusal: '', toolCalls, finish: finishOf(stop, toolCalls.length > 0) },
    usage: usage ? usageOf(usage) : undefined,
    signed,
    isError: stop === undefined,
  }
}

function finishOf(stop: string | undefined, hasCalls: boolean): string | undefined {
  if (stop === undefined) return undefined
  if (stop === 'max_tokens' || stop === 'model_context_window_exceeded') return 'length'
  if (stop === 'guardrail_intervened' || stop === 'content_filtered') return 'content_filter'
  return hasCalls ? 'tool_calls' : 'stop'
}

function usageOf(usage: Anything): ReadUsage {
  const { inputTokens, outputTokens, cacheReadInputTokens: read, cacheWriteInputTokens: written } = usage
  return {
    promptTokens: inputTokens + (read ?? 0) + (written ?? 0),
    completionTokens: outputTokens,
    ...(read === undefined ? {} : { cachedTokens: read }),
    ...(written === undefined ? {} : { cacheWriteTokens: written }),
  }
}
