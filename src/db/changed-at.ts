/**
 * Change tracking by the `changed_at` of rows: each value is above all earlier ones of its table, so a reader that has seen
 * all up to a value misses nothing by querying only for greater ones.
 */
import { type RawBuilder, sql } from 'kysely'

/**
 * The next value of a table's `changed_at`: the time, but above every earlier value, whatever the clocks did. SQLite has one
 * writer. On PostgreSQL a trigger serializes the writers and replaces the value.
 * @param now Unix milliseconds.
 */
export function nextChangedAt(
  table: 'account' | 'api_key' | 'person' | 'member' | 'session' | 'device' | 'team' | 'stored_setting',
  now: number,
): RawBuilder<number> {
  const time = sql`cast(${now} as bigint)`
  return sql<number>`(select case when coalesce(max(changed_at), 0) < ${time} then ${time} else max(changed_at) + 1 end
    from ${sql.table(table)})`
}

const RETRY_MS = 250

export interface ChangeFollower {
  /** Resolves when changes are tracked from here on; earlier reads may be stale. Rejects when the database does. */
  ready(): Promise<void>
  /** Resolves when everything committed before the call was applied. Never rejects: a failed poll is retried. */
  refresh(): Promise<void>
  close(): void
}

/** @template Cursor The latest `changed_at` seen of each table. */
export interface ChangeSource<Cursor> {
  /** The current cursor, where tracking begins. */
  latest(): Promise<Cursor>
  /** Applies what changed since, without awaiting in between. @returns the cursor of what it applied. */
  applySince(cursor: Cursor): Promise<Cursor>
}

export function createChangeFollower<Cursor>({ latest, applySince }: ChangeSource<Cursor>): ChangeFollower {
  let cursor: Cursor | undefined
  let starting: Promise<Cursor> | undefined
  let running: Promise<void> | undefined
  let next: Promise<void> | undefined
  let retry: NodeJS.Timeout | undefined

  const start = async (): Promise<Cursor> => {
    starting ??= latest().finally(() => {
      starting = undefined
    })
    cursor ??= await starting
    return cursor
  }
  const poll = async () => {
    try {
      cursor = await applySince(cursor ?? (await start()))
    } catch {
      clearTimeout(retry)
      retry = setTimeout(refresh, RETRY_MS).unref()
    }
  }
  const refresh = (): Promise<void> => {
    if (running !== undefined) {
      next ??= running.then(() => {
        next = undefined
        return refresh()
      })
      return next
    }
    running = poll().finally(() => {
      running = undefined
    })
    return running
  }
  return {
    ready: async () => void (cursor ?? (await start())),
    refresh,
    close: () => clearTimeout(retry),
  }
}
