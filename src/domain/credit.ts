/** Holds, settlements, and the idempotency of charged requests: types and ports; and the credit of an account. */
import type { Attribution } from './attribution.ts'
import type { BudgetLevel, BudgetSubject } from './budget.ts'
import type { CompletionRecord, RecordedApi } from './completion.ts'
import type { Caller } from './identity/caller.ts'
import type { AccountId, CompletionId, KeyId } from './ids.ts'
import type { NanoUsd } from './money.ts'

/** Limits that a hold must not exceed, in the order of errors. Check, hold and settlement use this list. */
export const CREDIT_SCOPES = ['credit', 'account_budget', 'key_budget'] as const
export type CreditScope = (typeof CREDIT_SCOPES)[number]
/** The limit that a hold exceeded: one of these, or a budget of another level. */
export type RefusalScope = CreditScope | `${BudgetLevel}_budget`

/** Minimum tokens of a request without `max_tokens`, which is reduced to what is affordable. */
export const MIN_FLEXIBLE_TOKENS = 256

/** Highest rates of a request over all tiers, classes of tokens and deployments. */
export interface HoldRates {
  /** Micro-dollars per million tokens, which is pico-dollars a token. */
  readonly inputMicroUsd: number
  readonly outputMicroUsd: number
  /**
   * Amounts independent of these tokens: fees of calls, images and server tools, and tokens that the hold adds in
   * advance.
   */
  readonly fixedNanoUsd: number
}

/** A hold that admission requests: ⌈`promptTokens` × input rate + `outputTokens` × `choices` × output rate⌉ + fees. */
export interface HoldRequest {
  readonly id: CompletionId
  readonly caller: Caller
  /** The model's own ID, after aliases. */
  readonly model: string
  /** Configured name of the first provider that routing tries. */
  readonly provider: string
  readonly rates: HoldRates
  readonly priceVersion: string
  readonly stream: boolean
  /** Expected number; `rates.fixedNanoUsd` covers the rest of the upper bound. See `gateway/worst-case.ts`. */
  readonly promptTokens: number
  /** The maximum of one choice. */
  readonly outputTokens: number
  readonly choices: number
  /** Whether `outputTokens` may be lowered, down to `MIN_FLEXIBLE_TOKENS`, because the client set no maximum. */
  readonly flexible: boolean
  /** The amount is a rough bound: a rejection raises no alert. */
  readonly tentative?: boolean
  /** Unix milliseconds. */
  readonly createdAt: number
  readonly clientRequestId: string | undefined
  /** Undefined if the request is not traced. */
  readonly traceId?: string | undefined
  /** Set if all candidates use the account's own credentials: `rates` are this share of the model's, in millionths. */
  readonly byokFeePpm?: number | undefined
  /** Absent for chat completions. */
  readonly api?: RecordedApi | undefined
  /** The tags of the request, which may have budgets in addition to those of the account, team, key and person. */
  readonly subjects?: readonly BudgetSubject[] | undefined
  /** Tags, session and end user; absent: none. */
  readonly attribution?: Attribution | undefined
  readonly requestId?: string | undefined
}

/** A committed hold, resolved exactly once, by `settle` or `release`. */
export interface Hold {
  readonly id: CompletionId
  readonly accountId: AccountId
  readonly keyId: KeyId
  /** The limit of one choice. It is lower than requested if a flexible request did not fit. */
  readonly outputTokens: number
  /** The held amount, which `extend` raises. */
  amountNanoUsd: NanoUsd
  /** Admitted without database, within the exposure that the operator allows: it has no row. */
  readonly unrecorded: boolean
}

/** Current usage of a running request, charged if this process dies. */
export interface RunningEstimate {
  readonly accountId: AccountId
  readonly id: CompletionId
  readonly provider: string
  readonly promptTokens: number
  readonly completionTokens: number
  readonly costNanoUsd: NanoUsd
  /** The answering model and its price if it differs from the held one. */
  readonly fallback?: { readonly model: string; readonly priceVersion: string } | undefined
  /** Set if the account's own credential is used: `costNanoUsd` is this share of the cost, in millionths. */
  readonly byokFeePpm?: number | undefined
}

/** An answer saved for repeats with the same `Idempotency-Key`. */
export interface SavedAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** A saved answer with its key, written in the transaction of its charge. */
export interface SavedResult {
  readonly accountId: AccountId
  readonly endpoint: string
  readonly key: string
  /** Undefined if the answer was too large to save. */
  readonly answer: SavedAnswer | undefined
}

/** Credit for the gateway and for agents. Implemented by `features/credit`. */
export interface CreditPort {
  /**
   * Commits a hold, before which nothing may be sent to a provider. Rejects with `GatewayError`: 402
   * (`insufficient_credit`, `account_budget_exceeded` and those of other levels) with required and remaining amounts,
   * or `database_unavailable`.
   */
  hold(request: HoldRequest): Promise<Hold>
  /** Call it before the first byte is sent to a provider. Never throws, never waits. */
  dispatched(hold: Hold): void
  /** Raises a hold. Returns false, without a change, if it would exceed a limit or the database is unavailable. */
  extend(hold: Hold, nanoUsd: NanoUsd): Promise<boolean>
  /** Releases a hold for which no provider did anything. */
  release(hold: Hold): void
  /**
   * Charges a request and ends its hold. On return the settlement survives a crash of this process; on resolution it is
   * in the database. Never rejects or throws. Call it before the last byte of the answer is sent.
   */
  settle(hold: Hold, record: CompletionRecord, kept?: SavedResult): Promise<void>
}

