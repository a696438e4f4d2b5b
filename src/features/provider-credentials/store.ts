/** Rows of provider credentials. Every change also raises the account's version of them, so that all processes read again. */
import { type Kysely, sql } from 'kysely'
import { nextChangedAt } from '../../db/changed-at.ts'
import type { Database, ProviderCredentialStatus, ProviderCredentialTable } from '../../db/schema/schema.ts'
import type { Sealer } from '../../db/sealed.ts'
import type { AccountCredential, AccountCredentials, AccountCredentialsPort } from '../../domain/account-credential.ts'
import { GatewayError } from '../../domain/errors.ts'
import type { Caller } from '../../domain/identity/caller.ts'
import type { AccountId, KeyId, ProviderCredentialId, UserId } from '../../domain/ids.ts'
import type { PageRequest } from '../../http/page.ts'
import { pageAfter, resealJob, resealRows } from '../../jobs/batched-deletion.ts'
import { type AttemptWatch, watchAttempts } from '../../jobs/completion-watch.ts'
import type { JobKind } from '../../jobs/job.ts'
import { createLruCache, createVersionedCache } from '../../lib/collections.ts'

export interface CredentialReference {
  readonly accountId: AccountId
  readonly id: ProviderCredentialId
}

/** A row with the person who created it. */
export interface CredentialRow extends ProviderCredentialTable {
  readonly email: string | null
  readonly person_name: string | null
}

/** What a secret is sealed for: it opens for no other account, credential or provider. */
export function placeOf({
  account_id: accountId,
  id,
  provider,
}: Pick<ProviderCredentialTable, 'account_id' | 'id' | 'provider'>) {
  return `provider credential ${accountId} ${id} ${provider}`
}

function rowsOf(db: Kysely<Database>, accountId: AccountId) {
  return db
    .selectFrom('provider_credential')
    .leftJoin('person', 'person.id', 'provider_credential.created_by')
    .selectAll('provider_credential')
    .select(['person.email', 'person.name as person_name'])
    .where('account_id', '=', accountId)
}

/** By creation; IDs sort by time. */
export function listCredentials(
  db: Kysely<Database>,
  accountId: AccountId,
  { limit, order, after }: PageRequest<ProviderCredentialId>,
): Promise<readonly CredentialRow[]> {
  return rowsOf(db, accountId)
    .$if(after !== undefined, (query) =>
      query.where('provider_credential.id', order === 'asc' ? '>' : '<', after as ProviderCredentialId),
    )
    .orderBy('provider_credential.id', order)
    .limit(limit)
    .execute()
}

/** Throws 404 when it is unknown or another account's. */
export async function requireCredential(
  db: Kysely<Database>,
  { accountId, id }: CredentialReference,
): Promise<CredentialRow> {
  const row = await rowsOf(db, accountId).where('provider_credential.id', '=', id).executeTakeFirst()
  if (row === undefined) throw new GatewayError('not_found', 'No provider credential has this ID.')
  return row
}

type Changes = Partial<
  Pick<
    ProviderCredentialTable,
    'name' | 'secret' | 'last4' | 'allow_fallback' | 'status' | 'last_tested_at' | 'rotated_at'
  >
>

export async function updateCredential(
  db: Kysely<Database>,
  { accountId, id }: CredentialReference,
  changes: Changes,
): Promise<void> {
  const ofId = db.updateTable('provider_credential').set(changes).where('account_id', '=', accountId)
  await ofId.where('id', '=', id).execute()
}

export async function deleteCredential(db: Kysely<Database>, { accountId, id }: CredentialReference): Promise<void> {
  await db.deleteFrom('provider_credential').where('account_id', '=', accountId).where('id', '=', id).execute()
}

