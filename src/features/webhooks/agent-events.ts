/**
 * The events of one agent, without an index of their own. An agent tells of itself when one of its runs starts and when it
 * ends, and the event has that very time; by their times events have an index.
 */
import { type Kysely, sql } from 'kysely'
import type { Database } from '../../db/schema.ts'
import type { AccountId, AgentId, EventId } from '../../domain/ids.ts'
import type { WebhookEventType } from '../../domain/webhook-event.ts'
import { type EventRow, readEvents } from './events.ts'
import type { ListPage } from './queries.ts'

/** The newest of an agent, so that the times that are looked up stay few. */
export const MAX_RUNS = 1_000

export interface AgentEventFilter {
  readonly accountId: AccountId
  /** As it was asked for: it may be nobody's, or another account's, and then there are no events. */
  readonly agentId: AgentId
  readonly type: WebhookEventType | undefined
}

/** By birth; ids sort by time. Of an agent that was deleted there are none: its runs are gone. */
export async function listEventsOfAgent(
  db: Kysely<Database>,
  filter: AgentEventFilter,
  { limit, order, after }: ListPage<EventId>,
): Promise<readonly EventRow[]> {
  const sorted = [...(await idsAtTimesOfRuns(db, filter))].sort()
  const ids = order === 'asc' ? sorted : sorted.toReversed()
  const rest = after === undefined ? ids : ids.filter((id) => (order === 'asc' ? id > after : id < after))
  const found: EventRow[] = []
  for (let at = 0; at < rest.length && found.length < limit; at += limit) {
    const rows = await readEvents(db, filter.accountId, rest.slice(at, at + limit))
    found.push(...(order === 'asc' ? rows : rows.toReversed()).filter((row) => agentIdOf(row) === filter.agentId))
  }
  return found.slice(0, limit)
}

/** Also those of others that happened in the same millisecond. */
async function idsAtTimesOfRuns(
  db: Kysely<Database>,
  { accountId, agentId, type }: AgentEventFilter,
): Promise<readonly EventId[]> {
  const runs = await db
    .selectFrom('run')
    .select(['started_at', 'ended_at'])
    .where('account_id', '=', accountId)
    .where('agent_id', '=', agentId)
    .orderBy('number', 'desc')
    .limit(MAX_RUNS)
    .execute()
  const times = runs.flatMap(({ started_at: start, ended_at: end }) => [start, end]).filter((time) => time !== null)
  if (times.length === 0) return []
  const rows = await db
    .selectFrom('event')
    .select('id')
    .where('created_at', 'in', times)
    .where(sql`account_id || ''`, '=', accountId) // (else PostgreSQL may go through all events of the account)
    .$if(type !== undefined, (query) => query.where('type', '=', type as WebhookEventType))
    .execute()
  return rows.map(({ id }) => id)
}

function agentIdOf({ data }: EventRow): unknown {
  return (JSON.parse(data) as { readonly agent?: { readonly id?: unknown } }).agent?.id // our own JSON
}
