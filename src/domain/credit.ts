/** Words of money under way: what a request may cost at worst, what is held for it, and what it comes to. */
import type { Caller } from './caller.ts'
import type { CompletionRecord } from './completion.ts'
import type { AccountId, CompletionId, KeyId } from './ids.ts'
import type { NanoUsd } from './money.ts'

/** What a hold must fit, in the order that refusals are told. The one list for check, hold and settlement. */
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

/** What admission asks for. The hold is ⌈`promptTokens` × input rate + `outputTokens` × `choices` × output rate⌉ + fees. */
export interface HoldAsk {
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
  /** What it needs is not known well: a refusal says nothing about the account, and raises no alert. */
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
  /** Of one choice; less than asked for where a flexible request did not fit. */
  readonly outputTokens: number
  /** Grows with `extend`. */
  amountNanoUsd: NanoUsd
  /** Admitted while the database was away, against the exposure that the operator allows: there is no row of it. */
  readonly unrecorded: boolean
}

/** What a running request has come to so far: what is charged should this process die. */
export interface RunningEstimate {
  readonly accountId: AccountId
  readonly id: CompletionId
  readonly provider: string
  readonly promptTokens: number
  readonly completionTokens: number
  readonly costNanoUsd: NanoUsd
}

/** An answer that is kept for repeats of an `Idempotency-Key`. */
export interface KeptAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** A kept answer and where it belongs: written in the transaction that charges for it. */
export interface KeptResult {
  readonly accountId: AccountId
  readonly endpoint: string
  readonly key: string
  /** Undefined: it was too large to be kept. */
  readonly answer: KeptAnswer | undefined
}

/** The gateway's and the agents' way to money. Implemented by `features/credit`. */
export interface CreditPort {
  /**
   * Commits a hold; nothing may leave for a provider before. Rejects with `GatewayError`: 402 (`insufficient_credit`,
   * `account_budget_exceeded`, `key_budget_exceeded`) with what was needed and what is left, or `database_unavailable`.
   */
  hold(ask: HoldAsk): Promise<Hold>
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
  settle(hold: Hold, record: CompletionRecord, kept?: KeptResult): Promise<void>
}

/** A repeat of a request with the same `Idempotency-Key`, or the first. Implemented by `features/idempotency`. */
export interface IdempotencyPort {
  /**
   * Resolves when it is this request's turn to run, or with the answer of the one before. Waits while another runs,
   * unless it can be listened to. Rejects with `GatewayError` (409) when the key was used for another body, its outcome
   * is unknown, too large or no longer kept.
   */
  begin(ask: IdempotentAsk): Promise<IdempotentTurn>
}

export interface IdempotentAsk {
  readonly accountId: AccountId
  /** Method and path as a client writes them: `POST /v1/chat/completions`. */
  readonly endpoint: string
  readonly key: string
  /** The parsed JSON body. */
  readonly body: unknown
  /** The id of what the request will make. */
  readonly subjectId: string
  /** How long it may wait for another, in milliseconds. */
  readonly patienceMs: number
  /** Its answer is an event stream: it can be listened to while it runs. */
  readonly stream?: boolean
  /** Of what was found to run in a process that is gone. */
  readonly goneSubjectId?: string | undefined
}

export type IdempotentTurn =
  | { readonly kind: 'replay'; readonly answer: KeptAnswer }
  | { readonly kind: 'run'; readonly run: IdempotentRun }
  /** A stream that runs in this process, or in another. */
  | { readonly kind: 'shared'; readonly subjectId: string }
  | { readonly kind: 'elsewhere'; readonly subjectId: string; readonly instanceId: string }

export interface IdempotentRun {
  /**
   * Asked once the hold is committed, right before anything leaves for a provider. False: this process stalled for as
   * long as its lease on the key, so that another may run the request; give the hold back. A hold that is `unrecorded`
   * proves nothing to the others and is given back too.
   */
  owned(): boolean
  /** Requests of this process that wait for the answer. */
  waiting(): number
  /** It can be listened to from now on: those who wait are told so, as `shared`. */
  shared(): void
  /** What to commit together with the charge; undefined: the answer was too large to be kept. */
  result(answer: KeptAnswer | undefined): KeptResult
  /** The result was committed: those who wait get it. */
  committed(answer: KeptAnswer | undefined): void
  /** The outcome charged nothing: the key is free again, and those who wait get the same answer. */
  freed(answer: KeptAnswer): void
}
