import { oneOf } from './one-of.ts'
import { appendOnly } from './postgres-functions.ts'
import type { MigrationStatement } from './statement.ts'

const credit = `create table credit (
  account_id text primary key references account (id),
  balance_nano_usd integer not null,
  held_nano_usd integer not null check (held_nano_usd >= 0),
  allowance_nano_usd integer not null check (allowance_nano_usd >= 0),
  month integer not null check (month >= 0),
  granted_month integer not null check (granted_month >= 0),
  spent_nano_usd integer not null check (spent_nano_usd >= 0),
  entries integer not null check (entries >= 0),
  entered_at integer not null check (entered_at >= 0),
  monthly_budget_nano_usd integer check (monthly_budget_nano_usd >= 0),
  alert_thresholds text not null check (json_type(alert_thresholds) = 'array'),
  retired_nano_usd integer not null check (retired_nano_usd >= 0)
) strict, without rowid`

const keySpending = `create table key_spending (
  account_id text not null check (account_id <> ''),
  key_id text not null check (key_id <> ''),
  month integer not null check (month >= 0),
  spent_nano_usd integer not null check (spent_nano_usd >= 0),
  held_nano_usd integer not null check (held_nano_usd >= 0),
  primary key (account_id, key_id)
) strict, without rowid`

const hold = `create table hold (
  account_id text not null check (account_id <> ''),
  id text not null check (id <> ''),
  key_id text not null check (key_id <> ''),
  instance_id text not null check (instance_id <> ''),
  amount_nano_usd integer not null check (amount_nano_usd >= 0),
  of_key_budget integer not null check (of_key_budget in (0, 1)),
  model text not null,
  provider text not null,
  stream integer not null check (stream in (0, 1)),
  price_version text not null,
  prompt_tokens integer not null check (prompt_tokens >= 0),
  completion_tokens integer not null check (completion_tokens >= 0),
  estimate_nano_usd integer not null check (estimate_nano_usd >= 0),
  created_at integer not null check (created_at >= 0),
  client_request_id text,
  primary key (account_id, id)
) strict, without rowid`

const BOOKS = ['credit', 'revenue', 'grants', 'payments', 'refunds']

const ledger = `create table ledger (
  account_id text not null check (account_id <> ''),
  number integer not null check (number > 0),
  kind text not null check (${oneOf('kind', ['grant', 'purchase', 'charge', 'refund', 'expiry'])}),
  debit text not null check (${oneOf('debit', BOOKS)}),
  credit text not null check ((${oneOf('credit', BOOKS)}) and credit <> debit),
  amount_nano_usd integer not null check (amount_nano_usd > 0),
  balance_nano_usd integer not null,
  completion_id text,
  key_id text,
  price_version text,
  adjusts integer check (adjusts < number),
  note text,
  created_at integer not null check (created_at >= 0),
  primary key (account_id, number),
  check (kind <> 'charge' or completion_id is not null)
) strict, without rowid`

const idempotency = `create table idempotency (
  account_id text not null check (account_id <> ''),
  endpoint text not null check (endpoint <> ''),
  key text not null check (key <> ''),
  fingerprint blob not null check (length(fingerprint) = 32),
  state text not null check (${oneOf('state', ['running', 'kept', 'too_large', 'freed'])}),
  subject_id text not null,
  instance_id text not null check (instance_id <> ''),
  lease_until integer not null check (lease_until >= 0),
  status integer,
  headers text,
  body text,
  created_at integer not null check (created_at >= 0),
  ended_at integer check (ended_at >= 0),
  primary key (account_id, endpoint, key)
) strict, without rowid`

const invoice = `create table invoice (
  account_id text not null check (account_id <> ''),
  number integer not null check (number > 0),
  id text not null check (id <> ''),
  period_start integer not null check (period_start >= 0),
  period_end integer not null check (period_end > period_start),
  total_nano_usd integer not null,
  document text not null check (json_valid(document)),
  closed_at integer not null check (closed_at >= period_end),
  primary key (account_id, number),
  unique (account_id, period_start)
) strict, without rowid`

const usageAlert = `create table usage_alert (
  account_id text not null check (account_id <> ''),
  month integer not null check (month >= 0),
  basis text not null check (basis in ('budget', 'credit')),
  threshold integer not null check (threshold > 0),
  spent_nano_usd integer not null,
  limit_nano_usd integer not null,
  created_at integer not null check (created_at >= 0),
  primary key (account_id, month, basis, threshold)
) strict, without rowid`

const instance = `create table instance (
  id text primary key check (id <> ''),
  version text not null,
  role text not null,
  address text,
  started_at integer not null check (started_at >= 0),
  seen_at integer not null check (seen_at >= 0)
) strict, without rowid`

const job = `create table job (
  id text primary key check (id <> ''),
  kind text not null check (kind <> ''),
  name text not null check (name <> ''),
  payload text not null check (json_valid(payload)),
  run_at integer not null check (run_at >= 0),
  attempt integer not null check (attempt >= 0),
  owner text,
  lease_until integer,
  last_error text,
  created_at integer not null check (created_at >= 0),
  ended_at integer check (ended_at >= 0),
  outcome text check (outcome in ('done', 'failed')),
  unique (kind, name)
) strict, without rowid`

/** Usage from before there was a ledger: its charges, and the balances that come of them. */
const chargesOfWhatIsThere = `insert into ledger
  (account_id, number, kind, debit, credit, amount_nano_usd, balance_nano_usd, completion_id, key_id, price_version, created_at)
select account_id, row_number() over charges, 'charge', 'credit', 'revenue', cost_nano_usd,
  -sum(cost_nano_usd) over charges, id, key_id, price_version, created_at
from completion where cost_nano_usd > 0
window charges as (partition by account_id order by id rows unbounded preceding)`

const balancesOfWhatIsThere = `insert into credit
  (account_id, balance_nano_usd, held_nano_usd, allowance_nano_usd, month, granted_month, spent_nano_usd, entries,
   entered_at, monthly_budget_nano_usd, alert_thresholds, retired_nano_usd)
select account_id, -sum(amount_nano_usd), 0, 0, 0, 0, 0, count(*), max(created_at), null, '[50,80,100]', 0
from ledger group by account_id`

export const money: readonly MigrationStatement[] = [
  credit,
  keySpending,
  hold,
  ledger,
  ...appendOnly('ledger'),
  // What is not a charge is rare among charges: its index costs a charge nothing.
  "create index ledger_not_charges on ledger (account_id, kind, number) where kind <> 'charge'",
  // A row is corrected at most once; a further correction names the correction.
  'create unique index ledger_corrected_once on ledger (account_id, adjusts) where adjusts is not null',
  idempotency,
  'create index idempotency_ended_at on idempotency (ended_at) where ended_at is not null',
  "create index idempotency_running on idempotency (account_id, subject_id) where state = 'running'",
  invoice,
  ...appendOnly('invoice'),
  usageAlert,
  instance,
  job,
  'create index job_due on job (run_at) where ended_at is null',
  chargesOfWhatIsThere,
  balancesOfWhatIsThere,
]
