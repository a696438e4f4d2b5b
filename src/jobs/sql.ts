/**
 * SQL that all jobs share: the database's clock, which decides due times and leases, and lists as one JSON parameter, so that
 * a statement is the same for any length and is prepared once.
 */
import { type Expression, type Kysely, type RawBuilder, sql } from 'kysely'
import { dialectOf } from '../db/database.ts'
import type { Database } from '../db/schema/schema.ts'

/**
 * Unix milliseconds by the database's clock, the one that all processes share. Leases and due times are compared with it,
 * so that no process depends on its own clock.
 */
export function databaseNow(): RawBuilder<number> {
  return sql<number>`turnpike_now()`
}

/** `databaseNow`, whole milliseconds later. */
export function databaseTimeIn(ms: number): RawBuilder<number> {
  return sql<number>`${databaseNow()} + ${Math.round(ms)}`
}

type Item = string | number | null

/** Rows with a column `value` each, a JSON list: `value ->> 0` is its first item as text. */
export function listRows(db: Kysely<Database>, rows: readonly (readonly Item[])[]): RawBuilder<unknown> {
  const json = JSON.stringify(rows)
  return dialectOf(db) === 'postgres' ? sql`json_array_elements(cast(${json} as json))` : sql`json_each(${json})`
}

/** Items of those rows that are whole numbers. */
export function numberAt(place: number): RawBuilder<number> {
  return sql<number>`cast(value ->> ${sql.raw(String(place))} as bigint)`
}

export function textAt(place: number): RawBuilder<string> {
  return sql<string>`value ->> ${sql.raw(String(place))}`
}

/**
 * The job's id is one of those that a query in parentheses finds. PostgreSQL reads the list first, then the rows by their key, whatever it believes to know
 * of a table that grows and shrinks faster than it is looked at.
 */
export function hasIdIn(db: Kysely<Database>, ids: Expression<unknown>): RawBuilder<boolean> {
  return dialectOf(db) === 'postgres' ? sql<boolean>`id = any(array${ids})` : sql<boolean>`id in ${ids}`
}

/** The same of a list of ids. */
export function isListed(db: Kysely<Database>, jobs: readonly { readonly id: string }[]): RawBuilder<boolean> {
  const rows = jobs.map(({ id }) => [id])
  return hasIdIn(db, sql`(select ${textAt(0)} from ${listRows(db, rows)})`)
}

/** PostgreSQL's JSON carries neither U+0000 nor half a surrogate pair. */
export function carriable(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\uFFFD')
}
