/**
 * The format of keys and tokens: a prefix for secret scanners, 40 random base-62 characters (238 bits), and a checksum of 6
 * characters, so that mistyped or invented ones are rejected without a query. `docs/keys.md` describes it.
 */
import { hash } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { GatewayError } from '../errors.ts'
import { toBase62 } from '../ids.ts'

const RANDOM_LENGTH = 40
const CHECKSUM_LENGTH = 6

export interface SecretForm {
  readonly pattern: RegExp
  /** @param randomText Unpredictable base-62 text of the requested length. */
  mint(randomText: (length: number) => string): string
  /** Returns whether format and checksum are valid; the secret may never have been issued. */
  isWellFormed(secret: string): boolean
}

/** @param prefix Lower-case letters and underscores. */
export function secretForm(prefix: string): SecretForm {
  const pattern = new RegExp(`^${prefix}[0-9A-Za-z]{${RANDOM_LENGTH + CHECKSUM_LENGTH}}$`)
  const signedLength = prefix.length + RANDOM_LENGTH
  return {
    pattern,
    mint(randomText) {
      const signed = prefix + randomText(RANDOM_LENGTH)
      return signed + checksum(signed)
    },
    isWellFormed: (secret) =>
      pattern.test(secret) && checksum(secret.slice(0, signedLength)) === secret.slice(signedLength),
  }
}

/** The SHA-256 that is stored instead of the secret. */
export function secretHash(secret: string): Uint8Array {
  return hash('sha256', secret, 'buffer')
}

function checksum(signed: string): string {
  return toBase62(crc32(signed), CHECKSUM_LENGTH)
}

export function invalidCredential(): GatewayError {
  return new GatewayError('invalid_credential', 'The credential is not valid: it is wrong, expired or revoked.')
}

export function missingCredential(): GatewayError {
  const message = "Send an API key: 'Authorization: Bearer <key>', or Basic with the key as user name."
  return new GatewayError('missing_credential', message)
}
