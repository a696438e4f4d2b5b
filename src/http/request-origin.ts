/**
 * Where a request comes from: cross-site request forgery (WEB-2), and the origin that the audit log records. Cookies count on
 * the dashboard's routes alone, never on `/v1`.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { AuditEvent } from '../domain/audit.ts'
import { GatewayError } from '../domain/errors.ts'
import type { Caller } from '../domain/identity/caller.ts'
import type { Origin } from '../domain/identity/sign-in.ts'
import type { AccountId } from '../domain/ids.ts'

const SAFE_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])

/** Rejects unsafe methods on the routes of `app` unless a page of this server sent them. */
export function rejectCrossSite(app: FastifyInstance, { publicUrl }: { readonly publicUrl: string }): void {
  app.addHook('onRequest', (request, _reply, done) => {
    done(isFromOwnPage(request, publicUrl) ? undefined : crossSite())
  })
}

/**
 * Checks `Sec-Fetch-Site`, else `Origin`. Without both it is no current browser: rejected with cookies, which a page could have
 * made it send, accepted without.
 */
function isFromOwnPage(request: FastifyRequest, publicUrl: string): boolean {
  if (SAFE_METHODS.has(request.method)) return true
  const { 'sec-fetch-site': site, origin, cookie } = request.headers
  if (typeof site === 'string') return site === 'same-origin'
  if (origin === undefined) return cookie === undefined
  return origin === originOf(publicUrl) || origin === originOf(`${request.protocol}://${request.host}`)
}

/** Returns address, user agent and ID of a request. */
export function originOfRequest(request: FastifyRequest): Origin {
  return { address: request.ip, userAgent: request.headers['user-agent'], requestId: request.id }
}

function originOf(url: string): string | undefined {
  return URL.canParse(url) ? new URL(url).origin : undefined
}

function crossSite(): GatewayError {
  return new GatewayError('cross_site_request', 'Cross-site request rejected: only pages of this server may send it.')
}

export type AuditedRequest = Pick<AuditEvent, 'accountId' | 'actor' | 'address' | 'userAgent' | 'requestId'>

/** Returns the caller and origin for an audit event. The list of events looks up the name. */
export function auditOf(request: FastifyRequest, { kind, accountId, keyId }: Caller): AuditedRequest {
  return { accountId, actor: { kind, id: keyId, name: undefined }, ...originOfRequest(request) }
}

/** The author of a change, and what the audit log records of the request. */
export interface Requester {
  readonly caller: Caller
  readonly audited: AuditedRequest
}

export function requesterOf(request: FastifyRequest, caller: Caller): Requester {
  return { caller, audited: auditOf(request, caller) }
}

/**
 * Returns the audit events of an operator's action on an account: complete in the operator's log, without key and address in
 * the account's.
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
