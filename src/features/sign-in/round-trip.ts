/**
 * State of a sign-in while the browser is at the identity provider. It is in an encrypted cookie, so that the server stores
 * nothing for people who never come back, and any process can complete what another one started.
 */
import { EncryptJWT, jwtDecrypt } from 'jose'
import { randomNonce, randomPKCECodeVerifier, randomState } from 'openid-client'
import { readCookie, renderCookie } from '../../http/request-headers.ts'

export interface RoundTrip {
  /** Slug of the provider that it was started with. */
  readonly slug: string
  readonly state: string
  readonly nonce: string
  /** PKCE code verifier (RFC 7636). */
  readonly verifier: string
  /** A local path. */
  readonly next: string
  readonly invitation: string | undefined
}

const COOKIE = '__Host-turnpike-sign-in'
const LIFE_MS = 600_000
const HEADER = { alg: 'dir', enc: 'A256GCM' } as const

export function newRoundTrip(from: Pick<RoundTrip, 'slug' | 'next' | 'invitation'>): RoundTrip {
  return { ...from, state: randomState(), nonce: randomNonce(), verifier: randomPKCECodeVerifier() }
}

export interface RoundTripCookie {
  /** @returns the value of `Set-Cookie`. */
  seal(trip: RoundTrip): Promise<string>
  /** @param cookies The `Cookie` header. @returns undefined for a missing, expired or foreign cookie. */
  open(cookies: string | undefined): Promise<RoundTrip | undefined>
}

/** The value of `Set-Cookie` that removes it. */
export const REMOVED_ROUND_TRIP = renderCookie(COOKIE, '', 0)

/** @param key 32 bytes. */
export function createRoundTripCookie(key: Uint8Array, now: () => number): RoundTripCookie {
  return {
    async seal({ invitation, ...trip }) {
      const claims = invitation === undefined ? trip : { ...trip, invitation }
      const expiresAt = Math.floor((now() + LIFE_MS) / 1000)
      const sealed = await new EncryptJWT(claims).setProtectedHeader(HEADER).setExpirationTime(expiresAt).encrypt(key)
      return renderCookie(COOKIE, sealed, LIFE_MS)
    },
    async open(cookies) {
      const sealed = readCookie(cookies, COOKIE)
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
        return undefined // whatever is wrong with the cookie, the visitor has to start again
      }
    },
  }
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
