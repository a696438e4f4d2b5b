/** What any process changes about sessions, and about the people and accounts that they are of. */
import { type Kysely, sql } from 'kysely'
import { type ChangeFollower, createFollower } from '../../db/follower.ts'
import { readRows } from '../../db/read-rows.ts'
import type { Database } from '../../db/schema.ts'

const TABLES = ['session', 'member', 'person', 'account'] as const
type Table = (typeof TABLES)[number]
type Cursor = Readonly<Record<Table, number>>

export interface Change {
  readonly kind: Table
  /** The session, the account of a member, the person, the account. */
  readonly id: string
  /** Whom it concerns; null: everybody of the account. */
  readonly userId: string | null
  /** The session has ended, the member is removed, the person is disabled. */
  readonly isOver: boolean
}

/** @param apply Called, without awaiting, with changes, of which there is at least one. */
export function followChanges(db: Kysely<Database>, apply: (changes: readonly Change[]) => void): ChangeFollower {
  return createFollower<Cursor>({
    latest: () => latestChanges(db),
    async applySince(cursor) {
      const rows = await changesSince(db, cursor)
      if (rows.length > 0)
        apply(rows.map(({ kind, id, userId, overAt }) => ({ kind, id, userId, isOver: overAt !== null })))
      const next = { ...cursor }
      for (const { kind, changedAt } of rows) next[kind] = Math.max(next[kind], changedAt)
      return next
    },
  })
}

async function latestChanges(db: Kysely<Database>): Promise<Cursor> {
  const columns = TABLES.map(
    (table) => sql`(select coalesce(max(changed_at), 0) from ${sql.table(table)}) as ${sql.ref(table)}`,
  )
  const rows = await readRows(db, sql<Cursor>`select ${sql.join(columns)}`)
  return rows[0] ?? { session: 0, member: 0, person: 0, account: 0 }
}

interface ChangedRow extends Omit<Change, 'isOver'> {
  readonly overAt: number | null
  readonly changedAt: number
}

/** One question: it is asked whenever anything is written. */
async function changesSince(db: Kysely<Database>, cursor: Cursor): Promise<readonly ChangedRow[]> {
  return readRows(
    db,
    sql<ChangedRow>`
    select 'session' as "kind", id as "id", user_id as "userId", ended_at as "overAt", changed_at as "changedAt"
    from session where changed_at > ${cursor.session}
    union all select 'member', account_id, user_id, removed_at, changed_at from member where changed_at > ${cursor.member}
    union all select 'person', id, id, disabled_at, changed_at from person where changed_at > ${cursor.person}
    union all select 'account', id, null, null, changed_at from account where changed_at > ${cursor.account}`,
  )
}
