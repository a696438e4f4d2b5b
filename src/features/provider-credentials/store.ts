/** Rows of provider credentials. Every change also raises the account's version of them, so that all processes read again. */
import { type Kysely, sql } from 'kysely'
import { nextChangedAt } from '../../db/changed-at.ts'
import type { Database, ProviderCredentialStatus, ProviderCredentialTable } from '../../db/schema/schema.ts'
import { GatewayError } from '../../domain/errors.ts'
import type { Caller } from '../../domain/identity/caller.ts'
import type { AccountId, ProviderCredentialId, UserId } from '../../domain/ids.ts'
import type { PageRequest } from '../../http/page.ts'

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
export async function noteStatus(
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
