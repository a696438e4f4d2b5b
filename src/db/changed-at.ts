import { type RawBuilder, sql } from 'kysely'

/**
 * The next value of a table's `changed_at`: the time, but always above every earlier value. Writers take turns, so
 * whoever has seen all up to a value misses nothing by asking only for greater ones, whatever the clocks did and
 * however long a writer waited for its turn.
 * @param now Unix milliseconds.
 */
export function nextChangedAt(table: 'account' | 'api_key', now: number): RawBuilder<number> {
  return sql<number>`max(${now}, (select coalesce(max(changed_at), 0) + 1 from ${sql.table(table)}))`
}
