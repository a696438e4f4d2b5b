/** Teams of an account (docs/teams.md): their limits, their rows, and who is in them. */
import type { Kysely, Selectable } from 'kysely'
import { nextChangedAt } from '../../db/changed-at.ts'
import type { TeamTable } from '../../db/schema/identity.ts'
import type { Database } from '../../db/schema/schema.ts'
import { countRows, type PageOf, pageBy } from '../../db/shared-queries.ts'
import { type DataPolicy, policyOf, policyText } from '../../domain/data-policy.ts'
import { GatewayError, notFound } from '../../domain/errors.ts'
import {
  type Caller,
  hasTeamRight,
  OF_TEAM_KEYS,
  type Right,
  type TeamEndpoint,
  type TeamRole,
} from '../../domain/identity/caller.ts'
import type { AccountId, TeamId, UserId } from '../../domain/ids.ts'
import { readTagColumns, type TagSettings, tagColumns, tagsInTeam } from '../../http/fields/tags.ts'
import type { PageRequest } from '../../http/page.ts'

/** What an admin of the account sets. Empty lists and undefined mean no limit. */
export interface TeamSettings extends TagSettings {
  readonly name: string
  readonly models: readonly string[]
  readonly endpoints: readonly TeamEndpoint[]
  readonly requestsPerMinute: number | undefined
  readonly dataPolicy: DataPolicy | undefined
}

/** Times are Unix milliseconds. */
export interface Team extends TeamSettings {
  readonly accountId: AccountId
  readonly id: TeamId
  readonly createdAt: number
  readonly archivedAt: number | undefined
}

export interface TeamReference {
  readonly accountId: AccountId
  readonly id: TeamId
}

export interface TeamMember {
  readonly userId: UserId
  readonly email: string
  readonly name: string
  readonly role: TeamRole
  readonly byGroup: boolean
  readonly createdAt: number
}

function toTeam(row: Selectable<TeamTable>): Team {
  return {
    accountId: row.account_id,
    id: row.id,
    name: row.name,
    models: JSON.parse(row.models) as string[],
    endpoints: JSON.parse(row.endpoints) as TeamEndpoint[],
    requestsPerMinute: row.requests_per_minute ?? undefined,
    dataPolicy: policyOf(row.data_policy),
    ...readTagColumns(row),
    createdAt: row.created_at,
    archivedAt: row.archived_at ?? undefined,
  }
}

/** The columns that hold a team's settings. */
export function settingsColumns({ name, models, endpoints, requestsPerMinute, dataPolicy, ...tags }: TeamSettings) {
  return {
    name,
    models: JSON.stringify(models),
    endpoints: JSON.stringify(endpoints),
    requests_per_minute: requestsPerMinute ?? null,
    data_policy: policyText(dataPolicy),
    ...tagColumns(tags),
  }
}

export const TEAM_STATUSES = ['active', 'archived'] as const
export type TeamStatus = (typeof TEAM_STATUSES)[number]

export interface TeamPage extends PageOf {
  /** Undefined: both. */
  readonly status: TeamStatus | undefined
  /** Undefined: all of the account. */
  readonly only: TeamId | undefined
}

/** By creation; IDs sort by time. */
export async function listTeams(db: Kysely<Database>, accountId: AccountId, page: TeamPage): Promise<readonly Team[]> {
  const { status, only } = page
  const rows = await db
    .selectFrom('team')
    .selectAll()
    .where('account_id', '=', accountId)
    .$if(status !== undefined, (query) => query.where('archived_at', status === 'active' ? 'is' : 'is not', null))
    .$if(only !== undefined, (query) => query.where('id', '=', only ?? ('' as TeamId)))
    .$call(pageBy('id', page))
    .execute()
  return rows.map(toTeam)
}

/** Undefined when the team is unknown or another account's. */
export async function findTeam(db: Kysely<Database>, { accountId, id }: TeamReference): Promise<Team | undefined> {
  const row = await db
    .selectFrom('team')
    .selectAll()
    .where(({ and }) => and({ account_id: accountId, id }))
    .executeTakeFirst()
  return row && toTeam(row)
}

