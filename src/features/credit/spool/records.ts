/** Lines of a spool, as JSON. The next release reads them, so fields are only ever added. */
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
