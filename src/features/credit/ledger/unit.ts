/**
 * What is asked of the ledger: units of work. Many are carried out in one transaction, in order, each by the same rules
 * (`rules.ts`) whatever the database. Units and outcomes are plain data: they cross to the database's thread.
 */
import type { LedgerKind } from '../../../db/schema/schema.ts'
import type { Attribution } from '../../../domain/attribution.ts'
import type { BudgetLevel, BudgetSubject, BudgetWindow } from '../../../domain/budget.ts'
import type { CompletionRecord, RecordedApi } from '../../../domain/completion.ts'
import type { RefusalScope, RunningEstimate, SavedResult } from '../../../domain/credit.ts'
import type { KeyBudget } from '../../../domain/identity/caller.ts'
import type { AccountId, BudgetId, CompletionId, KeyId, TeamId } from '../../../domain/ids.ts'
import { type NanoUsd, parseNanoUsd } from '../../../domain/money.ts'

/** What of a plan concerns money. */
export interface PlanTerms {
  readonly billing: 'prepaid' | 'postpaid'
  /** Granted for every calendar month, UTC; 0: none. */
  readonly monthlyCreditNanoUsd: NanoUsd
  /** How far a balance may fall below zero; undefined: see `overrunCap`. */
  readonly maxOverrunNanoUsd?: NanoUsd | undefined
}

export interface HoldUnit {
  readonly kind: 'hold'
  readonly accountId: AccountId
  readonly keyId: KeyId
  readonly id: CompletionId
  readonly terms: PlanTerms
  readonly keyBudgetNanoUsd: NanoUsd | undefined
  /** The keys above the key, the nearest first: their budgets count as well. Undefined: none. */
  readonly ancestors?: readonly KeyBudget[] | undefined
  readonly instanceId: string
  readonly promptTokens: number
  /** Of one choice. */
  readonly outputTokens: number
  readonly choices: number
  readonly flexible: boolean
  /** A refusal raises no alert. */
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
  /** It is for calls with the account's own credentials, at prices of this share, in millionths. */
  readonly byokFeePpm?: number | undefined
  /** Absent: chat completions. */
  readonly api?: RecordedApi | undefined
  readonly teamId?: TeamId | undefined
  /** Besides the account, the key, those above it, its person and its team: what else has budgets that count: tags. */
  readonly subjects?: readonly BudgetSubject[] | undefined
  readonly attribution?: Attribution | undefined
  readonly requestId?: string | undefined
}

/** Charges a completion and ends its hold. */
export interface SettleUnit {
  readonly kind: 'settle'
  readonly record: CompletionRecord
  readonly terms: PlanTerms
  /** True: there may be no hold, because it was admitted while the database was away. */
  readonly unrecorded: boolean
  /**
   * True: an estimate in place of a process that cannot say what the request came to. It ends a hold and nothing else: it
   * corrects no charge, and is corrected by the settlement of that process, should that arrive after all.
   */
  readonly provisional?: true
  /** What was reserved of the exposure for one that is unrecorded: at least that much may be charged. */
  readonly promisedNanoUsd?: NanoUsd | undefined
  readonly kept: SavedResult | undefined
}

/** What the record of a request says that nobody can say more about than an estimate. */
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
  /** The keys above the key, the nearest first: their budgets count as well. Undefined: none. */
  readonly ancestors?: readonly KeyBudget[] | undefined
  readonly nanoUsd: NanoUsd
}

/** Notes what running requests have come to. Estimates of holds that are gone are ignored. */
export interface EstimatesUnit {
  readonly kind: 'estimates'
  readonly estimates: readonly RunningEstimate[]
}

/** A movement of credit that is not a completion's. */
export interface EntryUnit {
  readonly kind: 'entry'
  readonly accountId: AccountId
  readonly terms: PlanTerms
  readonly entry: NewEntry
  /** Undefined: each such unit makes an entry. */
  readonly once?: EntryKey | undefined
}

