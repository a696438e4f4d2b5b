export type CsvField = string | number

/**
 * Comma-separated values (RFC 4180): every row, the last one too, ends in CRLF; a field is quoted only where it must
 * be. The first row is the header. Numbers are written as JavaScript does: amounts are better given as text.
 */
export function renderCsv(rows: readonly (readonly CsvField[])[]): string {
  return rows.map((row) => `${row.map(renderField).join(',')}\r\n`).join('')
}

/** Spreadsheets run what looks like a formula; in front of such text they want an apostrophe. */
export function harmlessText(text: string): string {
  return /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
}

function renderField(field: CsvField): string {
  const text = String(field)
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** Left-aligned columns, two spaces apart, for terminals; no spaces at the ends of lines. Ends with a line break. */
export function textTable(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [header, ...rows]
  const widths = header.map((_, column) => Math.max(...lines.map((line) => (line[column] ?? '').length)))
  return lines
    .map((line) => line.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  '))
    .map((line) => `${line.trimEnd()}\n`)
    .join('')
}
