/** Teams of a person with their role there, shared by the features that authenticate people. */
import type { Kysely } from 'kysely'
import type { TeamRole } from '../domain/identity/caller.ts'
import type { AccountId, TeamId, UserId } from '../domain/ids.ts'
import type { Database } from './schema/schema.ts'

/** Undefined: none. Archived teams are not among them. */
export async function teamRolesOf(
  db: Kysely<Database>,
  { accountId, userId }: { readonly accountId: AccountId; readonly userId: UserId },
): Promise<ReadonlyMap<TeamId, TeamRole> | undefined> {
  const rows = await db
    .selectFrom('team_member')
    .innerJoin('team', (join) =>
      join.onRef('team.account_id', '=', 'team_member.account_id').onRef('team.id', '=', 'team_member.team_id'),
    )
    .select(['team_member.team_id', 'team_member.role'])
    .where(({ and }) => and({ 'team_member.account_id': accountId, 'team_member.user_id': userId }))
    .where('team.archived_at', 'is', null)
    .execute()
  return rows.length === 0 ? undefined : new Map(rows.map(({ team_id, role }) => [team_id, role]))
}
