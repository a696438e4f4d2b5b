/** The status of providers as this process sees them, for operators. */
import type { NanoUsd } from './money.ts'

/**
 * `closed`: calls are sent. `open`: none are sent until `openUntil`, unless no other candidate is left. `half_open`:
 * one request probes it.
 */
export type BreakerState = 'closed' | 'open' | 'half_open'

/** One model at one provider. */
export interface DeploymentStatus {
  /** The provider's own name of the model. */
  readonly model: string
  readonly breaker: BreakerState
  /** Unix milliseconds. Undefined unless the breaker is open. */
  readonly openUntil: number | undefined
  /** Consecutive failures. */
  readonly failures: number
  /** Calls in flight. */
  readonly inFlight: number
  /**
   * Smoothed milliseconds to the first event of streams and to the end of whole answers. Undefined before the first.
   */
  readonly firstEventMs: number | undefined
  readonly wholeAnswerMs: number | undefined
  /** Calls since the start of the process, and those of them that failed in a way that counts for the breaker. */
  readonly calls: number
  readonly failedCalls: number
  readonly lastFailure: { readonly at: number; readonly message: string } | undefined
}

/** One of a provider's credentials; never the credential itself. */
export interface CredentialStatus {
  /** From 1, in the order of the configuration. */
  readonly number: number
  /** Unix milliseconds until which the credential is not used, by model; `*` for all models. Empty if it is used. */
  readonly coolingUntil: Readonly<Record<string, number>>
  readonly inFlight: number
}

export interface ProviderStatus {
  /** The operator's name for it. */
  readonly name: string
  readonly baseUrl: string
  /** Undefined without a limit of its own. */
  readonly maxInFlight: number | undefined
  readonly inFlight: number
  /** Requests that wait for capacity. */
  readonly queued: number
  readonly credentials: readonly CredentialStatus[]
  /** The deployments that were called since the start of the process. */
  readonly deployments: readonly DeploymentStatus[]
  /**
   * Estimated cost of attempts that ended before their first event, for which no client is charged, since the start of
   * the process: the prompt, and hidden reasoning by its duration.
   */
  readonly unbilledNanoUsd: NanoUsd
}

/** Result of a test call to a provider, for `turnpike doctor` and operators. */
export type ProviderProbe =
  /** The provider is built in: there is no server to call. */
  | { readonly kind: 'built_in' }
  /** Nothing was sent, because no key is set. The environment variable `variable` would set one. */
  | { readonly kind: 'no_key'; readonly variable: string }
  /** Nothing was sent, because neither machine, file nor token service provided a credential. */
  | { readonly kind: 'no_credential' }
  /**
   * `answered`: it did not reject the key. `refused`: it rejected the key. `limited`: it limits requests. `failing`: it
   * responded with a server error.
   */
  | { readonly kind: 'answered' | 'refused' | 'limited' | 'failing'; readonly status: number }
  /** No answer arrived in time. */
  | { readonly kind: 'silent' }
  /** @property reason An error code such as `ECONNREFUSED`. */
  | { readonly kind: 'unreachable'; readonly reason: string }
