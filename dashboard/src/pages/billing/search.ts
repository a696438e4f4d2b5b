/** What of the view is in its address. */
import { present, readChoice } from '../../lib/address.ts'
import { readMonth } from './months.ts'

export const BILLING_TABS = ['statement', 'ledger', 'invoices', 'payments', 'budget'] as const
export type BillingTab = (typeof BILLING_TABS)[number]

export const LEDGER_KINDS = ['grant', 'purchase', 'charge', 'refund', 'debit', 'expiry'] as const
export type LedgerKind = (typeof LEDGER_KINDS)[number]

export interface BillingSearch {
  /** Default: the statement. */
  readonly tab?: BillingTab
  /** `2026-11`: default: the current month for the statement, all time for the ledger. */
  readonly month?: string
  /** Of rows of the ledger. */
  readonly kind?: LedgerKind
}

export function readBillingSearch(raw: Record<string, unknown>): BillingSearch {
  return present({
    // Stripe returns to the page with the payment alone.
    tab: typeof raw['payment'] === 'string' ? 'payments' : readChoice(raw, 'tab', BILLING_TABS),
    month: readMonth(raw['month']),
    kind: readChoice(raw, 'kind', LEDGER_KINDS),
  })
}
