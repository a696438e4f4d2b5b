/** `/invoices`: an account's closed months. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply } from 'fastify'
import type { Kysely } from 'kysely'
import { type Static, Type } from 'typebox'
import type { Database, LedgerKind } from '../../db/schema/schema.ts'
import { pageBy } from '../../db/shared-queries.ts'
import { GatewayError } from '../../domain/errors.ts'
import type { AccountId } from '../../domain/ids.ts'
import { type NanoUsd, usdNumber } from '../../domain/money.ts'
import { byNumber, listPage, PAGE_QUERY, type PageRequest, pageSchema } from '../../http/page.ts'
import { PAGE_HEADERS } from '../../http/pages/context.ts'
import { acceptedFormat as acceptedOf } from '../../http/request-headers.ts'
import { isoTime, oneOf, textOrNull, usd } from '../../http/wire-fields.ts'
import type { ListDeps } from '../deps.ts'
import {
  billingIn,
  type InvoiceDocument,
  type InvoiceEntry,
  type InvoiceSection,
  type Party,
  readDocument,
  renderInvoiceFile,
} from './document.ts'
import { renderInvoicePage } from './page.ts'

export type InvoicesDeps = Pick<ListDeps, 'db' | 'callerOf' | 'cursorKey'>

/** What an invoice may be asked for as. */
export const FORMATS = ['json', 'html', 'csv'] as const

export type InvoiceFormat = (typeof FORMATS)[number]

const time = (description: string) => Type.String({ description: `ISO 8601 UTC. ${description}` })

const InvoiceQuery = Type.Object({
  format: Type.Optional(
    oneOf(FORMATS, {
      description: '`html` returns a page to print. By default the `Accept` header decides, and JSON is preferred.',
    }),
  ),
})

const SUMMARY = {
  id: Type.String(),
  object: Type.Literal('invoice'),
  number: Type.Integer({ description: 'Number of the invoice within the account, from 1 without gaps.' }),
  account: Type.Object({
    id: Type.String(),
    name: Type.String({ description: 'Name of the account when the invoice was closed.' }),
  }),
  status: Type.Literal('closed'),
  currency: Type.Literal('USD'),
  period_start: time('First day of the month.'),
  period_end: time('First day of the next month, exclusive.'),
  opening_balance_usd: usd('Balance before the first entry.'),
  closing_balance_usd: usd('Balance after the last entry: opening balance plus credits minus total.'),
  total_usd: usd('Charges of the month: lines and adjustments.'),
  closed_at: time('The invoice does not change after this time.'),
}

const InvoiceSummaryView = Type.Object(SUMMARY)

const ENTRY = {
  id: Type.String({ description: 'ID of the ledger entry.' }),
  kind: oneOf<LedgerKind>(['grant', 'purchase', 'charge', 'refund', 'debit', 'expiry']),
  note: textOrNull('Reason of the entry.'),
  created_at: time(''),
}

const Unlisted = Type.Object(
  { entries: Type.Integer(), amount_usd: usd('') },
  { description: 'Further entries that are not listed; see `GET /ledger`.' },
)

const PartyView = Type.Object({
  name: Type.String(),
  address: Type.Array(Type.String(), { description: 'Its lines.' }),
  tax_id: textOrNull('Tax number.'),
})
const partyOrNull = (description: string) =>
  Type.Unsafe<Static<typeof PartyView> | null>({ anyOf: [PartyView, { type: 'null' }], description })

const InvoiceView = Type.Object({
  ...SUMMARY,
  seller: partyOrNull('Who bills. Null: not configured.'),
  buyer: partyOrNull('Who is billed. Null: only the account is known.'),
  subtotal_usd: usd('The total, rounded to the cent.'),
  taxes: Type.Array(Type.Object({ name: Type.String(), percent: Type.Number(), amount_usd: usd('') }), {
    description: 'Taxes on the subtotal, each rounded to the cent.',
  }),
  payable_usd: usd('The subtotal and the taxes.'),
  lines: Type.Array(
    Type.Object({
      model: Type.String(),
      requests: Type.Integer({ description: 'Number of completions that are not free.' }),
      prompt_tokens: Type.Integer(),
      completion_tokens: Type.Integer(),
      cost_usd: usd(''),
    }),
    { description: 'Most expensive model first.' },
  ),
  adjustments: Type.Array(
    Type.Object({
      ...ENTRY,
      amount_usd: usd('Positive: an additional charge. Negative: a reduction.'),
      adjusts: textOrNull('ID of the ledger entry that it corrects.'),
      completion_id: textOrNull('ID of the charged completion.'),
    }),
  ),
  unlisted_adjustments: Unlisted,
  credits: Type.Array(Type.Object({ ...ENTRY, amount_usd: usd('Positive: granted. Negative: expired.') })),
  unlisted_credits: Unlisted,
})

