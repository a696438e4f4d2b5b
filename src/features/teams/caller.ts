/** A caller in a team: requests of people, and of keys of the account, that name a team with `x-turnpike-team`. */
import type { Kysely } from 'kysely'
import type { Database } from '../../db/schema/schema.ts'
import { GatewayError, notFound } from '../../domain/errors.ts'
import { type Caller, hasTeamRight, OF_TEAM_KEYS, type Right } from '../../domain/identity/caller.ts'
import type { TeamId } from '../../domain/ids.ts'
import { tagsInTeam } from '../../http/fields/tags.ts'
import { findTeam } from './queries.ts'

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
