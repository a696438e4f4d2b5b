/** What any process changes about keys and accounts. */
import type { Kysely } from 'kysely'
import { type ChangeFollower, createFollower } from '../../db/follower.ts'
import type { Database } from '../../db/schema.ts'
import type { AccountId, KeyId } from '../../domain/ids.ts'

export interface Changes {
  readonly keys: ReadonlySet<KeyId>
  /** Those of `keys` that are revoked now. */
  readonly revokedKeys: ReadonlySet<KeyId>
  readonly accounts: ReadonlySet<AccountId>
}

interface Cursor {
  readonly key: number
  readonly account: number
}

/** @param apply Called, without awaiting, with every set of changes that is not empty. */
export function followChanges(db: Kysely<Database>, apply: (changes: Changes) => void): ChangeFollower {
  return createFollower<Cursor>({
    latest: () => latestChanges(db),
    async applySince(from) {
      const { changes, cursor } = await changesSince(db, from)
      if (changes.keys.size + changes.accounts.size > 0) apply(changes)
      return cursor
    },
  })
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
