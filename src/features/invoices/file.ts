/** An invoice as a table for other programs: comma-separated values. */
import { usdText } from '../../domain/money.ts'
import { type CsvField, harmlessText, renderCsv } from '../../lib/csv.ts'
import type { InvoiceDocument, InvoiceEntry, InvoiceSection } from './document.ts'

const COLUMNS = [
  'type',
  'item',
  'requests',
  'prompt_tokens',
  'completion_tokens',
  'amount_usd',
  'created_at',
  'entry',
  'adjusts',
  'completion_id',
  'note',
] as const

type Row = Partial<Record<(typeof COLUMNS)[number], CsvField>> & { readonly type: string }

/** Dollars as exact decimal text. The rows of type `line` and `adjustment` add up to `total`. */
export function renderInvoiceFile(invoice: InvoiceDocument): string {
  const { lines, adjustments, credits } = invoice
  const rows: Row[] = [
    { type: 'opening_balance', amount_usd: usdText(invoice.opening_balance_nano_usd) },
    ...lines.map(({ model, cost_nano_usd, ...counts }) => ({
      type: 'line',
      item: harmlessText(model),
      ...counts,
      amount_usd: usdText(cost_nano_usd),
    })),
    ...sectionRows('adjustment', adjustments),
    { type: 'total', amount_usd: usdText(invoice.total_nano_usd) },
    ...sectionRows('credit', credits),
    { type: 'closing_balance', amount_usd: usdText(invoice.closing_balance_nano_usd) },
  ]
  return renderCsv([COLUMNS, ...rows.map((row) => COLUMNS.map((column) => row[column] ?? ''))])
}

function sectionRows(type: string, { listed, unlisted }: InvoiceSection): Row[] {
  const rows = listed.map((entry) => entryRow(type, entry))
  if (unlisted.entries === 0) return rows
  const note = `${unlisted.entries} further rows of the ledger`
  return [...rows, { type, item: 'unlisted', amount_usd: usdText(unlisted.amount_nano_usd), note }]
}

function entryRow(type: string, entry: InvoiceEntry): Row {
  return {
    type,
    item: entry.kind,
    amount_usd: usdText(entry.amount_nano_usd),
    created_at: new Date(entry.created_at).toISOString(),
    entry: entry.id,
    adjusts: entry.adjusts ?? '',
    completion_id: entry.completion_id ?? '',
    note: harmlessText(entry.note ?? ''),
  }
}