/** A key of the account under which one entry is made, however often it is asked for. */
export interface EntryKey {
  readonly key: string
  /** SHA-256 of what is asked for, in hexadecimal digits. */
  readonly fingerprint: string
}

/** An entry that was made under a key. */
export interface KeyedEntry {
  readonly fingerprint: string
  readonly entry: LedgerEntry
}

export interface NewEntry {
  readonly kind: Exclude<LedgerKind, 'expiry'>
  /** Above zero. */
  readonly nanoUsd: NanoUsd
  readonly note: string | undefined
  /** The row that it corrects, with that row's completion and key, and the price that it is corrected to. */
  readonly adjusts: Adjusted | undefined
}

export interface Adjusted {
  readonly number: number
  readonly completionId: CompletionId
  readonly keyId: KeyId | undefined
  readonly priceVersion: string | undefined
}

/** Brings an account to the current month: grants what is due. Also the way to read it up to date. */
export interface TouchUnit {
  readonly kind: 'touch'
  readonly accountId: AccountId
  readonly terms: PlanTerms
}

/** What an account sets for itself; absent: unchanged. */
export interface SettingsUnit {
  readonly kind: 'settings'
  readonly accountId: AccountId
  readonly terms: PlanTerms
  readonly monthlyBudgetNanoUsd?: NanoUsd | null
  /** Null: as the plan says. */
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

/** Why a hold was not granted. */
export interface Refusal {
  readonly kind: 'refused'
  readonly scope: RefusalScope
  /** Of a budget; undefined for credit. */
  readonly limitNanoUsd?: NanoUsd | undefined
  /** Undefined: it is the account's credit, or a monthly budget of account or key. */
  readonly budget?: RefusingBudget | undefined
  readonly requiredNanoUsd: NanoUsd
  readonly availableNanoUsd: NanoUsd
  /** Tokens of one choice that would fit. Not limited to what was asked for; 0 when the prompt alone does not fit. */
  readonly affordableTokens: number
  /** Unix milliseconds; undefined for credit and budgets that do not come back by themselves. */
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

/** One for each unit, in order. `already`: the hold was resolved, or the row corrected, before; nothing was moved. */
export type Outcome =
  | { readonly kind: 'held'; readonly nanoUsd: NanoUsd; readonly outputTokens: number }
  | Refusal
  /** `unbilledNanoUsd`: of a settlement, what was beyond the overrun cap and is not charged. */
  | { readonly kind: 'done'; readonly unbilledNanoUsd?: NanoUsd }
  | { readonly kind: 'already' }
  /** A late settlement corrected the charge of an estimate; below zero: by a refund. */
  | { readonly kind: 'corrected'; readonly nanoUsd: NanoUsd }
  /** `isReplay`: it was made before, under the same key. */
  | { readonly kind: 'entered'; readonly entry: LedgerEntry; readonly isReplay?: true }
  /** The key was used for another entry. */
  | { readonly kind: 'key_reused' }
  | { readonly kind: 'touched'; readonly view: CreditView }
  /** The database will never accept this unit: a broken constraint. Nothing of it was written, the others were. */
  | { readonly kind: 'failed'; readonly message: string }

export interface Batch {
  readonly units: readonly Unit[]
  /** Unix milliseconds; undefined: the database's clock. For tests. */
  readonly now?: number | undefined
}

/** One of the two ways to carry batches out. */
export interface LedgerStore {
  /** One transaction. Rejects with `database_unavailable` when nothing is known to be committed. */
  commit(batch: Batch): Promise<readonly Outcome[]>
}

/** What a plan of the configuration says of money. */
interface PlanMoney {
  readonly billing: 'prepaid' | 'postpaid'
  readonly monthly_credit_usd?: number
  readonly max_overrun_usd?: number
}

/** Of an account whose plan is no longer in the configuration: it may spend what it has. */
const NO_PLAN: PlanTerms = { billing: 'prepaid', monthlyCreditNanoUsd: 0n }

/** Throws for an amount that nano-dollars cannot say, which the configuration does not let through. */
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
