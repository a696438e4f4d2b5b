import { setTimeout as pause } from 'node:timers/promises'
import type { Kysely } from 'kysely'
import type { Database } from '../../db/schema.ts'
import type { KeptAnswer } from '../../domain/credit.ts'
import { createRoster } from '../../lib/roster.ts'
import { type Claim, endStatement } from './rows.ts'
import type { StatementQueue } from './statement-queue.ts'
import { isUnavailable } from './unavailable.ts'

/** What is longer is not handed to those who wait in other processes: they run the request themselves. */
export const MAX_FREED_BODY_BYTES = 64 * 1024
const FIRST_RETRY_MS = 50
const LAST_RETRY_MS = 1_000

export interface FreeingInput {
  readonly db: Kysely<Database>
  readonly queue: StatementQueue
  readonly log: { warn(fields: object, message: string): void }
  readonly closeTimeoutMs: number
}

export interface Freeing {
  /** Never throws, never waits. A key that cannot be freed is free when its lease is over. */
  free(claim: Claim, answer: KeptAnswer): void
  /** Keys that are not yet free in the database. */
  readonly pending: number
  close(): Promise<void>
}

/** Frees keys, as often as it takes while the database is away. */
export function createFreeing({ db, queue, log, closeTimeoutMs }: FreeingInput): Freeing {
  const pending = createRoster<Promise<void>>()
  let givenUp = false
  const write = async (claim: Claim, answer: KeptAnswer) => {
    const kept = Buffer.byteLength(answer.body) > MAX_FREED_BODY_BYTES ? undefined : answer
    const statement = endStatement(db, claim, { state: 'freed', answer: kept })
    for (let delayMs = FIRST_RETRY_MS; !givenUp; delayMs = Math.min(LAST_RETRY_MS, delayMs * 2)) {
      try {
        return await queue(statement)
      } catch (error) {
        if (!isUnavailable(error)) return log.warn({ error: String(error) }, 'an idempotency key was not freed')
        await pause(delayMs)
      }
    }
  }
  return {
    free(claim, answer) {
      const written = write(claim, answer)
      void written.then(pending.add(written))
    },
    get pending() {
      return pending.size
    },
    async close() {
      const patience = new AbortController()
      const tooLong = pause(closeTimeoutMs, undefined, { signal: patience.signal }).catch(() => undefined)
      await Promise.race([Promise.all(pending.items()), tooLong])
      givenUp = true
      patience.abort()
    },
  }
}
