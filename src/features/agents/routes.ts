/** `/agents`: coding agents, from their creation to their deletion. `work-routes.ts` has what they did. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import type { KeptAnswer } from '../../domain/credit.ts'
import type { AgentId } from '../../domain/ids.ts'
import { parseIdempotencyKey } from '../../http/idempotency-key.ts'
import { PAGE_QUERY, type PageBinding, pageSchema, readPageRequest, renderPage } from '../../http/page.ts'
import type { FeatureDeps, OnceAnswer, OnceInTransaction, RecordEvent } from '../deps.ts'
import { type Asker, createAgent, followUp, unknownAgent } from './begin.ts'
import { type AgentModels, type Availability, chooseModel, parseOrder, requireAgents } from './rules.ts'
import { AgentCreate, AgentQuery, AgentView, FollowUp, renderAgent } from './shapes.ts'
import { cancelAgent, deleteAgent } from './steer.ts'
import { type Agent, type AgentFilter, type AgentReference, findAgent, listAgents } from './store.ts'

export interface AgentsDeps extends FeatureDeps {
  /** Signs the cursors of lists. */
  readonly cursorKey: Uint8Array
  readonly recordEvent: RecordEvent
  readonly once: OnceInTransaction
  readonly models: () => AgentModels
  /** Of agents that name none. */
  readonly standardModel: () => string | undefined
  readonly availability: () => Promise<Availability>
}

const READ = { scope: 'agents:read' } as const
const WRITE = { scope: 'agents:write' } as const
const tags = ['Agents']
const params = Type.Object({ id: Type.Unsafe<AgentId>({ type: 'string' }) })
const headers = Type.Object({
  'idempotency-key': Type.Optional(
    Type.String({
      description: 'A repeat with the same key and body gets the same answer, and nothing is done again.',
    }),
  ),
})
const answered = (description: string) => ({ description, content: { 'application/json': { schema: AgentView } } })
const createSchema = {
  summary: 'Create an agent',
  description: 'Answers at once; the agent waits for a worker. Its calls of the model are charged like any others.',
  tags,
  headers,
  body: AgentCreate,
  response: { 201: answered('The agent.') },
}
const listSchema = {
  summary: 'List agents',
  description: 'Filters add up.',
  tags,
  querystring: Type.Object({ ...AgentQuery, ...PAGE_QUERY }),
  response: { 200: pageSchema(AgentView) },
}
const oneSchema = { summary: 'Get an agent', tags, params, response: { 200: AgentView } }
const deleteSchema = {
  summary: 'Delete an agent',
  description:
    'With all that it said and left behind, but for what it was charged. One that waits or runs is cancelled first.',
  tags,
  params,
  response: { 204: Type.Null() },
}
const followUpSchema = {
  summary: 'Tell an agent more',
  description:
    'One that has ended begins a further run, with the rights and on the budget of who asks. One that waits or runs reads ' +
    'it at its next step.',
  tags,
  params,
  headers,
  body: FollowUp,
  response: { 202: answered('The agent.') },
}
const cancelSchema = {
  summary: 'Cancel an agent',
  description: 'One that waits ends at once, one that runs within 10 seconds; what it did is kept.',
  tags,
  params,
  response: { 202: AgentView },
}

export function agentsRoutes(deps: AgentsDeps): FastifyPluginAsyncTypebox {
  const { db, callerOf, cursorKey } = deps
  return async (app) => {
    app.post('/agents', { config: WRITE, schema: createSchema }, async (request, reply) => {
      return sendOnce(reply, await create(deps, request, request.body))
    })
    app.get('/agents', { config: READ, schema: listSchema }, async (request) => {
      const { accountId } = callerOf(request)
      const { status, repository } = request.query
      const filter: AgentFilter = { status, repository }
      const binding = {
        key: cursorKey,
        account: accountId,
        list: 'agents',
        filter: JSON.stringify([status, repository]),
      }
      const page = readPageRequest(request.query, binding satisfies PageBinding)
      const after = page.after as AgentId | undefined // a cursor is signed: it is what we gave
      const asked = { order: page.order, limit: page.limit + 1, after }
      const rows = await listAgents(db, { accountId, ...filter }, asked)
      return renderPage(rows, { request: page, binding }, { position: ({ id }) => id, render: renderAgent })
    })
    app.get('/agents/:id', { config: READ, schema: oneSchema }, async (request) => {
      const agent = await findAgent(db, referenceOf(deps, request))
      if (agent === undefined) throw unknownAgent()
      return renderAgent(agent)
    })
    app.delete('/agents/:id', { config: WRITE, schema: deleteSchema }, async (request, reply) => {
      await deleteAgent(db, referenceOf(deps, request), deps)
      return reply.code(204).send(null)
    })
    app.post('/agents/:id/followup', { config: WRITE, schema: followUpSchema }, async (request, reply) => {
      return sendOnce(reply, await tellMore(deps, request, request.body))
    })
    app.post('/agents/:id/cancel', { config: WRITE, schema: cancelSchema }, async (request, reply) => {
      const agent = await cancelAgent(db, referenceOf(deps, request), deps)
      return reply.code(202).send(renderAgent(agent))
    })
  }
}

interface WithId {
  readonly params: { readonly id: AgentId }
}

function referenceOf({ callerOf }: AgentsDeps, request: FastifyRequest & WithId): AgentReference {
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
    return kept(201, await createAgent(inside, { ...reference, order: { ...order, model }, asker }, deps))
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
  const availability = await deps.availability()
  return deps.once(ask, async (inside) => {
    if ((await findAgent(inside, reference)) === undefined) throw unknownAgent()
    requireAgents(availability)
    return kept(202, await followUp(inside, { ...reference, prompt: body.prompt, asker, mayBegin }, deps))
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

function kept(status: number, agent: Agent): KeptAnswer {
  const headers = { 'content-type': 'application/json; charset=utf-8' }
  return { status, headers, body: JSON.stringify(renderAgent(agent)) }
}

/** As the first one got it, to the byte. */
function sendOnce(reply: FastifyReply, { answer, isReplay }: OnceAnswer): FastifyReply {
  if (isReplay) reply.header('idempotent-replayed', 'true')
  return reply.code(answer.status).headers(answer.headers).send(answer.body)
}
