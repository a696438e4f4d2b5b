/** `/members` and `/invitations`: who belongs to an account, and as what. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import type { InvitationId, UserId } from '../../domain/ids.ts'
import { auditOf } from '../../http/audit-origin.ts'
import { PAGE_QUERY, type PageBinding, pageSchema, readPageRequest, renderPage } from '../../http/page.ts'
import type { FeatureDeps, WriteAudit } from '../deps.ts'
import { invitationUrl, listInvitations } from './invitations.ts'
import { type Asker, changeRole, invite, takeOut, withdraw } from './manage.ts'
import { listMembers, positionOf } from './queries.ts'
import {
  CreatedInvitationView,
  InvitationCreate,
  InvitationView,
  MemberPatch,
  MemberView,
  renderInvitation,
  renderMember,
} from './shapes.ts'

export interface MembersDeps extends FeatureDeps {
  /** Signs the cursors of lists. */
  readonly cursorKey: Uint8Array
  /** Without trailing slash. */
  readonly publicUrl: string
  readonly writeAudit: WriteAudit
  /** Called after a change of members and waited for: when it is done, this process acts on the change. */
  readonly changed: () => void | Promise<void>
}

const read = { scope: 'members:read' } as const
const manage = { scope: 'members' } as const
const tags = ['Members']
const MemberParams = Type.Object({ id: Type.Unsafe<UserId>({ type: 'string' }) })
const InvitationParams = Type.Object({ id: Type.Unsafe<InvitationId>({ type: 'string' }) })

const listSchema = {
  summary: 'List members',
  description: 'Who belongs to the account, by when they joined.',
  tags,
  querystring: Type.Object(PAGE_QUERY),
  response: { 200: pageSchema(MemberView) },
}
const changeSchema = {
  summary: 'Change a member’s role',
  description:
    'In force in every process within a second. Nobody gives more than they have; only owners make and change owners, and the last owner stays one.',
  tags,
  params: MemberParams,
  body: MemberPatch,
  response: { 200: MemberView },
}
const removeSchema = {
  summary: 'Remove a member, or leave',
  description:
    'Ends their sessions and disconnects their devices within a second. Everybody may leave but the last owner; others are removed by who has the right `members`. API keys belong to the account and stay.',
  tags,
  params: MemberParams,
  response: { 204: Type.Null() },
}
const inviteSchema = {
  summary: 'Invite somebody',
  description:
    'Answers with a link that makes whoever opens it first a member. At most one’s own role can be given. Nothing is sent.',
  tags,
  body: InvitationCreate,
  response: { 201: CreatedInvitationView },
}
const listInvitationsSchema = {
  summary: 'List invitations',
  description: 'Those that are over included, for some weeks.',
  tags,
  querystring: Type.Object(PAGE_QUERY),
  response: { 200: pageSchema(InvitationView) },
}
const withdrawSchema = {
  summary: 'Revoke an invitation',
  description: 'Its link is good for nobody from then on.',
  tags,
  params: InvitationParams,
  response: { 204: Type.Null() },
}

export function membersRoutes(deps: MembersDeps): FastifyPluginAsyncTypebox {
  const { db, callerOf, changed } = deps
  const askerOf = askerFrom(deps)
  return async (app) => {
    app.get('/members', { config: read, schema: listSchema }, async (request) => {
      const { accountId } = callerOf(request)
      const binding: PageBinding = { key: deps.cursorKey, account: accountId, list: 'members' }
      const page = readPageRequest(request.query, binding)
      const members = await listMembers(db, accountId, { ...page, limit: page.limit + 1 })
      return renderPage(members, { request: page, binding }, { position: positionOf, render: renderMember })
    })
    app.patch('/members/:id', { config: manage, schema: changeSchema }, async (request) => {
      const member = await changeRole(deps, askerOf(request), { userId: request.params.id, role: request.body.role })
      await changed()
      return renderMember(member)
    })
    app.delete('/members/:id', { config: read, schema: removeSchema }, async (request, reply) => {
      await takeOut(deps, askerOf(request), request.params.id)
      await changed()
      return reply.code(204).send(null)
    })
    addInvitationRoutes(app, deps)
  }
}

type TypedApp = Parameters<FastifyPluginAsyncTypebox>[0]

function addInvitationRoutes(app: TypedApp, deps: MembersDeps): void {
  const { db, callerOf, publicUrl } = deps
  const askerOf = askerFrom(deps)
  app.post('/invitations', { config: manage, schema: inviteSchema }, async (request, reply) => {
    const { role, email } = request.body
    const { invitation, token } = await invite(deps, askerOf(request), { role, email })
    return reply.code(201).send({ ...renderInvitation(invitation), url: invitationUrl(publicUrl, token) })
  })
  app.get('/invitations', { config: manage, schema: listInvitationsSchema }, async (request) => {
    const { accountId } = callerOf(request)
    const binding: PageBinding = { key: deps.cursorKey, account: accountId, list: 'invitations' }
    const page = readPageRequest(request.query, binding)
    const invitations = await listInvitations(db, accountId, { ...page, limit: page.limit + 1 })
    return renderPage(invitations, { request: page, binding }, { position: ({ id }) => id, render: renderInvitation })
  })
  app.delete('/invitations/:id', { config: manage, schema: withdrawSchema }, async (request, reply) => {
    await withdraw(deps, askerOf(request), request.params.id)
    return reply.code(204).send(null)
  })
}

function askerFrom({ callerOf }: Pick<MembersDeps, 'callerOf'>): (request: FastifyRequest) => Asker {
  return (request) => {
    const caller = callerOf(request)
    return { caller, audited: auditOf(request, caller) }
  }
}
