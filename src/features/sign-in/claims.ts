import type { VouchedIdentity } from '../../domain/identity/sign-in.ts'
import { isRecord } from '../../lib/json.ts'
import { type DomainRefusal, SignInError } from './failure.ts'

export type Claims = Readonly<Record<string, unknown>>

const MAX_EMAIL_LENGTH = 254
const MAX_NAME_LENGTH = 200
/** OpenID Connect Core, 2. */
const MAX_SUBJECT_LENGTH = 255
const EMAIL = /^[^\s@<>"]+@[^\s@<>"]+$/
/** Control characters and direction marks, removed because names are displayed to others. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu

/**
 * Reads the claims of OpenID Connect Core, 5.1. Some providers send booleans as strings, and some send the address only as
 * `preferred_username`, which is unverified.
 */
export function vouchedIdentity(issuer: string, claims: Claims): VouchedIdentity {
  const { sub, email, email_verified, preferred_username, name } = claims
  if (typeof sub !== 'string' || sub === '' || sub.length > MAX_SUBJECT_LENGTH) {
    throw new SignInError('untrusted', 'no usable subject')
  }
  const given = readEmail(email)
  const address = given ?? readEmail(preferred_username)
  if (address === undefined) throw new SignInError('no e-mail', 'no e-mail address')
  const emailVerified = given !== undefined && (email_verified === true || email_verified === 'true')
  return { issuer, subject: sub, email: address, emailVerified, name: readName(name) ?? address }
}

/** Of a person; no provider has so many that mean something here. */
const MOST_GROUPS = 1_000

/** Undefined where the provider says that they are too many for a token, as Entra does. Absent: none. */
export function groupsIn(claims: Claims, claim: string): readonly string[] | undefined {
  const { [claim]: value, _claim_names: elsewhere } = claims
  if (value === undefined && isRecord(elsewhere) && Object.hasOwn(elsewhere, claim)) return undefined
  const groups = Array.isArray(value) ? value : [value]
  return groups.filter((group) => typeof group === 'string').slice(0, MOST_GROUPS)
}

export function readEmail(value: unknown): string | undefined {
  if (typeof value !== 'string' || value.length > MAX_EMAIL_LENGTH) return undefined
  return EMAIL.test(value) && value.search(UNSEEN) === -1 ? value : undefined
}

export function readName(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined
  const name = value.slice(0, MAX_NAME_LENGTH).replaceAll(UNSEEN, '').toWellFormed().trim()
  return name === '' ? undefined : name
}

/** Whether every address can sign in: no domain is configured, or `*`. */
export function mayAnyDomain(allowed: readonly string[]): boolean {
  return allowed.length === 0 || allowed.includes('*')
}

/** Undefined: allowed. An unverified address proves no domain. @param allowed Domains; none or `*` allows all. */
export function domainRefusal(identity: VouchedIdentity, allowed: readonly string[]): DomainRefusal | undefined {
  if (mayAnyDomain(allowed)) return undefined
  if (!identity.emailVerified) return 'unverified'
  const domain = identity.email.slice(identity.email.lastIndexOf('@') + 1).toLowerCase()
  return allowed.some((name) => name.toLowerCase() === domain) ? undefined : 'domain'
}
