/** Writes how starts came out: what ends while a write is under way goes into the next one, all in one statement. */
import type { Kysely } from 'kysely'
import type { Database } from '../db/schema.ts'
import { type EndedStart, finishAll } from './queue.ts'

/** Starts of one statement. */
const BATCH_SIZE = 500

/** Resolves when it is committed; false: the job was no longer the owner's. Rejects when it could not be written. */
export type Finish = (start: EndedStart) => Promise<boolean>

interface Waiting {
  readonly start: EndedStart
  readonly resolve: (wasOurs: boolean) => void
  readonly reject: (error: unknown) => void
}

export function createFinisher({ db, owner }: { readonly db: Kysely<Database>; readonly owner: string }): Finish {
  let waiting: Waiting[] = []
  let isWriting = false
  const write = async (batch: readonly Waiting[]): Promise<void> => {
    try {
      const written = await finishAll(
        db,
        owner,
        batch.map(({ start }) => start),
      )
      const ours = new Set(written.map(({ id, attempt }) => `${id} ${attempt}`))
      for (const { start, resolve } of batch) resolve(ours.has(`${start.id} ${start.attempt}`))
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
  }
  const writeAll = async (): Promise<void> => {
    isWriting = true
    while (waiting.length > 0) {
      const batch = waiting.slice(0, BATCH_SIZE)
      waiting = waiting.slice(BATCH_SIZE)
      await write(batch)
    }
    isWriting = false
  }
  return (start) =>
    new Promise((resolve, reject) => {
      waiting.push({ start, resolve, reject })
      if (!isWriting) void writeAll()
    })
}