/** Raises the version of the account's credentials, in the transaction of their change. @param now Unix milliseconds. */
export async function raiseVersion(db: Kysely<Database>, accountId: AccountId, now: number): Promise<void> {
  await db
    .updateTable('account')
    .set({
      provider_credentials: sql<number>`coalesce(provider_credentials, 0) + 1`,
      changed_at: nextChangedAt('account', now),
    })
    .where('id', '=', accountId)
    .execute()
}

/** Notes how a provider received a credential. Nothing is invalidated by it. */
async function noteStatus(
  db: Kysely<Database>,
  { accountId, id }: CredentialReference,
  status: ProviderCredentialStatus,
): Promise<void> {
  await db
    .updateTable('provider_credential')
    .set({ status })
    .where('account_id', '=', accountId)
    .where('id', '=', id)
    .where('status', '<>', status)
    .execute()
}

/** The person behind a caller: itself, or who created its key. */
export async function creatorOf(
  db: Kysely<Database>,
  { kind, accountId, keyId, userId }: Caller,
): Promise<UserId | null> {
  if (kind !== 'key') return userId ?? null
  const key = await db
    .selectFrom('api_key')
    .select('created_by')
    .where('account_id', '=', accountId)
    .where('id', '=', keyId)
    .executeTakeFirst()
  return key?.created_by ?? null
}

/*
 * Upkeep of stored provider credentials: their status, by what providers answer to requests with them, and their
 * seals.
 */

interface StatusWatchInput {
  readonly db: Kysely<Database>
  /** Unix milliseconds. */
  readonly now: () => number
  readonly log: { warn(fields: object, message: string): void }
}

/** The same status of one credential is written at most this often, in milliseconds. */
const WRITE_EVERY_MS = 60_000
/** Statuses of credentials whose last write is remembered. */
export const MAX_REMEMBERED = 10_000

