import { oneOf } from './one-of.ts'
import { changesNoted, postgresFunctions } from './postgres-functions.ts'
import type { MigrationStatement } from './statement.ts'

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

const usageRollup = `create table usage_rollup (
  account_id text not null check (account_id <> ''),
  day integer not null check (day >= 0),
  key_id text not null check (key_id <> ''),
  model text not null,
  requests integer not null check (requests > 0),
  prompt_tokens integer not null check (prompt_tokens >= 0),
  completion_tokens integer not null check (completion_tokens >= 0),
  cost_nano_usd integer not null check (cost_nano_usd >= 0),
  primary key (account_id, day, key_id, model)
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
  usageRollup,
  priceVersion,
  signInLink,
  setting,
]
