import { TEAM_ROLES } from '../../domain/identity/caller.ts'
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

/** Teams of an account; whose keys, agents and requests are of one say so. Lists are JSON; empty: no limit. */
const team = `create table team (
  account_id text not null references account (id),
  id text not null check (id <> ''),
  name text not null check (name <> ''),
  models text not null check (json_valid(models)),
  endpoints text not null check (json_valid(endpoints)),
  requests_per_minute integer check (requests_per_minute > 0),
  data_policy text check (data_policy is null or json_valid(data_policy)),
  created_at integer not null check (created_at >= 0),
  archived_at integer check (archived_at >= 0),
  changed_at integer not null check (changed_at > 0),
  primary key (account_id, id)
) strict, without rowid`

/** \`by_group\`: an identity provider manages it, and may remove it. */
const teamMember = `create table team_member (
  account_id text not null check (account_id <> ''),
  team_id text not null check (team_id <> ''),
  user_id text not null check (user_id <> ''),
  role text not null check (${oneOf('role', TEAM_ROLES)}),
  by_group integer not null check (by_group in (0, 1)),
  created_at integer not null check (created_at >= 0),
  primary key (account_id, team_id, user_id)
) strict, without rowid`

const BEFORE_TEAMS =
  '["chat","models:read","usage:read","agents:read","agents:write","webhooks","keys","members","billing","operator"]'
/** Keys with all scopes have full access, which includes what comes later. */
const WITH_TEAMS =
  '["chat","models:read","usage:read","agents:read","agents:write","webhooks","keys","members","teams","scim","billing","operator"]'

export const teams: readonly MigrationStatement[] = [
  team,
  'create index team_changed_at on team (changed_at)',
  changesNoted('team'),
  teamMember,
  'create index team_member_by_user on team_member (account_id, user_id)',
  'alter table api_key add column team_id text',
  'create index api_key_by_team on api_key (account_id, team_id, id) where team_id is not null',
  'alter table hold add column team_id text',
  'alter table completion add column team_id text',
  'alter table agent add column team_id text',
  `update api_key set scopes = '${WITH_TEAMS}' where scopes = '${BEFORE_TEAMS}'`,
]

/** Whom requests are for, on the completion and on the hold that becomes one when a process dies; and what keys say of it. */
export const attribution: readonly MigrationStatement[] = [
  ...['completion', 'hold'].flatMap((table) =>
    ['tags', 'session_id', 'end_user', 'request_id'].map((name) => `alter table ${table} add column ${name} text`),
  ),
  'alter table api_key add column tags text',
  'alter table api_key add column require_tags text',
]

/** Where accounts send the traces of their requests. Credentials and headers are sealed. Null team: all of the account. */
const telemetryDestination = `create table telemetry_destination (
  account_id text not null references account (id),
  id text not null check (id <> ''),
  name text not null check (name <> ''),
  kind text not null check (kind <> ''),
  url text not null check (url <> ''),
  secrets blob not null,
  team_id text check (team_id <> ''),
  enabled integer not null check (enabled in (0, 1)),
  created_at integer not null check (created_at >= 0),
  changed_at integer not null check (changed_at >= 0),
  primary key (account_id, id)
) strict, without rowid`

export const telemetryDestinations: readonly MigrationStatement[] = [telemetryDestination]

/** Limits on what an account and its parts spend in a window of time. Removed ones stay: windows and charges name them. */
const budget = `create table budget (
  account_id text not null references account (id),
  id text not null check (id <> ''),
  level text not null check (${oneOf('level', ['account', 'team', 'member', 'key', 'tag'])}),
  subject text not null check (subject <> ''),
  limit_nano_usd integer not null check (limit_nano_usd >= 0),
  period text not null check (${oneOf('period', ['day', 'week', 'month', 'quarter', 'total'])}),
  timezone text not null check (timezone <> ''),
  starts_at integer check (starts_at >= 0),
  action text not null check (${oneOf('action', ['block', 'warn'])}),
  position integer not null check (position >= 0),
  created_at integer not null check (created_at >= 0),
  ended_at integer check (ended_at >= 0),
  primary key (account_id, id)
) strict, without rowid`

