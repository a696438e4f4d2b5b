import { appendOnly, changesNoted, type MigrationStatement, oneOf, postgresFunctions } from './statement.ts'

const account = `create table account (
  id text primary key check (id <> ''),
  name text not null check (name <> ''),
  plan text not null check (plan <> ''),
  created_at integer not null check (created_at >= 0),
  changed_at integer not null check (changed_at >= 0)
) strict, without rowid`

const apiKey = `create table api_key (
  account_id text not null references account (id),
  id text not null check (id <> ''),
  name text not null check (name <> ''),
  prefix text not null,
  last4 text not null check (length(last4) = 4),
  scopes text not null check (json_type(scopes) = 'array'),
  ip_allowlist text not null check (json_type(ip_allowlist) = 'array'),
  monthly_budget_nano_usd integer check (monthly_budget_nano_usd >= 0),
  requests_per_minute integer check (requests_per_minute > 0),
  models text not null check (json_type(models) = 'array'),
  created_at integer not null check (created_at >= 0),
  last_used_at integer check (last_used_at >= 0),
  expires_at integer check (expires_at >= 0),
  revoked_at integer check (revoked_at >= 0),
  changed_at integer not null check (changed_at >= 0),
  primary key (account_id, id)
) strict, without rowid`

const credential = `create table credential (
  hash blob primary key check (length(hash) = 32),
  account_id text not null references account (id),
  kind text not null check (kind <> ''),
  id text not null check (id <> '')
) strict, without rowid`

const completion = `create table completion (
  account_id text not null check (account_id <> ''),
  id text not null check (id <> ''),
  key_id text not null check (key_id <> ''),
  model text not null,
  provider text not null,
  status text not null check (${oneOf('status', ['completed', 'failed', 'client_left', 'incomplete'])}),
  stream integer not null check (stream in (0, 1)),
  finish_reason text check (${oneOf('finish_reason', ['stop', 'length', 'tool_calls', 'content_filter'])}),
  prompt_tokens integer not null check (prompt_tokens >= 0),
  completion_tokens integer not null check (completion_tokens >= 0),
  cached_tokens integer not null check (cached_tokens >= 0),
  cache_write_tokens integer not null check (cache_write_tokens >= 0),
  reasoning_tokens integer not null check (reasoning_tokens >= 0),
  cost_nano_usd integer not null check (cost_nano_usd >= 0),
  price_version text not null,
  usage_source text not null check (usage_source in ('provider', 'estimated')),
  created_at integer not null check (created_at >= 0),
  duration_ms integer not null check (duration_ms >= 0),
  first_byte_ms integer check (first_byte_ms >= 0),
  attempts integer not null check (attempts >= 0),
  client_request_id text,
  primary key (account_id, id)
) strict, without rowid`

/** Sums over completions by a unit of time. */
const usageSums = (table: string, unit: 'day' | 'hour') => `create table ${table} (
  account_id text not null check (account_id <> ''),
  ${unit} integer not null check (${unit} >= 0),
  key_id text not null check (key_id <> ''),
  model text not null,
  requests integer not null check (requests > 0),
  prompt_tokens integer not null check (prompt_tokens >= 0),
  completion_tokens integer not null check (completion_tokens >= 0),
  cost_nano_usd integer not null check (cost_nano_usd >= 0),
  primary key (account_id, ${unit}, key_id, model)
) strict, without rowid`

const priceVersion = `create table price_version (
  id text primary key check (id <> ''),
  model text not null check (model <> ''),
  input_micro_usd integer not null check (input_micro_usd >= 0),
  output_micro_usd integer not null check (output_micro_usd >= 0),
  cached_input_micro_usd integer check (cached_input_micro_usd >= 0),
  cache_write_micro_usd integer check (cache_write_micro_usd >= 0),
  first_seen_at integer not null check (first_seen_at >= 0)
) strict, without rowid`

const signInLink = `create table sign_in_link (
  hash blob primary key check (length(hash) = 32),
  account_id text not null references account (id),
  created_at integer not null check (created_at >= 0),
  expires_at integer not null check (expires_at > created_at),
  used_at integer check (used_at >= created_at)
) strict, without rowid`

const setting = `create table setting (
  key text primary key check (key <> ''),
  value text not null
) strict, without rowid`

export const firstSchema: readonly MigrationStatement[] = [
  ...postgresFunctions,
  account,
  'create index account_changed_at on account (changed_at)',
  changesNoted('account'),
  apiKey,
  'create index api_key_changed_at on api_key (changed_at)',
  changesNoted('api_key'),
  credential,
  completion,
  usageSums('usage_rollup', 'day'),
  priceVersion,
  signInLink,
  setting,
]

const sumsOfWhatIsThere = `insert into usage_hour
  (account_id, hour, key_id, model, requests, prompt_tokens, completion_tokens, cost_nano_usd)
select account_id, created_at / 3600000, key_id, model,
  count(*), sum(prompt_tokens), sum(completion_tokens), sum(cost_nano_usd)
from completion
group by account_id, created_at / 3600000, key_id, model`

/** Partial, so that the ordinary completion, which is nearly every one, still writes no second tree. */
const notCompleted = `create index completion_not_completed on completion (account_id, status, id)
where status <> 'completed'`

export const usageReports: readonly string[] = [usageSums('usage_hour', 'hour'), sumsOfWhatIsThere, notCompleted]

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

interface LedgerLists {
  readonly kinds: readonly string[]
  readonly books: readonly string[]
}

export const ledgerTable = (table: string, { kinds, books }: LedgerLists) => `create table ${table} (
  account_id text not null check (account_id <> ''),
  number integer not null check (number > 0),
  kind text not null check (${oneOf('kind', kinds)}),
  debit text not null check (${oneOf('debit', books)}),
  credit text not null check ((${oneOf('credit', books)}) and credit <> debit),
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

const ledger = ledgerTable('ledger', {
  kinds: ['grant', 'purchase', 'charge', 'refund', 'expiry'],
  books: ['credit', 'revenue', 'grants', 'payments', 'refunds'],
})

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

/** What a process last said of itself; null where it has not said so yet. */
export const instances: readonly string[] = [
  'alter table instance add column load_permille integer check (load_permille >= 0)',
  'alter table instance add column lag_ms integer check (lag_ms >= 0)',
  'alter table instance add column active_requests integer check (active_requests >= 0)',
]

/** Null for one call that answered, and for the rows of before. No condition: it would read every row that is there. */
export const attempts: readonly string[] = ['alter table completion add column attempt_log text']
