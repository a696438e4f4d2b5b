/** `/teams`: the teams of an account, and who is in them. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from 'typebox'
import { type BudgetStatus, subjectName } from '../../domain/budget.ts'
import { TEAM_ENDPOINTS, TEAM_ROLES } from '../../domain/identity/caller.ts'
import type { AccountId, TeamId, UserId } from '../../domain/ids.ts'
import { BudgetsInput, BudgetView, parseOptionalBudgets, renderBudget } from '../../http/fields/budgets.ts'
import { parseTagSettings, renderTagSettings, TAG_FIELDS, TAG_VIEWS } from '../../http/fields/tags.ts'
import { byId, listPage, PAGE_QUERY, type PageRequest, pageSchema } from '../../http/page.ts'
import { requesterOf } from '../../http/request-origin.ts'
import { dataPolicySchema, isoTime, nullable, oneOf, readDataPolicy, renderDataPolicy } from '../../http/wire-fields.ts'
import { isoTimeOrNull } from '../../lib/time.ts'
import type { ListDeps } from '../deps.ts'
import {
  addTeamMember,
  archiveTeam,
  changeTeam,
  createTeam,
  dropTeamMember,
  type ManageDeps,
  requireTeam,
} from './manage.ts'
import {
  countsOf,
  listTeamMembers,
  listTeams,
  positionOf,
  TEAM_STATUSES,
  type Team,
  type TeamMember,
  type TeamSettings,
} from './queries.ts'

export interface TeamsDeps extends ListDeps, ManageDeps {
  /** Awaited after every change: when it resolves, the change is in force in this process. */
  readonly changed: () => void | Promise<void>
}

const read = { scope: 'teams:read' } as const
const manage = { scope: 'teams' } as const
const tags = ['Teams']
const closed = { additionalProperties: false }

const Name = Type.String({ minLength: 1, maxLength: 100, pattern: '^[^\\u0000]*$' })
const Role = oneOf(TEAM_ROLES, { description: 'admin: decides who is in it. member: uses it. viewer: sees it.' })

const SETTINGS = {
  models: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 200 }), { maxItems: 200, description: 'Empty: all models.' }),
  ),
  endpoints: Type.Optional(
    Type.Array(oneOf(TEAM_ENDPOINTS), {
      maxItems: TEAM_ENDPOINTS.length,
      uniqueItems: true,
      description: 'Endpoints that its keys may call. Empty: all.',
    }),
  ),
  requests_per_minute: Type.Optional(
    Type.Unsafe<number | null>({
      type: ['integer', 'null'],
      minimum: 1,
      maximum: 1_000_000_000,
      description: 'Of all its requests together. Null: no limit.',
    }),
  ),
  data_policy: Type.Optional(dataPolicySchema('of the team')),
  ...TAG_FIELDS,
  budgets: Type.Optional(BudgetsInput),
}
const TeamCreate = Type.Object({ name: Name, ...SETTINGS }, closed)
const TeamPatch = Type.Object({ name: Type.Optional(Name), ...SETTINGS }, closed)

const TEAM_FIELDS = {
  id: Type.String(),
  object: Type.Literal('team'),
  name: Type.String(),
  models: Type.Array(Type.String(), { description: 'Empty: all.' }),
  endpoints: Type.Array(oneOf(TEAM_ENDPOINTS), { description: 'Empty: all.' }),
  requests_per_minute: nullable<number>('integer', 'Null: no limit.'),
  data_policy: dataPolicySchema('of the team'),
  ...TAG_VIEWS,
  created_at: Type.String(),
  archived_at: nullable<string>('string', 'ISO 8601. Null: it is active.'),
  budgets: Type.Array(BudgetView, { description: 'Limits on what its requests spend together.' }),
}
const TeamView = Type.Object(TEAM_FIELDS)
const TeamDetailView = Type.Object({
  ...TEAM_FIELDS,
  members: Type.Integer({ description: 'Number of people in it.' }),
  keys: Type.Integer({ description: 'Number of active keys.' }),
})

const MemberView = Type.Object({
  id: Type.String({ description: 'ID of the user.' }),
  object: Type.Literal('team_member'),
  email: Type.String(),
  name: Type.String(),
  role: Role,
  by_group: Type.Boolean({ description: 'A group of an identity provider put them here.' }),
  created_at: Type.String(),
})
const MemberCreate = Type.Object({ user_id: Type.Unsafe<UserId>({ type: 'string' }), role: Role }, closed)
const MemberPatch = Type.Object({ role: Role }, closed)