const config = { scope: 'billing' } as const
const tags = ['Invoices']
const listSchema = {
  summary: 'List invoices',
  description:
    'Returns an invoice for each month (UTC) with ledger entries. An invoice is closed an hour after the end of its month.',
  tags,
  querystring: Type.Object(PAGE_QUERY),
  response: { 200: pageSchema(InvoiceSummaryView) },
}
const oneSchema = {
  summary: 'Get an invoice',
  description: 'Returns the charges of a month by model, and the other ledger entries. A closed invoice never changes.',
  tags,
  params: Type.Object({ id: Type.String() }),
  querystring: InvoiceQuery,
  response: {
    200: {
      description: 'The invoice.',
      content: {
        'application/json': { schema: InvoiceView },
        'text/html': { schema: Type.String({ description: 'A page to print, without scripts.' }) },
        'text/csv': {
          schema: Type.String({ description: 'RFC 4180, UTF-8, with a row for each item of the invoice.' }),
        },
      },
    },
  },
}

/** `GET /invoices` and `GET /invoices/{id}`. */
export function invoicesRoutes({ db, callerOf, cursorKey }: InvoicesDeps): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.get('/invoices', { config, schema: listSchema }, async (request) => {
      const { accountId } = callerOf(request)
      const binding = { key: cursorKey, account: accountId, list: 'invoices' }
      const read = (page: PageRequest) => listInvoices(db, { ...page, accountId })
      return listPage({ query: request.query, binding, read, position: byNumber, render: renderSummary })
    })
    app.get('/invoices/:id', { config, schema: oneSchema }, async (request, reply) => {
      const { accountId } = callerOf(request)
      const invoice = await findInvoice(db, { accountId, id: request.params.id })
      if (invoice === undefined) throw new GatewayError('not_found', 'No invoice has this ID.')
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

interface InvoiceListInput extends PageRequest {
  readonly accountId: AccountId
}

/** By number, which is by month. */
export async function listInvoices(
  db: Kysely<Database>,
  { accountId, ...page }: InvoiceListInput,
): Promise<readonly InvoiceDocument[]> {
  const rows = await db
    .selectFrom('invoice')
    .select('document')
    .where('account_id', '=', accountId)
    .$call(pageBy('number', page))
    .execute()
  return rows.map(({ document }) => readDocument(document))
}

/** Undefined when it is unknown or another account's. */
async function findInvoice(
  db: Kysely<Database>,
  { accountId, id }: { readonly accountId: AccountId; readonly id: string },
): Promise<InvoiceDocument | undefined> {
  const row = await db
    .selectFrom('invoice')
    .select('document')
    .where(({ and }) => and({ account_id: accountId, id }))
    .executeTakeFirst()
  return row === undefined ? undefined : readDocument(row.document)
}

/** By an `Accept` header, of equals JSON before HTML before CSV. JSON also where nothing of ours is accepted. */
export function acceptedFormat(accept: string | undefined): InvoiceFormat {
  return acceptedOf<InvoiceFormat>(accept, [
    ['application/json', 'json'],
    ['text/html', 'html'],
    ['text/csv', 'csv'],
  ])
}

function renderInvoice(invoice: InvoiceDocument): Static<typeof InvoiceView> {
  const { lines, adjustments, credits } = invoice
  const { seller, buyer, taxes, subtotal_nano_usd, payable_nano_usd } = billingIn(invoice)
  return {
    ...renderSummary(invoice),
    seller: renderParty(seller),
    buyer: renderParty(buyer),
    subtotal_usd: usdNumber(subtotal_nano_usd),
    taxes: taxes.map(({ amount_nano_usd, ...tax }) => ({ ...tax, amount_usd: usdNumber(amount_nano_usd) })),
    payable_usd: usdNumber(payable_nano_usd),
    lines: lines.map(({ cost_nano_usd, ...line }) => ({ ...line, cost_usd: usdNumber(cost_nano_usd) })),
    adjustments: adjustments.listed.map((entry) => ({
      ...renderEntry(entry),
      adjusts: entry.adjusts,
      completion_id: entry.completion_id,
    })),
    unlisted_adjustments: renderUnlisted(adjustments),
    credits: credits.listed.map(renderEntry),
    unlisted_credits: renderUnlisted(credits),
  }
}

function renderParty(party: Party | undefined): Static<typeof PartyView> | null {
  return party === undefined
    ? null
    : { name: party.name, address: [...(party.address ?? [])], tax_id: party.tax_id ?? null }
}

function renderSummary(invoice: InvoiceDocument): Static<typeof InvoiceSummaryView> {
  return {
    id: invoice.id,
    object: 'invoice',
    number: invoice.number,
    account: { id: invoice.account.id, name: invoice.account.name },
    status: 'closed',
    currency: 'USD',
    period_start: isoTime(invoice.period_start),
    period_end: isoTime(invoice.period_end),
    opening_balance_usd: usdNumber(invoice.opening_balance_nano_usd),
    closing_balance_usd: usdNumber(invoice.closing_balance_nano_usd),
    total_usd: usdNumber(invoice.total_nano_usd),
    closed_at: isoTime(invoice.closed_at),
  }
}

function renderEntry({ id, kind, amount_nano_usd, note, created_at }: InvoiceEntry) {
  return { id, kind, amount_usd: usdNumber(amount_nano_usd), note, created_at: isoTime(created_at) }
}

function renderUnlisted({ unlisted }: InvoiceSection): { entries: number; amount_usd: number } {
  const amount: NanoUsd = unlisted.amount_nano_usd
  return { entries: unlisted.entries, amount_usd: usdNumber(amount) }
}
