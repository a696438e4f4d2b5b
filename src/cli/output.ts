/** Prints responses of servers for people and scripts, without terminal control sequences. */
import { isRecord, type Json, textOf } from '../lib/json.ts'
import { textTable } from '../lib/table.ts'

export interface JsonOption {
  readonly json?: boolean
}

export function recordOf(answer: unknown): Json {
  return isRecord(answer) ? answer : {}
}

export function itemsOf(page: unknown): readonly Json[] {
  const { data } = recordOf(page)
  return Array.isArray(data) ? data.filter(isRecord) : []
}

/** On standard output, before anything ends this process. */
export function print(text: string): Promise<void> {
  return new Promise((resolve) => void process.stdout.write(text, () => resolve()))
}

/** Writes a line to standard output. */
export function printLine(line: string): void {
  process.stdout.write(`${line}\n`)
}

/** A line for people, on standard error. */
export function note(text: string): void {
  process.stderr.write(`${plainLine(text)}\n`)
}

/** `2026-11-20 16:29`, in UTC as servers have it; `-` for none. */
export function timeText(value: unknown): string {
  return textOf(value).slice(0, 16).replace('T', ' ') || '-'
}

export function plainTable(header: readonly string[], rows: readonly (readonly string[])[]): string {
  return textTable(
    header,
    rows.map((row) => row.map(plainLine)),
  )
}

/*
 * Text of others for a terminal: what a model, a server or a person wrote must not steer it. Whatever could begin an escape
 * sequence, overwrite what is there, or turn the direction of reading around is left out.
 */

const BREAKS = /\r\n?/g
/** C0 but tab and line feed, DEL, C1; marks, embeddings, overrides and isolates of direction. */
const STEERING = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g

/** Keeps tabs and line breaks. Right for any piece of a text, wherever it was cut. */
export function plainText(text: string): string {
  return text.replace(BREAKS, '\n').replace(STEERING, '')
}

/** On one line, for tables and messages. */
export function plainLine(text: string): string {
  return plainText(text).replace(/\s+/g, ' ').trim()
}

/** JSON on one line, with every character escaped that a terminal could take for a command. */
export function jsonLine(value: unknown): string {
  const escaped = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
  return `${JSON.stringify(value).replace(STEERING, escaped)}\n`
}

/** `$0.0000125`, `$12.50`: at least 2 decimals, at most 9, never an exponent. */
export function dollars(usd: number): string {
  const text = Math.abs(usd)
    .toFixed(9)
    .replace(/0{1,7}$/, '')
  return `${usd < 0 ? '-' : ''}$${text}`
}
