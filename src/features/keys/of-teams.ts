/** Who may see, create and change the keys of a team. */
import type { Kysely } from 'kysely'
import type { Database } from '../../db/schema/schema.ts'
import { GatewayError, notFound } from '../../domain/errors.ts'
import { type Caller, hasTeamRight, OF_TEAM_KEYS } from '../../domain/identity/caller.ts'
import type { TeamId } from '../../domain/ids.ts'
import type { ApiKey } from './key.ts'

/** Teams whose keys a caller sees; undefined: all keys of the account. */
export function visibleTeams({ teamId, teams, scopes }: Caller): readonly TeamId[] | undefined {
  if (teamId !== undefined) return [teamId]
  return scopes.has('keys') ? undefined : [...(teams?.keys() ?? [])]
}

export function maySee(caller: Caller, { teamId }: Pick<ApiKey, 'teamId'>): boolean {
  const visible = visibleTeams(caller)
  return visible === undefined || (teamId !== undefined && visible.includes(teamId))
}

/** Throws 404 for a key that the caller does not see, and 403 for one that only the admins of its team may change. */
export function assertMayChange(caller: Caller, key: Pick<ApiKey, 'teamId' | 'createdBy'>): void {
  if (!maySee(caller, key)) throw notFound('active key')
  const { teamId, createdBy } = key
  if (teamId === undefined || caller.teamId === teamId || hasTeamRight(caller, teamId, 'manage')) return
  if (createdBy !== undefined && createdBy === caller.userId && hasTeamRight(caller, teamId, 'use')) return
  const message = 'Only admins of the team, of the account, and who created it may change a key of a team.'
  throw new GatewayError('insufficient_scope', message)
}

/**
 * The team of a new key: the requested one, or that of the key that creates it, which it cannot leave. Throws 404 for a team
 * that is not there, archived or another account's, and 403 for one that the caller may not use.
 */
export async function teamOfNewKey(
  db: Kysely<Database>,
  caller: Caller,
  requested: TeamId | undefined,
): Promise<TeamId | undefined> {
  if (requested === undefined) {
    if (caller.teamId === undefined && !caller.scopes.has('keys')) throw ofTeamsAlone()
    return caller.teamId
  }
  const isForeign = caller.teamId !== undefined && caller.teamId !== requested
  if (isForeign || (await findTeam(db, caller, requested))?.archived_at !== null) {
    throw notFound('active team', 'team_id')
  }
  if (caller.teamId === requested || hasTeamRight(caller, requested, 'use')) return requested
  const message = 'Only admins and members of a team, and admins of the account, may create keys of the team.'
  throw new GatewayError('insufficient_scope', message, { param: 'team_id' })
}

/** A caller who manages keys only as a member of their team has what keys of a team can have, there. */
export function inTeam(caller: Caller, teamId: TeamId | undefined): Caller {
  if (teamId === undefined || caller.kind === 'key' || caller.scopes.has('keys')) return caller
  return { ...caller, scopes: OF_TEAM_KEYS }
}

/** Undefined for a team that is unknown, or another account's. */
export function findTeam(db: Kysely<Database>, { accountId }: Caller, id: TeamId) {
  return db
    .selectFrom('team')
    .select('archived_at')
    .where(({ and }) => and({ account_id: accountId, id }))
    .executeTakeFirst()
}

function ofTeamsAlone(): GatewayError {
  const message = "Your role in this account does not have the right 'keys'; name one of your teams in `team_id`."
  return new GatewayError('insufficient_scope', message, { param: 'team_id' })
}