export function watchCredentialStatuses({ db, now, log }: StatusWatchInput): AttemptWatch {
  const writtenAt = createLruCache<number>(MAX_REMEMBERED)

  return watchAttempts(({ outcome, credentialId: id }, accountId, trace) => {
    if (id === undefined) return
    const isRefused = outcome === 'credentials' || outcome === 'quota'
    if (!isRefused && outcome !== 'answered') return
    const status = isRefused ? 'refused' : 'verified'
    const name = `${id} ${status}`
    if (now() - (writtenAt.get(name) ?? Number.NEGATIVE_INFINITY) < WRITE_EVERY_MS) return
    writtenAt.set(name, now())
    return noteStatus(db, { accountId, id }, status).catch((error: unknown) =>
      log.warn({ trace_id: trace?.traceId, err: error, credential: id }, 'the status of a credential was not written'),
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

// The provider credentials that apply to a caller, from memory. An account is read again when its version is newer than what
// is known, and the version is part of the caller: what invalidates callers in all processes invalidates these, too.

/** Accounts whose credentials are in memory. */
export const MAX_CACHED_ACCOUNTS = 10_000

interface AccountCredentialsInput {
  readonly db: Kysely<Database>
  readonly sealer: Pick<Sealer, 'open'>
  readonly log: { error(fields: object, message: string): void }
  readonly capacity?: number
}

interface KnownCredential {
  readonly sealed: Uint8Array
  readonly credential: AccountCredential
}

interface Entry {
  readonly version: number
  readonly byId: ReadonlyMap<ProviderCredentialId, KnownCredential>
  /** Those of the whole account. */
  readonly ofAccount: AccountCredentials | undefined
  /** Those of keys. */
  readonly ofKeys: ReadonlyMap<KeyId, readonly AccountCredential[]>
  /** What applies, by the nearest key that has credentials. */
  readonly merged: Map<KeyId, AccountCredentials>
}

export function createAccountCredentials(
  input: AccountCredentialsInput,
): Pick<AccountCredentialsPort, 'credentialsOf'> {
  const cache = createVersionedCache<Entry>(input.capacity ?? MAX_CACHED_ACCOUNTS, (id, before) =>
    readEntry(input, id as AccountId, before),
  )
  return {
    credentialsOf(caller) {
      const { accountId, providerCredentials: version } = caller
      if (version === undefined) return undefined
      const entry = cache.get(accountId, version)
      return entry instanceof Promise ? entry.then((found) => ofCaller(found, caller)) : ofCaller(entry, caller)
    },
  }
}

type Row = Pick<ProviderCredentialTable, 'id' | 'provider' | 'key_id' | 'secret' | 'allow_fallback'>

/** Version and rows in one query: they belong together. */
async function readEntry(
  { db, sealer, log }: AccountCredentialsInput,
  accountId: AccountId,
  before: Entry | undefined,
): Promise<Entry> {
  const rows = await db
    .selectFrom('account')
    .leftJoin('provider_credential as own', 'own.account_id', 'account.id')
    .select([
      'account.provider_credentials',
      'own.id',
      'own.provider',
      'own.key_id',
      'own.secret',
      'own.allow_fallback',
    ])
    .where('account.id', '=', accountId)
    .execute()
  const byId = new Map<ProviderCredentialId, KnownCredential>()
  const ofAccount: AccountCredential[] = []
  const ofKeys = new Map<KeyId, AccountCredential[]>()
  for (const { provider_credentials: _, ...row } of rows) {
    if (row.id === null) continue
    const known = credentialOf({ sealer, log }, accountId, { row: row as Row, before })
    byId.set(row.id, known)
    if (row.key_id === null) ofAccount.push(known.credential)
    else ofKeys.set(row.key_id, [...(ofKeys.get(row.key_id) ?? []), known.credential])
  }
  const version = rows[0]?.provider_credentials ?? 0
  return { version, byId, ofAccount: setOf(ofAccount), ofKeys, merged: new Map() }
}

/** A key that no provider accepts. */
const UNREADABLE = 'unreadable-credential'

/**
 * The object that was there before, as long as nothing changed: routing keeps its health. One that cannot be opened is
 * refused by its provider, since the operator's credential must not be used in its place.
 */
function credentialOf(
  { sealer, log }: Pick<AccountCredentialsInput, 'sealer' | 'log'>,
  accountId: AccountId,
  { row, before }: { readonly row: Row; readonly before: Entry | undefined },
): KnownCredential {
  const { id, provider, secret: sealed } = row
  const allowFallback = row.allow_fallback === 1
  const known = before?.byId.get(id)
  const isSame = known !== undefined && Buffer.compare(known.sealed, sealed) === 0
  if (isSame && known.credential.allowFallback === allowFallback) return known
  const opened = sealer.open(sealed, placeOf({ account_id: accountId, id, provider }))
  if (opened === undefined) log.error({ credential: id }, 'a provider credential cannot be opened; it must be rotated')
  return { sealed, credential: { id, provider, secret: opened ?? UNREADABLE, allowFallback } }
}

/** Those of the key, before those of the keys above it, before those of the account. */
function ofCaller({ ofAccount, ofKeys, merged }: Entry, { keyId, ancestors = [] }: Caller) {
  if (ofKeys.size === 0) return ofAccount
  const chain = [keyId, ...ancestors.map((above) => above.keyId)].filter((id) => ofKeys.has(id))
  const [nearest] = chain
  if (nearest === undefined) return ofAccount
  const known = merged.get(nearest)
  if (known !== undefined) return known
  const lists = chain.toReversed().map((id) => ofKeys.get(id) ?? [])
  const made = setOf([...(ofAccount?.byProvider.values() ?? []), ...lists.flat()])
  if (made !== undefined) merged.set(nearest, made)
  return made
}

/** Later ones replace earlier ones of the same provider. */
function setOf(credentials: readonly AccountCredential[]): AccountCredentials | undefined {
  if (credentials.length === 0) return undefined
  return { byProvider: new Map(credentials.map((credential) => [credential.provider, credential])) }
}
