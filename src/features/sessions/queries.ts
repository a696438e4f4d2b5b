/** Rows of browser sessions. Ended and expired ones are never returned, and deleted after 30 days. */
import type { ExpressionBuilder, Kysely, Selectable } from 'kysely'
import { nextChangedAt } from '../../db/changed-at.ts'
import type { SessionTable } from '../../db/schema/identity.ts'
import type { Database } from '../../db/schema/schema.ts'
import { pageBy } from '../../db/shared-queries.ts'
import type { Origin } from '../../domain/identity/sign-in.ts'
import type { AccountId, SessionId, UserId } from '../../domain/ids.ts'
import type { PageRequest } from '../../http/page.ts'
import { BATCH_ROWS, retentionJob } from '../../jobs/batched-deletion.ts'
import type { JobKind } from '../../jobs/job.ts'
import type { FeatureDeps } from '../deps.ts'

/** Lifetime without renewal, and in total. */
export const IDLE_LIFE_MS = 30 * 86_400_000
export const WHOLE_LIFE_MS = 90 * 86_400_000
/** Maximum sessions of a person: another one ends the oldest. */
export const MAX_SESSIONS = 50
const MAX_USER_AGENT_LENGTH = 200
const HOUR_MS = 3_600_000
const RETENTION_MS = 30 * 24 * HOUR_MS

/** Times are Unix milliseconds. */
export interface Session {
  readonly id: SessionId
  readonly userId: UserId
  readonly accountId: AccountId
  readonly createdAt: number
  readonly renewedAt: number
  /** When it ends if it is not renewed. */
  readonly endsAt: number
  readonly address: string | undefined
  readonly userAgent: string | undefined
}

export interface NewSession {
  readonly id: SessionId
  readonly secretHash: Uint8Array
  readonly userId: UserId
  readonly accountId: AccountId
  readonly origin: Origin
}

export async function insertSession(db: Kysely<Database>, session: NewSession, now: number): Promise<void> {
  await db
    .insertInto('session')
    .values({
      id: session.id,
      secret_hash: session.secretHash,
      user_id: session.userId,
      account_id: session.accountId,
      created_at: now,
      renewed_at: now,
      expires_at: now + WHOLE_LIFE_MS,
      ended_at: null,
      address: session.origin.address,
      user_agent: session.origin.userAgent?.replaceAll(/[^\x20-\x7e]/g, '').slice(0, MAX_USER_AGENT_LENGTH) ?? null,
      changed_at: nextChangedAt('session', now),
    })
    .execute()
}

/** Ends a person's oldest sessions beyond the cap. */
export async function endSurplus(db: Kysely<Database>, userId: UserId, now: number): Promise<void> {
  const surplus = await activeSessions(db, now)
    .select('session.id')
    .where('session.user_id', '=', userId)
    .orderBy('session.id', 'desc')
    .offset(MAX_SESSIONS)
    .limit(MAX_SESSIONS)
    .execute()
  for (const { id } of surplus) await endSession(db, { id, userId }, now)
}

/** A session with the current data of its person and account. */
export type PersonalSession = NonNullable<Awaited<ReturnType<typeof findSession>>>

/**
 * Undefined when there is no active session, or the person is disabled or no longer a member of the account.
 * @param by The ID of the session, or the SHA-256 of its cookie.
 */
export async function findSession(
  db: Kysely<Database>,
  by: { readonly id: SessionId } | { readonly secretHash: Uint8Array },
  now: number,
) {
  const row = await activeSessions(db, now)
    .innerJoin('person', 'person.id', 'session.user_id')
    .innerJoin('account', 'account.id', 'session.account_id')
    .innerJoin('member', (join) =>
      join.onRef('member.account_id', '=', 'session.account_id').onRef('member.user_id', '=', 'session.user_id'),
    )
    .where((is) => ('id' in by ? is('session.id', '=', by.id) : is('session.secret_hash', '=', by.secretHash)))
    .where(({ and }) => and({ 'person.disabled_at': null, 'member.removed_at': null }))
    .selectAll('session')
    .select(['person.email', 'person.name', 'account.name as account_name', 'account.plan', 'member.role'])
    .select(['account.provider_credentials as providerCredentials', 'account.data_policy as dataPolicy'])
    .select(['account.guardrails', 'account.content_capture as contentCapture'])
    .select((is) => firstAccount(is).as('first_account'))
    .executeTakeFirst()
  if (row === undefined) return undefined
  const { email, name, account_name: accountName, plan, role } = row
  const { providerCredentials, dataPolicy, guardrails, contentCapture } = row
  /** The owner of the installation's first account runs the installation. */
  const operator = role === 'owner' && row.first_account === row.account_id
  return {
    ...toSession(row),
    email,
    name,
    accountName,
    plan,
    providerCredentials,
    dataPolicy,
    guardrails,
    contentCapture,
    role,
    operator,
  }
}

