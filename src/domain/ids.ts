/**
 * Identifiers: a prefix and 22 base-62 characters that sort by time (8 of milliseconds, 14 random, 83 bits).
 * Ids are born here and nowhere else.
 */

export type AccountId = string & { readonly __id: 'acc_' }
export type KeyId = string & { readonly __id: 'key_' }
export type CompletionId = string & { readonly __id: 'chatcmpl-' }
export type RequestId = string & { readonly __id: 'req_' }

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const TIME_LENGTH = 8
const RANDOM_LENGTH = 14

export interface IdSource {
  account(): AccountId
  key(): KeyId
  completion(): CompletionId
  request(): RequestId
}

/**
 * @param now Unix milliseconds.
 * @param randomBytes Fills and returns `size` unpredictable bytes.
 */
export function createIdSource(now: () => number, randomBytes: (size: number) => Uint8Array): IdSource {
  const body = createBody(now, base62Source(randomBytes))
  return {
    account: () => `acc_${body()}` as AccountId,
    key: () => `key_${body()}` as KeyId,
    completion: () => `chatcmpl-${body()}` as CompletionId,
    request: () => `req_${body()}` as RequestId,
  }
}

/** The least completion id of a millisecond: ids from `completionIdFloor(a)` up to that of `b` were born in [a, b). */
export function completionIdFloor(ms: number): CompletionId {
  return `chatcmpl-${toBase62(Math.max(0, ms), TIME_LENGTH)}` as CompletionId
}

/**
 * Unbiased base-62 text: bytes of 248 and more are thrown away. Draws randomness in blocks, and makes each text in one
 * piece: one that is put together from characters is a tree of strings, and ids are made and kept with every request.
 */
export function base62Source(randomBytes: (size: number) => Uint8Array): (length: number) => string {
  let block = new Uint8Array(0)
  let at = 0
  return (length) => {
    const text = Buffer.allocUnsafe(length)
    for (let filled = 0; filled < length; ) {
      if (at === block.length) {
        block = Uint8Array.from(randomBytes(1024))
        at = 0
      }
      const byte = block[at++] ?? 255
      if (byte < 248) text[filled++] = ALPHABET.charCodeAt(byte % 62)
    }
    return text.toString('latin1')
  }
}

/** Base 62 of a non-negative safe integer, padded on the left with `0`. */
export function toBase62(value: number, length: number): string {
  let text = ''
  for (let rest = value; text.length < length; rest = Math.floor(rest / 62)) text = ALPHABET[rest % 62] + text
  return text
}

function createBody(now: () => number, random: (length: number) => string): () => string {
  let lastMs = -1
  let lastText = ''
  return () => {
    const ms = now()
    if (ms !== lastMs) {
      lastMs = ms
      lastText = toBase62(ms, TIME_LENGTH)
    }
    return lastText + random(RANDOM_LENGTH)
  }
}
