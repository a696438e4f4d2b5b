import { type MigrationStatement, oneOf } from './statement.ts'

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
