/** `/agents`: coding agents, their messages, runs and changes. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Kysely } from 'kysely'
import { type Static, Type } from 'typebox'
import type { Database } from '../../db/schema/schema.ts'
import type { SavedAnswer } from '../../domain/credit.ts'
import { GatewayError } from '../../domain/errors.ts'
import type { Caller } from '../../domain/identity/caller.ts'
import type { AgentId } from '../../domain/ids.ts'
import { assertEndpoint, type InTeam } from '../../http/caller.ts'
import { byId, byNumber, listPage, PAGE_QUERY, type PageQuery, type PageRequest, pageSchema } from '../../http/page.ts'
import { IDEMPOTENCY_KEY_FORMAT, parseIdempotencyKey } from '../../http/request-headers.ts'
import { auditOf } from '../../http/request-origin.ts'
import { withoutBody } from '../../http/validation.ts'
import { idParams } from '../../http/wire-fields.ts'
import type { ListDeps, OnceAnswer, OnceInTransaction, RecordEvent } from '../deps.ts'
import { type Asker, type CallerOfCreator, cancelAgent, createAgent, deleteAgent, followUp } from './lifecycle.ts'
import { openForAgent, PullRequestCreate, type PullRequestDeps, PullRequestView } from './pull-request.ts'
import { type AgentModels, type Availability, chooseModel, parseBranch, parseOrder, requireAgents } from './rules.ts'
import { findArtifact } from './run.ts'
import { AgentCreate, AgentQuery, AgentView, FollowUp, RunView, renderAgent, renderRun } from './shapes.ts'
import { type Agent, type AgentReference, listAgents, listRuns, requireAgent, requireOwnTeam } from './store.ts'
import { listMessages, MessageView, renderMessages, toStoredMessage } from './transcript.ts'

export interface AgentsDeps extends ListDeps, Omit<PullRequestDeps, 'db'> {
  readonly recordEvent: RecordEvent
  readonly once: OnceInTransaction
  readonly models: () => AgentModels
  /** For agents created without a model. */
  readonly standardModel: () => string | undefined
  readonly inTeam: InTeam
  readonly availability: () => Promise<Availability>
  readonly callerOfCreator: CallerOfCreator
}

const READ = { scope: 'agents:read' } as const
const WRITE = { scope: 'agents:write', endpoint: 'agents' } as const
const tags = ['Agents']
const params = idParams<AgentId>()
const headers = Type.Object({
  'idempotency-key': Type.Optional(
    Type.String({
      ...IDEMPOTENCY_KEY_FORMAT,
      description: 'A repeat with the same key and body returns the first response without repeating the work.',
    }),
  ),
})
const answered = (description: string) => ({
  description: `${description} Without the scope agents:read only \`id\` and \`object\`.`,
  content: { 'application/json': { schema: AgentView } },
})
const createSchema = {
  summary: 'Create an agent',
  description: 'Returns at once and queues the agent for a worker. Its model calls are charged like any others.',
  tags,
  headers,
  body: AgentCreate,
  response: { 201: answered('The agent.') },
}
const listSchema = {
  summary: 'List agents',
  description: 'Filters are combined with AND.',
  tags,
  querystring: Type.Object({ ...AgentQuery, ...PAGE_QUERY }),
  response: { 200: pageSchema(AgentView) },
}
const oneSchema = { summary: 'Get an agent', tags, params, response: { 200: AgentView } }
const deleteSchema = {
  summary: 'Delete an agent',
  description:
    'Deletes its messages, events, runs and diff, but not its charges. 409 while it is queued or running: cancel it first.',
  tags,
  params,
  response: { 204: Type.Null() },
}
const followUpSchema = {
  summary: 'Send a follow-up',
  description:
    'Starts another run of an agent that has ended, with the rights and the budget of the caller. A queued or running agent reads the follow-up before its next step; the caller then needs the rights of that run, and no limits that it does not have.',
  tags,
  params,
  headers,
  body: FollowUp,
  response: { 202: answered('The agent.') },
}
const cancelSchema = {
  summary: 'Cancel an agent',
  description: 'Ends a queued agent at once and a running one within 10 seconds. Its work is kept.',
  tags,
  params,
  response: { 202: answered('The agent.') },
}
const pullRequestSchema = {
  summary: 'Open a pull request for an agent',
  description:
    'Opens a pull request (GitHub) or merge request (GitLab) for the branch of an agent that has ended and pushed it, with the operator’s credential for the repository. 200 with the open one if the branch has one. 409 while the agent works or if nothing was pushed; 422 without a credential, for another host, and with the host’s message when it refuses.',
  tags,
  params,
  body: PullRequestCreate,
  response: { 200: PullRequestView, 201: PullRequestView },
}

