/** What the audit log tells of a request: who makes it, and where it comes from. */
import type { FastifyRequest } from 'fastify'
import type { AuditEvent } from '../domain/audit.ts'
import type { Caller } from '../domain/caller.ts'
import type { AccountId } from '../domain/ids.ts'
import { originOfRequest } from './browser-request.ts'

export type AuditedRequest = Pick<AuditEvent, 'accountId' | 'actor' | 'address' | 'userAgent' | 'requestId'>

/** The name is left to the reader of the log: the list of events looks it up. */
export function auditOf(request: FastifyRequest, { kind, accountId, keyId }: Caller): AuditedRequest {
  return { accountId, actor: { kind, id: keyId, name: undefined }, ...originOfRequest(request) }
}

/**
 * For what an operator does to an account: the operator's own log has all of it, the account's log what was done, and not
 * whose key it was and where it is used from.
 */
export function auditOfOperator(
  request: FastifyRequest,
  caller: Caller,
  accountId: AccountId,
): readonly AuditedRequest[] {
  const own = auditOf(request, caller)
  if (accountId === caller.accountId) return [own]
  const actor = { kind: 'system', id: undefined, name: 'operator' } as const
  return [own, { accountId, actor, address: undefined, userAgent: undefined, requestId: own.requestId }]
}
