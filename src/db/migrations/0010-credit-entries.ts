import { oneOf } from './one-of.ts'
import { appendOnly } from './postgres-functions.ts'
import type { MigrationStatement } from './statement.ts'

const KINDS = ['grant', 'purchase', 'charge', 'refund', 'debit', 'expiry']
const BOOKS = ['credit', 'revenue', 'grants', 'payments', 'refunds', 'debits']

/** SQLite cannot change a condition of a column: the table is written anew, with one kind and one book more. */
const ledgerWithDebits = `create table ledger_new (
  account_id text not null check (account_id <> ''),
  number integer not null check (number > 0),
  kind text not null check (${oneOf('kind', KINDS)}),
  debit text not null check (${oneOf('debit', BOOKS)}),
  credit text not null check ((${oneOf('credit', BOOKS)}) and credit <> debit),
  amount_nano_usd integer not null check (amount_nano_usd > 0),
  balance_nano_usd integer not null,
  completion_id text,
  key_id text,
  price_version text,
  adjusts integer check (adjusts < number),
  note text,
  created_at integer not null check (created_at >= 0),
  primary key (account_id, number),
  check (kind <> 'charge' or completion_id is not null)
) strict, without rowid`

const COLUMNS = `account_id, number, kind, debit, credit, amount_nano_usd, balance_nano_usd, completion_id, key_id,
  price_version, adjusts, note, created_at`

const onSqlite = [
  ledgerWithDebits,
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
