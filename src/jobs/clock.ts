import { type RawBuilder, sql } from 'kysely'

/**
 * Unix milliseconds by the database's clock, the one that all processes share. Leases and due times are compared with it,
 * so that no process's own clock decides who may run what.
 */
export function databaseNow(): RawBuilder<number> {
  return sql<number>`turnpike_now()`
}

/** `databaseNow`, whole milliseconds later. */
export function databaseTimeIn(ms: number): RawBuilder<number> {
  return sql<number>`${databaseNow()} + ${Math.round(ms)}`
}
