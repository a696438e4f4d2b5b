/**
 * The cooldown of a credential that is limited or refused. It knows no clock: callers pass the time, in monotonic
 * milliseconds.
 */
import type { FailureKind, ProviderFailure } from '../../protocols/protocol.ts'

/**
 * `limited`: too many requests, until a time that the provider may give. `refused`: invalid or exhausted, perhaps for
 * ever.
 */
type CoolingCause = 'limited' | 'refused'

/** A cooldown. All times are monotonic milliseconds. */
export interface Cooling {
  readonly since: number
  readonly until: number
  readonly cause: CoolingCause
  /** When a request without another candidate last tried the credential during the cooldown. */
  triedAt: number
}

export interface CredentialHealth {
  inFlight: number
  /** The cooldowns by the provider's name of a model; `*` applies to all models. */
  readonly coolings: Map<string, Cooling>
  /** The latest end of all: from then on `coolings` need not be searched. */
  coolUntil: number
}

const ALL_MODELS = '*'
/** The cooldown of a credential that was refused or has no money left. */
export const REFUSED_MS = 60_000
/** The upper bound of a `Retry-After`. */
export const MAX_COOLING_MS = 3_600_000
/** A limit often concerns one large request, and not the next: without another candidate, one request may try this often. */
export const TRY_EVERY_MS = 1_000
/** Cooldown without `Retry-After`: 0.5 to 1.5 times this. */
const DEFAULT_COOLING_MS = 1_000

export function createCredentialHealth(): CredentialHealth {
  return { inFlight: 0, coolings: new Map(), coolUntil: Number.NEGATIVE_INFINITY }
}

/** Returns the cooldown for this model. Undefined if the credential can be used. */
export function coolingOf(credential: CredentialHealth, model: string, now: number): Cooling | undefined {
  if (now >= credential.coolUntil) return undefined
  const own = credential.coolings.get(model)
  if (own !== undefined && now < own.until) return own
  const forAll = credential.coolings.get(ALL_MODELS)
  return forAll !== undefined && now < forAll.until ? forAll : undefined
}

interface CoolingInput {
  readonly model: string
  readonly failure: ProviderFailure
  readonly now: number
  readonly random: () => number
}

/** Returns whether the failure is about the credential, so that another one may succeed at once. */
export function isAboutCredential(kind: FailureKind): boolean {
  return kind === 'rate_limited' || kind === 'quota' || kind === 'credentials'
}

/** Begins a cooldown after a failure that is about the credential. */
export function cool(credential: CredentialHealth, { model, failure, now, random }: CoolingInput): void {
  const limited = failure.kind === 'rate_limited'
  const askedMs = failure.retryAfterMs ?? DEFAULT_COOLING_MS * (0.5 + random())
  const until = now + (limited ? Math.min(MAX_COOLING_MS, askedMs) : REFUSED_MS)
  const cause = limited ? 'limited' : 'refused'
  // 403 is most often about one model that the credential may not use.
  const scope = limited || failure.status === 403 ? model : ALL_MODELS
  const triedAt = credential.coolings.get(scope)?.triedAt ?? Number.NEGATIVE_INFINITY
  credential.coolings.set(scope, { since: now, until, cause, triedAt })
  if (until > credential.coolUntil) credential.coolUntil = until
}

/** Ends the cooldowns that began before a call that was accepted. @param startedAt When the call began. */
export function warm({ coolings }: CredentialHealth, model: string, startedAt: number): void {
  if (coolings.size === 0) return
  for (const scope of [ALL_MODELS, model]) {
    const cooling = coolings.get(scope)
    if (cooling !== undefined && cooling.since <= startedAt) coolings.delete(scope)
  }
}

/** Returns whether a request without another candidate may try the credential now. */
export function mayTry({ triedAt }: Cooling, now: number): boolean {
  return now - triedAt >= TRY_EVERY_MS
}
