/**
 * The provider credentials that apply to a caller, from memory. An account is read again when its version is newer than what
 * is known, and the version is part of the caller: what invalidates callers in all processes invalidates these, too.
 */
import type { Kysely } from 'kysely'
import type { Database, ProviderCredentialTable } from '../../db/schema/schema.ts'
import type { Sealer } from '../../db/sealed.ts'
import type { AccountCredential, AccountCredentials, AccountCredentialsPort } from '../../domain/account-credential.ts'
import type { Caller } from '../../domain/identity/caller.ts'
import type { AccountId, KeyId, ProviderCredentialId } from '../../domain/ids.ts'
import { createVersionedCache } from '../../lib/collections.ts'
import { placeOf } from './store.ts'

/** Accounts whose credentials are in memory. */
export const MAX_CACHED_ACCOUNTS = 10_000

interface Input {
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

export function createAccountCredentials(input: Input): Pick<AccountCredentialsPort, 'credentialsOf'> {
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
async function readEntry({ db, sealer, log }: Input, accountId: AccountId, before: Entry | undefined): Promise<Entry> {
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
  { sealer, log }: Pick<Input, 'sealer' | 'log'>,
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
