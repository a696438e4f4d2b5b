/**
 * One step of a migration. Text is for both dialects, in SQLite's words, which `inPostgresWords` puts into PostgreSQL's;
 * what has no counterpart is written out for each.
 */
export type MigrationStatement = string | { readonly sqlite?: string; readonly postgres?: string }

/** `text` of our tables is compared by its bytes, as in SQLite: ids sort by time, in every locale. */
const TYPES: Readonly<Record<string, string>> = { text: 'text collate "C"', integer: 'bigint', blob: 'bytea' }

/** Columns stand on lines of their own, or after `add column`. */
const COLUMN_TYPE = /(^\s+\w+ |\badd column \w+ )(text|integer|blob)\b/gm

/** @returns Undefined: nothing is to be done there. */
export function inPostgresWords(statement: MigrationStatement): string | undefined {
  if (typeof statement !== 'string') return statement.postgres
  if (!/^(?:create|alter) table\b/.test(statement)) return statement
  return statement
    .replace(COLUMN_TYPE, (_, before: string, type: string) => `${before}${TYPES[type]}`)
    .replace(/\bjson_type\((\w+)\)/g, 'json_typeof($1::json)')
    .replace(/\bjson_valid\((\w+)\)/g, '($1::json is not null)')
    .replace(/\) strict, without rowid$/, ')')
}

export function inSqliteWords(statement: MigrationStatement): string | undefined {
  return typeof statement === 'string' ? statement : statement.sqlite
}
