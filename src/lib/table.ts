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

/** Renders left-aligned columns, two spaces apart, for terminals, without trailing spaces. Ends with a line break. */
export function textTable(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [header, ...rows]
  const widths = header.map((_, column) => Math.max(...lines.map((line) => (line[column] ?? '').length)))
  return lines
    .map((line) => line.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  '))
    .map((line) => `${line.trimEnd()}\n`)
    .join('')
}
