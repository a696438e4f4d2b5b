/**
 * Follows what any process changes about keys and accounts, by the `changed_at` of their rows: each value that was ever
 * given out is above all earlier ones, so asking for greater ones misses nothing.
 */
import type { Kysely } from 'kysely'
import type { Database } from '../../db/schema.ts'
import type { AccountId, KeyId } from '../../domain/ids.ts'

const RETRY_MS = 250

export interface Changes {
  readonly keys: ReadonlySet<KeyId>
  /** Those of `keys` that are revoked now. */
  readonly revokedKeys: ReadonlySet<KeyId>
  readonly accounts: ReadonlySet<AccountId>
}

export interface ChangeFollower {
  /** Resolves when changes are followed from here on; what was read earlier might be missed. Rejects with the database. */
  ready(): Promise<void>
  /** Resolves when everything committed before the call was applied. Never rejects: a failed look is repeated soon. */
  refresh(): Promise<void>
  close(): void
}

interface Cursor {
  readonly key: number
  readonly account: number
}

/** @param apply Called, without awaiting, with every set of changes that is not empty. */
export function followChanges(db: Kysely<Database>, apply: (changes: Changes) => void): ChangeFollower {
  let cursor: Cursor | undefined
  let starting: Promise<Cursor> | undefined
  let running: Promise<void> | undefined
  let next: Promise<void> | undefined
  let retry: NodeJS.Timeout | undefined

  const start = async (): Promise<Cursor> => {
    starting ??= latestChanges(db).finally(() => {
      starting = undefined
    })
    cursor ??= await starting
    return cursor
  }
  const look = async () => {
    try {
      const from = cursor ?? (await start())
      const { changes, cursor: to } = await changesSince(db, from)
      cursor = to
      if (changes.keys.size + changes.accounts.size > 0) apply(changes)
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

async function latestChanges(db: Kysely<Database>): Promise<Cursor> {
  const row = await db
    .selectNoFrom((select) => [
      select
        .selectFrom('api_key')
        .select(({ fn }) => fn.max('changed_at').as('latest'))
        .as('key'),
      select
        .selectFrom('account')
        .select(({ fn }) => fn.max('changed_at').as('latest'))
        .as('account'),
    ])
    .executeTakeFirstOrThrow()
  return { key: row.key ?? 0, account: row.account ?? 0 }
}

async function changesSince(db: Kysely<Database>, from: Cursor): Promise<{ changes: Changes; cursor: Cursor }> {
  const [keyRows, accountRows] = await Promise.all([
    db.selectFrom('api_key').select(['id', 'changed_at', 'revoked_at']).where('changed_at', '>', from.key).execute(),
    db.selectFrom('account').select(['id', 'changed_at']).where('changed_at', '>', from.account).execute(),
  ])
  return {
    changes: {
      keys: new Set(keyRows.map(({ id }) => id)),
      revokedKeys: new Set(keyRows.filter(({ revoked_at }) => revoked_at !== null).map(({ id }) => id)),
      accounts: new Set(accountRows.map(({ id }) => id)),
    },
    cursor: { key: latestOf(keyRows, from.key), account: latestOf(accountRows, from.account) },
  }
}

function latestOf(rows: readonly { readonly changed_at: number }[], least: number): number {
  return rows.reduce((latest, { changed_at }) => Math.max(latest, changed_at), least)
}
