/** Upkeep of stored provider credentials: their status, by what providers answer to requests with them, and their seals. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { Kysely } from 'kysely'
import type { Database } from '../../db/schema/schema.ts'
import type { Sealer } from '../../db/sealed.ts'
import { type AttemptNote, COMPLETION_CHANNEL, type CompletionSignal } from '../../domain/completion.ts'
import type { AccountId, ProviderCredentialId } from '../../domain/ids.ts'
import { every, type JobKind } from '../../jobs/job.ts'
import { createLruCache } from '../../lib/collections.ts'
import { noteStatus, placeOf } from './store.ts'

interface Input {
  readonly db: Kysely<Database>
  /** Unix milliseconds. */
  readonly now: () => number
  readonly log: { warn(fields: object, message: string): void }
}

export interface CredentialStatuses {
  /** Resolves when statuses under way are committed. */
  close(): Promise<void>
}

/** The same status of one credential is written at most this often, in milliseconds. */
const WRITE_EVERY_MS = 60_000
/** Statuses of credentials whose last write is remembered. */
export const MAX_REMEMBERED = 10_000

export function watchCredentialStatuses({ db, now, log }: Input): CredentialStatuses {
  const writtenAt = createLruCache<number>(MAX_REMEMBERED)
  const underWay = new Set<Promise<void>>()

  function observe(message: unknown): void {
    const { record } = message as CompletionSignal
    for (const note of record.attemptLog ?? []) {
      if (note.credentialId !== undefined) write(record.accountId, note, note.credentialId)
    }
  }

  function write(accountId: AccountId, { outcome }: AttemptNote, id: ProviderCredentialId): void {
    const isRefused = outcome === 'credentials' || outcome === 'quota'
    if (!isRefused && outcome !== 'answered') return
    const status = isRefused ? 'refused' : 'verified'
    const name = `${id} ${status}`
    if (now() - (writtenAt.get(name) ?? Number.NEGATIVE_INFINITY) < WRITE_EVERY_MS) return
    writtenAt.set(name, now())
    const done = noteStatus(db, { accountId, id }, status)
      .catch((error: unknown) => log.warn({ err: error, credential: id }, 'the status of a credential was not written'))
      .finally(() => underWay.delete(done))
    underWay.add(done)
  }

  subscribe(COMPLETION_CHANNEL, observe)
  return {
    async close() {
      unsubscribe(COMPLETION_CHANNEL, observe)
      await Promise.all(underWay)
    },
  }
}

/*
 * While the installation's secret is being changed, what the previous one sealed is sealed again.
 */

interface ResealInput {
  readonly db: Kysely<Database>
  readonly sealer: Pick<Sealer, 'renew'>
}

/** Again: a process that still has nothing but the old secret may have stored credentials meanwhile. */
const EVERY_MS = 300_000
const PAGE_ROWS = 200

export function resealJobs(input: ResealInput): Readonly<Record<string, JobKind>> {
  const work = async (_job: unknown, { signal }: { readonly signal: AbortSignal }) => {
    await resealCredentials(input, signal)
  }
  return { 'provider-credentials.reseal': every(EVERY_MS, work) }
}

/** @returns Of how many credentials. */
export async function resealCredentials({ db, sealer }: ResealInput, signal?: AbortSignal): Promise<number> {
  let total = 0
  for (let rows = await pageAfter(db); rows.length > 0; rows = await pageAfter(db, rows.at(-1))) {
    signal?.throwIfAborted()
    for (const row of rows) {
      const secret = sealer.renew(row.secret, placeOf(row))
      if (secret === undefined) continue
      // One that is rotated at the same moment is left as it then is.
      const ofRow = db.updateTable('provider_credential').set({ secret }).where('account_id', '=', row.account_id)
      await ofRow.where('id', '=', row.id).where('secret', '=', row.secret).execute()
      total++
    }
  }
  return total
}

interface Position {
  readonly account_id: AccountId
  readonly id: ProviderCredentialId
}

function pageAfter(db: Kysely<Database>, last?: Position) {
  return db
    .selectFrom('provider_credential')
    .select(['account_id', 'id', 'provider', 'secret'])
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
