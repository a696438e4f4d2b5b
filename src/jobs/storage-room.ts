/**
 * Keeps what an account stores in a table within a limit: its oldest rows are deleted before a new one is stored. A process
 * measures an account once a minute and when the room that it found is used up, so that what several processes, or several
 * requests at the same moment, store together may exceed the limit for that long.
 */
import type { Kysely } from 'kysely'
import type { Database } from '../db/schema/schema.ts'
import type { AccountId } from '../domain/ids.ts'
import { createLruCache } from '../lib/collections.ts'
import { BATCH_ROWS } from './batched-deletion.ts'

const MEASURED_EVERY_MS = 60_000
/** Accounts whose room is remembered; others are measured again. */
const MAX_ACCOUNTS = 10_000
/** What is deleted at once makes room for many new ones. */
const FREED_SHARE = 0.1

interface Room {
  bytes: number
  /** Unix milliseconds. */
  readonly measuredAt: number
}

type StoringTable = 'response' | 'completion_content'

interface RoomInput {
  readonly db: Kysely<Database>
  readonly table: StoringTable
  /** Of an account. */
  readonly maxBytes: () => number
  /** Unix milliseconds. */
  readonly now: () => number
}

export interface StorageRoom {
  /** Resolves when there is room for so many bytes. */
  take(accountId: AccountId, bytes: number): Promise<void>
}

export function createStorageRoom({ db, table, maxBytes, now }: RoomInput): StorageRoom {
  const rooms = createLruCache<Room>(MAX_ACCOUNTS)
  const making = new Map<AccountId, Promise<Room>>()
  const make = (accountId: AccountId, bytes: number): Promise<Room> => {
    const under = making.get(accountId)
    if (under !== undefined) return under
    const made = makeRoom(db, accountId, { table, bytes, maxBytes: maxBytes() })
      .then((left) => {
        const room = { bytes: left, measuredAt: now() }
        rooms.set(accountId, room)
        return room
      })
      .finally(() => making.delete(accountId))
    making.set(accountId, made)
    return made
  }
  return {
    async take(accountId, bytes) {
      let room = rooms.get(accountId)
      if (room === undefined || room.bytes < bytes || now() - room.measuredAt > MEASURED_EVERY_MS) {
        room = await make(accountId, bytes)
      }
      room.bytes -= bytes
    },
  }
}

/** @returns the room that is left. */
async function makeRoom(
  db: Kysely<Database>,
  accountId: AccountId,
  { table, bytes, maxBytes }: { readonly table: StoringTable; readonly bytes: number; readonly maxBytes: number },
): Promise<number> {
  const own = db.selectFrom(table).where('account_id', '=', accountId)
  const sum = await own.select(({ fn }) => fn.sum<number | string | null>('bytes').as('bytes')).executeTakeFirst()
  let stored = Number(sum?.bytes ?? 0)
  const target = stored + bytes > maxBytes ? maxBytes * (1 - FREED_SHARE) : maxBytes
  while (stored > 0 && stored + bytes > target) {
    const oldest = await own.select(['id', 'bytes']).orderBy('created_at').limit(BATCH_ROWS).execute()
    if (oldest.length === 0) break
    const ids: string[] = []
    for (const row of oldest) {
      if (stored + bytes <= target) break
      ids.push(row.id)
      stored -= row.bytes
    }
    await db
      .deleteFrom(table)
      .where('account_id', '=', accountId)
      .where('id', 'in', ids as never[])
      .execute()
  }
  return maxBytes - stored
}
