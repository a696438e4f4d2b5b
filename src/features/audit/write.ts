/** The audit log, written: one row in the transaction of what it tells about. Nothing here changes or deletes one. */
import type { Database } from '../../db/schema.ts'
import type { IdSource } from '../../domain/ids.ts'
import type { WriteAudit } from '../deps.ts'

const MAX_TEXT_LENGTH = 200

/** @param now Unix milliseconds. */
export function auditWriter({ now, ids }: { readonly now: () => number; readonly ids: IdSource }): WriteAudit {
  return async (db, { actor, ...event }) => {
    const row: Database['audit'] = {
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
    await db.insertInto('audit').values(row).execute()
  }
}

/** Names and user agents are whatever somebody sent; who reads the log in a terminal is not to be written to by them. */
function textOrNull(text: string | undefined): string | null {
  return text === undefined ? null : text.replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, '').slice(0, MAX_TEXT_LENGTH)
}
