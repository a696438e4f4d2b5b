/** Upkeep of stored provider credentials: their status, by what providers answer to requests with them, and their seals. */
import type { Kysely } from 'kysely'
import type { Database, ProviderCredentialTable } from '../../db/schema/schema.ts'
import type { Sealer } from '../../db/sealed.ts'
import { type AttemptWatch, watchAttempts } from '../../jobs/completion-watch.ts'
import type { JobKind } from '../../jobs/job.ts'
import { pageAfter, resealJob, resealRows } from '../../jobs/reseal.ts'
import { createLruCache } from '../../lib/collections.ts'
import { noteStatus, placeOf } from './store.ts'

interface Input {
  readonly db: Kysely<Database>
  /** Unix milliseconds. */
  readonly now: () => number
  readonly log: { warn(fields: object, message: string): void }
}

/** The same status of one credential is written at most this often, in milliseconds. */
const WRITE_EVERY_MS = 60_000
/** Statuses of credentials whose last write is remembered. */
export const MAX_REMEMBERED = 10_000

export function watchCredentialStatuses({ db, now, log }: Input): AttemptWatch {
  const writtenAt = createLruCache<number>(MAX_REMEMBERED)

  return watchAttempts(({ outcome, credentialId: id }, accountId) => {
    if (id === undefined) return
    const isRefused = outcome === 'credentials' || outcome === 'quota'
    if (!isRefused && outcome !== 'answered') return
    const status = isRefused ? 'refused' : 'verified'
    const name = `${id} ${status}`
    if (now() - (writtenAt.get(name) ?? Number.NEGATIVE_INFINITY) < WRITE_EVERY_MS) return
    writtenAt.set(name, now())
    return noteStatus(db, { accountId, id }, status).catch((error: unknown) =>
      log.warn({ err: error, credential: id }, 'the status of a credential was not written'),
    )
  })
}

interface ResealInput {
  readonly db: Kysely<Database>
  readonly sealer: Pick<Sealer, 'renew'>
}

const PAGE_ROWS = 200

export function resealJobs(input: ResealInput): Readonly<Record<string, JobKind>> {
  return resealJob('provider-credentials.reseal', (signal) => resealCredentials(input, signal))
}

/** @returns The number of credentials. */
export function resealCredentials({ db, sealer }: ResealInput, signal?: AbortSignal): Promise<number> {
  const columns = ['account_id', 'id', 'provider', 'secret'] as const
  const page = (last: SealedRow | undefined) =>
    db.selectFrom('provider_credential').select(columns).$call(pageAfter(last, PAGE_ROWS)).execute()
  const reseal = async (row: SealedRow) => {
    const secret = sealer.renew(row.secret, placeOf(row))
    if (secret === undefined) return false
    const { account_id, id, secret: old } = row // a secret that is rotated at the same time is not overwritten
    const ofRow = db.updateTable('provider_credential').where(({ and }) => and({ account_id, id, secret: old }))
    await ofRow.set({ secret }).execute()
    return true
  }
  return resealRows({ page, reseal }, signal)
}

type SealedRow = Pick<ProviderCredentialTable, 'account_id' | 'id' | 'provider' | 'secret'>
