/** Reads the values of flags. What is not allowed is wrong usage: exit 2. */
import { InvalidArgumentError } from 'commander'
import { type NanoUsd, parseNanoUsd } from '../domain/money.ts'
import { MAX_ENTRY_USD, MAX_NOTE_LENGTH } from '../features/credit/entry-limits.ts'
import { parseIsoTime } from '../lib/iso-time.ts'

/** `a,b` → `['a', 'b']`; spaces around the parts do not matter. */
export function parseList(text: string): string[] {
  const parts = text.split(',').map((part) => part.trim())
  if (parts.includes('')) throw new InvalidArgumentError('Allowed: names with commas between them.')
  return parts
}

export function parsePort(text: string): number {
  const port = parseWholeNumber(text)
  if (port > 65_535) throw new InvalidArgumentError('Allowed: 0 to 65535.')
  return port
}

/** @returns A whole number, 0 or more. */
export function parseWholeNumber(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError('Allowed: a whole number.')
  return Number(text)
}

/** @returns Dollars, 0 or more, as written with at most 6 decimals. */
export function parseUsd(text: string): number {
  if (!/^\d{1,9}(\.\d{1,6})?$/.test(text)) {
    throw new InvalidArgumentError('Allowed: dollars with at most 6 decimals, such as 12.50.')
  }
  return Number(text)
}

const MAX_AMOUNT = BigInt(MAX_ENTRY_USD) * 1_000_000_000n

/** @returns Dollars as written, above zero, with at most 9 decimals. */
export function parseAmount(text: string): NanoUsd {
  const amount = parseNanoUsd(text)
  if (amount !== undefined && amount > 0n && amount <= MAX_AMOUNT) return amount
  throw new InvalidArgumentError(
    `Allowed: dollars above 0, up to ${MAX_ENTRY_USD}, with at most 9 decimals, such as 12.50.`,
  )
}

/** @returns Null: as the plan says. */
export function parseOverrun(text: string): NanoUsd | null {
  if (text === 'default') return null
  const amount = parseNanoUsd(text)
  if (amount !== undefined && amount <= MAX_AMOUNT) return amount
  throw new InvalidArgumentError(
    `Allowed: dollars from 0 to ${MAX_ENTRY_USD}, with at most 9 decimals, such as 0.05; or default.`,
  )
}

/** @returns Unix milliseconds. */
export function parseTime(text: string): number {
  const time = parseIsoTime(text)
  if (time !== undefined && time >= 0) return time
  throw new InvalidArgumentError(
    'Allowed: an ISO 8601 date or time in UTC, such as 2026-01-31 or 2026-01-31T12:00:00Z.',
  )
}

/** An idempotency key, as the header of the same name takes it. */
export function parseKey(text: string): string {
  if (/^[\x20-\x7e]{1,255}$/.test(text)) return text
  throw new InvalidArgumentError('Allowed: 1 to 255 printable ASCII characters.')
}

export function parseNote(text: string): string {
  if (text.length > MAX_NOTE_LENGTH) throw new InvalidArgumentError(`Allowed: at most ${MAX_NOTE_LENGTH} characters.`)
  return text
}

export function parseReason(text: string): string {
  if (text.trim() === '') throw new InvalidArgumentError('Allowed: a note that is not empty.')
  return parseNote(text)
}

export function parseName(text: string): string {
  if (text.trim() === '') throw new InvalidArgumentError('Allowed: a name that is not empty.')
  return text
}

/** Checks a duration such as `30d`; the text stays as it is. */
export function parseDurationText(text: string): string {
  if (!/^[1-9]\d{0,8}[smhd]$/.test(text)) {
    throw new InvalidArgumentError('Allowed: a number and a unit (s, m, h, d), such as 30d.')
  }
  return text
}
