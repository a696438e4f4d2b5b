/** Erases what was captured of a person's requests, in the transaction that ends their membership. */
import type { Kysely } from 'kysely'
import type { Database } from '../../../db/schema/schema.ts'
import { type Dependants, deleteDependants, dependantsJob } from '../../../jobs/batched-deletion.ts'
import type { JobKind } from '../../../jobs/job.ts'
import type { EraseContent, FeatureDeps, WriteAudit } from '../../deps.ts'
import { type ContentOwner, countContents, deleteContentBatch } from './store.ts'

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
