/** What a key of a team sees of agents: those of its team. */
import type { FastifyRequest } from 'fastify'
import type { AgentId } from '../../domain/ids.ts'
import type { FeatureDeps } from '../deps.ts'
import { findAgent, unknownAgent } from './store.ts'

/** Rejects with 404 for an agent of another team, or of none, as for one that does not exist. */
export function requireOwnTeam({ db, callerOf }: Pick<FeatureDeps, 'db' | 'callerOf'>) {
  return async (request: FastifyRequest): Promise<void> => {
    const { accountId, teamId } = callerOf(request)
    const { id: agentId } = request.params as { readonly id?: AgentId } // as the schemas of the routes say
    if (teamId === undefined || agentId === undefined) return
    const agent = await findAgent(db, { accountId, agentId })
    if (agent?.team_id !== teamId) throw unknownAgent()
  }
}
