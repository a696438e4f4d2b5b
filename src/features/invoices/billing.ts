/** What is to be paid of an invoice: its total to the cent, the taxes on it, and who bills whom. */
import { centsOf, type NanoUsd } from '../../domain/money.ts'

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

export interface Billing {
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
