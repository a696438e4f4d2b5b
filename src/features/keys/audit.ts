/** What the audit log tells about keys. */
import type { AuditEvent } from '../../domain/audit.ts'
import type { Caller } from '../../domain/caller.ts'
import { GatewayError } from '../../domain/errors.ts'
import type { KeyId } from '../../domain/ids.ts'
import type { AuditedRequest } from '../../http/audit-origin.ts'
import type { ApiKey } from './key.ts'

/** Who asks for a change, and from where. */
export interface Asker {
  readonly caller: Caller
  readonly audited: AuditedRequest
}

export type KeyAction = 'key.created' | 'key.changed' | 'key.revoked'

/** @param key What became of it; for one that is revoked, its id. */
export function keyEvent(action: KeyAction, asker: Asker, key: ApiKey | { readonly id: KeyId }): AuditEvent {
  const details = 'name' in key ? { name: key.name, scopes: key.scopes, last4: key.last4 } : {}
  return { ...asker.audited, action, subject: key.id, result: 'done', details }
}

/** Of a change that was refused because it asks for more than the asker has; undefined for every other error. */
export function deniedEvent(
  action: KeyAction,
  asker: Asker,
  { id, error }: { readonly id: KeyId | undefined; readonly error: unknown },
): AuditEvent | undefined {
  if (!(error instanceof GatewayError) || error.status !== 403) return undefined
  return { ...asker.audited, action, subject: id, result: 'denied', details: { param: error.param ?? null } }
}
