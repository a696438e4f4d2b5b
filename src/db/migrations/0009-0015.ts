import { AGENT_EVENT_TYPES, AGENT_STATUSES } from '../../domain/agent.ts'
import { ledgerTable } from './0001-0005.ts'
import { appendOnly, type MigrationStatement, oneOf } from './statement.ts'

const agent = `create table agent (
  account_id text not null references account (id),
  id text not null check (id <> ''),
  name text not null,
  status text not null check (${oneOf('status', AGENT_STATUSES)}),
  repository text not null check (repository <> ''),
  base_branch text,
  model text not null,
  summary text,
  error_code text,
  error_message text,
  key_id text not null,
  creator text not null check (json_valid(creator)),
  runs integer not null check (runs > 0),
  messages integer not null check (messages > 0),
  events integer not null check (events >= 0),
  created_at integer not null check (created_at >= 0),
  started_at integer check (started_at >= 0),
  ended_at integer check (ended_at >= 0),
  primary key (account_id, id),
  check ((error_code is null) = (error_message is null))
) strict, without rowid`

const run = `create table run (
  account_id text not null check (account_id <> ''),
  agent_id text not null check (agent_id <> ''),
  id text not null check (id <> ''),
  number integer not null check (number > 0),
  status text not null check (${oneOf('status', AGENT_STATUSES)}),
  error_code text,
  error_message text,
  summary text,
  max_cost_nano_usd integer check (max_cost_nano_usd > 0),
  max_steps integer check (max_steps > 0),
  steps integer not null check (steps >= 0),
  prompt_tokens integer not null check (prompt_tokens >= 0),
  completion_tokens integer not null check (completion_tokens >= 0),
  cost_nano_usd integer not null check (cost_nano_usd >= 0),
  attempt integer not null check (attempt >= 0),
  phase text check (${oneOf('phase', ['cloning', 'working', 'committing', 'pushing'])}),
  commit_id text,
  pushed integer not null check (pushed in (0, 1)),
  cancel_requested_at integer check (cancel_requested_at >= 0),
  seen_at integer check (seen_at >= 0),
  created_at integer not null check (created_at >= 0),
  started_at integer check (started_at >= 0),
  ended_at integer check (ended_at >= 0),
  primary key (account_id, agent_id, id),
  unique (account_id, agent_id, number)
) strict, without rowid`

const message = `create table agent_message (
  account_id text not null check (account_id <> ''),
  agent_id text not null check (agent_id <> ''),
  number integer not null check (number > 0),
  run_id text not null check (run_id <> ''),
  kind text not null check (${oneOf('kind', ['user', 'assistant', 'tool', 'summary'])}),
  content text not null check (json_valid(content)),
  created_at integer not null check (created_at >= 0),
  primary key (account_id, agent_id, number)
) strict, without rowid`

const event = `create table agent_event (
  account_id text not null check (account_id <> ''),
  agent_id text not null check (agent_id <> ''),
  sequence integer not null check (sequence > 0),
  run_id text not null check (run_id <> ''),
  type text not null check (${oneOf('type', AGENT_EVENT_TYPES)}),
  data text not null check (json_valid(data)),
  created_at integer not null check (created_at >= 0),
  primary key (account_id, agent_id, sequence)
) strict, without rowid`

const artifact = `create table run_artifact (
  account_id text not null check (account_id <> ''),
  agent_id text not null check (agent_id <> ''),
  run_id text not null check (run_id <> ''),
  kind text not null check (kind in ('diff', 'bundle')),
  content blob not null,
  truncated integer not null check (truncated in (0, 1)),
  created_at integer not null check (created_at >= 0),
  primary key (account_id, agent_id, run_id, kind)
) strict, without rowid`

export const agents: readonly MigrationStatement[] = [
  agent,
  'create index agent_status on agent (account_id, status, id)',
  run,
  "create index run_open on run (status, created_at) where status in ('queued', 'running')",
  message,
  event,
  artifact,
  // The calls of agents: see `agentReference` in domain/agent.ts.
  `create index completion_agent on completion (account_id, client_request_id, id)
    where client_request_id >= 'agt_' and client_request_id < 'agt\`'`,
]

const KINDS = ['grant', 'purchase', 'charge', 'refund', 'debit', 'expiry']
const BOOKS = ['credit', 'revenue', 'grants', 'payments', 'refunds', 'debits']

const COLUMNS = `account_id, number, kind, debit, credit, amount_nano_usd, balance_nano_usd, completion_id, key_id,
  price_version, adjusts, note, created_at`

/** SQLite cannot change a condition of a column: the table is written again, with one kind and one book more. */
const onSqlite = [
  ledgerTable('ledger_new', { kinds: KINDS, books: BOOKS }),
  `insert into ledger_new (${COLUMNS}) select ${COLUMNS} from ledger`,
  'drop table ledger',
  'alter table ledger_new rename to ledger',
  "create index ledger_not_charges on ledger (account_id, kind, number) where kind <> 'charge'",
  'create unique index ledger_corrected_once on ledger (account_id, adjusts) where adjusts is not null',
].map((sqlite) => ({ sqlite }))

