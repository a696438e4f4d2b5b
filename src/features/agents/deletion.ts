/** Deletes agents, with their messages, events, runs and artifacts. Workspaces are removed later, by each machine. */
import { type Kysely, sql } from 'kysely'
import type { Database } from '../../db/schema/schema.ts'
import { isEnded } from '../../domain/agent.ts'
import { GatewayError } from '../../domain/errors.ts'
import type { IdSource } from '../../domain/ids.ts'
import { BATCH_ROWS, type Dependants, deleteDependants, dependantsJob } from '../../jobs/batched-deletion.ts'
import type { JobKind } from '../../jobs/job.ts'
import { lockedAgent } from './lifecycle.ts'
import type { AgentReference } from './store.ts'

export interface DeletionDeps {
  /** Unix milliseconds. */
  readonly now: () => number
  readonly ids: Pick<IdSource, 'job'>
}

/** Throws 409 for an agent that is queued or running. */
export async function deleteAgent(db: Kysely<Database>, reference: AgentReference, deps: DeletionDeps): Promise<void> {
  await db.transaction().execute(async (inside) => {
    const agent = await lockedAgent(inside, reference)
    if (!isEnded(agent.status)) {
      throw new GatewayError('conflict', `This agent is ${agent.status}. Cancel it first, or wait until it has ended.`)
    }
    const { accountId, agentId } = reference
    await inside.deleteFrom('agent').where('account_id', '=', accountId).where('id', '=', agentId).execute()
    await inside
      .deleteFrom('run_artifact')
      .where(({ and }) => and({ account_id: accountId, agent_id: agentId }))
      .execute()
    await deleteDependants(inside, DEPENDANTS, { ...deps, owner: reference })
  })
}

export function deletionJobs({ db }: { readonly db: Kysely<Database> }): Readonly<Record<string, JobKind>> {
  return dependantsJob(db, DEPENDANTS)
}

const TABLES = [
  ['agent_event', 'sequence'],
  ['agent_message', 'number'],
  ['run', 'number'],
] as const

const DEPENDANTS: Dependants<AgentReference> = {
  kind: 'agents.clear',
  jobName: ({ agentId }) => agentId,
  async deleteBatch(db, agent) {
    let deleted = 0
    for (const [table, key] of TABLES) {
      if (deleted < BATCH_ROWS) deleted += await deleteRows(db, agent, { table, key, limit: BATCH_ROWS - deleted })
    }
    return deleted
  },
}

/** Deletes the first rows of an agent by `key`. */
async function deleteRows(
  db: Kysely<Database>,
  { accountId, agentId }: AgentReference,
  { table, key, limit }: { readonly table: string; readonly key: string; readonly limit: number },
): Promise<number> {
  const ofAgent = sql`account_id = ${accountId} and agent_id = ${agentId}`
  const result = await sql`delete from ${sql.table(table)} where ${ofAgent} and ${sql.ref(key)} in
    (select ${sql.ref(key)} from ${sql.table(table)} where ${ofAgent} order by ${sql.ref(key)} limit ${limit})`.execute(
    db,
  )
  return Number(result.numAffectedRows ?? 0n)
}
