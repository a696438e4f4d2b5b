/** The status of providers as this process sees them, for operators. */
import type { NanoUsd } from './money.ts'

/** `closed`: served. `open`: not called until `openUntil`, unless no other candidate is left. `half_open`: one request probes it. */
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
  /** Calls in flight. */
  readonly inFlight: number
  /** Smoothed milliseconds to the first event of streams, and to the end of whole answers; undefined before the first. */
  readonly firstEventMs: number | undefined
  readonly wholeAnswerMs: number | undefined
  /** Since the start of the process: calls, and those that ended in a failure that counts for the breaker. */
  readonly calls: number
  readonly failedCalls: number
  readonly lastFailure: { readonly at: number; readonly message: string } | undefined
}

/** One of a provider's credentials; never the credential itself. */
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
  /** Requests that wait for capacity. */
  readonly queued: number
  readonly credentials: readonly CredentialStatus[]
  /** Those that were called since the start of the process. */
  readonly deployments: readonly DeploymentStatus[]
  /**
   * What attempts cost that ended before their first event, which no client is charged for; since the start of the process.
   * An estimate: the prompt, and hidden reasoning by the time it took.
   */
  readonly unbilledNanoUsd: NanoUsd
}

/** What a trial call to a provider came to: for the doctor of the command line, and for operators who test one. */
export type ProviderProbe =
  /** The provider is built in: there is no server to call. */
  | { readonly kind: 'built_in' }
  /** Nothing was sent: it has no key, and `variable` of the environment would have been one. */
  | { readonly kind: 'no_key'; readonly variable: string }
  /** Nothing was sent: the machine, a file or a token service gave no credential. */
  | { readonly kind: 'no_credential' }
  /**
   * `answered`: somebody is there, and did not refuse the key. `refused`: not with this key. `limited`: not now.
   * `failing`: something is wrong on its side.
   */
  | { readonly kind: 'answered' | 'refused' | 'limited' | 'failing'; readonly status: number }
  /** No answer in time. */
  | { readonly kind: 'silent' }
  /** @property reason In one word, without anything of the call: `ECONNREFUSED`. */
  | { readonly kind: 'unreachable'; readonly reason: string }