const TeamParams = Type.Object({ id: Type.Unsafe<TeamId>({ type: 'string' }) })
const MemberParams = Type.Object({
  id: Type.Unsafe<TeamId>({ type: 'string' }),
  user_id: Type.Unsafe<UserId>({ type: 'string' }),
})

const listSchema = {
  summary: 'List teams',
  description: 'Returns the teams of the account; to a key of a team that team alone.',
  tags,
  querystring: Type.Object({
    ...PAGE_QUERY,
    status: Type.Optional(oneOf([...TEAM_STATUSES, 'all'], { default: 'active' })),
  }),
  response: { 200: pageSchema(TeamView) },
}
const createSchema = { summary: 'Create a team', tags, body: TeamCreate, response: { 201: TeamView } }
const readSchema = {
  summary: 'Get a team',
  description: 'Also returns archived teams.',
  tags,
  params: TeamParams,
  response: { 200: TeamDetailView },
}
const updateSchema = {
  summary: 'Change a team',
  description: 'Changes only the fields that are sent. Takes effect in every process within a second.',
  tags,
  params: TeamParams,
  body: TeamPatch,
  response: { 200: TeamView },
}
const archiveSchema = {
  summary: 'Archive a team',
  description: 'Its keys stop in every process within a second, for good. Its usage stays in reports.',
  tags,
  params: TeamParams,
  response: { 204: Type.Null() },
}
const listMembersSchema = {
  summary: 'List the members of a team',
  tags,
  params: TeamParams,
  querystring: Type.Object(PAGE_QUERY),
  response: { 200: pageSchema(MemberView) },
}
const addMemberSchema = {
  summary: 'Add a member to a team',
  description: 'The person must be a member of the account. Who is in the team already gets the role.',
  tags,
  params: TeamParams,
  body: MemberCreate,
  response: { 201: MemberView },
}
const changeMemberSchema = {
  summary: 'Change a member’s role in a team',
  tags,
  params: MemberParams,
  body: MemberPatch,
  response: { 200: MemberView },
}
const dropMemberSchema = {
  summary: 'Remove a member from a team, or leave it',
  description:
    'Keys of the team that they created stop within a second, unless they are an owner or admin of the account.',
  tags,
  params: MemberParams,
  response: { 204: Type.Null() },
}

type TypedApp = Parameters<FastifyPluginAsyncTypebox>[0]

export function teamsRoutes(deps: TeamsDeps): FastifyPluginAsyncTypebox {
  return async (app) => {
    addReadRoutes(app, deps)
    addChangeRoutes(app, deps)
    addMemberRoutes(app, deps)
  }
}

function addReadRoutes(app: TypedApp, deps: TeamsDeps): void {
  const { db, now, callerOf, cursorKey } = deps
  app.get('/teams', { config: read, schema: listSchema }, async (request) => {
    const { accountId, teamId: only } = callerOf(request)
    const { status = 'active' } = request.query
    const binding = { key: cursorKey, account: accountId, list: 'teams', filter: `${status} ${only ?? ''}` }
    const filter = { status: status === 'all' ? undefined : status, only }
    const read = async (page: PageRequest) => {
      return describe(deps, accountId, await listTeams(db, accountId, { ...page, ...filter }))
    }
    return listPage({ query: request.query, binding, read, position: byId, render: (view) => view })
  })
  app.get('/teams/:id', { config: read, schema: readSchema }, async (request) => {
    const team = await requireTeam(db, callerOf(request), { id: request.params.id, right: 'read' })
    return { ...(await describeOne(deps, team)), ...(await countsOf(db, team, now())) }
  })
}

function addChangeRoutes(app: TypedApp, deps: TeamsDeps): void {
  const { callerOf, changed } = deps
  app.post('/teams', { config: manage, schema: createSchema }, async (request, reply) => {
    const { name } = request.body
    const settings = { ...NO_LIMITS, ...readSettings(request.body), name }
    const budgets = parseOptionalBudgets(request.body.budgets)
    const team = await createTeam(deps, requesterOf(request, callerOf(request)), { settings, budgets })
    return reply.code(201).send(await describeOne(deps, team))
  })
  app.patch('/teams/:id', { config: manage, schema: updateSchema }, async (request) => {
    const budgets = parseOptionalBudgets(request.body.budgets)
    const change = { id: request.params.id, settings: readSettings(request.body), budgets }
    const team = await changeTeam(deps, requesterOf(request, callerOf(request)), change)
    await changed()
    return describeOne(deps, team)
  })
  app.delete('/teams/:id', { config: manage, schema: archiveSchema }, async (request, reply) => {
    await archiveTeam(deps, requesterOf(request, callerOf(request)), request.params.id)
    await changed()
    return reply.code(204).send(null)
  })
}

