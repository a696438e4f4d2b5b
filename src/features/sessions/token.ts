/**
 * The dashboard's token: a JWT (RFC 7519), signed with HS256, with exactly the claims that are read. Only the canonical
 * encoding that this file writes is accepted.
 */
import { hash, type webcrypto } from 'node:crypto'
import { ROLES, type Role } from '../../domain/identity/caller.ts'
import type { SessionId, UserId } from '../../domain/ids.ts'

export const TOKEN_LIFE_S = 15 * 60
/** Tolerance for the clock of another process with the same secret: for `iat` only, never for `exp`. */
const CLOCK_SKEW_S = 30
const MAX_TOKEN_LENGTH = 2_048
/** RFC 5321, 4.5.3.1; a longer one is no address, and would make a token that is too long. */
const MAX_EMAIL_LENGTH = 254
const HEADER_NAMES = 'alg,kid,typ'
const CLAIM_NAMES = 'email,exp,iat,role,sid,sub'
const CANONICAL_PARTS = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]{43}$/

export interface TokenClaims {
  readonly userId: UserId
  readonly email: string
  readonly role: Role
  readonly sessionId: SessionId
}

export interface VerifiedToken extends TokenClaims {
  /** Unix milliseconds. */
  readonly expiresAt: number
}

export interface TokenSigner {
  sign(claims: TokenClaims): Promise<string>
  /** Undefined unless the token is valid. Never rejects. */
  verify(token: string): Promise<VerifiedToken | undefined>
}

export interface TokenSignerInput {
  /** 32 bytes each. The first one signs, all verify: the current secret, and the previous one during a rotation. */
  readonly keys: readonly [Uint8Array, ...Uint8Array[]]
  /** Unix milliseconds. */
  readonly now: () => number
}

const HMAC = { name: 'HMAC', hash: 'SHA-256' }
const LEAST_KEY_BYTES = 32

/** Rejects for a key that is too short; the library would take it. */
export async function createTokenSigner({ keys, now }: TokenSignerInput): Promise<TokenSigner> {
  const byId = new Map<string, webcrypto.CryptoKey>()
  for (const key of keys) byId.set(keyId(key), await importKey(key))
  const current = { id: keyId(keys[0]), key: await importKey(keys[0]) }
  return {
    async sign({ userId, email, role, sessionId }) {
      const { SignJWT } = await library()
      const iat = Math.floor(now() / 1000)
      const label = email.slice(0, MAX_EMAIL_LENGTH)
      return new SignJWT({ sub: userId, email: label, role, iat, exp: iat + TOKEN_LIFE_S, sid: sessionId })
        .setProtectedHeader({ alg: 'HS256', kid: current.id, typ: 'JWT' })
        .sign(current.key)
    },
    async verify(token) {
      if (!isCanonical(token)) return undefined
      try {
        const { jwtVerify } = await library()
        const { payload } = await jwtVerify(token, ({ kid }) => keyOf(byId, kid), {
          algorithms: ['HS256'],
          typ: 'JWT',
          requiredClaims: ['sub', 'email', 'role', 'iat', 'exp', 'sid'],
          maxTokenAge: TOKEN_LIFE_S,
          clockTolerance: CLOCK_SKEW_S,
          currentDate: new Date(now()),
        })
        const claims = readClaims(payload)
        return claims !== undefined && now() < claims.expiresAt ? claims : undefined
      } catch {
        return undefined
      }
    },
  }
}

/** Loads the library on first use, for a quick start. */
const library = () => import('jose')

/** Returns an identifier of a key that reveals nothing about it. */
function keyId(key: Uint8Array): string {
  return hash('sha256', Buffer.concat([Buffer.from('turnpike session key id '), key]), 'base64url').slice(0, 16)
}

async function importKey(key: Uint8Array): Promise<webcrypto.CryptoKey> {
  if (key.length < LEAST_KEY_BYTES) throw new Error(`A key for session tokens needs ${LEAST_KEY_BYTES} bytes.`)
  return crypto.subtle.importKey('raw', Uint8Array.from(key), HMAC, false, ['sign', 'verify'])
}

function keyOf(byId: ReadonlyMap<string, webcrypto.CryptoKey>, kid: string | undefined): webcrypto.CryptoKey {
  const key = kid === undefined ? undefined : byId.get(kid)
  if (key === undefined) throw new Error('unknown key')
  return key
}

/** Whether a token has the canonical encoding: no padding, stray bits, white space, repeated or unknown names. */
function isCanonical(token: string): boolean {
  if (token.length > MAX_TOKEN_LENGTH || !CANONICAL_PARTS.test(token)) return false
  const [header = '', payload = '', signature = ''] = token.split('.')
  return isCanonicalPart(signature) && hasExactly(header, HEADER_NAMES) && hasExactly(payload, CLAIM_NAMES)
}

function isCanonicalPart(part: string): boolean {
  return Buffer.from(part, 'base64url').toString('base64url') === part
}

/** @param names Sorted, with commas. */
function hasExactly(part: string, names: string): boolean {
  if (!isCanonicalPart(part)) return false
  const text = Buffer.from(part, 'base64url').toString('utf8')
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value !== 'object' || value === null) return false
    return JSON.stringify(value) === text && Object.keys(value).sort().join() === names
  } catch {
    return false
  }
}

function readClaims({ sub, email, role, sid, iat, exp }: Record<string, unknown>): VerifiedToken | undefined {
  const known = ROLES.find((each) => each === role)
  if (typeof sub !== 'string' || typeof email !== 'string' || typeof sid !== 'string') return undefined
  if (known === undefined || typeof exp !== 'number' || typeof iat !== 'number') return undefined
  return {
    userId: sub as UserId, // signed by this installation, which created the IDs
    sessionId: sid as SessionId,
    email,
    role: known,
    expiresAt: Math.min(exp, iat + TOKEN_LIFE_S) * 1000,
  }
}
