/**
 * Identity providers: their settings, the choices on the sign-in page, the interface of `openid.ts` and `github.ts`,
 * and the requests that these send.
 */
import type { CustomFetch } from 'openid-client'
import type { SignInChoice, VouchedIdentity } from '../../domain/identity/sign-in.ts'
import { isLoopbackUrl } from '../../lib/ip-address.ts'
import { isRecord } from '../../lib/json.ts'
import { slugOf } from '../../lib/text.ts'
import { type DomainRefusal, SignInError } from './failure.ts'
import type { RoundTrip } from './round-trip.ts'

/** `auth.providers[]` of the configuration. */
export interface ProviderSettings {
  readonly kind: 'oidc' | 'github'
  readonly name: string
  /** For `github`: the URL of an Enterprise server; undefined: github.com. */
  readonly issuer?: string | undefined
  readonly client_id: string
  readonly client_secret: string
  /** Empty, or with `*`: all. */
  readonly allowed_domains: readonly string[]
  /** Claim with the groups of a person; undefined: none. */
  readonly groups_claim?: string | undefined
}

/** Returns the path segment after `/auth/`; the configuration requires them to be unique. */
export function providerSlug({ name, kind }: Pick<ProviderSettings, 'name' | 'kind'>): string {
  return slugOf(name) || kind
}

/** Returns the choices in the order of the configuration. */
export function choices(providers: readonly ProviderSettings[]): readonly SignInChoice[] {
  return providers.map((settings) => ({ slug: providerSlug(settings), name: settings.name }))
}

export interface IdentityProvider {
  /** Returns the address that the browser is sent to. */
  begin(trip: RoundTrip): Promise<URL>
  /** Returns the verified identity. @param callback The address that the provider sent the browser to, with its parameters. */
  end(callback: URL, trip: RoundTrip): Promise<VouchedIdentity>
}

export interface ProviderDeps {
  readonly redirectUri: string
  readonly outbound: Outbound
  readonly now: () => number
}

/*
 * Requests to identity providers, with limits on the size of responses and on the time of each request and visit. It
 * follows no redirects, and requires TLS except for loopback addresses.
 */

export interface OutboundLimits {
  /** Timeout of a request with its response. */
  readonly requestMs: number
  /** Timeout of all requests of a visit. */
  readonly visitMs: number
}

const OUTBOUND_LIMITS: OutboundLimits = { requestMs: 5_000, visitMs: 10_000 }
const MAX_ANSWER_BYTES = 256 * 1024
/** Concurrent visits. */
const MAX_VISITS = 64
const TOO_MANY_REQUESTS = 429
const SERVER_ERRORS = 500

export interface Outbound {
  /** Timeout for `openid-client`. */
  readonly requestSeconds: number
  /** @throws SignInError `busy` at too many concurrent visits. */
  visit<Result>(work: (fetch: CustomFetch) => Promise<Result>): Promise<Result>
}

export function createOutbound({ requestMs, visitMs }: OutboundLimits = OUTBOUND_LIMITS): Outbound {
  let visits = 0
  return {
    requestSeconds: requestMs / 1000,
    async visit(work) {
      if (visits >= MAX_VISITS) throw new SignInError('busy', 'too many sign-ins at once')
      visits++
      try {
        return await work(fetchUntil(AbortSignal.timeout(visitMs)))
      } finally {
        visits--
      }
    },
  }
}

/** For building URLs, which requires no requests. */
export const noRequests: CustomFetch = () => Promise.reject(new SignInError('untrusted', 'unexpected request'))

function fetchUntil(deadline: AbortSignal): CustomFetch {
  return async (address, { method, headers, body, signal }) => {
    const url = new URL(address)
    if (url.protocol !== 'https:' && !isLoopbackUrl(url)) throw new SignInError('untrusted', 'an address without TLS')
    const ends = signal === undefined ? deadline : AbortSignal.any([deadline, signal])
    const init: RequestInit = { method, headers, redirect: 'manual', signal: ends }
    const response = await fetch(url, body === undefined ? init : { ...init, body: readBody(body) }).catch(noAnswer)
    if (response.status >= SERVER_ERRORS || response.status === TOO_MANY_REQUESTS) {
      await response.body?.cancel()
      throw new SignInError('unavailable', `answered ${response.status}`)
    }
    const bytes = await readCapped(response).catch(noAnswer)
    const { status, headers: answered } = response
    return new Response(bytes.length === 0 ? null : bytes, { status, headers: answered })
  }
}

/** The library sends only forms. */
function readBody(body: unknown): URLSearchParams | null {
  return body instanceof URLSearchParams ? body : null
}

async function readCapped(response: Response): Promise<Buffer<ArrayBuffer>> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length
    if (bytes > MAX_ANSWER_BYTES) throw new SignInError('untrusted', 'response too large')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function noAnswer(error: unknown): never {
  if (error instanceof SignInError) throw error
  throw new SignInError('unavailable', reasonOf(error))
}

/** Returns a code such as `TimeoutError` or `ECONNREFUSED`, never text of the provider. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'no answer'
  const { cause } = error
  return cause instanceof Error && 'code' in cause ? String(cause.code) : error.name
}

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