export async function insertTeam(
  db: Kysely<Database>,
  { accountId, id, ...settings }: TeamReference & TeamSettings,
  now: number,
): Promise<Team> {
  const row = await db
    .insertInto('team')
    .values({
      account_id: accountId,
      id,
      ...settingsColumns(settings),
      created_at: now,
      archived_at: null,
      changed_at: nextChangedAt('team', now),
    })
    .returningAll()
    .executeTakeFirstOrThrow()
  return toTeam(row)
}

/** Undefined when the team is unknown, another account's, or archived. */
export async function updateTeam(
  db: Kysely<Database>,
  { accountId, id }: TeamReference,
  columns: ReturnType<typeof settingsColumns> | { readonly archived_at: number },
  now: number,
): Promise<Team | undefined> {
  const row = await db
    .updateTable('team')
    .set({ ...columns, changed_at: nextChangedAt('team', now) })
    .where(({ and }) => and({ account_id: accountId, id, archived_at: null }))
    .returningAll()
    .executeTakeFirst()
  return row && toTeam(row)
}

export function countTeams(db: Kysely<Database>, accountId: AccountId): Promise<number> {
  return countRows(db.selectFrom('team').where(({ and }) => and({ account_id: accountId, archived_at: null })))
}

export interface TeamCounts {
  readonly members: number
  /** Neither revoked nor expired. */
  readonly keys: number
}

/** @param now Unix milliseconds. */
export async function countsOf(
  db: Kysely<Database>,
  { accountId, id }: TeamReference,
  now: number,
): Promise<TeamCounts> {
  const keys = db
    .selectFrom('api_key')
    .where(({ and }) => and({ account_id: accountId, team_id: id, revoked_at: null }))
    .where((is) => is('expires_at', 'is', null).or('expires_at', '>', now))
  return { members: await countRows(membersOf(db, { accountId, id })), keys: await countRows(keys) }
}

/** By when they came into the team. The page starts after a `positionOf`. */
export async function listTeamMembers(
  db: Kysely<Database>,
  team: TeamReference,
  { limit, order, after }: PageRequest,
): Promise<readonly TeamMember[]> {
  const [joinedAt, userId = ''] = (after ?? '').split(' ')
  const rows = await describedMembers(db, team)
    .$if(after !== undefined, (query) =>
      query.where(({ eb, refTuple, tuple }) =>
        eb(
          refTuple('team_member.created_at', 'team_member.user_id'),
          order === 'asc' ? '>' : '<',
          tuple(Number(joinedAt), userId as UserId), // from a signed cursor
        ),
      ),
    )
    .orderBy('team_member.created_at', order)
    .orderBy('team_member.user_id', order)
    .limit(limit)
    .execute()
  return rows.map(toMember)
}

export function positionOf({ createdAt, userId }: Pick<TeamMember, 'createdAt' | 'userId'>): string {
  return `${createdAt} ${userId}`
}

export interface MemberReference {
  readonly team: TeamReference
  readonly userId: UserId
}

export async function findTeamMember(
  db: Kysely<Database>,
  { team, userId }: MemberReference,
): Promise<TeamMember | undefined> {
  const row = await describedMembers(db, team).where('team_member.user_id', '=', userId).executeTakeFirst()
  return row && toMember(row)
}

/** Whether the person is a member of the account. */
export async function isInAccount(
  db: Kysely<Database>,
  { accountId, userId }: { readonly accountId: AccountId; readonly userId: UserId },
): Promise<boolean> {
  const query = db.selectFrom('member').where(({ and }) => and({ account_id: accountId, removed_at: null }))
  return (await countRows(query.where('user_id', '=', userId))) > 0
}

/** Adds a person to a team, or changes their role in it. @param now Unix milliseconds. */
export async function putTeamMember(
  db: Kysely<Database>,
  { team, userId, role, byGroup }: MemberReference & { readonly role: TeamRole; readonly byGroup: boolean },
  now: number,
): Promise<void> {
  const changed = { role, by_group: byGroup ? (1 as const) : (0 as const) }
  await db
    .insertInto('team_member')
    .values({ account_id: team.accountId, team_id: team.id, user_id: userId, created_at: now, ...changed })
    .onConflict((conflict) => conflict.columns(['account_id', 'team_id', 'user_id']).doUpdateSet(changed))
    .execute()
  await evict(db, { team, userId }, now)
}

