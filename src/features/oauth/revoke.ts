/** Devices are disconnected: none of their tokens is good from then on. */
import type { Transaction } from 'kysely'
import { nextChangedAt } from '../../db/changed-at.ts'
import type { Database } from '../../db/schema.ts'
import type { AuditActor } from '../../domain/audit.ts'
import type { Authority, DeviceOrigin } from './authority.ts'
import { readTime } from './database-time.ts'
import type { DeviceReference } from './live-device.ts'
import { OAuthError } from './oauth-error.ts'
import { findTokenOwner } from './token-owner.ts'
import { accessForm, refreshForm } from './tokens.ts'

export interface Disconnection {
  readonly device: DeviceReference & { readonly clientId: string }
  readonly now: number
  readonly origin: DeviceOrigin
  readonly actor: AuditActor
  readonly action: 'device.revoked' | 'device.reuse_detected'
}

/** @returns false when it was disconnected before. */
export async function disconnect(
  { writeAudit }: Authority,
  inside: Transaction<Database>,
  { device, now, origin, actor, action }: Disconnection,
): Promise<boolean> {
  const { accountId, id, clientId } = device
  const { numUpdatedRows } = await inside
    .updateTable('device')
    .set({ revoked_at: now, changed_at: nextChangedAt('device', now) })
    .where('account_id', '=', accountId)
    .where('id', '=', id)
    .where('revoked_at', 'is', null)
    .executeTakeFirst()
  if (numUpdatedRows === 0n) return false
  await writeAudit(inside, {
    accountId,
    actor,
    action,
    subject: id,
    result: 'done',
    ...origin,
    details: { client: clientId },
  })
  return true
}

export interface RevocationRequest {
  readonly token: string
  readonly clientId: string | undefined
  readonly origin: DeviceOrigin
}

/** RFC 7009. Either of its tokens stands for the whole device. A token that nobody has is revoked already. */
export async function revokeToken(authority: Authority, request: RevocationRequest): Promise<void> {
  const { token, clientId, origin } = request
  if (!accessForm.isWellFormed(token) && !refreshForm.isWellFormed(token)) return
  const owner = await findTokenOwner(authority.db, token, ['access', 'refresh'])
  if (owner === undefined) return
  const isDone = await authority.db.transaction().execute(async (inside) => {
    const row = await findClient(inside, owner)
    if (row === undefined) return false
    if (clientId !== undefined && clientId !== row.client_id) throw foreignToken()
    const now = await readTime(inside, authority.time)
    const name = authority.clients.nameOf(row.client_id)
    const actor = { kind: 'token', id: owner.id, name } as const
    const device = { ...owner, clientId: row.client_id }
    return disconnect(authority, inside, { device, now, origin, actor, action: 'device.revoked' })
  })
  if (isDone) await authority.changed()
}

function findClient(inside: Transaction<Database>, { accountId, id }: DeviceReference) {
  return inside
    .selectFrom('device')
    .select('client_id')
    .where('account_id', '=', accountId)
    .where('id', '=', id)
    .executeTakeFirst()
}

function foreignToken(): OAuthError {
  return new OAuthError('invalid_grant', 'The token was given to another client.')
}
