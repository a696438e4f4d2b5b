import type { Kysely } from 'kysely'
import type { AuditTable, Database } from '../../db/schema.ts'
import type { AuditActor } from '../../domain/audit.ts'
import { type AccountId, type AuditId, auditIdFloor } from '../../domain/ids.ts'
import type { Period } from '../../http/period.ts'

export interface AuditQuery {
  readonly accountId: AccountId
  readonly action: string | undefined
  readonly actorId: string | undefined
  readonly period: Period
}

export interface AuditPage {
  readonly limit: number
  readonly order: 'asc' | 'desc'
  /** The id of the last one of the page before; undefined: from the start. */
  readonly after: string | undefined
}

export interface AuditRow extends Omit<AuditTable, 'actor_kind'> {
  readonly actor_kind: AuditActor['kind']
}

/** Ids sort by time, and are born together with their row; a clock that is being set may come between. */
const ID_TOLERANCE_MS = 60_000

/** By time. What was written without a name gets the one that its key or person has now. */
export async function listEvents(
  db: Kysely<Database>,
  query: AuditQuery,
  page: AuditPage,
): Promise<readonly AuditRow[]> {
  const { accountId, action, actorId, period } = query
  const { limit, order, after } = page
  return db
    .selectFrom('audit')
    .leftJoin('api_key', (join) =>
      join.onRef('api_key.account_id', '=', 'audit.account_id').onRef('api_key.id', '=', 'audit.actor_id'),
    )
    .leftJoin('person', 'person.id', 'audit.actor_id')
    .selectAll('audit')
    .select(({ fn }) => fn.coalesce('audit.actor_name', 'person.email', 'api_key.name').as('actor_name'))
    .where('audit.account_id', '=', accountId)
    .where('audit.id', '>', auditIdFloor(period.start - ID_TOLERANCE_MS))
    .where('audit.id', '<', auditIdFloor(period.end + ID_TOLERANCE_MS))
    .where('audit.created_at', '>=', period.start)
    .where('audit.created_at', '<', period.end)
    .$if(action !== undefined, (rows) => rows.where('audit.action', '=', action ?? ''))
    .$if(actorId !== undefined, (rows) => rows.where('audit.actor_id', '=', actorId ?? ''))
    .$if(after !== undefined, (rows) => rows.where('audit.id', order === 'asc' ? '>' : '<', after as AuditId))
    .orderBy('audit.id', order)
    .limit(limit)
    .execute()
}
