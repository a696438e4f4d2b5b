/** What of the view is in its address. */
import { present, readChoice } from '../../lib/address.ts'
import { readMonth } from './months.ts'

export const BILLING_TABS = ['statement', 'ledger', 'invoices', 'budget'] as const
export type BillingTab = (typeof BILLING_TABS)[number]

export const LEDGER_KINDS = ['grant', 'purchase', 'charge', 'refund', 'debit', 'expiry'] as const
export type LedgerKind = (typeof LEDGER_KINDS)[number]

export interface BillingSearch {
  /** The statement unless said. */
  readonly tab?: BillingTab
  /** `2026-11`: of the statement, this month unless said; of the ledger, all time unless said. */
  readonly month?: string
  /** Of rows of the ledger. */
  readonly kind?: LedgerKind
}

export function readBillingSearch(raw: Record<string, unknown>): BillingSearch {
  return present({
    tab: readChoice(raw, 'tab', BILLING_TABS),
    month: readMonth(raw['month']),
    kind: readChoice(raw, 'kind', LEDGER_KINDS),
  })
}
