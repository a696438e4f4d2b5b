/** `/ledger`, its statements, and `/usage/reconcile`: every movement of an account's credit, and the proof that they add up. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { PAGE_QUERY, type PageBinding, pageSchema, readPageRequest, renderPage } from '../../http/page.ts'
import { ALL_TIME, parsePeriod } from '../../http/period.ts'
import type { FeatureDeps } from '../deps.ts'
import { auditAccount } from './audit/deep.ts'
import { AuditView, renderAudit } from './audit/outcome.ts'
import { countFindings } from './audit/store.ts'
import { listLedger } from './ledger-queries.ts'
import { LedgerEntryView, LedgerQuery, renderEntry } from './ledger-shapes.ts'
import { ReconciledView, reconcile, renderReconciled } from './reconcile.ts'
import { readStatement } from './statement.ts'
import { parseStatementPeriod, renderStatement, StatementQuery, StatementView } from './statement-shapes.ts'

export interface LedgerRoutesDeps extends Pick<FeatureDeps, 'db' | 'now' | 'callerOf'> {
  /** Signs the cursors of lists. */
  readonly cursorKey: Uint8Array
  /** How long one request with `deep` audits, in milliseconds. */
  readonly deepBudgetMs?: number
}

const listSchema = {
  summary: 'List the ledger',
  description: 'Every movement of credit, the newest first. Rows are never changed; the balance is their sum.',
  tags: ['Credit'],
  querystring: Type.Object({ ...LedgerQuery, ...PAGE_QUERY }),
  response: { 200: pageSchema(LedgerEntryView) },
}
const statementSchema = {
  summary: 'Statement of a period',
  description:
    'The balance before and after, the sum of every kind of movement between them, and the usage by model. Periods are ' +
    'whole days in UTC.',
  tags: ['Credit'],
  querystring: StatementQuery,
  response: { 200: StatementView },
}
const reconcileSchema = {
  summary: 'Check that usage, ledger and balance agree',
  description:
    'Adds up the completions, the sums kept of them, the ledger and the open holds, from one look at the database, ' +
    'and compares. With `deep=true` the account is also audited: every charge recomputed from tokens and tariff, and ' +
    'everything kept of it, for about 2 seconds a request. While `audit.status` is `partial`, send its `cursor` to go on.',
  tags: ['Usage'],
  querystring: Type.Object({
    deep: Type.Optional(
      Type.Unsafe<'true' | 'false'>({
        type: 'string',
        enum: ['true', 'false'],
        description: 'Audits the account as well.',
      }),
    ),
    cursor: Type.Optional(Type.String({ description: 'Of a partial audit: goes on with it. Only with `deep`.' })),
  }),
  response: { 200: Type.Object({ ...ReconciledView.properties, audit: Type.Optional(AuditView) }) },
}

/** `GET /ledger`, `GET /ledger/statement` and `GET /usage/reconcile`. */
export function ledgerRoutes({
  db,
  now,
  callerOf,
  cursorKey,
  deepBudgetMs,
}: LedgerRoutesDeps): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.get('/ledger', { config: { scope: 'billing' }, schema: listSchema }, async (request) => {
      const { accountId } = callerOf(request)
      const filter = { kind: request.query.kind, period: parsePeriod(request.query, ALL_TIME) }
      const binding: PageBinding = {
        key: cursorKey,
        account: accountId,
        list: 'ledger',
        filter: JSON.stringify(filter),
      }
      const page = readPageRequest(request.query, binding)
      const after = page.after === undefined ? undefined : Number(page.after)
      const rows = await listLedger(db, { accountId, filter, order: page.order, limit: page.limit + 1, after })
      return renderPage(
        rows,
        { request: page, binding },
        { position: ({ number }) => String(number), render: renderEntry },
      )
    })
    app.get('/ledger/statement', { config: { scope: 'billing' }, schema: statementSchema }, async (request) => {
      const period = parseStatementPeriod(request.query, now())
      return renderStatement(await readStatement(db, callerOf(request).accountId, period), period)
    })
    app.get('/usage/reconcile', { config: { scope: 'usage:read' }, schema: reconcileSchema }, async (request) => {
      const { accountId } = callerOf(request)
      const { deep, cursor } = request.query
      const sums = renderReconciled(await reconcile(db, accountId))
      if (deep !== 'true') return sums
      const next = cursor === '' || cursor === 'null' ? undefined : cursor
      const audit = await auditAccount({ db, now, accountId, cursor: next, budgetMs: deepBudgetMs })
      return { ...sums, ok: sums.ok && countFindings(audit.progress) === 0, audit: await renderAudit(db, audit) }
    })
  }
}
