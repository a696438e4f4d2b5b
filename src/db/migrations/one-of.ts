/**
 * The condition that a column has one of some texts. SQL's `in` says the same, but from three texts on SQLite builds a
 * table of them for every single row that is written: that is more work than the rest of the row.
 */
export function oneOf(column: string, texts: readonly string[]): string {
  return texts.map((text) => `${column} = '${text}'`).join(' or ')
}
