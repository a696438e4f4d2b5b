/** `/members` and `/invitations`: who belongs to an account, and in which role. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { type Static, Type } from 'typebox'
import { ROLES, type Role } from '../../domain/identity/caller.ts'
import type { InvitationId, UserId } from '../../domain/ids.ts'
import { byId, listPage, PAGE_QUERY, type PageBinding, type PageRequest, pageSchema } from '../../http/page.ts'
import { auditOf } from '../../http/request-origin.ts'
import type { FeatureDeps, WriteAudit } from '../deps.ts'
import { type Invitation, invitationUrl, listInvitations } from './invitations.ts'
import { changeRole, invite, type Requester, removeFromAccount, revoke } from './manage.ts'
import { listMembers, type Member, positionOf } from './queries.ts'

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

const MAX_EMAIL_LENGTH = 320

const closed = { additionalProperties: false }
const textOrNull = (description: string) => Type.Unsafe<string | null>({ type: ['string', 'null'], description })
const RoleName = Type.Unsafe<Role>({ type: 'string', enum: [...ROLES] })

const MemberPatch = Type.Object({ role: RoleName }, closed)

const MemberView = Type.Object({
  id: Type.String({ description: 'Of the user.' }),
  object: Type.Literal('member'),
  email: Type.String(),
  name: Type.String(),
  role: RoleName,
  created_at: Type.String({ description: 'When they joined.' }),
})

const InvitationCreate = Type.Object(
  {
    role: RoleName,
    email: Type.Optional(
      Type.String({
        maxLength: MAX_EMAIL_LENGTH,
        pattern: '^[^\\s@]+@[^\\s@]+$',
        description: 'Whom it is meant for. A note: nothing is sent there, and whoever has the link may use it.',
      }),
    ),
  },
  closed,
)

const INVITATION_FIELDS = {
  id: Type.String(),
  object: Type.Literal('invitation'),
  role: RoleName,
  email: textOrNull('Whom it is meant for.'),
  created_by: textOrNull('The user, or the user who made the key that invited. Null: nobody.'),
  key_id: textOrNull('The API key that invited: the link is good only while it could invite. Null: a person did.'),
  created_at: Type.String(),
  expires_at: Type.String(),
  used_at: textOrNull('ISO 8601.'),
  used_by: textOrNull('The user who joined by it.'),
  revoked_at: textOrNull('ISO 8601.'),
}
const InvitationView = Type.Object(INVITATION_FIELDS)

const CreatedInvitationView = Type.Object({
  ...INVITATION_FIELDS,
  url: Type.String({ description: 'The link, shown this once. It is good for 7 days, and for one person.' }),
})
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

const revokeSchema = {
  summary: 'Revoke an invitation',
  description: 'Its link is good for nobody from then on.',
  tags,
  params: InvitationParams,
  response: { 204: Type.Null() },
}

export function membersRoutes(deps: MembersDeps): FastifyPluginAsyncTypebox {
  const { db, callerOf, changed } = deps
  const requesterOf = requesterFrom(deps)
  return async (app) => {
    app.get('/members', { config: read, schema: listSchema }, async (request) => {
      const { accountId } = callerOf(request)
      const binding: PageBinding = { key: deps.cursorKey, account: accountId, list: 'members' }
      const read = (page: PageRequest) => listMembers(db, accountId, page)
      return listPage({ query: request.query, binding, read, position: positionOf, render: renderMember })
    })
    app.patch('/members/:id', { config: manage, schema: changeSchema }, async (request) => {
      const member = await changeRole(deps, requesterOf(request), {
        userId: request.params.id,
        role: request.body.role,
      })
      await changed()
      return renderMember(member)
    })
    app.delete('/members/:id', { config: read, schema: removeSchema }, async (request, reply) => {
      await removeFromAccount(deps, requesterOf(request), request.params.id)
      await changed()
      return reply.code(204).send(null)
    })
    addInvitationRoutes(app, deps)
  }
}

type TypedApp = Parameters<FastifyPluginAsyncTypebox>[0]

function addInvitationRoutes(app: TypedApp, deps: MembersDeps): void {
  const { db, callerOf, publicUrl } = deps
  const requesterOf = requesterFrom(deps)
  app.post('/invitations', { config: manage, schema: inviteSchema }, async (request, reply) => {
    const { role, email } = request.body
    const { invitation, token } = await invite(deps, requesterOf(request), { role, email })
    return reply.code(201).send({ ...renderInvitation(invitation), url: invitationUrl(publicUrl, token) })
  })
  app.get('/invitations', { config: manage, schema: listInvitationsSchema }, async (request) => {
    const { accountId } = callerOf(request)
    const binding: PageBinding = { key: deps.cursorKey, account: accountId, list: 'invitations' }
    const read = (page: PageRequest) => listInvitations(db, accountId, page)
    return listPage({ query: request.query, binding, read, position: byId, render: renderInvitation })
  })
  app.delete('/invitations/:id', { config: manage, schema: revokeSchema }, async (request, reply) => {
    await revoke(deps, requesterOf(request), request.params.id)
    return reply.code(204).send(null)
  })
}

function requesterFrom({ callerOf }: Pick<MembersDeps, 'callerOf'>): (request: FastifyRequest) => Requester {
  return (request) => {
    const caller = callerOf(request)
    return { caller, audited: auditOf(request, caller) }
  }
}

function renderMember({ userId, email, name, role, createdAt }: Member): Static<typeof MemberView> {
  return { id: userId, object: 'member', email, name, role, created_at: renderTime(createdAt) }
}

function renderInvitation(invitation: Invitation): Static<typeof InvitationView> {
  const { usedAt, revokedAt } = invitation
  return {
    id: invitation.id,
    object: 'invitation',
    role: invitation.role,
    email: invitation.email ?? null,
    created_by: invitation.createdBy ?? null,
    key_id: invitation.keyId ?? null,
    created_at: renderTime(invitation.createdAt),
    expires_at: renderTime(invitation.expiresAt),
    used_at: usedAt === undefined ? null : renderTime(usedAt),
    used_by: invitation.usedBy ?? null,
    revoked_at: revokedAt === undefined ? null : renderTime(revokedAt),
  }
}

function renderTime(ms: number): string {
  return new Date(ms).toISOString()
}
