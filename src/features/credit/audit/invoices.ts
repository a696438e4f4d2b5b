/** Compares invoices with the ledger rows that they cover. */
import type { Kysely } from 'kysely'
import type { Database } from '../../../db/schema/schema.ts'
import type { AccountId } from '../../../domain/ids.ts'
import type { Report } from './finding.ts'
import type { AuditedRow } from './ledger-page.ts'

/** The running sums of the current invoice. */
export interface InvoiceState {
  /** Of the previous invoice. */
  number: number
  /** The last row of the previous invoice. */
  before: number
  opening: bigint
  balance: bigint
  requests: number
  charges: bigint
  adjustments: bigint
  credits: bigint
  /** False if the audit began within it. */
  isWhole: boolean
}

export function newInvoices(before: { readonly number: number; readonly balance: bigint }): InvoiceState {
  const sums = { requests: 0, charges: 0n, adjustments: 0n, credits: 0n }
  return {
    number: 0,
    before: 0,
    opening: before.balance,
    balance: before.balance,
    ...sums,
    isWhole: before.number === 0,
  }
}

/** The audited part of the document. */
interface Document {
  readonly entries: { readonly first: number; readonly last: number }
  readonly lines: readonly { readonly requests: number; readonly cost_nano_usd: string }[]
  readonly adjustments: { readonly total_nano_usd: string }
  readonly credits: { readonly total_nano_usd: string }
  readonly opening_balance_nano_usd: string
  readonly closing_balance_nano_usd: string
  readonly total_nano_usd: string
}

export interface AuditedInvoice {
  readonly id: string
  readonly number: number
  readonly totalNanoUsd: bigint
  readonly document: Document
}

/** Reads the next invoices of an account, by number. */
export async function readInvoices(
  db: Kysely<Database>,
  accountId: AccountId,
  after: number,
): Promise<readonly AuditedInvoice[]> {
  const rows = await db
    .selectFrom('invoice')
    .select(['id', 'number', 'total_nano_usd', 'document'])
    .where('account_id', '=', accountId)
    .where('number', '>', after)
    .orderBy('number')
    .limit(20)
    .execute()
  return rows.map(({ id, number, total_nano_usd: totalNanoUsd, document }) => ({
    id,
    number,
    totalNanoUsd,
    document: JSON.parse(document) as Document, // only the gateway writes it; anything else is a finding
  }))
}

export function addToInvoice(state: InvoiceState, row: AuditedRow): void {
  const { kind, adjusts, amount_nano_usd: amount } = row
  const takes = row.debit === 'credit'
  if (adjusts !== null) state.adjustments += takes ? amount : -amount
  else if (kind === 'charge') {
    state.charges += amount
    state.requests++
  } else state.credits += takes ? -amount : amount
  state.balance = row.balance_nano_usd
}

/** Compares the sums with the invoice after its last row. */
export function checkInvoice(state: InvoiceState, invoice: AuditedInvoice, report: Report): void {
  const { document, id } = invoice
  if (state.isWhole) {
    const lines = document.lines.reduce((sum, line) => sum + BigInt(line.cost_nano_usd), 0n)
    const requests = document.lines.reduce((sum, line) => sum + line.requests, 0)
    const compare = (what: string, expected: unknown, actual: unknown) => {
      if (String(expected) !== String(actual)) report('invoice', `${id} ${what}`, expected, actual)
    }
    compare('number', state.number + 1, invoice.number)
    compare('first row', state.before + 1, document.entries.first)
    compare('opening balance', state.opening, document.opening_balance_nano_usd)
    compare('closing balance', state.balance, document.closing_balance_nano_usd)
    compare('lines', state.charges, lines)
    compare('requests', state.requests, requests)
    compare('adjustments', state.adjustments, document.adjustments.total_nano_usd)
    compare('credits', state.credits, document.credits.total_nano_usd)
    compare('total', state.charges + state.adjustments, document.total_nano_usd)
    compare('total', document.total_nano_usd, invoice.totalNanoUsd)
  }
  state.number = invoice.number
  state.before = document.entries.last
  state.opening = state.balance
  Object.assign(state, { requests: 0, charges: 0n, adjustments: 0n, credits: 0n, isWhole: true })
}
