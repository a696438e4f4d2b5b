/** `/members` and `/invitations`: who belongs to an account, and in which role. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from 'typebox'
import { ROLES, type Role } from '../../domain/identity/caller.ts'
import type { InvitationId, UserId } from '../../domain/ids.ts'
import { byId, listPage, PAGE_QUERY, type PageRequest, pageSchema } from '../../http/page.ts'
import { requesterOf } from '../../http/request-origin.ts'
import { closed, idParams, textOrNull } from '../../http/wire-fields.ts'
import { isoTime, isoTimeOrNull } from '../../lib/time.ts'
import type { ListDeps, WriteAudit } from '../deps.ts'
import { type Invitation, invitationUrl, listInvitations } from './invitations.ts'
import { changeRole, invite, removeFromAccount, revoke } from './manage.ts'
import { listMembers, type Member, positionOf } from './queries.ts'

export interface MembersDeps extends ListDeps {
  /** Without trailing slash. */
  readonly publicUrl: string
  readonly writeAudit: WriteAudit
  /** Awaited after a change of members: when it resolves, the change is in force in this process. */
  readonly changed: () => void | Promise<void>
}

const read = { scope: 'members:read' } as const
const manage = { scope: 'members' } as const
const tags = ['Members']

const MAX_EMAIL_LENGTH = 320

const RoleName = Type.Unsafe<Role>({ type: 'string', enum: [...ROLES] })

const MemberPatch = closed({ role: RoleName })

const MemberView = Type.Object({
  id: Type.String({ description: 'ID of the user.' }),
  object: Type.Literal('member'),
  email: Type.String(),
  name: Type.String(),
  role: RoleName,
  created_at: Type.String({ description: 'Time of joining, ISO 8601.' }),
})

const InvitationCreate = closed({
  role: RoleName,
  email: Type.Optional(
    Type.String({
      maxLength: MAX_EMAIL_LENGTH,
      pattern: '^[^\\s@]+@[^\\s@]+$',
      description: 'The intended person, as a note. No mail is sent, and anybody with the link can use it.',
    }),
  ),
})

const INVITATION_FIELDS = {
  id: Type.String(),
  object: Type.Literal('invitation'),
  role: RoleName,
  email: textOrNull('The intended person.'),
  created_by: textOrNull('The user who created it, or who created the key in `key_id`. Null: none.'),
  key_id: textOrNull(
    'The API key that created it. The link is valid only while this key could create it. Null: a person created it.',
  ),
  created_at: Type.String(),
  expires_at: Type.String(),
  used_at: textOrNull('ISO 8601.'),
  used_by: textOrNull('The user who joined with it.'),
  revoked_at: textOrNull('ISO 8601.'),
}
const InvitationView = Type.Object(INVITATION_FIELDS)

const CreatedInvitationView = Type.Object({
  ...INVITATION_FIELDS,
  url: Type.String({ description: 'The link, returned only this once. It is valid for 7 days and one person.' }),
})
const MemberParams = idParams<UserId>()
const InvitationParams = idParams<InvitationId>()

const listSchema = {
  summary: 'List members',
  description: 'Returns the members of the account, by the time at which they joined.',
  tags,
  querystring: Type.Object(PAGE_QUERY),
  response: { 200: pageSchema(MemberView) },
}

const changeSchema = {
  summary: 'Change a member’s role',
  description:
    'Takes effect in every process within a second. Members cannot grant more than they have; only owners appoint and change owners, and the last owner keeps the role.',
  tags,
  params: MemberParams,
  body: MemberPatch,
  response: { 200: MemberView },
}

const removeSchema = {
  summary: 'Remove a member, or leave',
  description:
    'Ends their sessions, disconnects their devices and revokes the API keys that they created, within a second. Every member except the last owner can leave; removing others requires the right `members`.',
  tags,
  params: MemberParams,
  response: { 204: Type.Null() },
}

const inviteSchema = {
  summary: 'Create an invitation',
  description:
    'Returns a link; the first person who opens it becomes a member. The role cannot exceed the caller’s own. No mail is sent.',
  tags,
  body: InvitationCreate,
  response: { 201: CreatedInvitationView },
}

const listInvitationsSchema = {
  summary: 'List invitations',
  description: 'Returns the invitations, including ended ones for some weeks.',
  tags,
  querystring: Type.Object(PAGE_QUERY),
  response: { 200: pageSchema(InvitationView) },
}

const revokeSchema = {
  summary: 'Revoke an invitation',
  description: 'Invalidates the link of the invitation.',
  tags,
  params: InvitationParams,
  response: { 204: Type.Null() },
}

export function membersRoutes(deps: MembersDeps): FastifyPluginAsyncTypebox {
  const { db, callerOf, changed } = deps
  return async (app) => {
    app.get('/members', { config: read, schema: listSchema }, async (request) => {
      const { accountId } = callerOf(request)
      const binding = { key: deps.cursorKey, account: accountId, list: 'members' }
      const read = (page: PageRequest) => listMembers(db, accountId, page)
      return listPage({ query: request.query, binding, read, position: positionOf, render: renderMember })
    })
    app.patch('/members/:id', { config: manage, schema: changeSchema }, async (request) => {
      const change = { userId: request.params.id, role: request.body.role }
      const member = await changeRole(deps, requesterOf(request, callerOf(request)), change)
      await changed()
      return renderMember(member)
    })
    app.delete('/members/:id', { config: read, schema: removeSchema }, async (request, reply) => {
      await removeFromAccount(deps, requesterOf(request, callerOf(request)), request.params.id)
      await changed()
      return reply.code(204).send(null)
    })
    addInvitationRoutes(app, deps)
  }
}

type TypedApp = Parameters<FastifyPluginAsyncTypebox>[0]

function addInvitationRoutes(app: TypedApp, deps: MembersDeps): void {
  const { db, callerOf, publicUrl } = deps
  app.post('/invitations', { config: manage, schema: inviteSchema }, async (request, reply) => {
    const { invitation, token } = await invite(deps, requesterOf(request, callerOf(request)), request.body)
    return reply.code(201).send({ ...renderInvitation(invitation), url: invitationUrl(publicUrl, token) })
  })
  app.get('/invitations', { config: manage, schema: listInvitationsSchema }, async (request) => {
    const { accountId } = callerOf(request)
    const binding = { key: deps.cursorKey, account: accountId, list: 'invitations' }
    const read = (page: PageRequest) => listInvitations(db, accountId, page)
    return listPage({ query: request.query, binding, read, position: byId, render: renderInvitation })
  })
  app.delete('/invitations/:id', { config: manage, schema: revokeSchema }, async (request, reply) => {
    await revoke(deps, requesterOf(request, callerOf(request)), request.params.id)
    return reply.code(204).send(null)
  })
}

function renderMember({ userId, email, name, role, createdAt }: Member): Static<typeof MemberView> {
  return { id: userId, object: 'member', email, name, role, created_at: isoTime(createdAt) }
}

function renderInvitation(invitation: Invitation): Static<typeof InvitationView> {
  const { account_id: _, ...fields } = invitation
  return {
    ...fields,
    object: 'invitation',
    created_at: isoTime(fields.created_at),
    expires_at: isoTime(fields.expires_at),
    used_at: isoTimeOrNull(fields.used_at),
    revoked_at: isoTimeOrNull(fields.revoked_at),
  }
}
