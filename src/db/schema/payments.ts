/** The tables of payments, as queries see them; conventions as in `schema.ts`. */
import type { AccountId, PaymentId } from '../../domain/ids.ts'
import type { NanoUsd } from '../../domain/money.ts'

/** What an account has at Stripe, and its automatic recharge. */
export interface PaymentAccountTable {
  account_id: AccountId
  customer_id: string | null
  payment_method_id: string | null
  card_brand: string | null
  card_last4: string | null
  /** A balance below it is recharged; null, as the next two: never. */
  below_nano_usd: NanoUsd | null
  add_nano_usd: NanoUsd | null
  /** Most of a calendar month in UTC. */
  month_nano_usd: NanoUsd | null
  /** Why the last recharge failed: there is none until the settings change. */
  recharge_error: string | null
  changed_at: number
}

export interface PaymentTable {
  account_id: AccountId
  id: PaymentId
  kind: 'top_up' | 'recharge'
  amount_nano_usd: NanoUsd
  status: 'pending' | 'succeeded' | 'failed'
  /** Whether its payment method is saved for recharges. */
  saves_method: 0 | 1
  /** Of Stripe Checkout. */
  session_id: string | null
  /** Stripe's payment intent. */
  intent_id: string | null
  error: string | null
  created_at: number
  ended_at: number | null
}