export interface SessionPage extends PageRequest {
  readonly userId: UserId
}

/** Lists the sessions of a person, by age. */
export async function listSessions(
  db: Kysely<Database>,
  { userId, ...page }: SessionPage,
  now: number,
): Promise<readonly Session[]> {
  const rows = await activeSessions(db, now)
    .selectAll('session')
    .where('session.user_id', '=', userId)
    .$call(pageBy('session.id', page))
    .execute()
  return rows.map(toSession)
}

export async function renewSession(db: Kysely<Database>, id: SessionId, now: number): Promise<void> {
  await db.updateTable('session').set({ renewed_at: now }).where('id', '=', id).execute()
}

/** False when the session has ended, or the person is not a member of the account. */
export async function moveSession(
  db: Kysely<Database>,
  { id, accountId }: Pick<Session, 'id' | 'accountId'>,
  now: number,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('session')
    .set({ account_id: accountId, changed_at: nextChangedAt('session', now) })
    .where(({ and }) => and({ id, ended_at: null }))
    .where((is) =>
      is.exists(
        is
          .selectFrom('member')
          .select('member.user_id')
          .where(({ and }) => and({ 'member.account_id': accountId, 'member.removed_at': null }))
          .whereRef('member.user_id', '=', 'session.user_id'),
      ),
    )
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** False when the person has no such active session. */
export async function endSession(
  db: Kysely<Database>,
  { id, userId }: Pick<Session, 'id' | 'userId'>,
  now: number,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('session')
    .set({ ended_at: now, changed_at: nextChangedAt('session', now) })
    .where(({ and }) => and({ id, user_id: userId, ended_at: null }))
    .where('expires_at', '>', now)
    .where('renewed_at', '>', now - IDLE_LIFE_MS)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

function firstAccount(is: ExpressionBuilder<Database, 'session'>) {
  return is.selectFrom('setting').select('setting.value').where('setting.key', '=', 'first_account')
}

function activeSessions(db: Kysely<Database>, now: number) {
  return db
    .selectFrom('session')
    .where('session.ended_at', 'is', null)
    .where('session.expires_at', '>', now)
    .where('session.renewed_at', '>', now - IDLE_LIFE_MS)
}

function toSession(row: Selectable<SessionTable>): Session {
  return {
    id: row.id,
    userId: row.user_id,
    accountId: row.account_id,
    createdAt: row.created_at,
    renewedAt: row.renewed_at,
    endsAt: Math.min(row.expires_at, row.renewed_at + IDLE_LIFE_MS),
    address: row.address ?? undefined,
    userAgent: row.user_agent ?? undefined,
  }
}

/** Background jobs by kind. */
export function sessionJobs({ db, now }: Pick<FeatureDeps, 'db' | 'now'>): Readonly<Record<string, JobKind>> {
  return { 'sessions.retention': retentionJob(HOUR_MS, () => deleteOldSessions(db, now())) }
}

/** @returns How many were deleted: at most a batch. */
export async function deleteOldSessions(db: Kysely<Database>, now: number): Promise<number> {
  const before = now - RETENTION_MS
  const over = db
    .selectFrom('session')
    .select('id')
    .where((is) =>
      is.or([is('ended_at', '<', before), is('expires_at', '<', before), is('renewed_at', '<', before - IDLE_LIFE_MS)]),
    )
    .limit(BATCH_ROWS)
  const { numDeletedRows } = await db.deleteFrom('session').where('id', 'in', over).executeTakeFirst()
  return Number(numDeletedRows)
}
