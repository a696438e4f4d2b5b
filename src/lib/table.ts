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
  return aligned(lines, fitted(widestOf(lines), width, 1))
}

/**
 * Renders columns as `textTable` does, but cuts nothing: what is wider than its column continues on the next line, broken
 * at a space where there is one.
 */
export function wrappedTable(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  width: number = TERMINAL_WIDTH,
): string {
  const lines = [header, ...rows]
  const widths = fitted(widestOf(lines), width, 0)
  const shown = lines.flatMap((line) => {
    const cells = widths.map((most, column) => wrapped(line[column] ?? '', most))
    const height = Math.max(...cells.map(({ length }) => length))
    return Array.from({ length: height }, (_, at) => cells.map((parts) => parts[at] ?? ''))
  })
  return aligned(shown, widths)
}

function aligned(lines: readonly (readonly string[])[], widths: readonly number[]): string {
  return lines
    .map((line) => line.map((cell, column) => fit(cell, widths[column] ?? 0)).join(GAP))
    .map((line) => `${line.trimEnd()}\n`)
    .join('')
}

function wrapped(text: string, width: number): readonly string[] {
  const parts: string[] = []
  let rest = text
  while (rest.length > width) {
    const space = rest.lastIndexOf(' ', width)
    const end = space > 0 ? space : width
    parts.push(rest.slice(0, end).trimEnd())
    rest = rest.slice(end).trimStart()
  }
  return [...parts, rest]
}

function widestOf(lines: readonly (readonly string[])[]): readonly number[] {
  const columns = Math.max(...lines.map(({ length }) => length))
  return Array.from({ length: columns }, (_, column) =>
    lines.reduce((most, line) => Math.max(most, (line[column] ?? '').length), 0),
  )
}

/** @param from The first column that may become narrower. */
function fitted(wanted: readonly number[], width: number, from: number): readonly number[] {
  const widths = wanted.map((each, column) => (column < from ? each : Math.min(each, width)))
  let excess = widths.reduce((sum, each) => sum + each + GAP.length, -GAP.length) - width
  for (; excess > 0; excess--) {
    const widest = Math.max(...widths.slice(from))
    if (widest <= LEAST_WIDTH) break
    widths[widths.indexOf(widest, from)] = widest - 1
  }
  return widths
}

function fit(cell: string, width: number): string {
  return cell.length > width ? `${cell.slice(0, width - 1)}…` : cell.padEnd(width)
}
