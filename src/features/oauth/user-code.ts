/** The code that a person types: 8 of 20 letters, none of them a vowel, so that no word comes of it (RFC 8628, 6.1). */

export const ALPHABET = 'BCDFGHJKLMNPQRSTVWXZ'
export const LENGTH = 8
const HALF = LENGTH / 2

/** @param randomBelow An unpredictable whole number from 0, less than `limit`. */
export function mintUserCode(randomBelow: (limit: number) => number): string {
  return Array.from({ length: LENGTH }, () => ALPHABET[randomBelow(ALPHABET.length)]).join('')
}

/** `XXXX-XXXX`. */
export function showUserCode(code: string): string {
  return `${code.slice(0, HALF)}-${code.slice(HALF)}`
}

/** What was meant by what was typed: case, spaces, dashes and other marks do not matter. Undefined: no code at all. */
export function readUserCode(typed: string): string | undefined {
  const letters = typed
    .slice(0, 64)
    .normalize('NFKC')
    .toUpperCase()
    .replaceAll(/[^\p{Letter}\p{Number}]/gu, '')
  return letters.length === LENGTH && [...letters].every((letter) => ALPHABET.includes(letter)) ? letters : undefined
}
