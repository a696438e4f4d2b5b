export type CsvField = string | number

/**
 * Renders comma-separated values (RFC 4180): every row ends in CRLF; fields are quoted where necessary. The first row is the
 * header. Numbers have JavaScript's format: pass amounts as text.
 */
export function renderCsv(rows: readonly (readonly CsvField[])[]): string {
  return rows.map((row) => `${row.map(renderField).join(',')}\r\n`).join('')
}

/** Prefixes text that spreadsheets would execute as a formula with an apostrophe. */
export function harmlessText(text: string): string {
  return /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
}

function renderField(field: CsvField): string {
  const text = String(field)
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** The width of common terminals, in characters. */
export const TERMINAL_WIDTH = 100
const GAP = '  '
/** The least width of a column that is cut. */
const LEAST_WIDTH = 8

/**
 * Renders left-aligned columns, two spaces apart, for terminals, without trailing spaces. Ends with a line break.
 * @param width The most characters of a line: the widest columns are cut with `…`, but not the first, whose IDs are copied.
 */
export function textTable(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  width: number = TERMINAL_WIDTH,
): string {
  const lines = [header, ...rows]
  const wanted = header.map((_, column) => lines.reduce((most, line) => Math.max(most, (line[column] ?? '').length), 0))
  const widths = fitted(wanted, width)
  return lines
    .map((line) => line.map((cell, column) => fit(cell, widths[column] ?? 0)).join(GAP))
    .map((line) => `${line.trimEnd()}\n`)
    .join('')
}

function fitted(wanted: readonly number[], width: number): readonly number[] {
  const widths = wanted.map((each, column) => (column === 0 ? each : Math.min(each, width)))
  let excess = widths.reduce((sum, each) => sum + each + GAP.length, -GAP.length) - width
  for (; excess > 0; excess--) {
    const widest = Math.max(...widths.slice(1))
    if (widest <= LEAST_WIDTH) break
    widths[widths.indexOf(widest, 1)] = widest - 1
  }
  return widths
}

function fit(cell: string, width: number): string {
  return cell.length > width ? `${cell.slice(0, width - 1)}…` : cell.padEnd(width)
}
