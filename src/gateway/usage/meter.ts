/**
 * The usage meter of whole and streamed answers. Records the provider's reports, and enough of the output for
 * `measure.ts` to count tokens if the provider reported none or impossible ones. Counts no tokens itself.
 */
import type { ChatEvent, FinishReason, Usage } from '../../domain/chat.ts'
import { isRecord } from '../../lib/json.ts'
import type { UpstreamProtocol } from '../../protocols/protocol.ts'

/** The generated text kept for an estimate, in UTF-16 units a call. Text beyond it is extrapolated. */
export const MAX_KEPT_TEXT = 256 * 1024

/** The average UTF-8 bytes a token over languages and scripts. */
const BYTES_PER_TOKEN = 4

/** The output and the reported usage of one call of a completion. */
export interface CallUsage {
  usage: Usage
  /** The finish reasons by choice. */
  readonly finishes: Map<number, FinishReason>
  /** Generated text in order, in pieces; at most `MAX_KEPT_TEXT`. */
  readonly text: string[]
  /** The length of `text` in UTF-16 units. */
  keptLength: number
  /** The length of all generated text in UTF-16 units. */
  length: number
  /** The UTF-8 bytes of the first pieces of `text`, and the number of these pieces: each is measured once. */
  sizedBytes: number
  sizedPieces: number
  /** The part of `length` that is reasoning. */
  reasoningLength: number
  /** The part of `length` that the provider's last figures cover. */
  usageLength: number
  /** Monotonic milliseconds of the first output of a stream. */
  begunAt: number | undefined
  /** The client read more slowly than its provider sent at some point. */
  slowed: boolean
  /** A later figure replaces an earlier one, also a greater one. */
  readonly lastUsageCounts: boolean
}

export function createCallUsage({
  lastUsageCounts = false,
}: Pick<UpstreamProtocol, 'lastUsageCounts'> = {}): CallUsage {
  return {
    usage: NO_USAGE,
    finishes: new Map(),
    text: [],
    keptLength: 0,
    length: 0,
    sizedBytes: 0,
    sizedPieces: 0,
    reasoningLength: 0,
    usageLength: 0,
    begunAt: undefined,
    slowed: false,
    lastUsageCounts,
  }
}

const NO_USAGE: Usage = {}

/** Counts one event of a provider's answer, streamed or not, before it is rendered for the client. */
export function meter(call: CallUsage, event: ChatEvent): void {
  switch (event.type) {
    case 'reasoning':
      call.reasoningLength += event.text.length
      keep(call, event.text)
      break
    case 'text':
    case 'refusal':
      keep(call, event.text)
      break
    case 'tool-call':
      if (event.name !== undefined) keep(call, event.name)
      keep(call, event.arguments)
      break
    case 'usage':
      if (call.usage === NO_USAGE) call.usage = event.usage
      else if (call.lastUsageCounts) call.usage = { ...call.usage, ...event.usage }
      else call.usage = greaterOf(call.usage, event.usage)
      call.usageLength = call.length
      break
    case 'finish':
      call.finishes.set(event.index, event.reason)
      break
    case 'native': {
      const { partial_json: input } = event.value
      if (typeof input === 'string') keep(call, input) // the input of a tool that runs at the provider
      break
    }
    case 'extension':
      break
  }
}

/**
 * The most fields of usage and names of tools. Each report copies the ones before it, so their number must have a
 * limit.
 */
const MAX_NAMES = 64

/** Returns the greater figure of each field: a later report adds to an earlier one and reduces nothing. */
function greaterOf(before: Usage, later: Usage): Usage {
  const merged: Record<string, unknown> = { ...before }
  let names = Object.keys(before).length
  for (const [name, value] of Object.entries(later)) {
    const known = merged[name]
    if (typeof value === 'number' && typeof known === 'number') merged[name] = value > known ? value : known
    else if (isRecord(value) && isRecord(known)) merged[name] = greaterOf(known, value)
    else if (known !== undefined || ++names <= MAX_NAMES) merged[name] = value
  }
  return merged
}

/** Returns whether the calls generated anything that costs. */
export function generatedAnything(usages: readonly CallUsage[]): boolean {
  return usages.some(({ length, usage }) => length > 0 || (usage.completionTokens ?? 0) > 0)
}

/** Estimates the generated tokens from their bytes. */
export function estimateTokens(call: CallUsage): number {
  return Math.ceil(bytesOf(call) / BYTES_PER_TOKEN)
}

/** Returns the generated UTF-8 bytes, extrapolated beyond the kept text. */
export function bytesOf(call: CallUsage): number {
  const { text, length, keptLength } = call
  if (keptLength === 0) return 0
  for (; call.sizedPieces < text.length; call.sizedPieces++) {
    call.sizedBytes += Buffer.byteLength(text[call.sizedPieces] ?? '')
  }
  return (call.sizedBytes * length) / keptLength
}

export function bytesOfAll(usages: readonly CallUsage[]): number {
  let total = 0
  for (const call of usages) total += bytesOf(call)
  return Math.ceil(total)
}

export function lengthOf(usages: readonly CallUsage[]): number {
  let total = 0
  for (const { length } of usages) total += length
  return total
}

function keep(call: CallUsage, text: string): void {
  call.length += text.length
  if (call.keptLength >= MAX_KEPT_TEXT) return
  call.text.push(text)
  call.keptLength += text.length
}
