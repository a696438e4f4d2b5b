/**
 * What a sign-in has to remember while the browser is at the identity provider. It is in a cookie that only this server can
 * read or make, so that nothing has to be stored for people who never come back, and any process can end what another began.
 */
import { EncryptJWT, jwtDecrypt } from 'jose'
import { randomNonce, randomPKCECodeVerifier, randomState } from 'openid-client'

export interface RoundTrip {
  /** Of the provider that it was started with. */
  readonly slug: string
  readonly state: string
  readonly nonce: string
  /** Of PKCE (RFC 7636). */
  readonly verifier: string
  /** A path of ours. */
  readonly next: string
  readonly invitation: string | undefined
}

const COOKIE = '__Host-turnpike-sign-in'
const ATTRIBUTES = 'Path=/; Secure; HttpOnly; SameSite=Lax'
const LIFE_MS = 600_000
const MAX_COOKIES_LENGTH = 8 * 1024
const HEADER = { alg: 'dir', enc: 'A256GCM' } as const

export function newRoundTrip(from: Pick<RoundTrip, 'slug' | 'next' | 'invitation'>): RoundTrip {
  return { ...from, state: randomState(), nonce: randomNonce(), verifier: randomPKCECodeVerifier() }
}

export interface RoundTripCookie {
  /** @returns the value of `Set-Cookie`. */
  seal(trip: RoundTrip): Promise<string>
  /** Undefined when there is none, or it is too old, or not ours. @param cookies The `Cookie` header. */
  open(cookies: string | undefined): Promise<RoundTrip | undefined>
}

/** The value of `Set-Cookie` that removes it. */
export const REMOVED_ROUND_TRIP = `${COOKIE}=; Max-Age=0; ${ATTRIBUTES}`

/** @param key 32 bytes. */
export function createRoundTripCookie(key: Uint8Array, now: () => number): RoundTripCookie {
  return {
    async seal({ invitation, ...trip }) {
      const claims = invitation === undefined ? trip : { ...trip, invitation }
      const expiresAt = Math.floor((now() + LIFE_MS) / 1000)
      const sealed = await new EncryptJWT(claims).setProtectedHeader(HEADER).setExpirationTime(expiresAt).encrypt(key)
      return `${COOKIE}=${sealed}; Max-Age=${LIFE_MS / 1000}; ${ATTRIBUTES}`
    },
    async open(cookies) {
      const sealed = sealedIn(cookies)
      if (sealed === undefined) return undefined
      try {
        const { payload } = await jwtDecrypt(sealed, key, {
          keyManagementAlgorithms: [HEADER.alg],
          contentEncryptionAlgorithms: [HEADER.enc],
          maxDecompressedLength: 0,
          requiredClaims: ['exp'],
          currentDate: new Date(now()),
        })
        return readClaims(payload)
      } catch {
        return undefined // whatever is wrong with it, the visitor has to start again
      }
    },
  }
}

/** Undefined where there are two as well: one of them was planted. */
function sealedIn(cookies: string | undefined): string | undefined {
  if (cookies === undefined || cookies.length > MAX_COOKIES_LENGTH) return undefined
  const prefix = `${COOKIE}=`
  const [value, ...others] = cookies
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(prefix))
  return others.length === 0 ? value?.slice(prefix.length) : undefined
}

function readClaims({
  slug,
  state,
  nonce,
  verifier,
  next,
  invitation,
}: Record<string, unknown>): RoundTrip | undefined {
  if (!isText(slug) || !isText(state) || !isText(nonce) || !isText(verifier) || !isText(next)) return undefined
  return { slug, state, nonce, verifier, next, invitation: isText(invitation) ? invitation : undefined }
}

function isText(value: unknown): value is string {
  return typeof value === 'string'
}
