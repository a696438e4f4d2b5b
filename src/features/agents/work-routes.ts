/** `/agents/{id}/…`: what an agent said, did and changed. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import type { Kysely } from 'kysely'
import { Type } from 'typebox'
import type { Database } from '../../db/schema.ts'
import { GatewayError } from '../../domain/errors.ts'
import type { AgentId } from '../../domain/ids.ts'
import {
  PAGE_QUERY,
  type PageBinding,
  type PageQuery,
  pageSchema,
  readPageRequest,
  renderPage,
} from '../../http/page.ts'
import { unknownAgent } from './begin.ts'
import { listMessages, MessageView, renderMessage } from './messages.ts'
import { findArtifact } from './progress.ts'
import type { AgentsDeps } from './routes.ts'
import { RunView, renderRun } from './shapes.ts'
import { type AgentReference, findAgent, type ListPage, listRuns } from './store.ts'

const config = { scope: 'agents:read' } as const
const tags = ['Agents']
const params = Type.Object({ id: Type.Unsafe<AgentId>({ type: 'string' }) })
const querystring = Type.Object(PAGE_QUERY)
const messagesSchema = {
  summary: 'List the messages of an agent',
  description: 'The conversation of people, the model and its tools.',
  tags,
  params,
  querystring,
  response: { 200: pageSchema(MessageView) },
}
const runsSchema = {
  summary: 'List the runs of an agent',
  description: 'Each is billed by itself: the first one, and one for each follow-up after it had ended.',
  tags,
  params,
  querystring,
  response: { 200: pageSchema(RunView) },
}
const diffSchema = {
  summary: 'Get what an agent changed',
  description:
    'A unified diff against what the work started from, by the last run that left one. One that was too large is cut off ' +
    'after a whole line, and the answer says so with `x-turnpike-truncated: true`.',
  tags,
  params,
  response: { 200: { description: 'The diff.', content: { 'text/plain': { schema: Type.String() } } } },
}

export type WorkDeps = Pick<AgentsDeps, 'db' | 'callerOf' | 'cursorKey'>

export function agentWorkRoutes(deps: WorkDeps): FastifyPluginAsyncTypebox {
  const { db } = deps
  const referenceTo = async (request: FastifyRequest, agentId: AgentId): Promise<AgentReference> => {
    const reference = { accountId: deps.callerOf(request).accountId, agentId }
    if ((await findAgent(db, reference)) === undefined) throw unknownAgent()
    return reference
  }
  return async (app) => {
    app.get('/agents/:id/messages', { config, schema: messagesSchema }, async (request) => {
      const reference = await referenceTo(request, request.params.id)
      return numberedPage({ ...deps, reference, list: 'messages', query: request.query }, listMessages, renderMessage)
    })
    app.get('/agents/:id/runs', { config, schema: runsSchema }, async (request) => {
      const reference = await referenceTo(request, request.params.id)
      return numberedPage({ ...deps, reference, list: 'runs', query: request.query }, listRuns, renderRun)
    })
    app.get('/agents/:id/diff', { config, schema: diffSchema }, async (request, reply) => {
      const reference = await referenceTo(request, request.params.id)
      const diff = await findArtifact(db, reference, 'diff')
      if (diff === undefined) throw new GatewayError('not_found', 'This agent has left no diff yet.')
      if (diff.isTruncated) reply.header('x-turnpike-truncated', 'true')
      return reply
        .type('text/plain; charset=utf-8')
        .header('x-content-type-options', 'nosniff') // what is in a repository is no page of ours
        .send(Buffer.from(diff.content).toString('utf8'))
    })
  }
}

interface Asked {
  readonly db: Kysely<Database>
  readonly cursorKey: Uint8Array
  readonly reference: AgentReference
  readonly list: string
  readonly query: PageQuery
}

/** Of what is numbered within its agent. */
async function numberedPage<Row extends { readonly number: number }, Item>(
  { db, cursorKey, reference, list, query }: Asked,
  read: (db: Kysely<Database>, of: AgentReference, page: ListPage<number>) => Promise<readonly Row[]>,
  render: (row: Row) => Item,
) {
  const { accountId, agentId } = reference
  const binding: PageBinding = { key: cursorKey, account: accountId, list: `agents/${list}`, filter: agentId }
  const page = readPageRequest(query, binding)
  const after = page.after === undefined ? undefined : Number(page.after)
  const rows = await read(db, reference, { order: page.order, limit: page.limit + 1, after })
  return renderPage(rows, { request: page, binding }, { position: ({ number }) => String(number), render })
}
