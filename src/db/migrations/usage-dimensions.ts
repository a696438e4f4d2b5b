import type { MigrationStatement } from './statement.ts'

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
