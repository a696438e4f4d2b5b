/**
 * Secrets that must be read again are kept sealed (AES-256-GCM): 12 bytes of nonce, the ciphertext, 16 bytes of tag. What a
 * sealed value is for is part of the seal, so that it opens nowhere else.
 */
import { createCipheriv, createDecipheriv, hash, randomBytes } from 'node:crypto'

const ALGORITHM = 'aes-256-gcm'
const NONCE_BYTES = 12
const TAG_BYTES = 16

/**
 * @param key 32 bytes.
 * @param place What and whose it is; the same text opens it.
 */
export function seal(text: string, key: Uint8Array, place: string): Uint8Array {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv(ALGORITHM, key, nonce).setAAD(Buffer.from(place))
  return Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()])
}

/** Undefined when it was sealed with another key or for another place, or was changed since. */
export function unseal(sealed: Uint8Array, key: Uint8Array, place: string): string | undefined {
  if (sealed.length < NONCE_BYTES + TAG_BYTES) return undefined
  const end = sealed.length - TAG_BYTES
  const decipher = createDecipheriv(ALGORITHM, key, sealed.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES })
  decipher.setAAD(Buffer.from(place)).setAuthTag(sealed.subarray(end))
  try {
    return decipher.update(sealed.subarray(NONCE_BYTES, end), undefined, 'utf8') + decipher.final('utf8')
  } catch {
    return undefined
  }
}

/** Keys of one purpose, 32 bytes each. */
export interface SealerKeys {
  readonly current: Uint8Array
  /** While the installation's secret is being changed. */
  readonly previous?: Uint8Array | undefined
}

/** Names a key, which cannot be computed from it. */
export function keyName(key: Uint8Array): string {
  return hash('sha256', key).slice(0, 16)
}

/** Seals secrets, each for one place. */
export interface Sealer {
  seal(secret: string, place: string): Uint8Array
  /** Undefined when it was sealed with a key that is no longer there, or for another place. */
  open(sealed: Uint8Array, place: string): string | undefined
  /** What only the key before has sealed, with the one in use; undefined for everything else. */
  renew(sealed: Uint8Array, place: string): Uint8Array | undefined
}

export function createSealer({ current, previous }: SealerKeys): Sealer {
  return {
    seal: (secret, place) => seal(secret, current, place),
    open(sealed, place) {
      const secret = unseal(sealed, current, place)
      if (secret !== undefined || previous === undefined) return secret
      return unseal(sealed, previous, place)
    },
    renew(sealed, place) {
      if (previous === undefined || unseal(sealed, current, place) !== undefined) return undefined
      const secret = unseal(sealed, previous, place)
      return secret === undefined ? undefined : seal(secret, current, place)
    },
  }
}
