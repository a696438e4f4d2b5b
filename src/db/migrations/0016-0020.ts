import { changesNoted, type MigrationStatement, oneOf } from './statement.ts'

/** Credentials of accounts' own at providers. Secrets are sealed. */
const providerCredential = `create table provider_credential (
  account_id text not null references account (id),
  id text not null check (id <> ''),
  provider text not null check (provider <> ''),
  key_id text,
  name text not null,
  secret blob not null,
  last4 text not null,
  allow_fallback integer not null check (allow_fallback in (0, 1)),
  status text not null check (${oneOf('status', ['verified', 'untested', 'refused'])}),
  last_tested_at integer check (last_tested_at >= 0),
  created_by text,
  created_at integer not null check (created_at >= 0),
  rotated_at integer check (rotated_at >= 0),
  primary key (account_id, id)
) strict, without rowid`

/** A hold says where its estimate is a fee for a call with such a credential. */
export const providerCredentials: readonly string[] = [
  providerCredential,
  'alter table account add column provider_credentials integer',
  'alter table hold add column byok_fee_ppm integer',
]

/** Responses that accounts have stored. Their content is sealed; what queries need of it stands beside it. */
const response = `create table response (
  account_id text not null references account (id),
  id text not null check (id <> ''),
  previous_id text check (previous_id <> ''),
  items integer not null check (items >= 0),
  items_bytes integer not null check (items_bytes >= 0),
  sealed_with text not null,
  content blob not null,
  created_at integer not null check (created_at >= 0),
  primary key (account_id, id)
) strict, without rowid`

export const storedResponses: readonly string[] = [response, 'create index response_by_time on response (created_at)']

/** How much each account stores, from the index alone. */
export const storedResponseBytes: readonly string[] = [
  'alter table response add column bytes integer not null default 0 check (bytes >= 0)',
  'update response set bytes = items_bytes',
  'create index response_by_account on response (account_id, created_at, bytes)',
]

/** JSON; null: nothing is demanded. */
export const dataPolicies: readonly string[] = [
  'alter table account add column data_policy text',
  'alter table api_key add column data_policy text',
]

/** The API that a request came by. Null: chat completions, which every older row is. */
export const requestApis: readonly string[] = [
  'alter table completion add column api text',
  'alter table hold add column api text',
]

/** Models and providers that operators change at run time: each change is a row; null settings: it was removed. */
const storedSetting = `create table stored_setting (
  kind text not null check (kind <> ''),
  name text not null check (name <> ''),
  version integer not null check (version > 0),
  changed_at integer not null check (changed_at > 0),
  effective_from integer not null check (effective_from >= 0),
  settings text check (settings is null or json_valid(settings)),
  secrets blob,
  created_by text,
  created_at integer not null check (created_at >= 0),
  primary key (kind, name, version)
) strict, without rowid`

export const storedSettings: readonly MigrationStatement[] = [
  storedSetting,
  'create index stored_setting_changed_at on stored_setting (changed_at)',
  changesNoted('stored_setting'),
]
