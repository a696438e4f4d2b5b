/** Changes of provider credentials: each key is tested first, and each change is one transaction with its audit row. */
import type { Kysely } from 'kysely'
import { acquireAdvisoryLock } from '../../db/database.ts'
import type { Database, ProviderCredentialTable } from '../../db/schema/schema.ts'
import type { Sealer } from '../../db/sealed.ts'
import { GatewayError } from '../../domain/errors.ts'
import type { AccountId, KeyId, ProviderCredentialId } from '../../domain/ids.ts'
import type { ProviderProbe } from '../../domain/provider-status.ts'
import type { Requester } from '../../http/request-origin.ts'
import type { FeatureDeps, WriteAudit } from '../deps.ts'
import {
  type CredentialReference,
  type CredentialRow,
  creatorOf,
  deleteCredential,
  placeOf,
  raiseVersion,
  requireCredential,
  updateCredential,
} from './store.ts'

export interface ManageDeps extends Pick<FeatureDeps, 'db' | 'now' | 'ids'> {
  readonly sealer: Sealer
  readonly writeAudit: WriteAudit
  /** Awaited after every change: when it resolves, the change is in force in this process. */
  readonly changed: () => void | Promise<void>
  /** Names of the providers that the operator has configured and that take a key. */
  readonly providers: () => readonly string[]
  /** Calls a provider once with a key, at the operator's address. Undefined: there is no such provider. Never rejects. */
  readonly probe: (provider: string, apiKey: string, waitMs: number) => Promise<ProviderProbe> | undefined
  readonly waitMs?: number
}

/** Credentials of an account. */
export const MAX_CREDENTIALS = 100
/** The longest wait for a provider's answer to a test, in milliseconds. */
export const MAX_TEST_MS = 10_000
const SHOWN_SUFFIX_LENGTH = 4

export interface NewCredential {
  readonly provider: string
  readonly apiKey: string
  readonly name: string
  /** Undefined: for all keys of the account. */
  readonly keyId: KeyId | undefined
  readonly allowFallback: boolean
}

/** Rejects with 404 for a provider that is not there, 400 for a key that it refuses, 409 for a second one. */
export async function addCredential(
  deps: ManageDeps,
  requester: Requester,
  { provider, apiKey, name, keyId, allowFallback }: NewCredential,
): Promise<CredentialRow> {
  const { db, now, ids, sealer } = deps
  const { accountId } = requester.caller
  const reference = { accountId, id: ids.providerCredential() }
  const tested = await testKey(deps, requester, { action: 'created', provider, apiKey })
  const added = await db.transaction().execute(async (inside) => {
    await acquireAdvisoryLock(inside, lockNameOf(accountId))
    await assertRoom(inside, { accountId, provider, keyId })
    const place = { account_id: accountId, id: reference.id, provider }
    const row: ProviderCredentialTable = {
      ...place,
      key_id: keyId ?? null,
      name,
      secret: sealer.seal(apiKey, placeOf(place)),
      last4: apiKey.slice(-SHOWN_SUFFIX_LENGTH),
      allow_fallback: allowFallback ? 1 : 0,
      ...tested,
      created_by: await creatorOf(inside, requester.caller),
      created_at: now(),
      rotated_at: null,
    }
    await inside.insertInto('provider_credential').values(row).execute()
    return recorded(deps, inside, { requester, reference, action: 'created' })
  })
  await deps.changed()
  return added
}

export interface CredentialChange {
  readonly apiKey: string | undefined
  readonly name: string | undefined
  readonly allowFallback: boolean | undefined
}

/** Changes what is given. A new key takes the place of the old one at once. */
export async function changeCredential(
  deps: ManageDeps,
  requester: Requester,
  { id, apiKey, name, allowFallback }: CredentialChange & { readonly id: ProviderCredentialId },
): Promise<CredentialRow> {
  const { db, now, sealer } = deps
  const reference = { accountId: requester.caller.accountId, id }
  const before = await requireCredential(db, reference)
  if (apiKey === undefined && name === undefined && allowFallback === undefined) return before
  const action = apiKey === undefined ? 'changed' : 'rotated'
  const rotation = apiKey === undefined ? {} : await rotate(apiKey)
  const changed = await db.transaction().execute(async (inside) => {
    await acquireAdvisoryLock(inside, lockNameOf(reference.accountId))
    await requireCredential(inside, reference) // somebody may have deleted it meanwhile
    await updateCredential(inside, reference, {
      ...rotation,
      ...(name === undefined ? {} : { name }),
      ...(allowFallback === undefined ? {} : { allow_fallback: allowFallback ? 1 : 0 }),
    })
    return recorded(deps, inside, { requester, reference, action })
  })
  await deps.changed()
  return changed

  async function rotate(key: string) {
    const tested = await testKey(deps, requester, { action: 'rotated', provider: before.provider, apiKey: key, id })
    const secret = sealer.seal(key, placeOf(before))
    return { ...tested, secret, last4: key.slice(-SHOWN_SUFFIX_LENGTH), rotated_at: now() }
  }
}

