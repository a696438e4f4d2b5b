import { bucketSql } from '../../lib/log-buckets.ts'
import { type MigrationStatement, oneOf } from './statement.ts'

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

/* How fast and how reliably completions were answered, by hour, model and provider: counts, and histograms of times. */

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

const hoursOfWhatIsThere = [
  part('requests', '0', 'true'),
  part('failed', '0', `(status = 'incomplete' or (status = 'failed' and not ${REJECTED}))`),
  part('completed', '0', "status = 'completed'"),
  part('first_byte', bucketSql('first_byte_ms'), 'stream = 1 and first_byte_ms is not null'),
  part('duration', bucketSql('duration_ms'), "status = 'completed'"),
].map((rows) => `insert into performance_hour (account_id, hour, model, provider, measure, bucket, count)${rows}`)

export const performanceHours: readonly string[] = [performanceHour, ...hoursOfWhatIsThere]

/**
 * Keys are disabled for a time, and rotated: the previous secret stays valid until its credential expires.
 * `expiry_alert_due` is when the last alert of an expiry was due, so that each is sent once.
 */
export const keyRotation: readonly MigrationStatement[] = [
  'alter table api_key add column disabled_at integer',
  'alter table api_key add column previous_last4 text',
  'alter table api_key add column previous_until integer',
  'alter table api_key add column expiry_alert_due integer',
  'alter table credential add column expires_at integer',
  "create index credential_of_key on credential (account_id, id) where kind = 'key'",
]

/** Prompts and answers of accounts that have them captured; `account.content_capture` has their settings as JSON. */
const completionContent = `create table completion_content (
  account_id text not null references account (id),
  id text not null check (id <> ''),
  key_id text not null check (key_id <> ''),
  user_id text check (user_id <> ''),
  bytes integer not null check (bytes >= 0),
  sealed_with text not null,
  content blob not null,
  created_at integer not null check (created_at >= 0),
  primary key (account_id, id)
) strict, without rowid`

export const contentCapture: readonly string[] = [
  completionContent,
  'create index completion_content_by_account on completion_content (account_id, created_at, bytes)',
  'alter table account add column content_capture text',
]

/** What providers charge below the prices of plans with a markup, and what is left of it. */
export const markup: readonly string[] = [
  'alter table completion add column provider_cost_nano_usd integer',
  ...['usage_rollup', 'usage_hour'].map(
    (table) => `alter table ${table} add column margin_nano_usd integer not null default 0`,
  ),
  'alter table price_version add column base_version text',
]

/** Defaults and requirements of the tags of a team's requests, as keys have them. */
export const teamTags: readonly string[] = [
  'alter table team add column tags text',
  'alter table team add column require_tags text',
]

/** As in `0028-rejections`, but `key_id` may be null: a request without a valid credential, listed for the first account. */
const rejectionWithoutKey = `create table rejection_new (
  account_id text not null references account (id),
  request_id text not null check (request_id <> ''),
  created_at integer not null check (created_at >= 0),
  key_id text check (key_id <> ''),
  endpoint text not null check (endpoint <> ''),
  model text,
  status integer not null check (status >= 400 and status < 500),
  code text not null check (code <> ''),
  primary key (account_id, request_id)
) strict, without rowid`

export const rejectionsOfNobody: readonly MigrationStatement[] = [
  { postgres: 'alter table rejection alter column key_id drop not null' },
  { sqlite: rejectionWithoutKey },
  { sqlite: 'insert into rejection_new select * from rejection' },
  { sqlite: 'drop table rejection' },
  { sqlite: 'alter table rejection_new rename to rejection' },
  { sqlite: 'create index rejection_by_time on rejection (created_at)' },
]

/** Sums of completions by day and by what they are attributed to. A job fills them, from the completions that exist too. */
const usageDimension = `create table usage_dimension (
  account_id text not null check (account_id <> ''),
  month integer not null check (month >= 0),
  dimension text not null check (dimension <> ''),
  value text not null,
  day integer not null check (day >= 0),
  model text not null,
  requests integer not null,
  prompt_tokens integer not null,
  completion_tokens integer not null,
  cost_nano_usd integer not null,
  margin_nano_usd integer not null,
  primary key (account_id, month, dimension, value, day, model)
) strict, without rowid`

const usageProgress = `create table usage_progress (
  account_id text primary key check (account_id <> ''),
  summed_until integer not null check (summed_until >= 0)
) strict, without rowid`

