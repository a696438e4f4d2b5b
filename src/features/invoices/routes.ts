/** `/invoices`: an account's closed months. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply } from 'fastify'
import { Type } from 'typebox'
import { GatewayError } from '../../domain/errors.ts'
import { PAGE_QUERY, type PageBinding, pageSchema, readPageRequest, renderPage } from '../../http/page.ts'
import { PAGE_HEADERS } from '../../http/page-headers.ts'
import type { FeatureDeps } from '../deps.ts'
import type { InvoiceDocument } from './document.ts'
import { renderInvoiceFile } from './file.ts'
import { acceptedFormat } from './format.ts'
import { renderInvoicePage } from './page.ts'
import { findInvoice, listInvoices } from './queries.ts'
import { InvoiceQuery, InvoiceSummaryView, InvoiceView, renderInvoice, renderSummary } from './shapes.ts'

export interface InvoicesDeps extends Pick<FeatureDeps, 'db' | 'callerOf'> {
  /** Signs the cursors of lists. */
  readonly cursorKey: Uint8Array
}

const config = { scope: 'billing' } as const
const tags = ['Invoices']
const listSchema = {
  summary: 'List invoices',
  description: 'One a month (UTC) in which credit moved, closed when the month has been over for an hour.',
  tags,
  querystring: Type.Object(PAGE_QUERY),
  response: { 200: pageSchema(InvoiceSummaryView) },
}
const oneSchema = {
  summary: 'Get an invoice',
  description: 'What a month was charged, by model, and how credit moved. A closed invoice never changes.',
  tags,
  params: Type.Object({ id: Type.String() }),
  querystring: InvoiceQuery,
  response: {
    200: {
      description: 'The invoice.',
      content: {
        'application/json': { schema: InvoiceView },
        'text/html': { schema: Type.String({ description: 'A page to print, without script.' }) },
        'text/csv': { schema: Type.String({ description: 'RFC 4180, UTF-8; a row for everything on the invoice.' }) },
      },
    },
  },
}

/** `GET /invoices` and `GET /invoices/{id}`. */
export function invoicesRoutes({ db, callerOf, cursorKey }: InvoicesDeps): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.get('/invoices', { config, schema: listSchema }, async (request) => {
      const { accountId } = callerOf(request)
      const binding: PageBinding = { key: cursorKey, account: accountId, list: 'invoices' }
      const page = readPageRequest(request.query, binding)
      const after = page.after === undefined ? undefined : Number(page.after)
      const invoices = await listInvoices(db, { accountId, order: page.order, limit: page.limit + 1, after })
      return renderPage(
        invoices,
        { request: page, binding },
        { position: ({ number }) => String(number), render: renderSummary },
      )
    })
    app.get('/invoices/:id', { config, schema: oneSchema }, async (request, reply) => {
      const { accountId } = callerOf(request)
      const invoice = await findInvoice(db, { accountId, id: request.params.id })
      if (invoice === undefined) throw new GatewayError('not_found', 'No invoice has this id.')
      const format = request.query.format ?? acceptedFormat(request.headers.accept)
      if (format === 'html') return sendPage(reply, invoice)
      if (format === 'csv') return sendFile(reply, invoice)
      return renderInvoice(invoice)
    })
  }
}

function sendPage(reply: FastifyReply, invoice: InvoiceDocument): FastifyReply {
  return reply.headers(PAGE_HEADERS).type('text/html; charset=utf-8').send(renderInvoicePage(invoice))
}

function sendFile(reply: FastifyReply, invoice: InvoiceDocument): FastifyReply {
  const month = new Date(invoice.period_start).toISOString().slice(0, 7)
  return reply
    .type('text/csv; charset=utf-8')
    .header('content-disposition', `attachment; filename="invoice-${month}-${invoice.number}.csv"`)
    .send(renderInvoiceFile(invoice))
}