export function agentsRoutes(deps: AgentsDeps): FastifyPluginAsyncTypebox {
  const { db, callerOf, cursorKey } = deps
  const render = (agent: Agent) => renderAgent(agent, deps.repositoryAccess(agent))
  return async (app) => {
    app.addHook('preHandler', requireOwnTeam(deps))
    app.post('/agents', { config: WRITE, schema: createSchema }, async (request, reply) => {
      const { team_id: teamId } = request.body
      if (teamId !== undefined && teamId !== null) request.caller = await deps.inTeam(callerOf(request), teamId)
      assertEndpoint(callerOf(request), 'agents')
      return sendOnce(reply, callerOf(request), await create(deps, request, request.body))
    })
    app.get('/agents', { config: READ, schema: listSchema }, async (request) => {
      const { accountId, teamId } = callerOf(request)
      const { status, repository } = request.query
      const filter = JSON.stringify([status, repository])
      const binding = { key: cursorKey, account: accountId, list: 'agents', filter }
      const read = (page: PageRequest<AgentId>) => listAgents(db, { accountId, status, repository, teamId }, page)
      return listPage({ query: request.query, binding, read, position: byId, render })
    })
    app.get('/agents/:id', { config: READ, schema: oneSchema }, async (request) => {
      return render(await requireAgent(db, referenceOf(deps, request)))
    })
    app.delete('/agents/:id', { config: WRITE, schema: deleteSchema }, async (request, reply) => {
      await deleteAgent(db, referenceOf(deps, request), deps)
      return reply.code(204).send(null)
    })
    app.post('/agents/:id/followup', { config: WRITE, schema: followUpSchema }, async (request, reply) => {
      return sendOnce(reply, callerOf(request), await tellMore(deps, request, request.body))
    })
    app.post('/agents/:id/cancel', { config: WRITE, schema: cancelSchema }, async (request, reply) => {
      const agent = await cancelAgent(db, referenceOf(deps, request), deps)
      return sendOnce(reply, callerOf(request), { answer: kept(deps, 202, agent), isReplay: false })
    })
    const pullRequest = { config: WRITE, schema: pullRequestSchema, preValidation: withoutBody }
    app.post('/agents/:id/pull-request', pullRequest, async (request, reply) => {
      parseBranch(request.body.base ?? undefined, 'base')
      const audited = auditOf(request, callerOf(request))
      const ask = { reference: referenceOf(deps, request), audited, body: request.body }
      const { view, isNew } = await openForAgent(deps, ask)
      return reply.code(isNew ? 201 : 200).send(view)
    })
  }
}

interface WithId {
  readonly params: { readonly id: AgentId }
}

function referenceOf({ callerOf }: Pick<AgentsDeps, 'callerOf'>, request: FastifyRequest & WithId): AgentReference {
  return { accountId: callerOf(request).accountId, agentId: request.params.id }
}

async function create(
  deps: AgentsDeps,
  request: FastifyRequest,
  body: Parameters<typeof parseOrder>[0],
): Promise<OnceAnswer> {
  const asker = askerOf(deps, request)
  const reference = { accountId: asker.caller.accountId, agentId: deps.ids.agent() }
  const order = parseOrder(body)
  const ask = { accountId: reference.accountId, endpoint: 'POST /v1/agents', key: keyOf(request), body }
  const availability = await deps.availability()
  return deps.once({ ...ask, subjectId: reference.agentId }, async (inside) => {
    requireAgents(availability)
    const model = modelFor(deps, asker, order.model)
    return kept(deps, 201, await createAgent(inside, { ...reference, order: { ...order, model }, asker }, deps))
  })
}

async function tellMore(
  deps: AgentsDeps,
  request: FastifyRequest & WithId,
  body: { readonly prompt: string },
): Promise<OnceAnswer> {
  const asker = askerOf(deps, request)
  const reference = referenceOf(deps, request)
  const endpoint = `POST /v1/agents/${reference.agentId}/followup`
  const ask = { accountId: reference.accountId, endpoint, key: keyOf(request), body, subjectId: deps.ids.request() }
  const mayBegin = ({ model }: Agent): void => void modelFor(deps, asker, model)
  const ofAsker = { prompt: body.prompt, asker, mayBegin, callerOf: deps.callerOfCreator }
  const availability = await deps.availability()
  return deps.once(ask, async (inside) => {
    await requireAgent(inside, reference)
    requireAgents(availability)
    return kept(deps, 202, await followUp(inside, { ...reference, ...ofAsker }, deps))
  })
}

function askerOf({ callerOf }: AgentsDeps, request: FastifyRequest): Asker {
  return { caller: callerOf(request), address: request.ip }
}

