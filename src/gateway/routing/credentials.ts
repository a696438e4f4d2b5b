/**
 * Cooldowns of credentials that a provider limits or refuses. Callers pass the time in monotonic milliseconds; this
 * file reads no clock.
 */
import type { FailureKind, ProviderFailure } from '../../protocols/protocol.ts'

/**
 * `limited`: too many requests, until a time that the provider may give. `refused`: invalid or exhausted, perhaps for
 * ever.
 */
type CooldownCause = 'limited' | 'refused'

/** A cooldown. All times are monotonic milliseconds. */
export interface Cooldown {
  readonly since: number
  readonly until: number
  readonly cause: CooldownCause
  /** When a request without another candidate last tried the credential during the cooldown. */
  triedAt: number
}

export interface CredentialHealth {
  inFlight: number
  /** The cooldowns by the provider's name of a model; `*` applies to all models. */
  readonly cooldowns: Map<string, Cooldown>
  /** The latest end of all cooldowns. After it, `cooldowns` need not be searched. */
  coolUntil: number
}

const ALL_MODELS = '*'
/** The cooldown of a credential that was refused or has no money left. */
export const REFUSED_MS = 60_000
/** The upper bound of a `Retry-After`. */
export const MAX_COOLDOWN_MS = 3_600_000
/** A limit often applies to one large request only: without another candidate, one request may try at this interval. */
export const TRY_EVERY_MS = 1_000
/** The cooldown without `Retry-After` is 0.5 to 1.5 times this. */
const DEFAULT_COOLING_MS = 1_000

export function createCredentialHealth(): CredentialHealth {
  return { inFlight: 0, cooldowns: new Map(), coolUntil: Number.NEGATIVE_INFINITY }
}

/** Returns the cooldown for this model. Undefined if the credential can be used. */
export function cooldownOf(credential: CredentialHealth, model: string, now: number): Cooldown | undefined {
  if (now >= credential.coolUntil) return undefined
  const own = credential.cooldowns.get(model)
  if (own !== undefined && now < own.until) return own
  const forAll = credential.cooldowns.get(ALL_MODELS)
  return forAll !== undefined && now < forAll.until ? forAll : undefined
}

interface CooldownInput {
  readonly model: string
  readonly failure: ProviderFailure
  readonly now: number
  readonly random: () => number
}

/** Returns whether the failure is about the credential, so that another one may succeed at once. */
export function isAboutCredential(kind: FailureKind): boolean {
  return kind === 'rate_limited' || kind === 'quota' || kind === 'credentials'
}

/** Starts a cooldown after a failure that is about the credential. */
export function startCooldown(credential: CredentialHealth, { model, failure, now, random }: CooldownInput): void {
  const limited = failure.kind === 'rate_limited'
  const askedMs = failure.retryAfterMs ?? DEFAULT_COOLING_MS * (0.5 + random())
  const until = now + (limited ? Math.min(MAX_COOLDOWN_MS, askedMs) : REFUSED_MS)
  const cause = limited ? 'limited' : 'refused'
  // A 403 usually concerns one model that the credential may not use.
  const scope = limited || failure.status === 403 ? model : ALL_MODELS
  const triedAt = credential.cooldowns.get(scope)?.triedAt ?? Number.NEGATIVE_INFINITY
  credential.cooldowns.set(scope, { since: now, until, cause, triedAt })
  if (until > credential.coolUntil) credential.coolUntil = until
}

/** Ends the cooldowns that began before a call that was accepted. @param startedAt When the call began. */
export function endCooldowns({ cooldowns }: CredentialHealth, model: string, startedAt: number): void {
  if (cooldowns.size === 0) return
  for (const scope of [ALL_MODELS, model]) {
    const cooling = cooldowns.get(scope)
    if (cooling !== undefined && cooling.since <= startedAt) cooldowns.delete(scope)
  }
}

/** Returns whether a request without another candidate may try the credential now. */
export function mayTry({ triedAt }: Cooldown, now: number): boolean {
  return now - triedAt >= TRY_EVERY_MS
}
