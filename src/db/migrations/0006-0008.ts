import { appendOnly, changesNoted, type MigrationStatement, oneOf } from './statement.ts'

/** A person, who may be a member of several accounts. */
const person = `create table person (
  id text primary key check (id <> ''),
  email text not null check (email <> ''),
  name text not null,
  created_at integer not null check (created_at >= 0),
  disabled_at integer check (disabled_at >= 0),
  changed_at integer not null check (changed_at >= 0)
) strict, without rowid`

/** Under what an identity provider knows a person. The e-mail address is a label and no identity. */
const identity = `create table identity (
  issuer text not null check (issuer <> ''),
  subject text not null check (subject <> ''),
  user_id text not null references person (id),
  email text,
  created_at integer not null check (created_at >= 0),
  last_used_at integer not null check (last_used_at >= 0),
  primary key (issuer, subject)
) strict, without rowid`

const member = `create table member (
  account_id text not null references account (id),
  user_id text not null check (user_id <> ''),
  role text not null check (${oneOf('role', ['owner', 'admin', 'developer', 'billing'])}),
  created_at integer not null check (created_at >= 0),
  removed_at integer check (removed_at >= 0),
  changed_at integer not null check (changed_at >= 0),
  primary key (account_id, user_id)
) strict, without rowid`

const invitation = `create table invitation (
  account_id text not null references account (id),
  id text not null check (id <> ''),
  role text not null check (${oneOf('role', ['owner', 'admin', 'developer', 'billing'])}),
  email text,
  created_by text,
  created_at integer not null check (created_at >= 0),
  expires_at integer not null check (expires_at > created_at),
  used_at integer check (used_at >= 0),
  used_by text,
  revoked_at integer check (revoked_at >= 0),
  primary key (account_id, id)
) strict, without rowid`

/** A browser that is signed in. `secret_hash` is of the cookie. */
const session = `create table session (
  id text primary key check (id <> ''),
  secret_hash blob not null unique check (length(secret_hash) = 32),
  user_id text not null check (user_id <> ''),
  account_id text not null check (account_id <> ''),
  created_at integer not null check (created_at >= 0),
  renewed_at integer not null check (renewed_at >= 0),
  expires_at integer not null check (expires_at > created_at),
  ended_at integer check (ended_at >= 0),
  address text,
  user_agent text,
  changed_at integer not null check (changed_at >= 0)
) strict, without rowid`

const deviceCode = `create table device_code (
  hash blob primary key check (length(hash) = 32),
  user_code text not null unique check (length(user_code) = 8),
  client_id text not null check (client_id <> ''),
  scopes text not null check (json_type(scopes) = 'array'),
  address text,
  user_agent text,
  created_at integer not null check (created_at >= 0),
  expires_at integer not null check (expires_at > created_at),
  interval_ms integer not null check (interval_ms > 0),
  polled_at integer check (polled_at >= 0),
  state text not null check (${oneOf('state', ['pending', 'approved', 'denied', 'redeemed'])}),
  user_id text,
  account_id text,
  device_id text,
  decided_at integer check (decided_at >= 0)
) strict, without rowid`

const device = `create table device (
  account_id text not null references account (id),
  id text not null check (id <> ''),
  user_id text not null check (user_id <> ''),
  client_id text not null check (client_id <> ''),
  scopes text not null check (json_type(scopes) = 'array'),
  address text,
  user_agent text,
  created_at integer not null check (created_at >= 0),
  last_used_at integer check (last_used_at >= 0),
  revoked_at integer check (revoked_at >= 0),
  changed_at integer not null check (changed_at >= 0),
  primary key (account_id, id)
) strict, without rowid`

/** Tokens of a device by their hash. A refresh token that was used is kept, so that its reuse is noticed. */
const deviceToken = `create table device_token (
  account_id text not null check (account_id <> ''),
  device_id text not null check (device_id <> ''),
  hash blob not null check (length(hash) = 32),
  kind text not null check (kind in ('access', 'refresh')),
  generation integer not null check (generation > 0),
  scopes text check (json_type(scopes) = 'array'),
  created_at integer not null check (created_at >= 0),
  expires_at integer not null check (expires_at > created_at),
  used_at integer check (used_at >= 0),
  primary key (account_id, device_id, hash)
) strict, without rowid`

/** How often somebody guessed wrong lately. */
const guess = `create table guess (
  name text primary key check (name <> ''),
  wrong integer not null check (wrong >= 0),
  since integer not null check (since >= 0),
  blocked_until integer not null check (blocked_until >= 0)
) strict, without rowid`

const audit = `create table audit (
  account_id text not null check (account_id <> ''),
  id text not null check (id <> ''),
  actor_kind text not null check (${oneOf('actor_kind', ['key', 'token', 'session', 'command_line', 'system'])}),
  actor_id text,
  actor_name text,
  action text not null check (action <> ''),
  subject text,
  result text not null check (result in ('done', 'denied')),
  address text,
  user_agent text,
  request_id text,
  details text not null check (json_type(details) = 'object'),
  created_at integer not null check (created_at >= 0),
  primary key (account_id, id)
) strict, without rowid`

/** The person whose rights bound a key's; null where the command line or the operator made it. */
const creatorOfKeys = 'alter table api_key add column created_by text'

export const identities: readonly MigrationStatement[] = [
  creatorOfKeys,
  person,
  'create index person_changed_at on person (changed_at)',
  changesNoted('person'),
  identity,
  'create index identity_user on identity (user_id)',
  member,
  'create index member_user on member (user_id)',
  'create index member_changed_at on member (changed_at)',
  changesNoted('member'),
  invitation,
  session,
  'create index session_user_id on session (user_id)',
  'create index session_changed_at on session (changed_at)',
  changesNoted('session'),
  deviceCode,
  'create index device_code_expires_at on device_code (expires_at)',
  device,
  'create index device_changed_at on device (changed_at)',
  changesNoted('device'),
  deviceToken,
  'create index device_token_expires_at on device_token (expires_at)',
  guess,
  audit,
  ...appendOnly('audit'),
]

/**
 * Jobs stand in lanes, which take turns. `ready` parts those whose time has come from those that wait for it: whoever
 * chooses among lanes must not pass by what cannot be had.
 */
export const jobs: readonly MigrationStatement[] = [
  "alter table job add column lane text not null default '*' check (lane <> '')",
  'alter table job add column priority integer not null default 5 check (priority between 0 and 9)',
  'alter table job add column failures integer not null default 0 check (failures >= 0)',
  'alter table job add column ready integer not null default 1 check (ready in (0, 1))',
  'update job set ready = 0 where ended_at is null',
  'drop index job_due',
  'create index job_ready on job (kind, lane, priority, run_at, id) where ready = 1 and ended_at is null',
  'create index job_waiting on job (run_at) where ready = 0 and ended_at is null',
  'create index job_running on job (kind, lane) where owner is not null',
]

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

/** One event for one endpoint. `round` grows when it is sent again by hand; `attempts` counts through all rounds. */
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
 * Alerts become events one by one, in the background: `told` marks those that have. What was noted before there were
 * events is not announced any more.
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
