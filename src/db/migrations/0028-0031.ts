import { oneOf } from './statement.ts'

/** Rejected requests to models. `request_id` sorts by time. */
const rejection = `create table rejection (
  account_id text not null references account (id),
  request_id text not null check (request_id <> ''),
  created_at integer not null check (created_at >= 0),
  key_id text not null check (key_id <> ''),
  endpoint text not null check (endpoint <> ''),
  model text,
  status integer not null check (status >= 400 and status < 500),
  code text not null check (code <> ''),
  primary key (account_id, request_id)
) strict, without rowid`

export const rejections: readonly string[] = [
  rejection,
  'create index rejection_by_time on rejection (created_at)', // for retention
]

/** What an endpoint receives: signed JSON, messages of a Slack-compatible webhook, or e-mail. */
export const webhookKinds: readonly string[] = [
  `alter table webhook add column kind text not null default 'webhook' check (${oneOf('kind', ['webhook', 'slack', 'email'])})`,
]

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

/** Calls to each provider by hour, of all accounts: what operators see as its health. */
export const providerHours: readonly string[] = [
  `create table provider_hour (
  provider text not null check (provider <> ''),
  hour integer not null check (hour >= 0),
  calls integer not null check (calls >= 0),
  failures integer not null check (failures between 0 and calls),
  last_answer_at integer not null check (last_answer_at >= 0),
  last_failure_at integer not null check (last_failure_at >= 0),
  last_failure_outcome text,
  last_failure_status integer,
  last_failure_model text,
  primary key (provider, hour)
) strict, without rowid`,
]
