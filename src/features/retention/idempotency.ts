/**
 * Deletes idempotency keys: answers after a day, streams when they can no longer be resumed, and requests that will never be
 * answered.
 */
import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { Database, IdempotencyTable } from '../../db/schema/schema.ts'
import { BATCH_ROWS, inBatches } from '../../jobs/batched-deletion.ts'
import type { FeatureDeps } from '../deps.ts'

const KEEP_MS = 24 * 3_600_000
/** Answers deleted in one transaction; a single one may be larger. */
const BATCH_BYTES = 4 * 1024 * 1024

export interface RetentionInput extends Pick<FeatureDeps, 'db' | 'now'> {
  readonly signal?: AbortSignal | undefined
  /** How long an ended stream is kept, in milliseconds. Undefined: as long as any answer. */
  readonly keepStreamMs?: () => number
}

/** @returns The number of deleted rows. */
export async function deleteIdempotencyKeys({ db, now, signal, keepStreamMs }: RetentionInput): Promise<number> {
  const before = now() - KEEP_MS
  if (keepStreamMs !== undefined) {
    const streamsBefore = now() - keepStreamMs()
    await inBatches(() => emptyStreams(db, streamsBefore), signal)
  }
  const answered = await inBatches(() => deleteAnswered(db, before), signal)
  return answered + (await inBatches(() => deleteAbandoned(db, before), signal))
}

const KEY = ['account_id', 'endpoint', 'key'] as const
/** As `headers` are written; no client can insert text with these quotes. */
const IS_STREAM = sql<boolean>`headers like '%"content-type":"text/event-stream%' and body is not null`

/** Deletes the events of streams but not the rows, so that a repeat is told that the events have expired. */
async function emptyStreams(db: Kysely<Database>, before: number): Promise<number> {
  const limit = await rowsToEnd(db, before, IS_STREAM)
  if (limit === 0) return 0
  const oldest = oldestEnded(db, before).limit(limit)
  const result = await db
    .updateTable('idempotency')
    .set({ body: null })
    .where(({ eb, refTuple }) => eb(refTuple(...KEY), 'in', oldest.where(IS_STREAM).$asTuple(...KEY)))
    .where('ended_at', '<', before)
    .executeTakeFirst()
  return Number(result.numUpdatedRows)
}

async function deleteAnswered(db: Kysely<Database>, before: number): Promise<number> {
  const limit = await rowsToEnd(db, before, sql<boolean>`1 = 1`)
  if (limit === 0) return 0
  const oldest = oldestEnded(db, before).limit(limit)
  const result = await db
    .deleteFrom('idempotency')
    .where(({ eb, refTuple }) => eb(refTuple(...KEY), 'in', oldest.$asTuple(...KEY)))
    .where('ended_at', '<', before)
    .executeTakeFirst()
  return Number(result.numDeletedRows)
}

function oldestEnded(db: Kysely<Database>, before: number) {
  return db.selectFrom('idempotency').select(KEY).where('ended_at', '<', before).orderBy('ended_at')
}

/** Selects as many of the oldest as fit into one transaction by the size of their answers. */
async function rowsToEnd(db: Kysely<Database>, before: number, which: RawBuilder<boolean>): Promise<number> {
  const rows = await db
    .selectFrom('idempotency')
    .select(sql<number>`coalesce(octet_length(body), 0)`.as('bytes'))
    .where('ended_at', '<', before)
    .where(which)
    .orderBy('ended_at')
    .limit(BATCH_ROWS)
    .execute()
  let bytes = 0
  const tooMany = rows.findIndex((row, index) => {
    bytes += row.bytes
    return index > 0 && bytes > BATCH_BYTES
  })
  return tooMany < 0 ? rows.length : tooMany
}

/** Requests whose process died and whose hold is released: a repeat may run. Uses the index of running rows. */
async function deleteAbandoned(db: Kysely<Database>, before: number): Promise<number> {
  const running = sql.lit<IdempotencyTable['state']>('running')
  const result = await db
    .deleteFrom('idempotency')
    .where(({ eb, refTuple, selectFrom, not, exists }) =>
      eb(
        refTuple(...KEY),
        'in',
        selectFrom('idempotency')
          .select(KEY)
          .where('state', '=', running)
          .where('lease_until', '<', before)
          .where(
            not(
              exists(
                selectFrom('hold')
                  .select('hold.id')
                  .whereRef('hold.account_id', '=', 'idempotency.account_id')
                  .whereRef('hold.id', '=', 'idempotency.subject_id'),
              ),
            ),
          )
          .limit(BATCH_ROWS)
          .$asTuple(...KEY),
      ),
    )
    .where('state', '=', running)
    .where('lease_until', '<', before)
    .executeTakeFirst()
  return Number(result.numDeletedRows)
}