/** What was charged and is held in one window of a budget. Made by its first request. */
const budgetWindow = `create table budget_window (
  account_id text not null,
  budget_id text not null,
  starts_at integer not null check (starts_at >= 0),
  spent_nano_usd integer not null check (spent_nano_usd >= 0),
  held_nano_usd integer not null check (held_nano_usd >= 0),
  primary key (account_id, budget_id, starts_at)
) strict, without rowid`

const budgetRaise = `create table budget_raise (
  account_id text not null,
  budget_id text not null,
  id text not null check (id <> ''),
  amount_nano_usd integer not null check (amount_nano_usd > 0),
  reason text not null check (reason <> ''),
  created_at integer not null check (created_at >= 0),
  ends_at integer not null check (ends_at >= 0),
  primary key (account_id, budget_id, id)
) strict, without rowid`

const budgetAlert = `create table budget_alert (
  account_id text not null,
  budget_id text not null,
  starts_at integer not null check (starts_at >= 0),
  threshold integer not null check (threshold > 0),
  spent_nano_usd integer not null,
  limit_nano_usd integer not null,
  created_at integer not null check (created_at >= 0),
  told integer not null check (told in (0, 1)),
  primary key (account_id, budget_id, starts_at, threshold)
) strict, without rowid`

/** `hold.budgets` and `ledger.budgets` name the windows that a request is held and charged in. */
export const budgets: readonly MigrationStatement[] = [
  budget,
  'create index budget_by_subject on budget (account_id, level, subject) where ended_at is null',
  budgetWindow,
  budgetRaise,
  budgetAlert,
  'create index budget_alert_untold on budget_alert (created_at) where told = 0',
  'alter table credit add column has_budgets integer not null default 0',
  'alter table api_key add column has_budgets integer not null default 0',
  'alter table hold add column budgets text',
  'alter table ledger add column budgets text',
]

/** People and groups that identity providers provision, and what their groups mean here. */
const scimUser = `create table scim_user (
  account_id text not null references account (id),
  user_id text not null check (user_id <> ''),
  user_name text not null check (user_name <> ''),
  user_name_lower text not null,
  email_lower text not null,
  external_id text,
  active integer not null check (active in (0, 1)),
  resource text not null check (json_valid(resource)),
  created_at integer not null check (created_at >= 0),
  updated_at integer not null check (updated_at >= 0),
  primary key (account_id, user_id)
) strict, without rowid`

const scimGroup = `create table scim_group (
  account_id text not null references account (id),
  id text not null check (id <> ''),
  display_name text not null check (display_name <> ''),
  display_name_lower text not null,
  external_id text,
  created_at integer not null check (created_at >= 0),
  updated_at integer not null check (updated_at >= 0),
  primary key (account_id, id)
) strict, without rowid`

const scimGroupMember = `create table scim_group_member (
  account_id text not null check (account_id <> ''),
  group_id text not null check (group_id <> ''),
  user_id text not null check (user_id <> ''),
  primary key (account_id, group_id, user_id)
) strict, without rowid`

const groupMapping = `create table group_mapping (
  account_id text not null references account (id),
  group_name text not null check (group_name <> ''),
  team_id text not null,
  role text not null check (role <> ''),
  primary key (account_id, group_name, team_id)
) strict, without rowid`

export const provisioning: readonly MigrationStatement[] = [
  scimUser,
  'create unique index scim_user_by_name on scim_user (account_id, user_name_lower)',
  'create index scim_user_by_email on scim_user (email_lower)',
  'create index scim_user_by_external_id on scim_user (account_id, external_id)',
  scimGroup,
  'create unique index scim_group_by_name on scim_group (account_id, display_name_lower)',
  scimGroupMember,
  'create index scim_group_member_by_user on scim_group_member (account_id, user_id)',
  groupMapping,
]
