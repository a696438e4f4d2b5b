/** `/usage/completions`: what an account has used, completion by completion. */
import { Readable } from 'node:stream'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply } from 'fastify'
import type { Kysely } from 'kysely'
import { type Static, Type } from 'typebox'
import type { Database } from '../../db/schema.ts'
import { GatewayError } from '../../domain/errors.ts'
import type { AccountId, AgentId, CompletionId, KeyId } from '../../domain/ids.ts'
import { acceptedFormat } from '../../http/accepted-format.ts'
import { PAGE_QUERY, type PageBinding, type PageRequest, readPageRequest, renderPage } from '../../http/page.ts'
import { ALL_TIME, parsePeriod } from '../../http/period.ts'
import type { FeatureDeps } from '../deps.ts'
import { FILE_SIZES, MAX_FILE_ROWS, readCompletionFile } from './completion-file.ts'
import { type CompletionFilter, type CompletionRow, findCompletion, listCompletions } from './completion-list.ts'
import {
  CompletionFileView,
  CompletionPage,
  CompletionQuery,
  renderCompletion,
  renderOverview,
  renderPricing,
  WholeCompletionView,
} from './completion-shapes.ts'
import { namesOfKeys } from './names.ts'
import { overviewPeriod, readOverview } from './overview.ts'
import { pricingOf } from './pricing.ts'

export interface CompletionDeps extends Pick<FeatureDeps, 'db' | 'now' | 'callerOf'> {
  /** Signs the cursors of lists. */
  readonly cursorKey: Uint8Array
}

const MAX_SEARCHED_MS = 7 * 86_400_000

const ListQuery = Type.Object({
  ...CompletionQuery,
  ...PAGE_QUERY,
  limit: Type.Optional(
    Type.Union([Type.Integer({ minimum: 1, maximum: MAX_FILE_ROWS }), Type.String()], {
      description: `Items in the page: 1 to 100, by default 20. Rows of a CSV file: 1 to ${MAX_FILE_ROWS}, by default as many.`,
    }),
  ),
})
type ListQuery = Static<typeof ListQuery>

const LIST_TYPES = [
  ['application/json', 'json'],
  ['text/csv', 'csv'],
] as const

const config = { scope: 'usage:read' } as const
const tags = ['Usage']
const listSchema = {
  summary: 'List completions',
  description: 'Every completion that reached a provider, whatever came of it. Filters add up.',
  tags,
  querystring: ListQuery,
  response: {
    200: {
      description: 'A page, or a file.',
      headers: { 'x-next-cursor': { type: 'string', description: 'Of a file that could go on: its `next_cursor`.' } },
      content: { 'application/json': { schema: CompletionPage }, 'text/csv': { schema: CompletionFileView } },
    },
  },
}
const oneSchema = {
  summary: 'Get a completion',
  description: 'What one completion used and cost, and how the cost came about, by the `id` of its answer.',
  tags,
  params: Type.Object({ id: Type.Unsafe<CompletionId>({ type: 'string' }) }),
  response: { 200: WholeCompletionView },
}

export function completionRoutes({ db, now, callerOf, cursorKey }: CompletionDeps): FastifyPluginAsyncTypebox {
  const keyNames = (accountId: AccountId, rows: readonly CompletionRow[]) =>
    namesOfKeys(
      db,
      accountId,
      rows.map(({ key_id: id }) => id),
    )
  return async (app) => {
    app.get('/usage/completions', { config, schema: listSchema }, async (request, reply) => {
      const { accountId } = callerOf(request)
      const filter = readFilter(request.query)
      const binding = { key: cursorKey, account: accountId, list: 'usage/completions', filter: JSON.stringify(filter) }
      const format = request.query.format ?? acceptedFormat(request.headers.accept, LIST_TYPES)
      if (format === 'csv') {
        const page = readPageRequest(request.query, binding, FILE_SIZES)
        const name = fileName(askedPeriod(request.query))
        return sendFile(reply, db, { accountId, filter, page, binding, name })
      }
      const page = readPageRequest(request.query, binding)
      const { order, limit } = page
      const after = page.after as CompletionId | undefined
      const rows = await listCompletions(db, { accountId, filter, order, limit: limit + 1, after })
      const names = await keyNames(accountId, rows)
      const render = (row: CompletionRow) => renderCompletion(row, names)
      const listed = renderPage(rows, { request: page, binding }, { position: ({ id }) => id, render })
      if (request.query.include !== 'overview') return listed
      const period = overviewPeriod(askedPeriod(request.query), now())
      return { ...listed, overview: renderOverview(await readOverview(db, accountId, { filter, period })) }
    })
    app.get('/usage/completions/:id', { config, schema: oneSchema }, async (request) => {
      const { accountId } = callerOf(request)
      const row = await findCompletion(db, { accountId, id: request.params.id })
      if (row === undefined) throw new GatewayError('not_found', 'No completion has this id.')
      const pricing = renderPricing(row, await pricingOf(db, row))
      return { ...renderCompletion(row, await keyNames(accountId, [row])), pricing }
    })
  }
}

interface FileOrder {
  readonly accountId: AccountId
  readonly filter: CompletionFilter
  readonly page: PageRequest
  readonly binding: PageBinding
  readonly name: string
}

/** Its pieces go out as the client takes them: a file that waits as a whole would count as one that nobody takes. */
async function sendFile(
  reply: FastifyReply,
  db: Kysely<Database>,
  { accountId, filter, page, binding, name }: FileOrder,
): Promise<FastifyReply> {
  const { order, limit } = page
  const after = page.after as CompletionId | undefined
  const { parts, ids } = await readCompletionFile(db, { accountId, filter, order, limit, after })
  const position = (id: CompletionId) => id
  const { next_cursor: cursor } = renderPage(ids, { request: page, binding }, { position, render: position })
  if (cursor !== null) reply.header('x-next-cursor', cursor)
  return reply
    .type('text/csv; charset=utf-8')
    .header('content-disposition', `attachment; filename="${name}"`)
    .header('content-length', String(parts.reduce((bytes, part) => bytes + part.length, 0)))
    .send(Readable.from(parts))
}

function fileName({ start, end }: ReturnType<typeof askedPeriod>): string {
  const days = [start, end].flatMap((at) => (at === undefined ? [] : [new Date(at).toISOString().slice(0, 10)]))
  return `${['turnpike-requests', ...days].join('-')}.csv`
}

function readFilter(query: ListQuery): CompletionFilter {
  const { model, key_id: keyId, status, agent_id: agentId, provider, client_request_id: clientRequestId } = query
  const period = parsePeriod(query, ALL_TIME)
  const isSearch = provider !== undefined || clientRequestId !== undefined
  if (isSearch && agentId === undefined && period.end - period.start > MAX_SEARCHED_MS) {
    const message = "'provider' and 'client_request_id' need a period of at most 7 days."
    throw new GatewayError('invalid_value', message, { param: 'period_start' })
  }
  return {
    period,
    model,
    keyId: keyId as KeyId | undefined,
    status,
    agentId: agentId as AgentId | undefined,
    provider,
    clientRequestId,
  }
}

/** What is said of the period; it was read before, and can be. */
function askedPeriod(query: ListQuery): { readonly start: number | undefined; readonly end: number | undefined } {
  const { start, end } = parsePeriod(query, ALL_TIME)
  return {
    start: query.period_start === undefined ? undefined : start,
    end: query.period_end === undefined ? undefined : end,
  }
}
