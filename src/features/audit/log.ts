/**
 * The audit log. An event is written in the transaction of the change that it records. Denied attempts can be repeated
 * without limit, so equal ones within an hour are counted in the row of the first.
 */
import type { Insertable, Kysely, Selectable, Transaction } from 'kysely'
import { acquireAdvisoryLock } from '../../db/database.ts'
import type { AuditTable } from '../../db/schema/identity.ts'
import type { Database } from '../../db/schema/schema.ts'
import { countRows, given, pageBy, within } from '../../db/shared-queries.ts'
import type { AuditActor } from '../../domain/audit.ts'
import { type AccountId, auditIdFloor, type IdSource } from '../../domain/ids.ts'
import type { PageRequest } from '../../http/page.ts'
import type { Period } from '../../http/period.ts'
import type { WriteAudit } from '../deps.ts'

const MAX_TEXT_LENGTH = 200
const DENIED_WINDOW_MS = 3_600_000
/** Of an account, in a window; beyond it attempts are counted by actor and action, whatever they were made on. */
const MAX_DENIED_SUBJECTS = 100
/** Ids sort by time, and are created with their row; a clock that is set may come between. */
const ID_TOLERANCE_MS = 60_000

/** @param now Unix milliseconds. */
export function auditWriter({ now, ids }: { readonly now: () => number; readonly ids: IdSource }): WriteAudit {
  return async (db, { actor, ...event }) => {
    const row: NewRow = {
      account_id: event.accountId,
      id: ids.audit(),
      actor_kind: actor.kind,
      actor_id: actor.id ?? null,
      actor_name: textOrNull(actor.name),
      action: event.action,
      subject: textOrNull(event.subject),
      result: event.result,
      address: event.address ?? null,
      user_agent: textOrNull(event.userAgent),
      request_id: event.requestId ?? null,
      details: JSON.stringify(event.details),
      created_at: now(),
    }
    if (event.result === 'done') await db.insertInto('audit').values(row).execute()
    else await inTransaction(db, (inside) => countDenied(inside, row))
  }
}

export interface AuditQuery {
  readonly accountId: AccountId
  readonly action: string | undefined
  readonly actorId: string | undefined
  readonly period: Period
}

export interface AuditRow extends Omit<Selectable<AuditTable>, 'actor_kind'> {
  readonly actor_kind: AuditActor['kind']
}

/** By time. An event without a name gets the current name of its key or person. */
export async function listEvents(
  db: Kysely<Database>,
  query: AuditQuery,
  page: PageRequest,
): Promise<readonly AuditRow[]> {
  const { accountId, action, actorId, period } = query
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
    .where(within('audit.created_at', period))
    .where(({ and }) => and(given({ 'audit.action': action, 'audit.actor_id': actorId })))
    .$call(pageBy('audit.id', page))
    .execute()
}

type NewRow = Insertable<Database['audit']> & Pick<Selectable<Database['audit']>, 'actor_id' | 'subject'>

function inTransaction(db: Kysely<Database>, work: (inside: Transaction<Database>) => Promise<void>): Promise<void> {
  // Kysely marks a transaction by a flag only.
  return db.isTransaction ? work(db as Transaction<Database>) : db.transaction().execute(work)
}

async function countDenied(inside: Transaction<Database>, row: NewRow): Promise<void> {
  await acquireAdvisoryLock(inside, `denied attempts of ${row.account_id}`)
  if (await countedBefore(inside, row)) return
  const denied = inside.selectFrom('audit').where(({ and }) => and({ account_id: row.account_id, result: 'denied' }))
  const count = await countRows(denied.where('created_at', '>', row.created_at - DENIED_WINDOW_MS))
  const isOverLimit = count >= MAX_DENIED_SUBJECTS && row.subject !== null
  const counted = isOverLimit ? { ...row, subject: null, details: SEVERAL_SUBJECTS } : row
  if (isOverLimit && (await countedBefore(inside, counted))) return
  await inside.insertInto('audit').values(counted).execute()
}

const SEVERAL_SUBJECTS = JSON.stringify({ subjects: 'several' })

/** Counts an attempt in the row of an equal one. False where there is none. */
async function countedBefore(inside: Transaction<Database>, row: NewRow): Promise<boolean> {
  const { account_id, action, actor_kind, actor_id, subject } = row
  const first = await inside
    .selectFrom('audit')
    .select('id')
    .where(({ and }) => and({ account_id, result: 'denied', action, actor_kind, actor_id, subject }))
    .where('created_at', '>', row.created_at - DENIED_WINDOW_MS)
    .limit(1)
    .executeTakeFirst()
  if (first === undefined) return false
  await inside
    .updateTable('audit')
    .set((is) => ({ attempts: is('attempts', '+', 1), last_at: row.created_at }))
    .where(({ and }) => and({ account_id: row.account_id, id: first.id }))
    .execute()
  return true
}

/** Removes control characters: names and user agents are untrusted, and shown in terminals. */
function textOrNull(text: string | undefined): string | null {
  return text === undefined ? null : text.replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, '').slice(0, MAX_TEXT_LENGTH)
}
