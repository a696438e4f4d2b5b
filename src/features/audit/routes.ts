/** `/audit`: who did what in an account. Events are never changed, and kept as long as the account; denied attempts for 400 days. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from 'typebox'
import { GatewayError } from '../../domain/errors.ts'
import { byId, listPage, PAGE_QUERY, type PageBinding, type PageRequest, pageSchema } from '../../http/page.ts'
import { ALL_TIME, type Period, parseTime, timeParameter } from '../../http/period.ts'
import { isoTime, oneOf, textOrNull } from '../../http/wire-fields.ts'
import type { ListDeps } from '../deps.ts'
import { type AuditRow, listEvents } from './log.ts'

export type AuditDeps = Pick<ListDeps, 'db' | 'callerOf' | 'cursorKey'>

const AuditEventView = Type.Object({
  id: Type.String(),
  object: Type.Literal('audit_event'),
  at: Type.String({ description: 'ISO 8601 UTC.' }),
  actor: Type.Object({
    kind: oneOf<AuditRow['actor_kind']>(['key', 'token', 'session', 'command_line', 'system']),
    id: textOrNull('ID of the API key, device or user.'),
    name: textOrNull('Name of the key, or e-mail address.'),
  }),
  action: Type.String({ description: 'Noun and verb: `key.created`, `member.role_changed`.' }),
  subject: textOrNull('ID of the affected object. Null: the account itself.'),
  result: oneOf(['done', 'denied'], {
    description: 'denied: the request was rejected.',
  }),
  attempts: Type.Integer({
    description: 'Number of equal rejected requests within an hour of `at`; otherwise 1.',
  }),
  last_at: Type.String({ description: 'Time of the last of these requests, ISO 8601 UTC.' }),
  address: textOrNull('IP address of the client.'),
  user_agent: textOrNull('User agent of the client.'),
  request_id: textOrNull('`x-request-id` of the request.'),
  details: Type.Unsafe<object>({ type: 'object', additionalProperties: true }),
})

const AuditFilter = Type.Object({
  ...PAGE_QUERY,
  action: Type.Optional(
    Type.String({ minLength: 1, maxLength: 100, description: 'Only events with exactly this action.' }),
  ),
  actor_id: Type.Optional(Type.String({ minLength: 1, maxLength: 100, description: 'Only events of this actor.' })),
  from: timeParameter('ISO 8601: only events at or after this time.'),
  to: timeParameter('ISO 8601: only events before this time.'),
})
const schema = {
  summary: 'List audit events',
  description:
    'Returns who did what, from where, and whether it was allowed. Entries are kept for at least 400 days and never change.',
  tags: ['Members'],
  querystring: AuditFilter,
  response: { 200: pageSchema(AuditEventView) },
}

/** `GET /audit`. */
export function auditRoutes({ db, callerOf, cursorKey }: AuditDeps): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.get('/audit', { config: { scope: 'audit' }, schema }, async (request) => {
      const { accountId } = callerOf(request)
      const { action, actor_id: actorId } = request.query
      const period = readPeriod(request.query)
      const filter = JSON.stringify([action, actorId, period.start, period.end])
      const binding: PageBinding = { key: cursorKey, account: accountId, list: 'audit', filter }
      const read = (page: PageRequest) => listEvents(db, { accountId, action, actorId, period }, page)
      return listPage({ query: request.query, binding, read, position: byId, render: renderEvent })
    })
  }
}

function readPeriod({ from, to }: Static<typeof AuditFilter>): Period {
  const start = parseTime('from', from) ?? ALL_TIME.start
  const end = parseTime('to', to) ?? ALL_TIME.end
  if (start <= end) return { start, end }
  throw new GatewayError('invalid_value', "'to' is before 'from'.", { param: to === undefined ? 'from' : 'to' })
}

function renderEvent(row: AuditRow): Static<typeof AuditEventView> {
  return {
    id: row.id,
    object: 'audit_event',
    at: isoTime(row.created_at),
    actor: { kind: row.actor_kind, id: row.actor_id, name: row.actor_name },
    action: row.action,
    subject: row.subject,
    result: row.result,
    attempts: row.attempts,
    last_at: isoTime(row.last_at ?? row.created_at),
    address: row.address,
    user_agent: row.user_agent,
    request_id: row.request_id,
    details: JSON.parse(row.details),
  }
}
