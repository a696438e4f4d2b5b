/**
 * One meter for whole and streamed answers: what the provider reported, and enough of what was generated for `measure.ts`
 * to count it ourselves where the provider did not, or reported what cannot be. Counts no tokens itself.
 */
import type { ChatEvent, FinishReason, Usage } from '../../domain/chat.ts'
import { isRecord } from '../../lib/json.ts'
import type { UpstreamProtocol } from '../../protocols/protocol.ts'

/** Generated text kept for an estimate, per call in UTF-16 units; what comes beyond is counted in proportion. */
export const MAX_KEPT_TEXT = 256 * 1024

/** A rough average over languages and scripts, in UTF-8. */
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
  /** UTF-8 bytes of the first pieces of `text`, and how many pieces that are: each is looked at once. */
  sizedBytes: number
  sizedPieces: number
  /** The part of `length` that is reasoning. */
  reasoningLength: number
  /** The part of `length` that the provider's last figures cover. */
  usageLength: number
  /** Monotonic milliseconds of the first output of a stream. */
  begunAt: number | undefined
  /** The client read more slowly than its provider sent, for a while. */
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

/** Counts one event of a provider's answer: called for each, streamed or not, before it is rendered for the client. */
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
      if (typeof input === 'string') keep(call, input) // of a tool that runs at the provider
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
export function guessTokens(call: CallUsage): number {
  return Math.ceil(bytesOf(call) / BYTES_PER_TOKEN)
}

/** UTF-8 bytes that were generated; in proportion beyond the text that is kept. */
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
