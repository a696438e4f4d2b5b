import { bucketSql } from '../../lib/log-buckets.ts'
import { oneOf } from './statement.ts'

/** Rules about what prompts and answers of an account may contain. `rules`, `teams` and `keys` are JSON lists. */
const guardrail = `create table guardrail (
  account_id text not null references account (id),
  id text not null check (id <> ''),
  name text not null check (name <> ''),
  rules text not null check (json_valid(rules)),
  teams text check (teams is null or json_valid(teams)),
  keys text check (keys is null or json_valid(keys)),
  enabled integer not null check (enabled in (0, 1)),
  created_by text,
  created_at integer not null check (created_at >= 0),
  updated_at integer not null check (updated_at >= 0),
  primary key (account_id, id)
) strict, without rowid`

export const guardrails: readonly string[] = [guardrail, 'alter table account add column guardrails integer']

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

/** How fast and how reliably completions were answered, by hour, model and provider: counts, and histograms of times. */

const MEASURES = ['requests', 'failed', 'completed', 'first_byte', 'duration']

const performanceHour = `create table performance_hour (
  account_id text not null,
  hour integer not null check (hour >= 0),
  model text not null,
  provider text not null,
  measure text not null check (${oneOf('measure', MEASURES)}),
  bucket integer not null check (bucket >= 0),
  count integer not null check (count > 0),
  primary key (account_id, hour, model, provider, measure, bucket)
) strict, without rowid`

/** The provider refused the content of the request, which says nothing of it. */
const REJECTED = `(attempt_log is not null and attempt_log like '%"outcome":"rejected"%')`

/** Of the weeks that are shown. */
const KEPT_MS = 35 * 86_400_000

const part = (measure: string, bucket: string, condition: string) => `
select account_id, created_at / 3600000, model, provider, '${measure}', ${bucket}, count(*)
from completion where created_at >= (select max(created_at) from completion) - ${KEPT_MS} and ${condition}
group by 1, 2, 3, 4, 5, 6`

const ofWhatIsThere = [
  part('requests', '0', 'true'),
  part('failed', '0', `(status = 'incomplete' or (status = 'failed' and not ${REJECTED}))`),
  part('completed', '0', "status = 'completed'"),
  part('first_byte', bucketSql('first_byte_ms'), 'stream = 1 and first_byte_ms is not null'),
  part('duration', bucketSql('duration_ms'), "status = 'completed'"),
].map((rows) => `insert into performance_hour (account_id, hour, model, provider, measure, bucket, count)${rows}`)

export const performanceHours: readonly string[] = [performanceHour, ...ofWhatIsThere]
