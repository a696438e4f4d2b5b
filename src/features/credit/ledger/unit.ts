/**
 * The units of work of the ledger. A batch of them runs in one transaction, in order, each by the same rules
 * (`rules.ts`) on every database. Units and outcomes are plain data: they are sent to the database's thread.
 */
import type { LedgerKind } from '../../../db/schema/schema.ts'
import type { Attribution } from '../../../domain/attribution.ts'
import type { BudgetLevel, BudgetSubject, BudgetWindow } from '../../../domain/budget.ts'
import type { CompletionRecord, RecordedApi } from '../../../domain/completion.ts'
import type { RefusalScope, RunningEstimate, SavedResult } from '../../../domain/credit.ts'
import type { KeyBudget } from '../../../domain/identity/caller.ts'
import type { AccountId, BudgetId, CompletionId, KeyId, TeamId } from '../../../domain/ids.ts'
import { type NanoUsd, parseNanoUsd } from '../../../domain/money.ts'

/** The terms of a plan that concern credit. */
export interface PlanTerms {
  readonly billing: 'prepaid' | 'postpaid'
  /** Granted for every calendar month, UTC; 0: none. */
  readonly monthlyCreditNanoUsd: NanoUsd
  /** The lowest allowed balance is minus this; undefined: see `overrunCap`. */
  readonly maxOverrunNanoUsd?: NanoUsd | undefined
}

export interface HoldUnit {
  readonly kind: 'hold'
  readonly accountId: AccountId
  readonly keyId: KeyId
  readonly id: CompletionId
  readonly terms: PlanTerms
  readonly keyBudgetNanoUsd: NanoUsd | undefined
  /** The ancestors of the key, the nearest first, whose budgets count as well; undefined if there are none. */
  readonly ancestors?: readonly KeyBudget[] | undefined
  readonly instanceId: string
  readonly promptTokens: number
  /** Tokens of one choice. */
  readonly outputTokens: number
  readonly choices: number
  readonly flexible: boolean
  /** A rejected hold raises no alert. */
  readonly tentative: boolean
  /** Micro-dollars per million tokens, which is pico-dollars a token. */
  readonly inputPrice: number
  readonly outputPrice: number
  /** Fees that do not depend on tokens, in nano-dollars. */
  readonly fixedNanoUsd: number
  readonly model: string
  readonly provider: string
  readonly stream: boolean
  readonly priceVersion: string
  readonly createdAt: number
  readonly clientRequestId: string | undefined
  /** The fee of calls with the account's own credentials: a share of the price, in millionths. */
  readonly byokFeePpm?: number | undefined
  /** Absent: chat completions. */
  readonly api?: RecordedApi | undefined
  readonly teamId?: TeamId | undefined
  /** Tags, whose budgets count besides those of the account, the team, the member, the key and its ancestors. */
  readonly subjects?: readonly BudgetSubject[] | undefined
  readonly attribution?: Attribution | undefined
  readonly requestId?: string | undefined
}

/** Charges a completion and ends its hold. */
export interface SettleUnit {
  readonly kind: 'settle'
  readonly record: CompletionRecord
  readonly terms: PlanTerms
  /** Whether the hold may be missing because the request was admitted while the database was unavailable. */
  readonly unrecorded: boolean
  /**
   * Whether it is the estimate for a request whose process died. An estimate only ends a hold: it
   * corrects no charge, and a late settlement of that process corrects the estimate.
   */
  readonly provisional?: true
  /** Whether nothing is to be charged: see `unchargedUnit`. */
  readonly uncharged?: true
  /** The exposure reserved for a settlement without a recorded hold: at least that much may be charged. */
  readonly promisedNanoUsd?: NanoUsd | undefined
  readonly kept: SavedResult | undefined
}

/** The record of a request that can only be estimated. */
export const ESTIMATED = {
  status: 'incomplete',
  finishReason: undefined,
  cachedTokens: 0,
  cacheWriteTokens: 0,
  reasoningTokens: 0,
  usageSource: 'estimated',
  firstByteMs: undefined,
  attempts: 1,
  attemptLog: undefined,
} as const satisfies Partial<CompletionRecord>

