/** When credentials were last used: gathered in memory, written in batches, because nobody waits for it. */
import type { Kysely } from 'kysely'
import type { AccountId, DeviceId, KeyId } from '../domain/ids.ts'
import type { BatchStatement } from './open.ts'
import type { Database } from './schema.ts'

const WRITE_INTERVAL_MS = 10_000
const BATCH_SIZE = 1_000
/** Credentials whose use is waiting to be written; uses of others are then not noted until the next write. */
export const MAX_UNWRITTEN_USES = 100_000

export interface Used {
  /** Unix milliseconds of the last use that is not written yet; undefined: none. */
  unwrittenUseAt: number | undefined
}

export interface LastUsed<Item extends Used> {
  /** @param now Unix milliseconds. */
  note(item: Item, now: number): void
  /** Rejects when the database does; what was not written stays for the next time. */
  write(): Promise<void>
  /** Writes what is left. */
  close(): Promise<void>
}

export interface LastUsedInput<Item> {
  readonly db: Kysely<Database>
  readonly batch: (statements: readonly BatchStatement[]) => Promise<void>
  readonly table: 'api_key' | 'device'
  /** The row that the use is noted in. */
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

/** A later time wins, in whatever order processes write. Parameters: time, account, id, time. */
function updateOf(db: Kysely<Database>, table: 'api_key' | 'device'): BatchStatement {
  return db
    .updateTable(table)
    .set({ last_used_at: 0 })
    .where('account_id', '=', '' as AccountId)
    .where('id', '=', '' as KeyId & DeviceId)
    .where((is) => is.or([is('last_used_at', 'is', null), is('last_used_at', '<', 0)]))
    .compile()
}
