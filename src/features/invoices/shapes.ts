/** Invoices on the wire. */
import { type Static, Type } from 'typebox'
import type { LedgerKind } from '../../db/schema.ts'
import { type NanoUsd, usdNumber } from '../../domain/money.ts'
import type { InvoiceDocument, InvoiceEntry, InvoiceSection } from './document.ts'
import { FORMATS, type InvoiceFormat } from './format.ts'

const usd = (description: string) => Type.Number({ description: `USD, at most 9 decimals. ${description}` })
const nullableText = (description: string) => Type.Unsafe<string | null>({ type: ['string', 'null'], description })
const time = (description: string) => Type.String({ description: `ISO 8601 UTC. ${description}` })

export const InvoiceQuery = Type.Object({
  format: Type.Optional(
    Type.Unsafe<InvoiceFormat>({
      type: 'string',
      enum: [...FORMATS],
      description:
        '`html` is a page to print. Without it the `Accept` header decides, and JSON where that leaves it open.',
    }),
  ),
})

const SUMMARY = {
  id: Type.String(),
  object: Type.Literal('invoice'),
  number: Type.Integer({ description: 'Of the account’s invoices, from 1 without gaps.' }),
  account: Type.Object({ id: Type.String(), name: Type.String({ description: 'When the invoice was closed.' }) }),
  status: Type.Literal('closed'),
  currency: Type.Literal('USD'),
  period_start: time('The first of the month.'),
  period_end: time('The first of the next, not included.'),
  opening_balance_usd: usd('Credit before the first movement.'),
  closing_balance_usd: usd('Credit after the last: the opening balance and the credits, less the total.'),
  total_usd: usd('What the month was charged: lines and adjustments.'),
  closed_at: time('The invoice has not changed since.'),
}
export const InvoiceSummaryView = Type.Object(SUMMARY)

const ENTRY = {
  id: Type.String({ description: 'The row of the ledger.' }),
  kind: Type.Unsafe<LedgerKind>({ type: 'string', enum: ['grant', 'purchase', 'charge', 'refund', 'debit', 'expiry'] }),
  note: nullableText('Why.'),
  created_at: time(''),
}
const Unlisted = Type.Object(
  { entries: Type.Integer(), amount_usd: usd('') },
  { description: 'Rows that are too many to be listed; `GET /ledger` has them.' },
)

export const InvoiceView = Type.Object({
  ...SUMMARY,
  lines: Type.Array(
    Type.Object({
      model: Type.String(),
      requests: Type.Integer({ description: 'Completions that cost something.' }),
      prompt_tokens: Type.Integer(),
      completion_tokens: Type.Integer(),
      cost_usd: usd(''),
    }),
    { description: 'The most expensive model first.' },
  ),
  adjustments: Type.Array(
    Type.Object({
      ...ENTRY,
      amount_usd: usd('Above zero: charged in addition. Below: taken off.'),
      adjusts: nullableText('The row of the ledger that it corrects.'),
      completion_id: nullableText('The completion that was charged.'),
    }),
  ),
  unlisted_adjustments: Unlisted,
  credits: Type.Array(Type.Object({ ...ENTRY, amount_usd: usd('Above zero: given. Below: expired.') })),
  unlisted_credits: Unlisted,
})

export function renderInvoice(invoice: InvoiceDocument): Static<typeof InvoiceView> {
  const { lines, adjustments, credits } = invoice
  return {
    ...renderSummary(invoice),
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

export function renderSummary(invoice: InvoiceDocument): Static<typeof InvoiceSummaryView> {
  return {
    id: invoice.id,
    object: 'invoice',
    number: invoice.number,
    account: { id: invoice.account.id, name: invoice.account.name },
    status: 'closed',
    currency: 'USD',
    period_start: iso(invoice.period_start),
    period_end: iso(invoice.period_end),
    opening_balance_usd: usdNumber(invoice.opening_balance_nano_usd),
    closing_balance_usd: usdNumber(invoice.closing_balance_nano_usd),
    total_usd: usdNumber(invoice.total_nano_usd),
    closed_at: iso(invoice.closed_at),
  }
}

function renderEntry({ id, kind, amount_nano_usd, note, created_at }: InvoiceEntry) {
  return { id, kind, amount_usd: usdNumber(amount_nano_usd), note, created_at: iso(created_at) }
}

function renderUnlisted({ unlisted }: InvoiceSection): { entries: number; amount_usd: number } {
  const amount: NanoUsd = unlisted.amount_nano_usd
  return { entries: unlisted.entries, amount_usd: usdNumber(amount) }
}

function iso(time: number): string {
  return new Date(time).toISOString()
}
