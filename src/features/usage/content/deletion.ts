/**
 * Deletes captured content after its retention, erases what was captured of a person whose membership ends, and seals
 * content again for another secret.
 */
import type { Kysely } from 'kysely'
import type { CompletionContentTable, Database } from '../../../db/schema/schema.ts'
import { captureSettings } from '../../../domain/identity/caller.ts'
import {
  type Dependants,
  deleteDependants,
  dependantsJob,
  pageAfter,
  resealJob,
  resealRows,
} from '../../../jobs/batched-deletion.ts'
import { every, type JobKind } from '../../../jobs/job.ts'
import type { EraseContent, FeatureDeps, WriteAudit } from '../../deps.ts'
import {
  type ContentOwner,
  type ContentSealer,
  countContents,
  deleteContentBatch,
  deleteContents,
  renewContent,
} from './store.ts'

interface ContentJobsInput {
  readonly db: Kysely<Database>
  readonly sealer: ContentSealer
  /** Whether the installation's secret is being changed. */
  readonly isResealing: boolean
  /** The most days that an account's content is kept. */
  readonly retentionDays: number
  /** Unix milliseconds. */
  readonly now: () => number
}

const EVERY_MS = 15 * 60_000
const DAY_MS = 24 * 3_600_000
/** Small, since a row may be as large as `content_capture.max_bytes`. */
const PAGE_ROWS = 20

export function contentJobs(input: ContentJobsInput): Readonly<Record<string, JobKind>> {
  return {
    'retention.content': every(EVERY_MS, async (_job, { signal }) => void (await deleteOldContents(input, signal))),
    ...(input.isResealing && resealJob('content.reseal', (signal) => resealContents(input, signal))),
  }
}

/** @returns The number of deleted rows. */
export async function deleteOldContents(
  { db, retentionDays, now }: Pick<ContentJobsInput, 'db' | 'retentionDays' | 'now'>,
  signal?: AbortSignal,
): Promise<number> {
  const accounts = await db
    .selectFrom('account')
    .select(['id', 'content_capture'])
    .where('content_capture', 'is not', null)
    .execute()
  let total = 0
  for (const { id: accountId, content_capture: settings } of accounts) {
    const days = Math.min(retentionDays, captureSettings(settings).retentionDays ?? retentionDays)
    total += await deleteContents(db, { accountId, before: now() - days * DAY_MS }, signal)
  }
  return total
}

/** @returns The number of rows. */
export function resealContents(
  { db, sealer }: Pick<ContentJobsInput, 'db' | 'sealer'>,
  signal?: AbortSignal,
): Promise<number> {
  const page = (last: SealedRow | undefined) =>
    db
      .selectFrom('completion_content')
      .select(['account_id', 'id', 'content'])
      .where('sealed_with', '<>', sealer.keyName)
      .$call(pageAfter(last, PAGE_ROWS))
      .execute()
  return resealRows({ page, reseal: (row) => resealOne(db, row, sealer) }, signal)
}

type SealedRow = Pick<CompletionContentTable, 'account_id' | 'id' | 'content'>

/** @returns false if no key opens it. */
async function resealOne(db: Kysely<Database>, row: SealedRow, sealer: ContentSealer): Promise<boolean> {
  const renewed = renewContent(row.content, { accountId: row.account_id, id: row.id }, sealer)
  if (renewed === undefined) return false
  await db
    .updateTable('completion_content')
    .set({ content: renewed, sealed_with: sealer.keyName })
    .where('account_id', '=', row.account_id)
    .where('id', '=', row.id)
    .execute()
  return true
}

// Erases what was captured of a person's requests, in the transaction that ends their membership.

/** Requests that run when their sender is removed end within a second, and their content is stored after that. */
const LATE_CONTENT_MS = 60_000

const DEPENDANTS: Dependants<ContentOwner> = {
  kind: 'content.erase',
  jobName: ({ accountId, userId, before }) => `${accountId} ${userId} ${before}`,
  deleteBatch: deleteContentBatch,
  lateRowsMs: LATE_CONTENT_MS,
}

export function contentEraser(
  deps: Pick<FeatureDeps, 'now' | 'ids'> & { readonly writeAudit: WriteAudit },
): EraseContent {
  return async (inside, { audited, userId }) => {
    const owner = { accountId: audited.accountId, userId, before: deps.now() + LATE_CONTENT_MS }
    const details = { key_id: null, user_id: userId, completions: await countContents(inside, owner) }
    await deleteDependants(inside, DEPENDANTS, { ...deps, owner })
    await deps.writeAudit(inside, {
      ...audited,
      action: 'content.deleted',
      subject: undefined,
      result: 'done',
      details,
    })
  }
}

/** Deletes what did not fit in that transaction, and what was stored after it. */
export function erasureJobs(db: Kysely<Database>): Readonly<Record<string, JobKind>> {
  return dependantsJob(db, DEPENDANTS)
}