/** False when the person is not in the team. @param now Unix milliseconds. */
export async function removeTeamMember(
  db: Kysely<Database>,
  { team, userId }: MemberReference,
  now: number,
): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('team_member')
    .where(({ and }) => and({ account_id: team.accountId, team_id: team.id, user_id: userId }))
    .executeTakeFirst()
  await evict(db, { team, userId }, now)
  return numDeletedRows > 0n
}

/** Evicts the person's sessions, tokens, and keys of the team from every cache: their rights depend on the role. */
async function evict(db: Kysely<Database>, { team, userId }: MemberReference, now: number): Promise<void> {
  await db
    .updateTable('member')
    .set({ changed_at: nextChangedAt('member', now) })
    .where(({ and }) => and({ account_id: team.accountId, user_id: userId }))
    .execute()
  await db
    .updateTable('api_key')
    .set({ changed_at: nextChangedAt('api_key', now) })
    .where(({ and }) => and({ account_id: team.accountId, team_id: team.id, created_by: userId, revoked_at: null }))
    .execute()
}

function membersOf(db: Kysely<Database>, { accountId, id }: TeamReference) {
  return db.selectFrom('team_member').where(({ and }) => and({ 'team_member.account_id': accountId, team_id: id }))
}

function describedMembers(db: Kysely<Database>, team: TeamReference) {
  return membersOf(db, team)
    .innerJoin('person', 'person.id', 'team_member.user_id')
    .select(['team_member.user_id', 'person.email', 'person.name', 'team_member.role'])
    .select(['team_member.by_group', 'team_member.created_at'])
}

type MemberRow = Awaited<ReturnType<ReturnType<typeof describedMembers>['execute']>>[number]

function toMember({ user_id: userId, email, name, role, by_group, created_at: createdAt }: MemberRow): TeamMember {
  return { userId, email, name, role, byGroup: by_group === 1, createdAt }
}

// A caller in a team: requests of people, and of keys of the account, that name a team with `x-turnpike-team`.

/**
 * Returns the caller with the limits of the team, and with no more rights than a key of the team. Rejects with 404 for a team
 * that is unknown, archived, another account's or not that of the key, and with 403 where the caller may not use the team.
 */
export async function inTeam(db: Kysely<Database>, caller: Caller, id: TeamId): Promise<Caller> {
  if (caller.teamId === id) return caller
  const team = caller.teamId === undefined ? await findTeam(db, { accountId: caller.accountId, id }) : undefined
  if (team === undefined || team.archivedAt !== undefined) {
    throw notFound('active team', 'team_id')
  }
  if (!hasTeamRight(caller, id, 'use')) {
    const message = 'Only admins and members of a team, and admins of the account, may send requests as the team.'
    throw new GatewayError('insufficient_scope', message, { param: 'team_id' })
  }
  const { dataPolicies = [] } = caller
  const all = team.dataPolicy === undefined ? dataPolicies : [...dataPolicies, team.dataPolicy]
  return {
    ...caller,
    teamId: id,
    teamRequestsPerMinute: team.requestsPerMinute,
    endpoints: team.endpoints.length === 0 ? undefined : new Set(team.endpoints),
    models: commonModels(caller.models, team.models),
    dataPolicies: all.length === 0 ? undefined : all,
    ...tagsInTeam(caller, team),
    scopes: rightsIn(caller),
  }
}

/** A key keeps to its scopes; a person has those of the team, also without them in the account. */
function rightsIn({ kind, scopes }: Caller): ReadonlySet<Right> {
  const rights = [...OF_TEAM_KEYS].filter((right) => right !== 'keys')
  return new Set(kind === 'session' ? rights : rights.filter((right) => scopes.has(right)))
}

/** @param ofTeam Empty: all. */
function commonModels(own: Caller['models'], ofTeam: readonly string[]): Caller['models'] {
  if (ofTeam.length === 0) return own
  return new Set(own === undefined ? ofTeam : ofTeam.filter((model) => own.has(model)))
}
