/** `/members` and `/invitations`: who belongs to an account, and in which role. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from 'typebox'
import { type BudgetStatus, subjectName } from '../../domain/budget.ts'
import { ROLES, type Role } from '../../domain/identity/caller.ts'
import type { AccountId, InvitationId, UserId } from '../../domain/ids.ts'
import { BudgetsInput, BudgetView, parseOptionalBudgets, renderBudget } from '../../http/fields/budgets.ts'
import { byId, listPage, PAGE_QUERY, type PageRequest, pageSchema } from '../../http/page.ts'
import { requesterOf } from '../../http/request-origin.ts'
import { closed, idParams, oneOf, textOrNull } from '../../http/wire-fields.ts'
import { isoTime, isoTimeOrNull } from '../../lib/time.ts'
import type { BudgetPort, EraseContent, ListDeps, WriteAudit } from '../deps.ts'
import { type Invitation, invitationUrl, listInvitations } from './invitations.ts'
import { changeMember, invite, removeFromAccount, revoke } from './manage.ts'
import { listMembers, type Member, positionOf } from './queries.ts'

export interface MembersDeps extends ListDeps {
  /** Without trailing slash. */
  readonly publicUrl: string
  readonly writeAudit: WriteAudit
  readonly eraseContent: EraseContent
  readonly budgets: BudgetPort
  /** Awaited after a change of members: when it resolves, the change is in force in this process. */
  readonly changed: () => void | Promise<void>
}

const read = { scope: 'members:read' } as const
const manage = { scope: 'members' } as const
const tags = ['Members']

const MAX_EMAIL_LENGTH = 320

const RoleName = Type.Unsafe<Role>({ type: 'string', enum: [...ROLES] })

const MemberPatch = closed({ role: Type.Optional(RoleName), budgets: Type.Optional(BudgetsInput) })

const MemberView = Type.Object({
  id: Type.String({ description: 'ID of the user.' }),
  object: Type.Literal('member'),
  email: Type.String(),
  name: Type.String(),
  role: RoleName,
  created_at: Type.String({ description: 'Time of joining, ISO 8601.' }),
  budgets: Type.Array(BudgetView, {
    description: 'Limits on what their sessions, devices and the keys that they created spend together.',
  }),
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
  summary: 'Change a member',
  description:
    'Changes the role, the budgets, or both. Takes effect in every process within a second. Members cannot grant more than they have; only owners appoint and change owners, and the last owner keeps the role.',
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
  querystring: Type.Object({
    erase_content: Type.Optional(
      oneOf(['true', 'false'], {
        default: 'false',
        description:
          '`true` also deletes the prompts and answers that were captured of their requests, those of the API keys that they created included. Requires the right `content`.',
      }),
    ),
  }),
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
      const read = async (page: PageRequest) => describe(deps, accountId, await listMembers(db, accountId, page))
      return listPage({ query: request.query, binding, read, position: positionOf, render: renderMember })
    })
    app.patch('/members/:id', { config: manage, schema: changeSchema }, async (request) => {
      const requester = requesterOf(request, callerOf(request))
      const { role, budgets } = request.body
      const change = { userId: request.params.id, role, budgets: parseOptionalBudgets(budgets) }
      const member = await changeMember(deps, requester, change)
      await changed()
      const [described] = await describe(deps, requester.caller.accountId, [member])
      return renderMember(described ?? { ...member, budgets: [] })
    })
    app.delete('/members/:id', { config: read, schema: removeSchema }, async (request, reply) => {
      const removal = { userId: request.params.id, erasesContent: request.query.erase_content === 'true' }
      await removeFromAccount(deps, requesterOf(request, callerOf(request)), removal)
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

interface DescribedMember extends Member {
  readonly budgets: readonly BudgetStatus[]
}

async function describe(
  { budgets }: MembersDeps,
  accountId: AccountId,
  members: readonly Member[],
): Promise<readonly DescribedMember[]> {
  const subjectOf = ({ userId }: Member) => ({ level: 'member', id: userId }) as const
  const found = await budgets.read(accountId, members.map(subjectOf))
  return members.map((member) => ({ ...member, budgets: found.get(subjectName(subjectOf(member))) ?? [] }))
}

function renderMember({ userId, email, name, role, createdAt, budgets }: DescribedMember): Static<typeof MemberView> {
  const member = { id: userId, object: 'member', email, name, role, created_at: isoTime(createdAt) } as const
  return { ...member, budgets: budgets.map(renderBudget) }
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
