/** How agents are stopped and deleted. */
import type { Kysely, Transaction } from 'kysely'
import type { Database } from '../../db/schema.ts'
import { isEnded } from '../../domain/agent.ts'
import { GatewayError } from '../../domain/errors.ts'
import type { IdSource } from '../../domain/ids.ts'
import { unknownAgent } from './begin.ts'
import { clearAgent } from './clear.ts'
import { type Agent, type AgentReference, findAgent, lastRunOf, takeAgentTurn } from './store.ts'
import { moveAgent, type TransitionDeps } from './transition.ts'

/** Waiting: it ends at once. Running: its worker ends it within seconds. Cancelled already: it stays so. */
export async function cancelAgent(
  db: Kysely<Database>,
  reference: AgentReference,
  deps: TransitionDeps,
): Promise<Agent> {
  return db.transaction().execute(async (inside) => {
    const agent = await agentInTurn(inside, reference)
    if (agent.status === 'cancelled') return agent
    if (isEnded(agent.status)) {
      throw new GatewayError('conflict', `This agent is ${agent.status}: there is nothing to cancel.`)
    }
    const run = await lastRunOf(inside, agent)
    if (agent.status === 'queued') return moveAgent(inside, { agent, run, to: 'cancelled' }, deps)
    await inside
      .updateTable('run')
      .set({ cancel_requested_at: run.cancel_requested_at ?? deps.now() })
      .where('account_id', '=', run.account_id)
      .where('agent_id', '=', run.agent_id)
      .where('id', '=', run.id)
      .execute()
    return agent
  })
}

/** With all that it said and left behind; what is in workspaces goes by itself later. */
export async function deleteAgent(
  db: Kysely<Database>,
  reference: AgentReference,
  deps: { readonly ids: Pick<IdSource, 'job'> },
): Promise<void> {
  await db.transaction().execute(async (inside) => {
    const agent = await agentInTurn(inside, reference)
    if (!isEnded(agent.status)) {
      throw new GatewayError('conflict', `This agent is ${agent.status}. Cancel it first, or wait until it has ended.`)
    }
    await inside.deleteFrom('agent').where('account_id', '=', agent.account_id).where('id', '=', agent.id).execute()
    await clearAgent(inside, reference, deps)
  })
}

async function agentInTurn(inside: Transaction<Database>, reference: AgentReference): Promise<Agent> {
  await takeAgentTurn(inside, reference)
  const agent = await findAgent(inside, reference)
  if (agent === undefined) throw unknownAgent()
  return agent
}
