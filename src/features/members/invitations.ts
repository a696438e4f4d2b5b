/** Invitations: links that make whoever opens them a member, once, within 7 days. Only the SHA-256 of a link's token is kept. */
import { randomBytes } from 'node:crypto'
import type { Kysely, Selectable } from 'kysely'
import type { Database, InvitationTable } from '../../db/schema.ts'
import { type AccountId, base62Source, type IdSource, type InvitationId, type UserId } from '../../domain/ids.ts'
import type { Role } from '../../domain/rights.ts'
import { secretForm, secretHash } from '../../domain/secret-text.ts'

export const INVITATION_LIFE_MS = 7 * 86_400_000

const FORM = secretForm('tpi_')
const randomText = base62Source(randomBytes)

/** Times are Unix milliseconds. */
export interface Invitation {
  readonly accountId: AccountId
  readonly id: InvitationId
  readonly role: Role
  readonly email: string | undefined
  /** Undefined: an API key. */
  readonly createdBy: UserId | undefined
  readonly createdAt: number
  readonly expiresAt: number
  readonly usedAt: number | undefined
  readonly usedBy: UserId | undefined
  readonly revokedAt: number | undefined
}

export type NewInvitation = Pick<Invitation, 'accountId' | 'role' | 'email' | 'createdBy'>
export type InvitationReference = Pick<Invitation, 'accountId' | 'id'>

/** The page that takes the token. It stands behind `#`, which browsers do not send: it gets into no server's log. */
export function invitationUrl(publicUrl: string, token: string): string {
  return `${publicUrl}/invitation#token=${token}`
}

/** Inside a transaction of the caller's. */
export async function createInvitation(
  db: Kysely<Database>,
  { accountId, role, email, createdBy }: NewInvitation,
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
      created_at: time,
      expires_at: time + INVITATION_LIFE_MS,
    })
    .returningAll()
    .executeTakeFirstOrThrow()
  const credential = { hash: secretHash(token), account_id: accountId, kind: 'invitation', id } as const
  await db.insertInto('credential').values(credential).execute()
  return { invitation: toInvitation(row), token }
}

export interface InvitationPage {
  readonly limit: number
  readonly order: 'asc' | 'desc'
  /** The id of the last one of the page before; undefined: from the start. */
  readonly after: string | undefined
}

/** Those that are over included, by creation; ids sort by time. */
export async function listInvitations(
  db: Kysely<Database>,
  accountId: AccountId,
  { limit, order, after }: InvitationPage,
): Promise<readonly Invitation[]> {
  const rows = await db
    .selectFrom('invitation')
    .selectAll()
    .where('account_id', '=', accountId)
    .$if(after !== undefined, (query) => query.where('id', order === 'asc' ? '>' : '<', after as InvitationId))
    .orderBy('id', order)
    .limit(limit)
    .execute()
  return rows.map(toInvitation)
}

export async function countOpenInvitations(db: Kysely<Database>, accountId: AccountId, now: number): Promise<number> {
  const { count } = await db
    .selectFrom('invitation')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('account_id', '=', accountId)
    .where('used_at', 'is', null)
    .where('revoked_at', 'is', null)
    .where('expires_at', '>', now)
    .executeTakeFirstOrThrow()
  return Number(count)
}

/** Which invitation a token is of, whatever has become of it; undefined for a token that nobody was given. */
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

/** Undefined when it was used, revoked, or is too old. */
export async function findOpen(
  db: Kysely<Database>,
  { accountId, id }: InvitationReference,
  now: number,
): Promise<Invitation | undefined> {
  const row = await db
    .selectFrom('invitation')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('id', '=', id)
    .where('used_at', 'is', null)
    .where('revoked_at', 'is', null)
    .where('expires_at', '>', now)
    .executeTakeFirst()
  return row === undefined ? undefined : toInvitation(row)
}

/** False when it was used or revoked meanwhile. */
export async function useUp(
  db: Kysely<Database>,
  { accountId, id, userId }: InvitationReference & { readonly userId: UserId },
  now: number,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('invitation')
    .set({ used_at: now, used_by: userId })
    .where('account_id', '=', accountId)
    .where('id', '=', id)
    .where('used_at', 'is', null)
    .where('revoked_at', 'is', null)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** False when it is unknown, another account's, or over already. */
export async function revokeInvitation(
  db: Kysely<Database>,
  { accountId, id }: InvitationReference,
  now: number,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('invitation')
    .set({ revoked_at: now })
    .where('account_id', '=', accountId)
    .where('id', '=', id)
    .where('used_at', 'is', null)
    .where('revoked_at', 'is', null)
    .where('expires_at', '>', now)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

function toInvitation(row: Selectable<InvitationTable>): Invitation {
  return {
    accountId: row.account_id,
    id: row.id,
    role: row.role,
    email: row.email ?? undefined,
    createdBy: row.created_by ?? undefined,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    usedAt: row.used_at ?? undefined,
    usedBy: row.used_by ?? undefined,
    revokedAt: row.revoked_at ?? undefined,
  }
}
