/** Prints responses of servers for people and scripts, without terminal control sequences. */
import { isRecord, type Json, textOf } from '../lib/json.ts'
import { textTable } from '../lib/table.ts'
import { asTyped } from './invocation.ts'

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

/** Resolves when the text is written, so that the process can end. */
export function print(text: string): Promise<void> {
  return new Promise((resolve) => void process.stdout.write(text, () => resolve()))
}

/** Writes a line to standard output. */
export function printLine(line: string): void {
  process.stdout.write(`${line}\n`)
}

/** Writes the result of a command: one line of JSON with `--json`, else the text. */
export function printResult({ json }: JsonOption, view: object, text: string): void {
  if (json === true) process.stdout.write(jsonLine(view))
  else printLine(text)
}

/** Writes a list as one line of JSON, in the envelope of the API's pages. */
export function printPage(data: readonly object[]): void {
  process.stdout.write(jsonLine({ data, has_more: false, next_cursor: null }))
}

/** Writes a line about long work to standard error, on a terminal only. */
export function progress(text: string): void {
  if (process.stderr.isTTY) note(text)
}

const SHOWN_EVERY_MS = 5_000

/** Like `progress`, for what changes all the time: writes a line every 5 seconds. */
export function steadyProgress(now: () => number = () => performance.now()): (text: () => string) => void {
  let shownAt = now()
  return (text) => {
    if (now() - shownAt < SHOWN_EVERY_MS) return
    shownAt = now()
    progress(text())
  }
}

/** Writes a line for people to standard error. */
export function note(text: string): void {
  process.stderr.write(`${asTyped(plainLine(text))}\n`)
}

/** Renders an ISO 8601 time as `2026-11-20 16:29`, UTC; `-` if there is none. */
export function timeText(value: unknown): string {
  return textOf(value).slice(0, 16).replace('T', ' ') || '-'
}

export function plainTable(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  render: typeof textTable = textTable,
): string {
  return render(
    header,
    rows.map((row) => row.map(plainLine)),
  )
}

/*
 * Untrusted text for a terminal: removes everything that could start an escape sequence, overwrite output, or change the
 * reading direction.
 */

const BREAKS = /\r\n?/g
/** C0 except tab and line feed, DEL, C1; marks, embeddings, overrides and isolates of direction. */
const CONTROLS = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g

/** Keeps tabs and line breaks. Works on any piece of a text. */
export function plainText(text: string): string {
  return text.replace(BREAKS, '\n').replace(CONTROLS, '')
}

/** Returns the text on one line, for tables and messages. */
export function plainLine(text: string): string {
  return plainText(text).replace(/\s+/g, ' ').trim()
}

/** Renders JSON on one line and escapes control characters of terminals. */
export function jsonLine(value: unknown): string {
  const escaped = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
  return `${JSON.stringify(value).replace(CONTROLS, escaped)}\n`
}

/** `1234567` → `1,234,567`; without the tables of languages, which take 5 MiB. */
export function grouped(digits: string | number | bigint): string {
  const [whole = '', fraction] = String(digits).split('.')
  return whole.replace(/\B(?=(\d{3})+$)/g, ',') + (fraction === undefined ? '' : `.${fraction}`)
}

/** Renders `$0.0000125` or `$1,212.50`: 2 to 9 decimals, without exponent. */
export function dollars(usd: number): string {
  const text = Math.abs(usd)
    .toFixed(9)
    .replace(/0{1,7}$/, '')
  return `${usd < 0 ? '-' : ''}$${grouped(text)}`
}
