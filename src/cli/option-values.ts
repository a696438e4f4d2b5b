/** Reads the values of flags. What is not allowed is wrong usage: exit 2. */
import { InvalidArgumentError } from 'commander'

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
