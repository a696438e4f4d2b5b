/**
 * Secrets of endpoints, sealed with a key of the installation, each for its endpoint alone. While the installation's secret is
 * being changed, what the previous one sealed is sealed again.
 */
import type { Kysely } from 'kysely'
import type { Database, WebhookTable } from '../../db/schema/schema.ts'
import { createSealer, type Sealer, type SealerKeys } from '../../db/sealed.ts'
import { every, type JobKind } from '../../jobs/job.ts'

/** Seals the signing secrets of endpoints as they are shown, each for the ID of its endpoint. */
export type WebhookSecrets = Sealer

export const createWebhookSecrets: (keys: SealerKeys) => WebhookSecrets = createSealer

interface ResealInput {
  readonly db: Kysely<Database>
  readonly secrets: Pick<WebhookSecrets, 'renew'>
}

/** Again: a process that still has nothing but the old secret may have made endpoints meanwhile. */
const EVERY_MS = 300_000
const PAGE_ROWS = 200

export function resealJobs(input: ResealInput): Readonly<Record<string, JobKind>> {
  return { 'webhooks.reseal': every(EVERY_MS, (_job, { signal }) => resealSecrets(input, signal)) }
}

/** @returns Of how many endpoints. */
export async function resealSecrets({ db, secrets }: ResealInput, signal?: AbortSignal): Promise<number> {
  let total = 0
  for (let rows = await pageAfter(db); rows.length > 0; rows = await pageAfter(db, rows.at(-1))) {
    signal?.throwIfAborted()
    for (const row of rows) if (await resealOne(db, row, secrets)) total++
  }
  return total
}

type SealedRow = Pick<WebhookTable, 'account_id' | 'id' | 'secret' | 'previous_secret'>

function pageAfter(db: Kysely<Database>, last?: SealedRow): Promise<readonly SealedRow[]> {
  return db
    .selectFrom('webhook')
    .select(['account_id', 'id', 'secret', 'previous_secret'])
    .$if(last !== undefined, (query) =>
      query.where(({ eb, refTuple, tuple }) =>
        eb(refTuple('account_id', 'id'), '>', tuple(last?.account_id ?? ('' as never), last?.id ?? ('' as never))),
      ),
    )
    .orderBy('account_id')
    .orderBy('id')
    .limit(PAGE_ROWS)
    .execute()
}

/** One that is rotated at the same moment is left as it then is. */
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
