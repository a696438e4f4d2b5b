/**
 * An invoice as it is kept: one JSON text, written when its month is closed and never changed. Whatever shows an invoice
 * reads this and adds nothing up. Amounts are `bigint` here, and strings of nano-dollars in the text.
 */
import type { LedgerKind } from '../../db/schema/schema.ts'
import type { AccountId, CompletionId, InvoiceId, LedgerId } from '../../domain/ids.ts'
import { centsOf, type NanoUsd, usdText } from '../../domain/money.ts'
import { type CsvField, harmlessText, renderCsv } from '../../lib/table.ts'

export interface InvoiceDocument {
  readonly version: 1
  readonly id: InvoiceId
  /** Of the account's invoices, from 1 without gaps. */
  readonly number: number
  readonly account: { readonly id: AccountId; readonly name: string }
  /** Unix milliseconds; the end is not part of it. */
  readonly period_start: number
  readonly period_end: number
  readonly closed_at: number
  /** Numbers of the ledger's rows that it is of. It begins where the account's invoice before it ends. */
  readonly entries: { readonly first: number; readonly last: number }
  /** Charges by model, the most expensive first. */
  readonly lines: readonly InvoiceLine[]
  /** Corrections of charges, older ones as a rule. Above zero: charged in addition. */
  readonly adjustments: InvoiceSection
  /** What credit was given, and what expired. Above zero: given. */
  readonly credits: InvoiceSection
  readonly opening_balance_nano_usd: NanoUsd
  readonly closing_balance_nano_usd: NanoUsd
  /** What the month was charged: the lines and the adjustments. */
  readonly total_nano_usd: NanoUsd
  /** Absent from those of earlier releases. */
  readonly billing?: Billing
}

export interface InvoiceLine {
  readonly model: string
  readonly requests: number
  readonly prompt_tokens: number
  readonly completion_tokens: number
  readonly cost_nano_usd: NanoUsd
}

export interface InvoiceSection {
  /** In the ledger's order. */
  readonly listed: readonly InvoiceEntry[]
  /** Those that are too many to be listed. */
  readonly unlisted: { readonly entries: number; readonly amount_nano_usd: NanoUsd }
  /** Of all. */
  readonly total_nano_usd: NanoUsd
}

export interface InvoiceEntry {
  readonly id: LedgerId
  readonly kind: LedgerKind
  readonly amount_nano_usd: NanoUsd
  /** The row that it corrects. */
  readonly adjusts: LedgerId | null
  readonly completion_id: CompletionId | null
  readonly note: string | null
  readonly created_at: number
}

export function writeDocument(document: InvoiceDocument): string {
  return JSON.stringify(document, (_key, value: unknown) => (typeof value === 'bigint' ? String(value) : value))
}

export function readDocument(text: string): InvoiceDocument {
  return JSON.parse(text, (key, value) => (key.endsWith('_nano_usd') ? BigInt(value) : value))
}

/** Of one without it, by an earlier release: no taxes. */
export function billingIn(invoice: InvoiceDocument): Billing {
  return invoice.billing ?? billingOf(invoice, NO_TERMS)
}

/** As people cite it: `2026-11 · No. 3`. */
export function invoiceTitle({ number, period_start }: Pick<InvoiceDocument, 'number' | 'period_start'>): string {
  return `${new Date(period_start).toISOString().slice(0, 7)} · No. ${number}`
}

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
    ...billingRows(billingIn(invoice)),
    ...sectionRows('credit', credits),
    { type: 'closing_balance', amount_usd: usdText(invoice.closing_balance_nano_usd) },
  ]
  return renderCsv([COLUMNS, ...rows.map((row) => COLUMNS.map((column) => row[column] ?? ''))])
}

function billingRows({ subtotal_nano_usd, taxes, payable_nano_usd }: Billing): Row[] {
  return [
    { type: 'subtotal', amount_usd: usdText(subtotal_nano_usd) },
    ...taxes.map(({ name, percent, amount_nano_usd }) => ({
      type: 'tax',
      item: harmlessText(`${name} ${percent} %`),
      amount_usd: usdText(amount_nano_usd),
    })),
    { type: 'payable', amount_usd: usdText(payable_nano_usd) },
  ]
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

/* What is to be paid of an invoice: its total to the cent, the taxes on it, and who bills whom. */

/** As it is printed; the configuration has it. */
export interface Party {
  readonly name: string
  /** Its lines. */
  readonly address?: readonly string[] | undefined
  readonly tax_id?: string | undefined
}

export interface TaxRate {
  readonly name: string
  readonly percent: number
}

interface Buyer extends Partial<Party> {
  /** Instead of those of all invoices; empty: none. */
  readonly taxes?: readonly TaxRate[] | undefined
}

export interface InvoiceTerms {
  readonly seller?: Party | undefined
  readonly taxes: readonly TaxRate[]
  /** By account. */
  readonly buyers: Readonly<Record<string, Buyer>>
}

export const NO_TERMS: InvoiceTerms = { taxes: [], buyers: {} }

export interface Tax extends TaxRate {
  readonly amount_nano_usd: NanoUsd
}

interface Billing {
  readonly seller?: Party
  readonly buyer?: Party
  /** The total, to the cent. */
  readonly subtotal_nano_usd: NanoUsd
  /** Each to the cent. */
  readonly taxes: readonly Tax[]
  readonly payable_nano_usd: NanoUsd
}

/** Percentages have at most 4 decimals. */
const PERCENT_UNITS = 10_000
const UNITS_OF_WHOLE = 1_000_000n

interface Owed {
  readonly account: { readonly id: string; readonly name: string }
  readonly total_nano_usd: NanoUsd
}

export function billingOf({ account, total_nano_usd }: Owed, { seller, taxes: usual, buyers }: InvoiceTerms): Billing {
  const { taxes: rates = usual, ...details } = buyers[account.id] ?? {}
  const subtotal = centsOf(total_nano_usd)
  const taxes = rates.map(({ name, percent }) => ({ name, percent, amount_nano_usd: taxOn(subtotal, percent) }))
  return {
    ...(seller !== undefined && { seller }),
    ...(Object.keys(details).length > 0 && { buyer: { ...details, name: details.name ?? account.name } }),
    subtotal_nano_usd: subtotal,
    taxes,
    payable_nano_usd: taxes.reduce((sum, { amount_nano_usd }) => sum + amount_nano_usd, subtotal),
  }
}

function taxOn(amount: NanoUsd, percent: number): NanoUsd {
  return centsOf((amount * BigInt(Math.round(percent * PERCENT_UNITS))) / UNITS_OF_WHOLE)
}
