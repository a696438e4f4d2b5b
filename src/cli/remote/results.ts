/** What servers answer, for people and for scripts. Nothing of it steers a terminal. */
import { isRecord, type Json, textOf } from '../../lib/json.ts'
import { textTable } from '../../lib/text-table.ts'
import { plainLine } from './plain-text.ts'

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
