/**
 * The secret that clients send: `tp_`, 40 random base-62 characters, and 6 characters of checksum, which let a mistyped
 * or invented key be refused without asking the database. `docs/keys.md` describes the format for scanners.
 */
import { hash } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { toBase62 } from '../../domain/ids.ts'

export const SECRET_PATTERN = /^tp_[0-9A-Za-z]{46}$/

const RANDOM_LENGTH = 40
const CHECKSUM_LENGTH = 6
const SIGNED_LENGTH = 'tp_'.length + RANDOM_LENGTH

/** @param randomText Unpredictable base-62 text of the length asked for. */
export function mintSecret(randomText: (length: number) => string): string {
  const signed = `tp_${randomText(RANDOM_LENGTH)}`
  return signed + checksum(signed)
}

/** True for text of the right form whose checksum is right; says nothing about whether the key exists. */
export function isWellFormed(secret: string): boolean {
  return SECRET_PATTERN.test(secret) && checksum(secret.slice(0, SIGNED_LENGTH)) === secret.slice(SIGNED_LENGTH)
}

/** What is stored instead of the secret: its SHA-256. */
export function secretHash(secret: string): Uint8Array {
  return hash('sha256', secret, 'buffer')
}

function checksum(signed: string): string {
  return toBase62(crc32(signed), CHECKSUM_LENGTH)
}
