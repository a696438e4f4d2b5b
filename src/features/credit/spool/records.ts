/** Lines of a spool: JSON with a checksum. The next release reads them, so fields are only ever added. */

import { crc32 } from 'node:zlib'
import type { CompletionRecord } from '../../../domain/completion.ts'
import type { SavedResult } from '../../../domain/credit.ts'
import type { CompletionId } from '../../../domain/ids.ts'
import { isRecord, parseJson, textOf } from '../../../lib/json.ts'
import type { PlanTerms, SettleUnit } from '../ledger/unit.ts'

/** Increased when an older release could misread the format. */
export const SPOOL_VERSION = 1

export type SpoolRecord =
  /** The request is sent to a provider. */
  | { readonly kind: 'dispatched'; readonly id: CompletionId }
  /** Its hold is released. */
  | { readonly kind: 'released'; readonly id: CompletionId }
  | { readonly kind: 'settled'; readonly unit: SettleUnit }
  /** It was admitted without the database: the charge unless a settlement follows. */
  | { readonly kind: 'intent'; readonly unit: SettleUnit }
  /** The end of a segment. */
  | { readonly kind: 'end' }

interface StoredUnit {
  readonly record: Omit<CompletionRecord, 'costNanoUsd' | 'providerCostNanoUsd'> & {
    readonly costNanoUsd: string
    readonly providerCostNanoUsd?: string
  }
  readonly terms: {
    readonly billing: PlanTerms['billing']
    readonly monthlyCreditNanoUsd: string
    readonly maxOverrunNanoUsd?: string
  }
  readonly unrecorded: boolean
  readonly promisedNanoUsd?: string
  readonly kept?: SavedResult
}

/** IDs need no escaping. */
export function dispatchedText(id: CompletionId): string {
  return `["D","${id}"]`
}

export function releasedText(id: CompletionId): string {
  return `["R","${id}"]`
}

export function unitText(kind: 'settled' | 'intent', unit: SettleUnit): string {
  const { terms, record } = unit
  const stored = {
    record: {
      ...record,
      costNanoUsd: String(record.costNanoUsd),
      providerCostNanoUsd: textOfAmount(record.providerCostNanoUsd),
    },
    terms: {
      billing: terms.billing,
      monthlyCreditNanoUsd: String(terms.monthlyCreditNanoUsd),
      maxOverrunNanoUsd: textOfAmount(terms.maxOverrunNanoUsd),
    },
    unrecorded: unit.unrecorded,
    promisedNanoUsd: textOfAmount(unit.promisedNanoUsd),
    kept: unit.kept,
  }
  return JSON.stringify([kind === 'settled' ? 'S' : 'I', stored])
}

/** @returns undefined for lines that neither this release nor an earlier one wrote. */
export function parseRecord(text: string): SpoolRecord | undefined {
  const line = parseJson(text)
  if (!Array.isArray(line)) return undefined
  const [letter, content]: unknown[] = line
  const id = textOf(content) as CompletionId // its checksum is valid, so it was written as one
  if (letter === 'E') return { kind: 'end' }
  if (letter === 'D') return { kind: 'dispatched', id }
  if (letter === 'R') return { kind: 'released', id }
  const unit = parseUnit(content)
  if (unit === undefined) return undefined
  if (letter === 'S') return { kind: 'settled', unit }
  return letter === 'I' ? { kind: 'intent', unit: { ...unit, provisional: true } } : undefined
}

function textOfAmount(amount: bigint | undefined): string | undefined {
  return amount === undefined ? undefined : String(amount)
}

/** Earlier releases wrote no such field. */
function amountOf<Name extends string>(name: Name, text: string | undefined): { readonly [Key in Name]?: bigint } {
  return text === undefined ? {} : ({ [name]: BigInt(text) } as { readonly [Key in Name]: bigint })
}

function parseUnit(content: unknown): SettleUnit | undefined {
  if (!isRecord(content) || !isRecord(content['record']) || !isRecord(content['terms'])) return undefined
  const { record: stored, terms, unrecorded, promisedNanoUsd, kept } = content as unknown as StoredUnit // its checksum is valid, so it was written so
  const { providerCostNanoUsd, ...record } = stored
  return {
    kind: 'settle',
    record: {
      ...record,
      ...amountOf('providerCostNanoUsd', providerCostNanoUsd),
      finishReason: record.finishReason,
      firstByteMs: record.firstByteMs,
      attemptLog: record.attemptLog, // earlier releases wrote no such field
      clientRequestId: record.clientRequestId,
      costNanoUsd: BigInt(record.costNanoUsd),
    },
    terms: {
      billing: terms.billing,
      monthlyCreditNanoUsd: BigInt(terms.monthlyCreditNanoUsd),
      ...amountOf('maxOverrunNanoUsd', terms.maxOverrunNanoUsd),
    },
    unrecorded,
    ...amountOf('promisedNanoUsd', promisedNanoUsd),
    kept: kept === undefined ? undefined : { ...kept, answer: kept.answer },
  }
}

/*
 * Lines of a file that may be cut off at any byte or damaged: eight hex digits of the CRC-32 of a text, a space, the
 * text. Texts have no line breaks, as JSON has none.
 */

const PREFIX = 9
const LINE_BREAK = 10
const SPACE = 32
const HEX = Buffer.from('0123456789abcdef', 'latin1')
/** UTF-8 takes at most three bytes for a unit of UTF-16. */
const BYTES_A_UNIT = 3
const SCRATCH_BYTES = 64 * 1024

export interface LineWriter {
  /** @returns The length of the line, which is at the start of `bytes()` until the next call. */
  encode(text: string): number
  bytes(): Uint8Array
  /** The checksum of the last line. */
  sum(): number
}

/** Reuses one buffer: every request writes a line. */
export function createLineWriter(): LineWriter {
  const scratch = Buffer.allocUnsafeSlow(SCRATCH_BYTES)
  let buffer = scratch
  let sum = 0
  return {
    encode(text) {
      const most = PREFIX + text.length * BYTES_A_UNIT + 1
      buffer = most <= SCRATCH_BYTES ? scratch : Buffer.allocUnsafeSlow(most)
      const end = PREFIX + buffer.write(text, PREFIX)
      sum = crc32(buffer.subarray(PREFIX, end))
      writeHex(buffer, sum)
      buffer[PREFIX - 1] = SPACE
      buffer[end] = LINE_BREAK
      return end + 1
    },
    bytes: () => buffer,
    sum: () => sum,
  }
}

/** @returns The text of a line without its break; undefined when it is damaged. */
export function readLine(line: Uint8Array): string | undefined {
  if (line.length < PREFIX || line[PREFIX - 1] !== SPACE) return undefined
  const bytes = Buffer.from(line.buffer, line.byteOffset, line.byteLength)
  const sum = bytes.toString('latin1', 0, PREFIX - 1)
  if (!/^[0-9a-f]{8}$/.test(sum) || Number.parseInt(sum, 16) !== crc32(bytes.subarray(PREFIX))) return undefined
  return bytes.toString('utf8', PREFIX)
}

/** Yields the lines of a file, without an incomplete one at its end. */
export function* splitLines(content: Uint8Array): Generator<Uint8Array> {
  for (let start = 0; ; ) {
    const end = content.indexOf(LINE_BREAK, start)
    if (end === -1) return
    yield content.subarray(start, end)
    start = end + 1
  }
}

function writeHex(buffer: Buffer, sum: number): void {
  for (let at = 0, shift = 28; at < PREFIX - 1; at++, shift -= 4) buffer[at] = HEX[(sum >>> shift) & 15] ?? SPACE
}
