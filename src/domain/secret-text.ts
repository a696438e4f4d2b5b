/**
 * The form of keys and tokens: a prefix that scanners find, 40 random base-62 characters (238 bits), and 6 characters of
 * checksum, which let a mistyped or invented one be refused without asking the database. `docs/keys.md` describes it.
 */
import { hash } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { toBase62 } from './ids.ts'

const RANDOM_LENGTH = 40
const CHECKSUM_LENGTH = 6

export interface SecretForm {
  readonly pattern: RegExp
  /** @param randomText Unpredictable base-62 text of the length asked for. */
  mint(randomText: (length: number) => string): string
  /** True for text of the right form whose checksum is right; says nothing about whether it was ever given out. */
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

/** What is stored instead of the secret: its SHA-256. */
export function secretHash(secret: string): Uint8Array {
  return hash('sha256', secret, 'buffer')
}

function checksum(signed: string): string {
  return toBase62(crc32(signed), CHECKSUM_LENGTH)
}