function modelFor({ models, standardModel }: AgentsDeps, { caller }: Asker, asked: string | undefined): string {
  return chooseModel(asked, { caller, models: models(), standard: standardModel() })
}

function keyOf({ headers: { 'idempotency-key': key } }: FastifyRequest): string | undefined {
  return parseIdempotencyKey(typeof key === 'string' ? key : undefined) // the edge lets no two of them in
}

const JSON_TYPE = 'application/json; charset=utf-8'

function kept({ repositoryAccess }: AgentsDeps, status: number, agent: Agent): SavedAnswer {
  const body = JSON.stringify(renderAgent(agent, repositoryAccess(agent)))
  return { status, headers: { 'content-type': JSON_TYPE }, body }
}

/** Replays the first response byte for byte, as far as the caller may read it. */
function sendOnce(reply: FastifyReply, caller: Caller, { answer, isReplay }: OnceAnswer): FastifyReply {
  if (isReplay) reply.header('idempotent-replayed', 'true')
  return reply.code(answer.status).headers(answer.headers).send(shown(caller, answer.body))
}

/** A credential without `agents:read` receives only the ID of the agent. */
function shown({ scopes }: Caller, agent: string): string {
  if (scopes.has('agents:read')) return agent
  const { id, object } = JSON.parse(agent) as Pick<Static<typeof AgentView>, 'id' | 'object'> // as `kept` wrote it
  return JSON.stringify({ id, object })
}

const querystring = Type.Object(PAGE_QUERY)
const messagesSchema = {
  summary: 'List the messages of an agent',
  description: 'Returns the conversation of users, model and tools.',
  tags,
  params,
  querystring,
  response: { 200: pageSchema(MessageView) },
}
const runsSchema = {
  summary: 'List the runs of an agent',
  description:
    'Returns the first run, and one for each follow-up that was sent after the agent had ended. Each run is billed separately.',
  tags,
  params,
  querystring,
  response: { 200: pageSchema(RunView) },
}
const diffSchema = {
  summary: 'Get the diff of an agent',
  description:
    'Returns the unified diff of the last run that has one, against the base of the work. A diff that is too large is truncated after a whole line; the response then has `x-turnpike-truncated: true`.',
  tags,
  params,
  response: { 200: { description: 'The diff.', content: { 'text/plain': { schema: Type.String() } } } },
}

type WorkDeps = Pick<AgentsDeps, 'db' | 'callerOf' | 'cursorKey'>

export function agentWorkRoutes(deps: WorkDeps): FastifyPluginAsyncTypebox {
  const { db } = deps
  return async (app) => {
    app.addHook('preHandler', requireOwnTeam(deps))
    app.get('/agents/:id/messages', { config: READ, schema: messagesSchema }, async (request, reply) => {
      const page = await numberedPage(deps, request, { list: 'messages', rows: listMessages, render: toStoredMessage })
      const rendered = await renderMessages(page)
      if (!Buffer.isBuffer(rendered)) return rendered
      return reply.type('application/json; charset=utf-8').send(rendered as never) // the same page, as bytes
    })
    app.get('/agents/:id/runs', { config: READ, schema: runsSchema }, (request) =>
      numberedPage(deps, request, { list: 'runs', rows: listRuns, render: renderRun }),
    )
    app.get('/agents/:id/diff', { config: READ, schema: diffSchema }, async (request, reply) => {
      const reference = referenceOf(deps, request)
      await requireAgent(db, reference)
      const diff = await findArtifact(db, reference, 'diff')
      if (diff === undefined) throw new GatewayError('not_found', 'This agent has no diff yet.')
      if (diff.isTruncated) reply.header('x-turnpike-truncated', 'true')
      return reply
        .type('text/plain; charset=utf-8')
        .header('x-content-type-options', 'nosniff') // the repository's contents are untrusted
        .send(Buffer.from(diff.content).toString('utf8'))
    })
  }
}

interface NumberedList<Row, Item> {
  readonly list: string
  readonly rows: (db: Kysely<Database>, of: AgentReference, page: PageRequest) => Promise<readonly Row[]>
  readonly render: (row: Row) => Item
}

/** Responds with a page of rows that are numbered within their agent. */
async function numberedPage<Row extends { readonly number: number }, Item>(
  deps: WorkDeps,
  request: FastifyRequest & WithId & { readonly query: PageQuery },
  { list, rows, render }: NumberedList<Row, Item>,
) {
  const { db, cursorKey } = deps
  const reference = referenceOf(deps, request)
  await requireAgent(db, reference)
  const { accountId, agentId } = reference
  const binding = { key: cursorKey, account: accountId, list: `agents/${list}`, filter: agentId }
  const read = (page: PageRequest) => rows(db, reference, page)
  return listPage({ query: request.query, binding, read, position: byNumber, render })
}
