/** Invitations: links that make whoever opens them a member, once, within 7 days. Only the SHA-256 of a token is stored. */
import { randomBytes } from 'node:crypto'
import type { Kysely, Selectable } from 'kysely'
import type { InvitationTable } from '../../db/schema/identity.ts'
import type { Database } from '../../db/schema/schema.ts'
import { countRows, pageBy } from '../../db/shared-queries.ts'
import type { Role } from '../../domain/identity/caller.ts'
import { secretForm, secretHash } from '../../domain/identity/credential.ts'
import {
  type AccountId,
  base62Source,
  type IdSource,
  type InvitationId,
  type KeyId,
  type UserId,
} from '../../domain/ids.ts'
import type { PageRequest } from '../../http/page.ts'
import { BATCH_ROWS, retentionJob } from '../../jobs/batched-deletion.ts'
import type { JobKind } from '../../jobs/job.ts'
import type { FeatureDeps } from '../deps.ts'

export const INVITATION_LIFE_MS = 7 * 86_400_000
const HOUR_MS = 3_600_000
const RETENTION_MS = 90 * 24 * HOUR_MS
const FORM = secretForm('tpi_')
const randomText = base62Source(randomBytes)

/** Times are Unix milliseconds. */
export type Invitation = Selectable<InvitationTable>

export interface NewInvitation {
  readonly accountId: AccountId
  readonly role: Role
  readonly email: string | undefined
  /** The person, or the creator of the key that invites; undefined: none. */
  readonly createdBy: UserId | undefined
  /** The API key that invites; undefined: a person does. */
  readonly keyId: KeyId | undefined
}

export interface InvitationReference {
  readonly accountId: AccountId
  readonly id: InvitationId
}

/** The page that redeems the token, which is in the fragment: browsers do not send it, so no server logs it. */
export function invitationUrl(publicUrl: string, token: string): string {
  return `${publicUrl}/invitation#token=${token}`
}

/** Inside a transaction of the caller's. */
export async function createInvitation(
  db: Kysely<Database>,
  { accountId, role, email, createdBy, keyId }: NewInvitation,
  { now, ids }: { readonly now: () => number; readonly ids: Pick<IdSource, 'invitation'> },
): Promise<{ readonly invitation: Invitation; readonly token: string }> {
  const token = FORM.mint(randomText)
  const time = now()
  const id = ids.invitation()
  const row = await db
    .insertInto('invitation')
    .values({
      account_id: accountId,
      id,
      role,
      email: email ?? null,
      created_by: createdBy ?? null,
      key_id: keyId ?? null,
      created_at: time,
      expires_at: time + INVITATION_LIFE_MS,
    })
    .returningAll()
    .executeTakeFirstOrThrow()
  const credential = { hash: secretHash(token), account_id: accountId, kind: 'invitation', id } as const
  await db.insertInto('credential').values(credential).execute()
  return { invitation: row, token }
}

/** By creation, ended ones included; ids sort by time. */
export async function listInvitations(
  db: Kysely<Database>,
  accountId: AccountId,
  page: PageRequest,
): Promise<readonly Invitation[]> {
  return db.selectFrom('invitation').selectAll().where('account_id', '=', accountId).$call(pageBy('id', page)).execute()
}

export async function countOpenInvitations(db: Kysely<Database>, accountId: AccountId, now: number): Promise<number> {
  const open = db
    .selectFrom('invitation')
    .where(({ and }) => and({ account_id: accountId, used_at: null, revoked_at: null }))
  return countRows(open.where('expires_at', '>', now))
}

/** Finds the invitation of a token, whatever its state; undefined for an unknown token. */
export async function findByToken(db: Kysely<Database>, token: string): Promise<InvitationReference | undefined> {
  if (!FORM.isWellFormed(token)) return undefined
  const row = await db
    .selectFrom('credential')
    .select(['account_id', 'id'])
    .where('hash', '=', secretHash(token))
    .where('kind', '=', 'invitation')
    .executeTakeFirst()
  return row === undefined ? undefined : { accountId: row.account_id, id: row.id as InvitationId } // as its kind says
}

/** Undefined when it was used, revoked, or has expired. */
export async function findOpen(
  db: Kysely<Database>,
  { accountId, id }: InvitationReference,
  now: number,
): Promise<Invitation | undefined> {
  return db
    .selectFrom('invitation')
    .selectAll()
    .where(({ and }) => and({ account_id: accountId, id, used_at: null, revoked_at: null }))
    .where('expires_at', '>', now)
    .executeTakeFirst()
}

/** False when it was used or revoked in the meantime. */
export async function markUsed(
  db: Kysely<Database>,
  { accountId, id, userId }: InvitationReference & { readonly userId: UserId },
  now: number,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('invitation')
    .set({ used_at: now, used_by: userId })
    .where(({ and }) => and({ account_id: accountId, id, used_at: null, revoked_at: null }))
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** False when it is unknown, another account's, used, revoked or expired. */
export async function revokeInvitation(
  db: Kysely<Database>,
  { accountId, id }: InvitationReference,
  now: number,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('invitation')
    .set({ revoked_at: now })
    .where(({ and }) => and({ account_id: accountId, id, used_at: null, revoked_at: null }))
    .where('expires_at', '>', now)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Background jobs by kind. */
export function membersJobs({ db, now }: Pick<FeatureDeps, 'db' | 'now'>): Readonly<Record<string, JobKind>> {
  return { 'invitations.retention': retentionJob(HOUR_MS, () => deleteOldInvitations(db, now())) }
}

/** @returns How many were deleted: at most a batch. */
export async function deleteOldInvitations(db: Kysely<Database>, now: number): Promise<number> {
  const over = await db
    .selectFrom('invitation')
    .select(['account_id', 'id'])
    .where('expires_at', '<', now - RETENTION_MS)
    .limit(BATCH_ROWS)
    .execute()
  if (over.length === 0) return 0
  const ids = over.map(({ id }) => id)
  const accounts = [...new Set(over.map(({ account_id: accountId }) => accountId))]
  // Credentials have no index by subject, so they are read outside of the transaction.
  const credentials = await db
    .selectFrom('credential')
    .select('hash')
    .where('account_id', 'in', accounts)
    .where('kind', '=', 'invitation')
    .where('id', 'in', ids)
    .execute()
  return db.transaction().execute(async (inside) => {
    const hashes = credentials.map(({ hash }) => hash)
    if (hashes.length > 0) await inside.deleteFrom('credential').where('hash', 'in', hashes).execute()
    await inside.deleteFrom('invitation').where('account_id', 'in', accounts).where('id', 'in', ids).execute()
    return over.length
  })
}