/** The record of a held request that used nothing so far. */
export function unusedRecord(unit: HoldUnit): CompletionRecord {
  const { id, accountId, keyId, model, provider, stream, priceVersion, createdAt, byokFeePpm: feePpm } = unit
  return {
    ...ESTIMATED,
    id,
    accountId,
    keyId,
    model,
    provider,
    stream,
    promptTokens: 0,
    completionTokens: 0,
    costNanoUsd: 0n,
    priceVersion,
    createdAt,
    durationMs: 0,
    clientRequestId: unit.clientRequestId,
    api: unit.api,
    teamId: unit.teamId,
    attribution: unit.attribution,
    requestId: unit.requestId,
    ...(feePpm === undefined ? {} : { usageDetail: { byok: { feePpm } } }),
  }
}

/**
 * Returns the hold of a request that nobody charges for. Where others took this process for dead and charged an estimate
 * meanwhile, that is corrected to nothing, which a `ReleaseUnit` does not do.
 */
export function unchargedUnit(unit: HoldUnit): SettleUnit {
  const record = { ...unusedRecord(unit), status: 'failed', attempts: 0, providerCostNanoUsd: 0n } as const
  return { kind: 'settle', record, terms: unit.terms, unrecorded: false, uncharged: true, kept: undefined }
}

/** Ends a hold without a charge. */
export interface ReleaseUnit {
  readonly kind: 'release'
  readonly accountId: AccountId
  readonly id: CompletionId
}

export interface ExtendUnit {
  readonly kind: 'extend'
  readonly accountId: AccountId
  readonly id: CompletionId
  readonly terms: PlanTerms
  readonly keyBudgetNanoUsd: NanoUsd | undefined
  /** The ancestors of the key, the nearest first, whose budgets count as well; undefined if there are none. */
  readonly ancestors?: readonly KeyBudget[] | undefined
  readonly nanoUsd: NanoUsd
}

/** Records the running estimates of requests in flight. Estimates of resolved holds are ignored. */
export interface EstimatesUnit {
  readonly kind: 'estimates'
  readonly estimates: readonly RunningEstimate[]
}

/** A movement of credit without a completion. */
export interface EntryUnit {
  readonly kind: 'entry'
  readonly accountId: AccountId
  readonly terms: PlanTerms
  readonly entry: NewEntry
  /** Undefined: every unit makes an entry. */
  readonly once?: EntryKey | undefined
}

/** The idempotency key of an entry, unique in the account. */
export interface EntryKey {
  readonly key: string
  /** SHA-256 of the entry's content, in hexadecimal digits. */
  readonly fingerprint: string
}

/** An existing entry with an idempotency key. */
export interface KeyedEntry {
  readonly fingerprint: string
  readonly entry: LedgerEntry
}

export interface NewEntry {
  readonly kind: Exclude<LedgerKind, 'expiry'>
  /** Above zero. */
  readonly nanoUsd: NanoUsd
  readonly note: string | undefined
  /** The corrected row with its completion and key, and the price to correct to. */
  readonly adjusts: Adjusted | undefined
}

export interface Adjusted {
  readonly number: number
  readonly completionId: CompletionId
  readonly keyId: KeyId | undefined
  readonly priceVersion: string | undefined
}

/** Moves an account to the current month and grants its allowance. Also reads the current state. */
export interface TouchUnit {
  readonly kind: 'touch'
  readonly accountId: AccountId
  readonly terms: PlanTerms
}

/** The account's own settings; absent ones stay unchanged. */
export interface SettingsUnit {
  readonly kind: 'settings'
  readonly accountId: AccountId
  readonly terms: PlanTerms
  readonly monthlyBudgetNanoUsd?: NanoUsd | null
  /** Null: the plan's. */
  readonly maxOverrunNanoUsd?: NanoUsd | null
  /** Percentages, ascending. */
  readonly alertThresholds?: readonly number[]
}

export type Unit =
  | HoldUnit
  | SettleUnit
  | ReleaseUnit
  | ExtendUnit
  | EstimatesUnit
  | EntryUnit
  | TouchUnit
  | SettingsUnit