/** A repeat of a request with the same `Idempotency-Key`, or the first. Implemented by `features/idempotency`. */
export interface IdempotencyPort {
  /**
   * Resolves when this request may run, or with the answer of an earlier one. Waits while another runs, unless its
   * stream can be shared. Rejects with `GatewayError` (409) when the key was used for another body, or its outcome is
   * unknown, too large or expired.
   */
  begin(request: IdempotentRequest): Promise<IdempotentStart>
}

export interface IdempotentRequest {
  readonly accountId: AccountId
  /** Method and path as a client writes them: `POST /v1/chat/completions`. */
  readonly endpoint: string
  readonly key: string
  /** The parsed JSON body. */
  readonly body: unknown
  /** `fingerprintOf` endpoint and body. Undefined if it was not computed yet. */
  readonly fingerprint?: Uint8Array | undefined
  /** The ID of the result. */
  readonly subjectId: string
  /** Maximum wait for another request, in milliseconds. */
  readonly patienceMs: number
  /** The answer is an event stream, which repeats can share while it runs. */
  readonly stream?: boolean
  /** ID of a run whose process is gone. */
  readonly goneSubjectId?: string | undefined
}

export type IdempotentStart =
  | { readonly kind: 'replay'; readonly answer: SavedAnswer }
  | { readonly kind: 'run'; readonly run: IdempotentRun }
  /** A stream that runs in this process or in another one. */
  | { readonly kind: 'shared'; readonly subjectId: string }
  | { readonly kind: 'elsewhere'; readonly subjectId: string; readonly instanceId: string }

export interface IdempotentRun {
  /**
   * Call it when the hold is committed, before anything is sent to a provider. False: this process stalled for longer
   * than its lease on the key, and another may run the request; release the hold. Also release an `unrecorded` hold,
   * which other processes cannot see.
   */
  owned(): boolean
  /** Requests of this process that wait for the answer. */
  waiting(): number
  /** The stream can be shared: waiting repeats resolve as `shared`. */
  shared(): void
  /** Returns the result to commit with the charge. Undefined if the answer is too large to save. */
  result(answer: SavedAnswer | undefined): SavedResult
  /** Notes that the result is committed: waiting repeats receive it. */
  committed(answer: SavedAnswer | undefined): void
  /** Frees the key, because nothing was charged. Waiting repeats receive the same answer. */
  freed(answer: SavedAnswer): void
}

/** An account and its plan. */
export interface CreditedAccount {
  readonly id: AccountId
  /** The name of its plan. */
  readonly plan: string
}

/** Default percentages of the monthly limit at which an account gets an alert. */
export const DEFAULT_ALERT_THRESHOLDS: readonly number[] = [50, 80, 100]

const LEAST_OVERRUN_NANO_USD = 50_000_000n
const OVERRUN_SHARE = 100n

/** Default overrun cap: the larger of $0.05 and 1 % of the monthly allowance. */
export function defaultOverrunNanoUsd(monthlyCreditNanoUsd: NanoUsd): NanoUsd {
  const share = monthlyCreditNanoUsd / OVERRUN_SHARE
  return share > LEAST_OVERRUN_NANO_USD ? share : LEAST_OVERRUN_NANO_USD
}

export interface AccountCredit {
  /** Undefined if a postpaid plan has no limit. */
  readonly remainingNanoUsd: NanoUsd | undefined
  /** The sum of the account's ledger. */
  readonly balanceNanoUsd: NanoUsd
  /** The amount that requests in flight reserve. */
  readonly heldNanoUsd: NanoUsd
  readonly monthlyBudgetNanoUsd: NanoUsd | undefined
  /** Percentages in ascending order. */
  readonly alertThresholds: readonly number[]
}

/** Absent fields stay unchanged. A budget of null removes it. */
export interface CreditSettings {
  readonly monthlyBudgetNanoUsd?: NanoUsd | null
  /** Null: the default of the plan. For operators. */
  readonly maxOverrunNanoUsd?: NanoUsd | null
  readonly alertThresholds?: readonly number[]
}

/** Implemented by `features/credit`. */
export interface AccountCreditPort {
  /**
   * Returns the credit of the account in the current month, after granting an allowance that is due; while the database
   * is read-only, without granting it.
   */
  read(account: CreditedAccount): Promise<AccountCredit>
  /** Rejects with `database_unavailable`. */
  configure(account: CreditedAccount, settings: CreditSettings): Promise<AccountCredit>
}

/** Limits of a ledger entry that an operator creates, over HTTP or on the command line. */
export const MAX_ENTRY_USD = 100_000_000
export const MAX_NOTE_LENGTH = 500

/** Entries that an operator creates. All but `debit` add to the balance. */
export const ENTERED_KINDS = ['grant', 'purchase', 'refund', 'debit'] as const
export type EnteredKind = (typeof ENTERED_KINDS)[number]
