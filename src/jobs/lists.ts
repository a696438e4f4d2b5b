/**
 * Lists as one parameter, in JSON: the SQL is the same whatever their length, so that it is prepared once and the plan of
 * a claim does not grow with it.
 */
import { type Expression, type Kysely, type RawBuilder, sql } from 'kysely'
import { dialectOf } from '../db/dialect.ts'
import type { Database } from '../db/schema.ts'

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