/** Copies of completions that were written, or corrected, behind \`summed_until\`; a sign of -1 takes one back. */
const usageLate = `create table usage_late (
  account_id text not null check (account_id <> ''),
  id text not null,
  part integer not null check (part >= 0),
  sign integer not null check (sign = 1 or sign = -1),
  created_at integer not null,
  key_id text not null,
  team_id text,
  model text not null,
  provider text not null,
  session_id text,
  end_user text,
  tags text,
  client_request_id text,
  request_id text,
  prompt_tokens integer not null,
  completion_tokens integer not null,
  cost_nano_usd integer not null,
  provider_cost_nano_usd integer,
  primary key (account_id, id, part)
) strict, without rowid`

export const usageDimensions: readonly MigrationStatement[] = [
  usageDimension,
  usageProgress,
  usageLate,
  'insert into usage_progress (account_id, summed_until) select id, 0 from account',
]

export const pullRequests: readonly string[] = ['alter table agent add column pull_request_url text']

/** How far each export of completions is; and completions that were written or corrected behind it, see `ledger/rollups.ts`. */
const analyticsExport = `create table analytics_export (
  name text primary key check (name <> ''),
  version integer not null check (version >= 0),
  begun_at integer not null check (begun_at >= 0),
  exported_until integer not null check (exported_until >= 0),
  period_end integer,
  after_account text,
  after_id text,
  run_at integer not null check (run_at >= 0),
  failure text
) strict, without rowid`

const analyticsExportLate = `create table analytics_export_late (
  export text not null check (export <> ''),
  account_id text not null check (account_id <> ''),
  id text not null,
  marks integer not null check (marks > 0),
  primary key (account_id, id, export)
) strict, without rowid`

export const analyticsExports: readonly string[] = [analyticsExport, analyticsExportLate]

/** Raises that have ended already are looked at once as well. */
export const raiseEnds: readonly string[] = [
  'alter table budget_raise add column end_alerted integer not null default 0 check (end_alerted in (0, 1))',
  'create index budget_raise_unalerted on budget_raise (ends_at) where end_alerted = 0',
]

/** The sums of `performance_hour` by day: written after the hours, from which days that lack something are read. */
const performanceDay = `create table performance_day (
  account_id text not null,
  day integer not null check (day >= 0),
  model text not null,
  provider text not null,
  measure text not null,
  bucket integer not null check (bucket >= 0),
  count integer not null check (count > 0),
  primary key (account_id, day, model, provider, measure, bucket)
) strict, without rowid`

const daysOfWhatIsThere = `insert into performance_day (account_id, day, model, provider, measure, bucket, count)
select account_id, hour / 24, model, provider, measure, bucket, sum(count)
from performance_hour group by 1, 2, 3, 4, 5, 6`

export const performanceDays: readonly string[] = [performanceDay, daysOfWhatIsThere]

/** Whether a destination of traces receives the prompts and answers that content capture stores. */
export const destinationContent: readonly string[] = [
  'alter table telemetry_destination add column content integer not null default 0 check (content in (0, 1))',
]

/** The cost of completions in months that retention dropped as a whole, beside `credit.retired_nano_usd`. */
const retiredUsage = `create table retired_usage (
  account_id text primary key check (account_id <> ''),
  cost_nano_usd integer not null check (cost_nano_usd >= 0)
) strict, without rowid`

/**
 * See `postgres/completion-partitions.ts`, which makes the months. The table becomes a partition as it is, with its indexes;
 * since it is the default one and there is no other, no row is read.
 */
const monthPartitions = [
  'alter table completion rename to completion_default',
  'alter table completion_default rename constraint completion_pkey to completion_default_pkey',
  'alter index completion_not_completed rename to completion_default_not_completed',
  'alter index completion_agent rename to completion_default_agent',
  `create table completion (
  like completion_default including defaults including constraints,
  primary key (account_id, id)
) partition by range (id)`,
  "create index completion_not_completed on completion (account_id, status, id) where status <> 'completed'",
  `create index completion_agent on completion (account_id, client_request_id, id)
    where client_request_id >= 'agt_' and client_request_id < 'agt\`'`,
  'alter table completion attach partition completion_default default',
].map((postgres) => ({ postgres }))

export const completionMonths: readonly MigrationStatement[] = [retiredUsage, ...monthPartitions]
