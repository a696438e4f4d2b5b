import { type RawBuilder, sql } from 'kysely'

/**
 * The next value of a table's `changed_at`: the time, but always above every earlier value. Writers take turns, so
 * whoever has seen all up to a value misses nothing by asking only for greater ones, whatever the clocks did and
 * however long a writer waited for its turn. On PostgreSQL writers do not take turns by themselves: there a trigger makes
 * them, and has the last word on the value.
 * @param now Unix milliseconds.
 */
export function nextChangedAt(
  table: 'account' | 'api_key' | 'person' | 'member' | 'session' | 'device',
  now: number,
): RawBuilder<number> {
  const time = sql`cast(${now} as bigint)`
  return sql<number>`(select case when coalesce(max(changed_at), 0) < ${time} then ${time} else max(changed_at) + 1 end
    from ${sql.table(table)})`
}
