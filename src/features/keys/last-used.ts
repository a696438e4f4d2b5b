/** When keys were last used: gathered in memory, written in batches, because nobody waits for it. */
import type { Kysely } from 'kysely'
import type { BatchStatement } from '../../db/open.ts'
import type { Database } from '../../db/schema.ts'
import type { KnownKey } from './known-key.ts'

const WRITE_INTERVAL_MS = 10_000
const BATCH_SIZE = 1_000
/** Keys whose use is waiting to be written; uses of others are then not noted until the next write. */
export const MAX_UNWRITTEN_USES = 100_000

export interface LastUsed {
  note(key: KnownKey, now: number): void
  /** Rejects when the database does; what was not written stays for the next time. */
  write(): Promise<void>
  /** Writes what is left. */
  close(): Promise<void>
}

export function createLastUsed(
  db: Kysely<Database>,
  batch: (statements: readonly BatchStatement[]) => Promise<void>,
): LastUsed {
  const { sql } = updateOf(db)
  const unwritten: KnownKey[] = []
  const note = (key: KnownKey, now: number) => {
    const isNew = key.unwrittenUseAt === undefined
    if (isNew && unwritten.length >= MAX_UNWRITTEN_USES) return
    key.unwrittenUseAt = Math.max(now, key.unwrittenUseAt ?? 0)
    if (isNew) unwritten.push(key)
  }
  const write = async () => {
    while (unwritten.length > 0) {
      const uses = unwritten.splice(0, BATCH_SIZE).map(takeUse)
      try {
        await batch(
          uses.map(({ key: { caller }, at }) => ({ sql, parameters: [at, caller.accountId, caller.keyId, at] })),
        )
      } catch (error) {
        for (const { key, at } of uses) note(key, at)
        throw error
      }
    }
  }
  const timer = setInterval(() => void write().catch(() => undefined), WRITE_INTERVAL_MS).unref()
  return {
    note,
    write,
    async close() {
      clearInterval(timer)
      await write()
    },
  }
}

function takeUse(key: KnownKey) {
  const at = key.unwrittenUseAt ?? 0
  key.unwrittenUseAt = undefined
  return { key, at }
}

/** A later time wins, in whatever order processes write. Parameters: time, account, key, time. */
function updateOf(db: Kysely<Database>): BatchStatement {
  return db
    .updateTable('api_key')
    .set({ last_used_at: 0 })
    .where('account_id', '=', '' as KnownKey['caller']['accountId'])
    .where('id', '=', '' as KnownKey['caller']['keyId'])
    .where((is) => is.or([is('last_used_at', 'is', null), is('last_used_at', '<', 0)]))
    .compile()
}
