/** What is left of an agent that was deleted: messages, events and runs, which go little by little. */
import type { Kysely } from 'kysely'
import type { Database } from '../../db/schema.ts'
import type { IdSource } from '../../domain/ids.ts'
import { BATCH_ROWS, inBatches } from '../../jobs/batches.ts'
import { enqueue } from '../../jobs/enqueue.ts'
import { doubling, type JobKind } from '../../jobs/job.ts'
import type { AgentReference } from './store.ts'

export const CLEAR_JOB = 'agents.clear'

const FIRST_RETRY_MS = 1_000
const LAST_RETRY_MS = 60_000

/** What it left behind and the first of the rest at once, in the caller's transaction; the others by a job. */
export async function clearAgent(
  db: Kysely<Database>,
  agent: AgentReference,
  { ids }: { readonly ids: Pick<IdSource, 'job'> },
): Promise<void> {
  await db
    .deleteFrom('run_artifact')
    .where('account_id', '=', agent.accountId)
    .where('agent_id', '=', agent.agentId)
    .execute()
  if ((await deleteSome(db, agent)) < BATCH_ROWS) return
  await enqueue(db, { kind: CLEAR_JOB, name: agent.agentId, payload: agent }, ids)
}

export function clearJobs({ db }: { readonly db: Kysely<Database> }): Readonly<Record<string, JobKind>> {
  return {
    [CLEAR_JOB]: {
      async handler({ payload }, { signal }) {
        const agent = payload as AgentReference // as it was enqueued above
        await inBatches(() => db.transaction().execute((inside) => deleteSome(inside, agent)), signal)
      },
      backoff: doubling(FIRST_RETRY_MS, LAST_RETRY_MS),
      maxAttempts: 20,
      concurrency: 1,
    },
  }
}

/** @returns How many rows went, at most `BATCH_ROWS`. */
async function deleteSome(db: Kysely<Database>, { accountId, agentId }: AgentReference): Promise<number> {
  const events = await db
    .deleteFrom('agent_event')
    .where('account_id', '=', accountId)
    .where('agent_id', '=', agentId)
    .where('sequence', 'in', (query) =>
      query
        .selectFrom('agent_event')
        .select('sequence')
        .where('account_id', '=', accountId)
        .where('agent_id', '=', agentId)
        .orderBy('sequence')
        .limit(BATCH_ROWS),
    )
    .executeTakeFirst()
  const room = BATCH_ROWS - Number(events.numDeletedRows)
  return room <= 0 ? BATCH_ROWS : BATCH_ROWS - room + (await deleteMessagesAndRuns(db, { accountId, agentId }, room))
}

async function deleteMessagesAndRuns(
  db: Kysely<Database>,
  { accountId, agentId }: AgentReference,
  room: number,
): Promise<number> {
  const messages = await db
    .deleteFrom('agent_message')
    .where('account_id', '=', accountId)
    .where('agent_id', '=', agentId)
    .where('number', 'in', (query) =>
      query
        .selectFrom('agent_message')
        .select('number')
        .where('account_id', '=', accountId)
        .where('agent_id', '=', agentId)
        .orderBy('number')
        .limit(room),
    )
    .executeTakeFirst()
  const deleted = Number(messages.numDeletedRows)
  if (deleted >= room) return room
  const runs = await db
    .deleteFrom('run')
    .where('account_id', '=', accountId)
    .where('agent_id', '=', agentId)
    .where('number', 'in', (query) =>
      query
        .selectFrom('run')
        .select('number')
        .where('account_id', '=', accountId)
        .where('agent_id', '=', agentId)
        .orderBy('number')
        .limit(room - deleted),
    )
    .executeTakeFirst()
  return deleted + Number(runs.numDeletedRows)
}
