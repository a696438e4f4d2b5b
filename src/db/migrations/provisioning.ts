import type { MigrationStatement } from './statement.ts'

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
