/**
 * Secrets of endpoints, sealed with a key of the installation, each for its endpoint alone. While the installation's secret is
 * being changed, what the previous one sealed is sealed again.
 */
import type { Kysely } from 'kysely'
import type { Database, WebhookTable } from '../../db/schema/schema.ts'
import { seal, unseal } from '../../db/sealed.ts'
import type { WebhookId } from '../../domain/ids.ts'
import { every, type JobKind } from '../../jobs/job.ts'

export interface WebhookSecrets {
  /** @param secret As it is shown. */
  seal(secret: string, webhookId: WebhookId): Uint8Array
  /** Undefined when it was sealed with a key that is no longer there. */
  open(sealed: Uint8Array, webhookId: WebhookId): string | undefined
  /** What only the key before has sealed, with the one in use; undefined for everything else. */
  renew(sealed: Uint8Array, webhookId: WebhookId): Uint8Array | undefined
}

export interface WebhookSecretKeys {
  /** 32 bytes each. */
  readonly current: Uint8Array
  /** While the installation's secret is being changed. */
  readonly previous?: Uint8Array | undefined
}

export function createWebhookSecrets({ current, previous }: WebhookSecretKeys): WebhookSecrets {
  return {
    seal: (secret, webhookId) => seal(secret, current, webhookId),
    open(sealed, webhookId) {
      const secret = unseal(sealed, current, webhookId)
      if (secret !== undefined || previous === undefined) return secret
      return unseal(sealed, previous, webhookId)
    },
    renew(sealed, webhookId) {
      if (previous === undefined || unseal(sealed, current, webhookId) !== undefined) return undefined
      const secret = unseal(sealed, previous, webhookId)
      return secret === undefined ? undefined : seal(secret, current, webhookId)
    },
  }
}

interface ResealInput {
  readonly db: Kysely<Database>
  readonly secrets: Pick<WebhookSecrets, 'renew'>
}

/** Again: a process that still has nothing but the old secret may have made endpoints meanwhile. */
const EVERY_MS = 300_000
const PAGE_ROWS = 200

export function resealJobs(input: ResealInput): Readonly<Record<string, JobKind>> {
  const work = async (_job: unknown, { signal }: { readonly signal: AbortSignal }) => {
    await resealSecrets(input, signal)
  }
  return { 'webhooks.reseal': every(EVERY_MS, work) }
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
    .where('account_id', '=', row.account_id)
    .where('id', '=', row.id)
    .where('secret', '=', row.secret)
    .execute()
  return true
}
