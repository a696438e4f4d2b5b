/** Signing secrets of endpoints, sealed with a key of the installation, each for its own endpoint. */
import type { Kysely } from 'kysely'
import type { Database, WebhookTable } from '../../db/schema/schema.ts'
import { createSealer, type Sealer, type SealerKeys } from '../../db/sealed.ts'
import { pageAfter, resealJob, resealRows } from '../../jobs/batched-deletion.ts'
import type { JobKind } from '../../jobs/job.ts'

/** Seals the signing secrets of endpoints as they are shown, each for the ID of its endpoint. */
export type WebhookSecrets = Sealer

export const createWebhookSecrets: (keys: SealerKeys) => WebhookSecrets = createSealer

interface ResealInput {
  readonly db: Kysely<Database>
  readonly secrets: Pick<WebhookSecrets, 'renew'>
}

const PAGE_ROWS = 200

export function resealJobs(input: ResealInput): Readonly<Record<string, JobKind>> {
  return resealJob('webhooks.reseal', (signal) => resealSecrets(input, signal))
}

/** @returns The number of endpoints. */
export function resealSecrets({ db, secrets }: ResealInput, signal?: AbortSignal): Promise<number> {
  const columns = ['account_id', 'id', 'secret', 'previous_secret'] as const
  const page = (last: SealedRow | undefined) =>
    db.selectFrom('webhook').select(columns).$call(pageAfter(last, PAGE_ROWS)).execute()
  return resealRows({ page, reseal: (row) => resealOne(db, row, secrets) }, signal)
}

type SealedRow = Pick<WebhookTable, 'account_id' | 'id' | 'secret' | 'previous_secret'>

/** Does not overwrite a secret that is rotated at the same time. */
async function resealOne(db: Kysely<Database>, row: SealedRow, { renew }: ResealInput['secrets']): Promise<boolean> {
  const secret = renew(row.secret, row.id)
  const previous = row.previous_secret === null ? undefined : renew(row.previous_secret, row.id)
  if (secret === undefined && previous === undefined) return false
  await db
    .updateTable('webhook')
    .set({ secret: secret ?? row.secret, previous_secret: previous ?? row.previous_secret })
    .where(({ and }) => and({ account_id: row.account_id, id: row.id, secret: row.secret }))
    .execute()
  return true
}
