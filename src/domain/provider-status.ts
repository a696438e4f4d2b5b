/** How providers fare, as this process sees them: what operators and the router look at. */

/** `closed`: served. `open`: left alone until `openUntil`, unless nothing else is left. `half_open`: one request tries it. */
export type BreakerState = 'closed' | 'open' | 'half_open'

/** One model at one provider. */
export interface DeploymentStatus {
  /** The provider's own name of the model. */
  readonly model: string
  readonly breaker: BreakerState
  /** Unix milliseconds; undefined unless open. */
  readonly openUntil: number | undefined
  /** Failures in a row. */
  readonly failures: number
  /** Calls under way. */
  readonly inFlight: number
  /** Smoothed milliseconds to the first event of streams, and to the end of whole answers; undefined before the first. */
  readonly firstEventMs: number | undefined
  readonly wholeAnswerMs: number | undefined
  /** Since the start of the process: calls, and those that ended in a failure that counts for the breaker. */
  readonly calls: number
  readonly failedCalls: number
  readonly lastFailure: { readonly at: number; readonly message: string } | undefined
}

/** One of a provider's credentials; the credential itself is never told. */
export interface CredentialStatus {
  /** From 1, in the order of the configuration. */
  readonly number: number
  /** Unix milliseconds until which it is not used, by model; `*` for all models. Empty: it is used. */
  readonly coolingUntil: Readonly<Record<string, number>>
  readonly inFlight: number
}

export interface ProviderStatus {
  /** The operator's name for it. */
  readonly name: string
  readonly baseUrl: string
  /** Undefined: no limit of its own. */
  readonly maxInFlight: number | undefined
  readonly inFlight: number
  /** Requests that wait for a free place. */
  readonly queued: number
  readonly credentials: readonly CredentialStatus[]
  /** Those that were called since the start of the process. */
  readonly deployments: readonly DeploymentStatus[]
}
