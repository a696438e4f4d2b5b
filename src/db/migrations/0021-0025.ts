import { TEAM_ROLES } from '../../domain/identity/caller.ts'
import { changesNoted, type MigrationStatement, oneOf } from './statement.ts'

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