/** The reason for a rejected hold. */
export interface Refusal {
  readonly kind: 'refused'
  readonly scope: RefusalScope
  /** The budget's; undefined for credit. */
  readonly limitNanoUsd?: NanoUsd | undefined
  /** Undefined for the account's credit, and for the monthly budget of an account or key. */
  readonly budget?: RefusingBudget | undefined
  readonly requiredNanoUsd: NanoUsd
  readonly availableNanoUsd: NanoUsd
  /** Output tokens of one choice that would fit, may exceed the request's; 0 if the prompt alone does not fit. */
  readonly affordableTokens: number
  /** Unix milliseconds; undefined for credit and for budgets that do not reset. */
  readonly resetsAt: number | undefined
}

export interface RefusingBudget {
  readonly id: BudgetId
  readonly level: BudgetLevel
  readonly window: BudgetWindow
}

export interface LedgerEntry {
  readonly accountId: AccountId
  readonly number: number
  readonly kind: LedgerKind
  readonly nanoUsd: NanoUsd
  readonly balanceNanoUsd: NanoUsd
  readonly completionId: CompletionId | undefined
  readonly keyId: KeyId | undefined
  readonly priceVersion: string | undefined
  readonly adjusts: number | undefined
  readonly note: string | undefined
  /** Unix milliseconds. */
  readonly createdAt: number
}

export interface CreditView {
  readonly balanceNanoUsd: NanoUsd
  readonly heldNanoUsd: NanoUsd
  readonly spentNanoUsd: NanoUsd
  readonly monthlyBudgetNanoUsd: NanoUsd | undefined
  readonly alertThresholds: readonly number[]
}

/** One for each unit, in order. `already`: the hold was resolved or the row corrected before; nothing was moved. */
export type Outcome =
  | { readonly kind: 'held'; readonly nanoUsd: NanoUsd; readonly outputTokens: number }
  | Refusal
  /** `unbilledNanoUsd`: the cost of a settlement beyond the overrun cap, which is not charged. */
  | { readonly kind: 'done'; readonly unbilledNanoUsd?: NanoUsd }
  | { readonly kind: 'already' }
  /** A late settlement corrected an estimated charge; negative for a refund. */
  | { readonly kind: 'corrected'; readonly nanoUsd: NanoUsd }
  /** `isReplay`: an entry with the same key existed. */
  | { readonly kind: 'entered'; readonly entry: LedgerEntry; readonly isReplay?: true }
  /** The key belongs to a different entry. */
  | { readonly kind: 'key_reused' }
  | { readonly kind: 'touched'; readonly view: CreditView }
  /** A constraint rejects this unit. Nothing of it was written; the other units were. */
  | { readonly kind: 'failed'; readonly message: string }

export interface Batch {
  readonly units: readonly Unit[]
  /** Unix milliseconds; undefined: the database's clock. For tests. */
  readonly now?: number | undefined
}

/** Executes batches on a database. */
export interface LedgerStore {
  /** Executes one transaction. Rejects with `database_unavailable` if nothing is known to be committed. */
  commit(batch: Batch): Promise<readonly Outcome[]>
}

/** Returns the credit terms of a plan of the configuration. */
interface PlanMoney {
  readonly billing: 'prepaid' | 'postpaid'
  readonly monthly_credit_usd?: number
  readonly max_overrun_usd?: number
}

/** Terms of an account whose plan was removed from the configuration: it may spend its balance. */
const NO_PLAN: PlanTerms = { billing: 'prepaid', monthlyCreditNanoUsd: 0n }

/** Throws for an amount that is no whole number of nano-dollars; the configuration rejects those. */
export function planTerms(plan: PlanMoney | undefined): PlanTerms {
  if (plan === undefined) return NO_PLAN
  const { billing, monthly_credit_usd: usd = 0, max_overrun_usd: overrun } = plan
  const terms = { billing, monthlyCreditNanoUsd: exactly(usd) }
  return overrun === undefined ? terms : { ...terms, maxOverrunNanoUsd: exactly(overrun) }
}

function exactly(usd: number): NanoUsd {
  const amount = parseNanoUsd(usd)
  if (amount === undefined) throw new Error(`A plan has an amount with more than 9 decimals: ${usd} USD.`)
  return amount
}
