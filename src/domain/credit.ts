/** Holds, settlements, and the idempotency of charged requests: types and ports; and the credit of an account. */
import type { CompletionRecord } from './completion.ts'
import type { Caller } from './identity/caller.ts'
import type { AccountId, CompletionId, KeyId } from './ids.ts'
import type { NanoUsd } from './money.ts'

/** What a hold must fit, in the order in which errors name it. The one list for check, hold and settlement. */
export const CREDIT_SCOPES = ['credit', 'account_budget', 'key_budget'] as const
export type CreditScope = (typeof CREDIT_SCOPES)[number]

/** A request without `max_tokens` is lowered to what is affordable, but never below this. */
export const MIN_FLEXIBLE_TOKENS = 256

/** The dearest that a request can be charged, whatever tier, class of tokens or deployment it ends at. */
export interface HoldRates {
  /** Micro-dollars per million tokens, which is pico-dollars a token. */
  readonly inputMicroUsd: number
  readonly outputMicroUsd: number
  /** What does not depend on the tokens beside it: fees of calls, images and server tools, and tokens held for in advance. */
  readonly fixedNanoUsd: number
}

/** What admission requests. The hold is ⌈`promptTokens` × input rate + `outputTokens` × `choices` × output rate⌉ + fees. */
export interface HoldRequest {
  readonly id: CompletionId
  readonly caller: Caller
  /** The model's own ID, after aliases. */
  readonly model: string
  /** The first provider that will be tried, by the operator's name. */
  readonly provider: string
  readonly rates: HoldRates
  readonly priceVersion: string
  readonly stream: boolean
  /** As expected; what the upper bound has more is held for in `rates.fixedNanoUsd`. See `gateway/worst-case.ts`. */
  readonly promptTokens: number
  /** Of one choice at most. */
  readonly outputTokens: number
  readonly choices: number
  /** Whether `outputTokens` may be lowered, down to `MIN_FLEXIBLE_TOKENS`: the client named no maximum. */
  readonly flexible: boolean
  /** Its amount is a rough bound: a rejection raises no alert. */
  readonly tentative?: boolean
  /** Unix milliseconds. */
  readonly createdAt: number
  readonly clientRequestId: string | undefined
}

/** A committed hold. It is resolved exactly once, by `settle` or `release`. */
export interface Hold {
  readonly id: CompletionId
  readonly accountId: AccountId
  readonly keyId: KeyId
  /** Of one choice; less than requested where a flexible request did not fit. */
  readonly outputTokens: number
  /** Grows with `extend`. */
  amountNanoUsd: NanoUsd
  /** Admitted while the database was away, against the exposure that the operator allows: there is no row of it. */
  readonly unrecorded: boolean
}

/** Usage of a running request so far: charged if this process dies. */
export interface RunningEstimate {
  readonly accountId: AccountId
  readonly id: CompletionId
  readonly provider: string
  readonly promptTokens: number
  readonly completionTokens: number
  readonly costNanoUsd: NanoUsd
}

/** An answer that is kept for repeats of an `Idempotency-Key`. */
export interface SavedAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** A kept answer and where it belongs: written in the transaction that charges for it. */
export interface SavedResult {
  readonly accountId: AccountId
  readonly endpoint: string
  readonly key: string
  /** Undefined: it was too large to be kept. */
  readonly answer: SavedAnswer | undefined
}

/** Credit for the gateway and for agents. Implemented by `features/credit`. */
export interface CreditPort {
  /**
   * Commits a hold; nothing may leave for a provider before. Rejects with `GatewayError`: 402 (`insufficient_credit`,
   * `account_budget_exceeded`, `key_budget_exceeded`) with what was needed and what is left, or `database_unavailable`.
   */
  hold(request: HoldRequest): Promise<Hold>
  /** The request leaves for a provider now; called before its first byte does. Never throws, never waits. */
  dispatched(hold: Hold): void
  /** Raises a hold. False: it does not fit, or the database is away; the hold stays as it was. */
  extend(hold: Hold, nanoUsd: NanoUsd): Promise<boolean>
  /** Gives a hold back: no provider did anything for it. */
  release(hold: Hold): void
  /**
   * Charges what a request came to, and ends its hold. When it returns, the settlement survives the death of this process;
   * when it resolves, it is in the database. It never rejects and never throws. Called before the answer's last byte is sent.
   */
  settle(hold: Hold, record: CompletionRecord, kept?: SavedResult): Promise<void>
}

/** A repeat of a request with the same `Idempotency-Key`, or the first. Implemented by `features/idempotency`. */
export interface IdempotencyPort {
  /**
   * Resolves when this request may run, or with the answer of an earlier one. Waits while another runs,
   * unless it can be listened to. Rejects with `GatewayError` (409) when the key was used for another body, its outcome
   * is unknown, too large or no longer kept.
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
  /** `fingerprintOf` endpoint and body, where it is known already. */
  readonly fingerprint?: Uint8Array | undefined
  /** The id of what the request will make. */
  readonly subjectId: string
  /** How long it may wait for another, in milliseconds. */
  readonly patienceMs: number
  /** Its answer is an event stream: it can be listened to while it runs. */
  readonly stream?: boolean
  /** Of what was found to run in a process that is gone. */
  readonly goneSubjectId?: string | undefined
}

export type IdempotentStart =
  | { readonly kind: 'replay'; readonly answer: SavedAnswer }
  | { readonly kind: 'run'; readonly run: IdempotentRun }
  /** A stream that runs in this process, or in another. */
  | { readonly kind: 'shared'; readonly subjectId: string }
  | { readonly kind: 'elsewhere'; readonly subjectId: string; readonly instanceId: string }

export interface IdempotentRun {
  /**
   * Called once the hold is committed, right before anything is sent to a provider. False: this process stalled for as
   * long as its lease on the key, so that another may run the request; give the hold back. A hold that is `unrecorded`
   * proves nothing to the others and is given back too.
   */
  owned(): boolean
  /** Requests of this process that wait for the answer. */
  waiting(): number
  /** Its stream can be followed from now on: waiting repeats resolve as `shared`. */
  shared(): void
  /** What to commit together with the charge; undefined: the answer was too large to be kept. */
  result(answer: SavedAnswer | undefined): SavedResult
  /** The result was committed: those who wait get it. */
  committed(answer: SavedAnswer | undefined): void
  /** The outcome charged nothing: the key is free again, and those who wait get the same answer. */
  freed(answer: SavedAnswer): void
}

/** An account as far as its credit is concerned. */
export interface CreditedAccount {
  readonly id: AccountId
  /** Name of its plan. */
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
  /** Undefined: no limit, the plan is billed after the fact. */
  readonly remainingNanoUsd: NanoUsd | undefined
  /** The sum of the account's ledger. */
  readonly balanceNanoUsd: NanoUsd
  /** Reserved by requests in flight. */
  readonly heldNanoUsd: NanoUsd
  readonly monthlyBudgetNanoUsd: NanoUsd | undefined
  /** Percentages, ascending. */
  readonly alertThresholds: readonly number[]
}

/** Absent: unchanged. A budget of null: none. */
export interface CreditSettings {
  readonly monthlyBudgetNanoUsd?: NanoUsd | null
  /** Null: the default of the plan. For operators. */
  readonly maxOverrunNanoUsd?: NanoUsd | null
  readonly alertThresholds?: readonly number[]
}

/** Implemented by `features/credit`. */
export interface AccountCreditPort {
  /**
   * The account in the current month: an allowance that is due is granted first. While the database takes no writes,
   * what is there.
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
