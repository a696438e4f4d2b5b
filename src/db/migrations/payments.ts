import { oneOf } from './statement.ts'

/** What an account has at Stripe, and when it is charged by itself. Without a limit of a month there is no recharge. */
const paymentAccount = `create table payment_account (
  account_id text not null primary key references account (id),
  customer_id text,
  payment_method_id text,
  card_brand text,
  card_last4 text,
  below_nano_usd integer check (below_nano_usd >= 0),
  add_nano_usd integer check (add_nano_usd > 0),
  month_nano_usd integer check (month_nano_usd > 0),
  recharge_error text,
  changed_at integer not null check (changed_at >= 0)
) strict, without rowid`

/** Payments that were begun. Their credit is in the ledger. */
const payment = `create table payment (
  account_id text not null references account (id),
  id text not null check (id <> ''),
  kind text not null check (${oneOf('kind', ['top_up', 'recharge'])}),
  amount_nano_usd integer not null check (amount_nano_usd > 0),
  status text not null check (${oneOf('status', ['pending', 'succeeded', 'failed'])}),
  saves_method integer not null check (saves_method in (0, 1)),
  session_id text,
  intent_id text,
  error text,
  created_at integer not null check (created_at >= 0),
  ended_at integer check (ended_at >= 0),
  primary key (account_id, id)
) strict, without rowid`

export const payments: readonly string[] = [
  paymentAccount,
  payment,
  "create index payment_pending on payment (created_at) where status = 'pending'",
]
