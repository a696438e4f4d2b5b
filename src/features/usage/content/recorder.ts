/**
 * Stores captured prompts and answers after their requests, one by one between other work. The queue is bounded in records
 * and bytes; what does not fit is dropped and counted, and no request ever waits.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Kysely } from 'kysely'
import type { BatchStatement } from '../../../db/database.ts'
import type { Database } from '../../../db/schema/schema.ts'
import type { CapturedCompletion, CapturePort } from '../../../domain/completion.ts'
import type { AccountId } from '../../../domain/ids.ts'
import { createStorageRoom, type StorageRoom } from '../../../jobs/storage-room.ts'
import type { ExportCounts } from '../../../telemetry/metrics.ts'
import { createQueue } from '../../../telemetry/otlp/queue.ts'
import type { SendResult } from '../../../telemetry/otlp/sender.ts'
import { type ContentSealer, insertContent, type NewContent, sealContent } from './store.ts'

/** Records that wait to be stored. */
export const MAX_QUEUED_CONTENTS = 1_000
/** Characters of their prompts and, about, of their answers. */
export const MAX_QUEUED_CONTENT_CHARACTERS = 32 * 1024 * 1024
/** The characters of an answer are known when it is rendered, which is later. */
const CHARACTERS_A_TOKEN = 4
/** Records of one transaction. */
const BATCH = 20
const DELAY_MS = 50
const FLUSH_MS = 3_000

interface RecorderInput {
  readonly db: Kysely<Database>
  readonly batch: (statements: readonly BatchStatement[]) => Promise<void>
  readonly sealer: ContentSealer
  /** Of one record, prompt and answer together. */
  readonly maxBytes: number
  readonly maxAccountBytes: number
  /** Unix milliseconds. */
  readonly now: () => number
  readonly log: { warn(fields: object, message: string): void }
}

export interface ContentRecorder {
  readonly port: CapturePort
  counts(): ExportCounts
  /** Stores what waits, for a moment. */
  close(): Promise<void>
}

interface QueuedContent extends Omit<CapturedCompletion, 'body' | 'bodyBytes'> {
  /** JSON text. */
  readonly request: string
}

interface RecorderState extends RecorderInput {
  readonly room: StorageRoom
  /** Characters that wait. */
  queued: number
  /** Beyond a limit: of the queue, or of one record before it is queued. */
  refused: number
  /** Beyond that of one record, with its answer. */
  tooLarge: number
}

export function createContentRecorder(input: RecorderInput): ContentRecorder {
  const { db, maxBytes, maxAccountBytes, now, log } = input
  const room = createStorageRoom({ db, table: 'completion_content', maxBytes: () => maxAccountBytes, now })
  const state: RecorderState = { ...input, room, queued: 0, refused: 0, tooLarge: 0 }
  const queue = createQueue<QueuedContent>({
    maxQueue: MAX_QUEUED_CONTENTS,
    maxBatch: BATCH,
    delayMs: DELAY_MS,
    onFailure: (reason) => log.warn({ reason }, 'captured content could not be stored'),
    send: (contents) => store(state, contents),
  })
  const hasRoom = (content: QueuedContent): boolean =>
    content.request.length <= maxBytes && state.queued + sizeOf(content) <= MAX_QUEUED_CONTENT_CHARACTERS
  return {
    port: {
      add({ body, bodyBytes = 0, ...captured }) {
        const content = bodyBytes > maxBytes ? undefined : { ...captured, request: JSON.stringify(body) }
        if (content === undefined || !hasRoom(content)) {
          state.refused += 1
          return
        }
        const { dropped } = queue.counts
        queue.add(content)
        if (queue.counts.dropped === dropped) state.queued += sizeOf(content)
      },
    },
    counts() {
      const { exported, dropped } = queue.counts
      const { refused, tooLarge } = state
      const stored = exported - tooLarge
      return { signal: 'content', exported: stored, dropped: dropped + refused + tooLarge, waiting: queue.waiting }
    },
    close: () => queue.close(FLUSH_MS),
  }
}

async function store(state: RecorderState, contents: readonly QueuedContent[]): Promise<SendResult> {
  for (const content of contents) state.queued -= sizeOf(content)
  try {
    const rows: NewContent[] = []
    for (const content of contents) {
      const row = sealedRow(state, content)
      if (row === undefined) state.tooLarge += 1
      else rows.push(row)
      await nextTurn()
    }
    const bytes = new Map<AccountId, number>()
    for (const { accountId, sealed } of rows) bytes.set(accountId, (bytes.get(accountId) ?? 0) + sealed.length)
    for (const [accountId, sum] of bytes) await state.room.take(accountId, sum)
    if (rows.length > 0) await state.batch(rows.map((row) => insertContent(state.db, row, state.sealer)))
    return { ok: true }
  } catch (error) {
    return { ok: false, reason: error instanceof Error ? error.message : String(error) }
  }
}

function sizeOf({ request, record }: QueuedContent): number {
  return request.length + CHARACTERS_A_TOKEN * record.completionTokens
}

/** Undefined: it is too large. */
function sealedRow(
  { sealer, maxBytes }: RecorderState,
  { record, userId, endpoint, request, renderAnswer }: QueuedContent,
): NewContent | undefined {
  const { accountId, id, keyId, createdAt } = record
  const response = renderAnswer()
  if (Buffer.byteLength(request) + Buffer.byteLength(response ?? '') > maxBytes) return undefined
  const sealed = sealContent({ endpoint, request, response }, { accountId, id }, sealer)
  return { accountId, id, keyId, userId, sealed, createdAt }
}
