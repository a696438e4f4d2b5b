/**
 * Follows what any process changes in some tables, by the `changed_at` of their rows: each value that was ever given out is
 * above all earlier ones, so asking for greater ones misses nothing.
 */

const RETRY_MS = 250

export interface ChangeFollower {
  /** Resolves when changes are followed from here on; what was read earlier might be missed. Rejects with the database. */
  ready(): Promise<void>
  /** Resolves when everything committed before the call was applied. Never rejects: a failed look is repeated soon. */
  refresh(): Promise<void>
  close(): void
}

/** @template Cursor The latest `changed_at` that was seen of each table. */
export interface Followed<Cursor> {
  /** Where to begin: the latest changes that there are. */
  latest(): Promise<Cursor>
  /** Acts on what changed since, without awaiting in between. @returns the latest that it acted on. */
  applySince(cursor: Cursor): Promise<Cursor>
}

export function createFollower<Cursor>({ latest, applySince }: Followed<Cursor>): ChangeFollower {
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
  const look = async () => {
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
    running = look().finally(() => {
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