function addMemberRoutes(app: TypedApp, deps: TeamsDeps): void {
  const { db, callerOf, changed, cursorKey: key } = deps
  app.get('/teams/:id/members', { config: read, schema: listMembersSchema }, async (request) => {
    const team = await requireTeam(db, callerOf(request), { id: request.params.id, right: 'read' })
    const binding = { key, account: team.accountId, list: 'team members', filter: team.id }
    const read = (page: PageRequest) => listTeamMembers(db, team, page)
    return listPage({ query: request.query, binding, read, position: positionOf, render: renderMember })
  })
  app.post('/teams/:id/members', { config: read, schema: addMemberSchema }, async (request, reply) => {
    const { user_id: userId, role } = request.body
    const change = { id: request.params.id, userId, role }
    const member = await addTeamMember(deps, requesterOf(request, callerOf(request)), change)
    await changed()
    return reply.code(201).send(renderMember(member))
  })
  app.patch('/teams/:id/members/:user_id', { config: read, schema: changeMemberSchema }, async (request) => {
    const { id, user_id: userId } = request.params
    const change = { id, userId, role: request.body.role }
    const member = await addTeamMember(deps, requesterOf(request, callerOf(request)), change)
    await changed()
    return renderMember(member)
  })
  app.delete('/teams/:id/members/:user_id', { config: read, schema: dropMemberSchema }, async (request, reply) => {
    const { id, user_id: userId } = request.params
    await dropTeamMember(deps, requesterOf(request, callerOf(request)), { id, userId })
    await changed()
    return reply.code(204).send(null)
  })
}

const NO_LIMITS: Omit<TeamSettings, 'name'> = {
  models: [],
  endpoints: [],
  requestsPerMinute: undefined,
  dataPolicy: undefined,
}

/** Null becomes undefined: no limit. */
function readSettings(body: Static<typeof TeamPatch>): Partial<TeamSettings> {
  const { name, models, endpoints, requests_per_minute: requestsPerMinute, data_policy: dataPolicy } = body
  return {
    ...(name !== undefined && { name }),
    ...(models !== undefined && { models }),
    ...(endpoints !== undefined && { endpoints }),
    ...(requestsPerMinute !== undefined && { requestsPerMinute: requestsPerMinute ?? undefined }),
    ...(dataPolicy !== undefined && { dataPolicy: readDataPolicy(dataPolicy) }),
    ...parseTagSettings(body),
  }
}

async function describeOne(deps: TeamsDeps, team: Team): Promise<Static<typeof TeamView>> {
  const [view] = await describe(deps, team.accountId, [team])
  return view ?? renderTeam(team)
}

async function describe({ budgets }: TeamsDeps, accountId: AccountId, teams: readonly Team[]) {
  const subjectOf = ({ id }: Team) => ({ level: 'team', id }) as const
  const found = await budgets.read(accountId, teams.map(subjectOf))
  return teams.map((team) => renderTeam(team, found.get(subjectName(subjectOf(team)))))
}

/** Renders the row of a team. */
export function renderTeam(team: Team, budgets: readonly BudgetStatus[] = []): Static<typeof TeamView> {
  return {
    id: team.id,
    object: 'team',
    name: team.name,
    models: [...team.models],
    endpoints: [...team.endpoints],
    requests_per_minute: team.requestsPerMinute ?? null,
    data_policy: renderDataPolicy(team.dataPolicy),
    ...renderTagSettings(team),
    created_at: isoTime(team.createdAt),
    archived_at: isoTimeOrNull(team.archivedAt ?? null),
    budgets: budgets.map(renderBudget),
  }
}

export function renderMember({ userId, email, name, role, byGroup, createdAt }: TeamMember): Static<typeof MemberView> {
  return { id: userId, object: 'team_member', email, name, role, by_group: byGroup, created_at: isoTime(createdAt) }
}
