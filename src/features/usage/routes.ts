/** `/usage`: what an account has used, added up and completion by completion. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from 'typebox'
import type { AccountCreditPort } from '../../domain/account-credit.ts'
import { GatewayError } from '../../domain/errors.ts'
import type { CompletionId, KeyId } from '../../domain/ids.ts'
import { PAGE_QUERY, type PageBinding, pageSchema, readPageRequest, renderPage } from '../../http/page.ts'
import { ALL_TIME, type Period, parsePeriod } from '../../http/period.ts'
import { renderCsv } from '../../lib/csv.ts'
import type { FeatureDeps } from '../deps.ts'
import { type CompletionFilter, findCompletion, listCompletions } from './completion-list.ts'
import { monthOf } from './period.ts'
import { sumAgents, sumUsage } from './queries.ts'
import { buildReport, dimensionOf } from './report.ts'
import {
  CompletionQuery,
  CompletionView,
  type Grouping,
  ReportFile,
  ReportQuery,
  ReportView,
  renderCompletion,
  renderReport,
  reportRows,
} from './shapes.ts'

export interface UsageDeps extends FeatureDeps {
  readonly credit: Pick<AccountCreditPort, 'read'>
  /** Signs the cursors of lists. */
  readonly cursorKey: Uint8Array
}

const ListQuery = Type.Object({ ...CompletionQuery, ...PAGE_QUERY })

const config = { scope: 'usage:read' } as const
const tags = ['Usage']
const reportSchema = {
  summary: 'Usage of a period',
  description: 'Tokens and cost, by model, the most expensive first. A completion is counted within a second.',
  tags,
  querystring: ReportQuery,
  response: {
    200: {
      description: 'The report.',
      content: { 'application/json': { schema: ReportView }, 'text/csv': { schema: ReportFile } },
    },
  },
}
const listSchema = {
  summary: 'List completions',
  description: 'Every completion that reached a provider, whatever came of it. Filters add up.',
  tags,
  querystring: ListQuery,
  response: { 200: pageSchema(CompletionView) },
}
const oneSchema = {
  summary: 'Get a completion',
  description: 'What one completion used and cost, by the `id` of its answer.',
  tags,
  params: Type.Object({ id: Type.Unsafe<CompletionId>({ type: 'string' }) }),
  response: { 200: CompletionView },
}

/** `GET /usage`, `GET /usage/completions` and `GET /usage/completions/{id}`. */
export function usageRoutes({ db, now, callerOf, cursorKey, credit }: UsageDeps): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.get('/usage', { config, schema: reportSchema }, async (request, reply) => {
      const { group_by: grouping, format } = request.query
      const { accountId: id, plan } = callerOf(request)
      const period = parsePeriod(request.query, monthOf(now()))
      // In this order, so that what agents used is never more than all there is.
      const agents = grouping === 'agent' ? await sumAgents(db, id, period) : []
      const sums = await sumUsage(db, id, { period, by: dimensionOf(grouping) })
      const report = buildReport(sums, { grouping, agents })
      if (format !== 'csv') return renderReport(report, { period, credit: await credit.read({ id, plan }) })
      return reply
        .type('text/csv; charset=utf-8')
        .header('content-disposition', `attachment; filename="${fileName(period, grouping)}"`)
        .send(renderCsv(reportRows(report.groups ?? report.models)))
    })
    app.get('/usage/completions', { config, schema: listSchema }, async (request) => {
      const { accountId } = callerOf(request)
      const filter = readFilter(request.query)
      const binding: PageBinding = {
        key: cursorKey,
        account: accountId,
        list: 'usage/completions',
        filter: JSON.stringify(filter),
      }
      const page = readPageRequest(request.query, binding)
      const { order, limit } = page
      const after = page.after as CompletionId | undefined
      const rows = await listCompletions(db, { accountId, filter, order, limit: limit + 1, after })
      return renderPage(rows, { request: page, binding }, { position: ({ id }) => id, render: renderCompletion })
    })
    app.get('/usage/completions/:id', { config, schema: oneSchema }, async (request) => {
      const { accountId } = callerOf(request)
      const row = await findCompletion(db, { accountId, id: request.params.id })
      if (row === undefined) throw new GatewayError('not_found', 'No completion has this id.')
      return renderCompletion(row)
    })
  }
}

function readFilter(query: Static<typeof ListQuery>): CompletionFilter {
  const { model, key_id: keyId, status } = query
  return { period: parsePeriod(query, ALL_TIME), model, keyId: keyId as KeyId | undefined, status }
}

function fileName({ start, end }: Period, grouping: Grouping = 'model'): string {
  const [first, last] = [start, end].map((time) => new Date(time).toISOString().slice(0, 10))
  return `usage-by-${grouping}-${first}-${last}.csv`
}
