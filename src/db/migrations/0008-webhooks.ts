import { oneOf } from './one-of.ts'
import type { MigrationStatement } from './statement.ts'

/** Where an account's events are posted to. Secrets are sealed. */
const webhook = `create table webhook (
  account_id text not null references account (id),
  id text not null check (id <> ''),
  url text not null check (url <> ''),
  events text check (events is null or json_valid(events)),
  description text not null,
  secret blob not null,
  previous_secret blob,
  previous_until integer check (previous_until >= 0),
  failing_since integer check (failing_since >= 0),
  disabled_at integer check (disabled_at >= 0),
  disabled_reason text check (${oneOf('disabled_reason', ['by_request', 'gone', 'failing'])}),
  created_at integer not null check (created_at >= 0),
  primary key (account_id, id),
  check ((disabled_at is null) = (disabled_reason is null)),
  check ((previous_secret is null) = (previous_until is null))
) strict, without rowid`

/** What happened, written with what it tells about. */
const event = `create table event (
  account_id text not null check (account_id <> ''),
  id text not null check (id <> ''),
  type text not null check (type <> ''),
  data text not null check (json_valid(data)),
  created_at integer not null check (created_at >= 0),
  primary key (account_id, id)
) strict, without rowid`

/** One event for one endpoint. \`round\` grows when it is sent anew by hand; \`attempts\` counts through all rounds. */
const delivery = `create table delivery (
  account_id text not null check (account_id <> ''),
  webhook_id text not null check (webhook_id <> ''),
  id text not null check (id <> ''),
  event_id text not null check (event_id <> ''),
  status text not null check (${oneOf('status', ['pending', 'delivered', 'failed'])}),
  round integer not null check (round > 0),
  attempts integer not null check (attempts >= 0),
  next_attempt_at integer check (next_attempt_at >= 0),
  error text,
  created_at integer not null check (created_at >= 0),
  ended_at integer check (ended_at >= 0),
  primary key (account_id, webhook_id, id),
  check ((status = 'pending') = (ended_at is null))
) strict, without rowid`

const deliveryAttempt = `create table delivery_attempt (
  account_id text not null check (account_id <> ''),
  delivery_id text not null check (delivery_id <> ''),
  number integer not null check (number > 0),
  started_at integer not null check (started_at >= 0),
  duration_ms integer not null check (duration_ms >= 0),
  status integer,
  error text,
  response text,
  primary key (account_id, delivery_id, number)
) strict, without rowid`

/**
 * Alerts become events one by one, in the background: \`told\` parts those that have. What was noted before there were
 * events is nobody's news any more.
 */
const usageAlert = `create table usage_alert_new (
  account_id text not null check (account_id <> ''),
  month integer not null check (month >= 0),
  event text not null check (${oneOf('event', ['usage.alert', 'credit.exhausted'])}),
  basis text not null check (basis in ('budget', 'credit')),
  threshold integer not null check (threshold > 0),
  spent_nano_usd integer not null,
  limit_nano_usd integer not null,
  created_at integer not null check (created_at >= 0),
  told integer not null check (told in (0, 1)),
  primary key (account_id, month, event, basis, threshold)
) strict, without rowid`

export const webhooks: readonly MigrationStatement[] = [
  webhook,
  event,
  'create index event_created_at on event (created_at)',
  delivery,
  'create index delivery_ended_at on delivery (ended_at) where ended_at is not null',
  deliveryAttempt,
  usageAlert,
  `insert into usage_alert_new (account_id, month, event, basis, threshold, spent_nano_usd, limit_nano_usd, created_at, told)
    select account_id, month, 'usage.alert', basis, threshold, spent_nano_usd, limit_nano_usd, created_at, 1 from usage_alert`,
  'drop table usage_alert',
  'alter table usage_alert_new rename to usage_alert',
  'create index usage_alert_untold on usage_alert (created_at) where told = 0',
]
