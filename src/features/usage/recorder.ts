/**
 * Metering: every completion becomes a row. Requests only leave their record here; what is waiting goes to the database
 * in one transaction, then what has come meanwhile in the next. Nothing is dropped in silence.
 */
import type { Kysely } from 'kysely'
import type { BatchStatement } from '../../db/open.ts'
import type { Database } from '../../db/schema.ts'
import type { CompletionRecord } from '../../domain/completion.ts'
import { GatewayError } from '../../domain/errors.ts'
import { completionWriter } from './statements.ts'

/** Records that may wait while the database is away. Beyond it, new ones go to the log instead. */
export const MAX_PENDING_RECORDS = 100_000
const BATCH_SIZE = 2_000
/** How long the first record of a batch waits for others: one commit then serves many requests. */
const GATHER_MS = 10
const FIRST_RETRY_MS = 50
const LAST_RETRY_MS = 1_000
const CLOSE_TIMEOUT_MS = 30_000

export interface UsageRecorderInput {
  readonly db: Kysely<Database>
  readonly batch: (statements: readonly BatchStatement[]) => Promise<void>
  readonly log: {
    warn(fields: object, message: string): void
    error(fields: object, message: string): void
  }
  readonly maxPending?: number
  readonly closeTimeoutMs?: number
}

export interface UsageRecorder {
  /** Never throws, never waits. */
  record(completion: CompletionRecord): void
  /** Resolves when everything recorded before is in the database. */
  flush(): Promise<void>
  /** Writes what is left. After 30 s without a database it logs each record that is left, and rejects. */
  close(): Promise<void>
  /** Records that are not in the database yet. */
  pending(): number
  /** Records that were logged instead of kept. */
  dropped(): number
}

export function createUsageRecorder(input: UsageRecorderInput): UsageRecorder {
  const { log, maxPending = MAX_PENDING_RECORDS, closeTimeoutMs = CLOSE_TIMEOUT_MS } = input
  const drop = (record: CompletionRecord, reason: string) => {
    dropped++
    log.error({ completion: { ...record, costNanoUsd: String(record.costNanoUsd) }, reason }, 'usage record not kept')
  }
  const writeBatch = batchWriter(input, drop)
  let waiting: CompletionRecord[] = []
  let dropped = 0
  let working: Promise<void> | undefined
  let givenUp = false

  const work = async () => {
    await pause(GATHER_MS)
    while (waiting.length > 0 && !givenUp) {
      const records = waiting.slice(0, BATCH_SIZE)
      await untilWritten(() => writeBatch(records), { log, stop: () => givenUp })
      if (!givenUp) waiting = waiting.slice(records.length)
    }
    working = undefined
  }
  const flush = async () => {
    while (working !== undefined) await working
  }
  return {
    record(completion) {
      if (givenUp || waiting.length >= maxPending) return drop(completion, givenUp ? 'closed' : 'too many are waiting')
      waiting.push(completion)
      working ??= work()
    },
    flush,
    async close() {
      const timer = setTimeout(() => {
        givenUp = true
      }, closeTimeoutMs)
      await flush()
      clearTimeout(timer)
      givenUp = true
      if (waiting.length === 0) return
      for (const record of waiting) drop(record, 'the database was not available')
      throw new GatewayError('database_unavailable', `${waiting.length} usage records were not written.`)
    },
    pending: () => waiting.length,
    dropped: () => dropped,
  }
}

/**
 * Writes a batch; rejects only when the database is not available. A batch that the database refuses is written one by
 * one: a record that is already there, because the answer to its commit was lost, is done, and one that is refused
 * alone is dropped.
 */
function batchWriter(
  { db, batch, log }: UsageRecorderInput,
  drop: (record: CompletionRecord, reason: string) => void,
): (records: readonly CompletionRecord[]) => Promise<void> {
  const statementsFor = completionWriter(db)
  const writeAlone = async (record: CompletionRecord) => {
    try {
      await batch(statementsFor([record]))
    } catch (error) {
      if (isUnavailable(error)) throw error
      if (await isRecorded(db, record)) log.warn({ id: record.id }, 'usage record was already there')
      else drop(record, String(error))
    }
  }
  return async (records) => {
    try {
      await batch(statementsFor(records))
    } catch (error) {
      if (isUnavailable(error)) throw error
      for (const record of records) await writeAlone(record)
    }
  }
}

async function untilWritten(
  write: () => Promise<void>,
  { log, stop }: { readonly log: UsageRecorderInput['log']; readonly stop: () => boolean },
): Promise<void> {
  for (let delayMs = FIRST_RETRY_MS; ; delayMs = Math.min(LAST_RETRY_MS, delayMs * 2)) {
    try {
      return await write()
    } catch (error) {
      if (stop()) return
      log.warn(
        { error: String(error instanceof Error ? (error.cause ?? error) : error) },
        'usage records wait for the database',
      )
      await pause(delayMs)
      if (stop()) return
    }
  }
}

async function isRecorded(db: Kysely<Database>, { accountId, id }: CompletionRecord): Promise<boolean> {
  const query = db.selectFrom('completion').select('id').where('account_id', '=', accountId).where('id', '=', id)
  return (await query.executeTakeFirst()) !== undefined
}

function isUnavailable(error: unknown): boolean {
  return error instanceof GatewayError && error.code === 'database_unavailable'
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