export async function removeCredential(
  deps: ManageDeps,
  requester: Requester,
  id: ProviderCredentialId,
): Promise<void> {
  const reference = { accountId: requester.caller.accountId, id }
  await deps.db.transaction().execute(async (inside) => {
    await acquireAdvisoryLock(inside, lockNameOf(reference.accountId))
    await recorded(deps, inside, { requester, reference, action: 'deleted' })
    await deleteCredential(inside, reference)
  })
  await deps.changed()
}

type Action = 'created' | 'changed' | 'rotated' | 'deleted'

interface Change {
  readonly requester: Requester
  readonly reference: CredentialReference
  readonly action: Action
}

/** Raises the account's version and writes the audit row. @returns the row as it is now; throws 404 where there is none. */
async function recorded(
  { now, writeAudit }: ManageDeps,
  inside: Kysely<Database>,
  { requester, reference, action }: Change,
): Promise<CredentialRow> {
  const row = await requireCredential(inside, reference)
  await raiseVersion(inside, reference.accountId, now())
  const { provider, name, last4, key_id: keyId, allow_fallback: fallback, status } = row
  const details = { provider, name, last4, key_id: keyId, allow_fallback: fallback === 1, status }
  const event = { action: `provider_credential.${action}`, subject: row.id, result: 'done', details } as const
  await writeAudit(inside, { ...requester.audited, ...event })
  return row
}

interface KeyTest {
  readonly action: Action
  readonly provider: string
  readonly apiKey: string
  /** Of a credential that is there. */
  readonly id?: ProviderCredentialId
}

/** Accounts whose keys are being tested: one test at a time each, so that nobody can search for valid keys fast. */
const testing = new Set<AccountId>()

/** What the test says for the row. Throws 400 for a key that the provider refused, which the audit log records. */
async function testKey(
  deps: ManageDeps,
  requester: Requester,
  { action, provider, apiKey, id }: KeyTest,
): Promise<Pick<ProviderCredentialTable, 'status' | 'last_tested_at'>> {
  const { accountId } = requester.caller
  if (testing.has(accountId)) {
    throw new GatewayError('conflict', 'Another key of this account is being tested. Retry when that test has ended.')
  }
  testing.add(accountId)
  try {
    const probe = await deps.probe(provider, apiKey, deps.waitMs ?? MAX_TEST_MS)
    if (probe === undefined || probe.kind === 'built_in') throw unknownProvider(provider, deps.providers())
    if (probe.kind !== 'refused')
      return { status: isAccepted(probe) ? 'verified' : 'untested', last_tested_at: deps.now() }
    const details = { provider, status: probe.status }
    const event = { action: `provider_credential.${action}`, subject: id, result: 'denied', details } as const
    await deps.writeAudit(deps.db, { ...requester.audited, ...event })
    const message = `The provider '${provider}' rejected 'api_key' (status ${probe.status}).`
    throw new GatewayError('invalid_value', message, { param: 'api_key' })
  } finally {
    testing.delete(accountId)
  }
}

/** A provider that is limiting, failing or away says nothing about the key: it is stored untested. */
function isAccepted(probe: ProviderProbe): boolean {
  return probe.kind === 'answered' && probe.status >= 200 && probe.status < 300
}

function unknownProvider(name: string, known: readonly string[]): GatewayError {
  const list = known.length === 0 ? 'none is configured' : `known are ${known.join(', ')}`
  const message = `No provider '${name}' takes keys of accounts: ${list}.`
  return new GatewayError('not_found', message, { param: 'provider' })
}

function lockNameOf(accountId: AccountId): string {
  return `provider credentials of ${accountId}`
}

interface Wanted extends Pick<NewCredential, 'provider' | 'keyId'> {
  readonly accountId: AccountId
}

async function assertRoom(inside: Kysely<Database>, { accountId, provider, keyId }: Wanted): Promise<void> {
  const rows = await inside
    .selectFrom('provider_credential')
    .select(['id', 'provider', 'key_id'])
    .where('account_id', '=', accountId)
    .execute()
  const same = rows.find((row) => row.provider === provider && row.key_id === (keyId ?? null))
  if (same !== undefined) {
    const scope = keyId === undefined ? 'This account' : 'This API key'
    const message = `${scope} has a credential for the provider '${provider}' already, ${same.id}. Rotate that one.`
    throw new GatewayError('conflict', message)
  }
  if (rows.length >= MAX_CREDENTIALS) {
    throw new GatewayError('conflict', `An account has at most ${MAX_CREDENTIALS} provider credentials. Delete one.`)
  }
  if (keyId !== undefined) await assertKey(inside, accountId, keyId)
}

async function assertKey(inside: Kysely<Database>, accountId: AccountId, id: KeyId): Promise<void> {
  const key = await inside
    .selectFrom('api_key')
    .select('id')
    .where('account_id', '=', accountId)
    .where('id', '=', id)
    .where('revoked_at', 'is', null)
    .executeTakeFirst()
  if (key === undefined) throw new GatewayError('not_found', 'No active key has this ID.', { param: 'key_id' })
}
