/** What an agent tells while it works: numbered from 1, without gaps. */
import { type Kysely, type Selectable, sql, type Transaction } from 'kysely'
import type { Database } from '../../db/schema.ts'
import type { AgentEventKind, AgentStatus } from '../../domain/agent.ts'
import type { RunId } from '../../domain/ids.ts'
import { isoTime } from './shapes.ts'
import type { AgentReference } from './store.ts'

export interface NewAgentEvent {
  readonly type: AgentEventKind
  /** Plain JSON; `AGENT_EVENT_TYPES` says what of each type. */
  readonly data: object
}

export type AgentEvent = Omit<Selectable<Database['agent_event']>, 'account_id' | 'agent_id'>

/** What numbers are given out from. */
export interface Numbering {
  readonly runId: RunId
  /** The first to give out. */
  readonly first: number
  /** Unix milliseconds. */
  readonly now: number
}

/** The numbers must have been taken from the agent's row in the same transaction. */
export async function insertEvents(
  inside: Transaction<Database>,
  { accountId, agentId }: AgentReference,
  { events, runId, first, now }: Numbering & { readonly events: readonly NewAgentEvent[] },
): Promise<void> {
  if (events.length === 0) return
  const place = { account_id: accountId, agent_id: agentId, run_id: runId, created_at: now }
  const rows = events.map(({ type, data }, at) => ({
    ...place,
    sequence: first + at,
    type,
    data: JSON.stringify(data),
  }))
  await inside.insertInto('agent_event').values(rows).execute()
}

/** The oldest first. */
export async function readEvents(
  db: Kysely<Database>,
  { accountId, agentId }: AgentReference,
  { after, limit }: { readonly after: number; readonly limit: number },
): Promise<readonly AgentEvent[]> {
  return db
    .selectFrom('agent_event')
    .select(['sequence', 'run_id', 'type', 'data', 'created_at'])
    .where('account_id', '=', accountId)
    .where('agent_id', '=', agentId)
    .where('sequence', '>', after)
    .orderBy('sequence')
    .limit(limit)
    .execute()
}

/** How far an agent is; undefined: there is none. */
export async function readStanding(
  db: Kysely<Database>,
  { accountId, agentId }: AgentReference,
): Promise<{ readonly status: AgentStatus; readonly events: number } | undefined> {
  return db
    .selectFrom('agent')
    .select(['status', 'events'])
    .where('account_id', '=', accountId)
    .where('id', '=', agentId)
    .executeTakeFirst()
}

/** As listeners are told of it. */
export function renderEvent({ sequence, type, run_id, created_at, data }: AgentEvent): string {
  return JSON.stringify({ sequence, type, run_id, created_at: isoTime(created_at), data: JSON.parse(data) })
}

/** Of `count` rows that are about to be written; adds nothing to a row that is gone. */
export const plus = (column: 'events' | 'messages', count: number) => sql<number>`${sql.ref(column)} + ${count}`
