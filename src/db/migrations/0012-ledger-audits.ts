/** Audits of the ledger: how far they have come, what they found, and the seals of what they read. */
const audit = `create table ledger_audit (
  id text primary key check (id <> ''),
  account_id text,
  since integer check (since >= 0),
  started_at integer not null check (started_at >= 0),
  updated_at integer not null check (updated_at >= 0),
  ended_at integer check (ended_at >= 0),
  findings integer not null check (findings >= 0),
  state text not null check (json_valid(state)),
  version integer not null check (version > 0)
) strict, without rowid`

const finding = `create table ledger_audit_finding (
  audit_id text not null check (audit_id <> ''),
  id text not null check (id <> ''),
  account_id text not null check (account_id <> ''),
  kind text not null check (kind <> ''),
  subject text not null,
  expected text not null,
  actual text not null,
  primary key (audit_id, id)
) strict, without rowid`

const seal = `create table ledger_seal (
  account_id text not null check (account_id <> ''),
  page integer not null check (page >= 0),
  last_number integer not null check (last_number > 0),
  hash text not null check (length(hash) = 64),
  sealed_at integer not null check (sealed_at >= 0),
  primary key (account_id, page)
) strict, without rowid`

/** Amounts that plans have granted for a month. What was granted before this table was there is taken for right. */
const allowance = `create table plan_allowance (
  plan text not null check (plan <> ''),
  amount_nano_usd integer not null check (amount_nano_usd > 0),
  first_seen_at integer not null check (first_seen_at >= 0),
  primary key (plan, amount_nano_usd)
) strict, without rowid`

export const ledgerAudits: readonly string[] = [
  audit,
  'create index ledger_audit_scope on ledger_audit (account_id, started_at)',
  finding,
  seal,
  allowance,
  `insert into plan_allowance (plan, amount_nano_usd, first_seen_at)
    select distinct '(before)', amount_nano_usd, 0 from ledger
    where kind <> 'charge' and kind = 'grant' and note = 'monthly allowance'`,
]