/** The conditions that list kinds or books; PostgreSQL has named them itself. */
const dropLists = `do $$
declare
  listing record;
begin
  for listing in select conname from pg_constraint where conrelid = 'ledger'::regclass and contype = 'c'
    and (pg_get_constraintdef(oid) like '%purchase%' or pg_get_constraintdef(oid) like '%payments%')
  loop
    execute format('alter table ledger drop constraint %I', listing.conname);
  end loop;
end $$`

/** `not valid`: what is there has passed a narrower condition, so the table is not read under the lock. */
const onPostgres = [
  dropLists,
  `alter table ledger add constraint ledger_kind_check check (${oneOf('kind', KINDS)}) not valid`,
  `alter table ledger add constraint ledger_debit_check check (${oneOf('debit', BOOKS)}) not valid`,
  `alter table ledger add constraint ledger_credit_check
    check ((${oneOf('credit', BOOKS)}) and credit <> debit) not valid`,
].map((postgres) => ({ postgres }))

/** Idempotency keys of entries that operators make, for as long as there is the ledger. */
const entryKey = `create table ledger_entry_key (
  account_id text not null check (account_id <> ''),
  key text not null check (key <> ''),
  fingerprint text not null check (length(fingerprint) = 64),
  number integer not null check (number > 0),
  primary key (account_id, key)
) strict, without rowid`

export const creditEntries: readonly MigrationStatement[] = [
  ...onSqlite,
  ...appendOnly('ledger').filter((statement) => typeof statement === 'object' && statement.sqlite !== undefined),
  ...onPostgres,
  entryKey,
]

/** Null: the price has four rates only; the usage had none of the seldom classes; the row is older than the column. */
export const tariffs: readonly string[] = [
  'alter table price_version add column tariff text',
  'alter table completion add column usage_detail text',
  'alter table completion add column price_rule text',
]

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

/**
 * Usage that was reported outside of what can be, the part of a cost beyond `max_overrun_usd`, and the cap of an account.
 * No conditions: they would read every row that is there. `usage_source` keeps its own, so a flag stands beside it.
 */
export const boundedUsage: readonly string[] = [
  'alter table completion add column usage_bounded integer',
  'alter table completion add column unbilled_nano_usd integer',
  'alter table credit add column max_overrun_nano_usd integer',
]

/*
 * Denied attempts are counted in the row of the first one, and are not kept for ever. What was done stays append-only.
 * SQLite cannot change a trigger, so that both databases get new ones.
 */

/** The row stays that of its first attempt. */
const IS_COUNTED = ['account_id', 'id', 'action', 'created_at', 'result'].map((name) => `new.${name} = old.${name}`)

const refuseOnSqlite = (change: 'update' | 'delete', condition: string): readonly MigrationStatement[] => [
  { sqlite: `drop trigger audit_refuses_${change}` },
  {
    sqlite: `create trigger audit_refuses_${change} before ${change} on audit when not (${condition})
begin select raise(abort, 'audit is append-only'); end`,
  },
]

const refuseFunction = `create function turnpike_refuse_audit_change() returns trigger language plpgsql as $$
begin
  if old.result = 'denied' and tg_op = 'DELETE' then return old; end if;
  if old.result = 'denied' and tg_op = 'UPDATE' then
    if ${IS_COUNTED.join(' and ')} then return new; end if;
  end if;
  raise exception '% is append-only', tg_table_name using errcode = 'integrity_constraint_violation';
end $$`

export const deniedAttempts: readonly MigrationStatement[] = [
  'alter table audit add column attempts integer not null default 1',
  'alter table audit add column last_at integer',
  "create index audit_denied on audit (account_id, created_at) where result = 'denied'",
  "create index audit_denied_at on audit (created_at) where result = 'denied'",
  ...refuseOnSqlite('update', `old.result = 'denied' and ${IS_COUNTED.join(' and ')}`),
  ...refuseOnSqlite('delete', "old.result = 'denied'"),
  { postgres: 'drop trigger audit_refuses_changes on audit' },
  { postgres: refuseFunction },
  {
    postgres: `create trigger audit_refuses_changes before update or delete on audit
for each row execute function turnpike_refuse_audit_change()`,
  },
  {
    postgres: `create trigger audit_refuses_truncate before truncate on audit
for each statement execute function turnpike_refuse_change()`,
  },
]

/**
 * What was made by what: keys by the key that created them, invitations and webhooks by the credential that made them, and
 * the author of a message to an agent. A hold names the ancestors of its key, whose budgets it counts against as well.
 */
const BEFORE_KEYS = ['chat', 'models:read', 'usage:read', 'agents:read', 'agents:write', 'webhooks', 'keys']
const AFTER_KEYS = ['billing', 'operator']
const listed = (scopes: readonly string[]) => `'${JSON.stringify(scopes)}'`

/** `members` has become a scope: keys of operators that listed all there were list it, too. */
const allScopes = `update api_key set scopes = ${listed([...BEFORE_KEYS, 'members', ...AFTER_KEYS])}
where scopes = ${listed([...BEFORE_KEYS, ...AFTER_KEYS])}`

export const lineage: readonly string[] = [
  'alter table api_key add column parent_id text',
  'create index api_key_by_parent on api_key (account_id, parent_id) where parent_id is not null',
  'alter table invitation add column key_id text',
  'alter table hold add column ancestors text',
  'alter table webhook add column created_by text',
  'alter table webhook add column key_id text',
  'alter table webhook add column creator_gone_at integer',
  'alter table agent_message add column author text',
  allScopes,
]
