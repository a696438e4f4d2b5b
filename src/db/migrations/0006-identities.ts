import { oneOf } from './one-of.ts'
import { appendOnly, changesNoted } from './postgres-functions.ts'
import type { MigrationStatement } from './statement.ts'

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
