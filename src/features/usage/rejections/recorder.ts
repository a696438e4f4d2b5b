/**
 * Records rejected requests of the model endpoints: the handler of errors notes them in memory, and they are written in
 * batches. The record is of help, not of money: what exceeds the limits, or cannot be written, is counted and forgotten.
 */
import type { Insertable, Kysely } from 'kysely'
import type { Database } from '../../../db/schema/schema.ts'
import type { AccountId } from '../../../domain/ids.ts'
import type { Rejection } from '../../../domain/rejection.ts'
import { createLruCache } from '../../../lib/collections.ts'

/** Rejections that wait to be written, of all accounts. */
export const MAX_WAITING = 2_000
/** Recorded rejections a second, of each account, and of all requests without a valid credential. */
export const MAX_PER_SECOND = 10
/** Rejections kept, of each account. */
export const MAX_KEPT = 10_000
/** Rejections of an account that are written between two deletions of those beyond `MAX_KEPT`. */
export const TRIM_EVERY = 100

const WRITE_AFTER_MS = 1_000
const ROWS_PER_STATEMENT = 500
const MAX_REMEMBERED_ACCOUNTS = 10_000

type Row = Insertable<Database['rejection']>

interface RecorderInput {
  readonly db: Kysely<Database>
  /** Unix milliseconds. */
  readonly now: () => number
  /** Whether a model has this ID. Other text is not stored: it may be a secret in the wrong field. */
  readonly isModel: (id: string) => boolean
  readonly log: {
    info(fields: object, message: string): void
    warn(fields: object, message: string): void
  }
}

export interface RejectionRecorder {
  note(rejection: Rejection): void
  /** Writes what waits. Never rejects: what the database does not take is dropped. */
  write(): Promise<void>
  /** Writes the rest; what is noted later is forgotten. */
  close(): Promise<void>
}

export function createRejectionRecorder({ db, now, isModel, log }: RecorderInput): RejectionRecorder {
  const isWithinRate = createRate(now)
  const waiting: Row[] = []
  const untrimmed = createLruCache<number>(MAX_REMEMBERED_ACCOUNTS)
  let dropped = 0
  let timer: NodeJS.Timeout | undefined
  let writing = Promise.resolve()
  let closed = false

  async function writeWaiting(): Promise<void> {
    if (dropped > 0) log.warn({ dropped }, 'rejected requests were not recorded')
    dropped = 0
    while (waiting.length > 0) {
      const rows = waiting.splice(0, ROWS_PER_STATEMENT)
      try {
        await db.insertInto('rejection').values(rows).execute()
        for (const accountId of accountsToTrim(rows, untrimmed)) await trim(db, accountId)
      } catch (error) {
        log.warn({ err: error, dropped: rows.length }, 'rejected requests were not recorded')
      }
    }
  }
  const write = (): Promise<void> => {
    clearTimeout(timer)
    timer = undefined
    writing = writing.then(writeWaiting)
    return writing
  }
  return {
    note(rejection) {
      if (closed) return
      const { caller, requestId, endpoint, status, code } = rejection
      timer ??= setTimeout(() => void write(), WRITE_AFTER_MS).unref()
      if (!isWithinRate(caller?.accountId) || waiting.length >= MAX_WAITING) {
        dropped += 1
        return
      }
      const { accountId, keyId } = caller ?? {}
      log.info({ requestId, accountId, keyId, endpoint, status, code }, 'request to a model rejected')
      const { model } = rejection
      const named = model !== undefined && isModel(model) ? model : null
      if (caller !== undefined) waiting.push({ ...rowOf(rejection, caller, now()), model: named })
    },
    write,
    close() {
      closed = true
      return write()
    },
  }
}

/** Without an account there is nobody who could read the row: such requests are only logged. */
function rowOf(rejection: Rejection, caller: NonNullable<Rejection['caller']>, createdAt: number): Row {
  const { requestId, endpoint, status, code } = rejection
  return {
    account_id: caller.accountId,
    request_id: requestId,
    created_at: createdAt,
    key_id: caller.keyId,
    endpoint,
    status,
    code,
  }
}

/** Counts by account within the current second. */
function createRate(now: () => number): (accountId: AccountId | undefined) => boolean {
  const counts = new Map<AccountId | undefined, number>()
  let second = 0
  return (accountId) => {
    const current = Math.floor(now() / 1_000)
    if (current !== second) counts.clear()
    second = current
    const count = (counts.get(accountId) ?? 0) + 1
    counts.set(accountId, count)
    return count <= MAX_PER_SECOND
  }
}

function accountsToTrim(
  rows: readonly Row[],
  untrimmed: ReturnType<typeof createLruCache<number>>,
): readonly AccountId[] {
  const due = new Set<AccountId>()
  for (const { account_id: accountId } of rows) {
    const count = (untrimmed.get(accountId) ?? 0) + 1
    untrimmed.set(accountId, count % TRIM_EVERY)
    if (count === TRIM_EVERY) due.add(accountId)
  }
  return [...due]
}

/** Deletes the oldest rows beyond `MAX_KEPT`. */
async function trim(db: Kysely<Database>, accountId: AccountId): Promise<void> {
  await db
    .deleteFrom('rejection')
    .where('account_id', '=', accountId)
    .where('request_id', '<=', ({ selectFrom }) =>
      selectFrom('rejection')
        .select('request_id')
        .where('account_id', '=', accountId)
        .orderBy('request_id', 'desc')
        .limit(1)
        .offset(MAX_KEPT),
    )
    .execute()
}
