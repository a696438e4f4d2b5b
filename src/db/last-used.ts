/** Last-used timestamps of credentials, collected in memory and written in batches. */
import type { Kysely } from 'kysely'
import type { AccountId, DeviceId, KeyId } from '../domain/ids.ts'
import type { BatchStatement } from './database.ts'
import type { Database } from './schema/schema.ts'

const WRITE_INTERVAL_MS = 10_000
const BATCH_SIZE = 1_000
/** Credentials with an unwritten use; uses of others are dropped until the next write. */
export const MAX_UNWRITTEN_USES = 100_000

export interface Used {
  /** Unix milliseconds of the last unwritten use; undefined: none. */
  unwrittenUseAt: number | undefined
}

export interface LastUsed<Item extends Used> {
  /** @param now Unix milliseconds. */
  note(item: Item, now: number): void
  /** Rejects when the database does; the next write retries. */
  write(): Promise<void>
  /** Writes the rest. */
  close(): Promise<void>
}

export interface LastUsedInput<Item> {
  readonly db: Kysely<Database>
  readonly batch: (statements: readonly BatchStatement[]) => Promise<void>
  readonly table: 'api_key' | 'device'
  /** The key of the row to update. */
  readonly rowOf: (item: Item) => readonly [account: AccountId, id: KeyId | DeviceId]
}

export function createLastUsed<Item extends Used>({ db, batch, table, rowOf }: LastUsedInput<Item>): LastUsed<Item> {
  const { sql } = updateOf(db, table)
  const unwritten: Item[] = []
  const note = (item: Item, now: number) => {
    const isNew = item.unwrittenUseAt === undefined
    if (isNew && unwritten.length >= MAX_UNWRITTEN_USES) return
    item.unwrittenUseAt = Math.max(now, item.unwrittenUseAt ?? 0)
    if (isNew) unwritten.push(item)
  }
  const write = async () => {
    while (unwritten.length > 0) {
      const uses = unwritten.splice(0, BATCH_SIZE).map(takeUse)
      try {
        await batch(uses.map(({ item, at }) => ({ sql, parameters: [at, ...rowOf(item), at] })))
      } catch (error) {
        for (const { item, at } of uses) note(item, at)
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

function takeUse<Item extends Used>(item: Item) {
  const at = item.unwrittenUseAt ?? 0
  item.unwrittenUseAt = undefined
  return { item, at }
}

/** The latest time wins, in whatever order processes write. Parameters: time, account, id, time. */
function updateOf(db: Kysely<Database>, table: 'api_key' | 'device'): BatchStatement {
  return db
    .updateTable(table)
    .set({ last_used_at: 0 })
    .where(({ and }) => and({ account_id: '' as AccountId, id: '' as KeyId & DeviceId }))
    .where((is) => is.or([is('last_used_at', 'is', null), is('last_used_at', '<', 0)]))
    .compile()
}
