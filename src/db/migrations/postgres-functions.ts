/**
 * What is defined in a PostgreSQL database so that the same queries run there; on SQLite each connection has its own of
 * the first two (`connection.ts`), and the rest comes of there being one writer.
 */
import type { MigrationStatement } from './statement.ts'

/** The time of the statement, which the planner may use an index for; not of the transaction, which may have waited. */
const now = `create function turnpike_now() returns bigint language sql stable parallel safe
as 'select cast(extract(epoch from statement_timestamp()) * 1000 as bigint)'`

/** Waits until the transactions that took the same turn have ended. */
const turn = `create function turnpike_turn(name text) returns bigint language plpgsql as $$
begin
  perform pg_advisory_xact_lock(hashtextextended(current_schema() || ' ' || name, 0));
  return 0;
end $$`

/**
 * Keeps the promise of `nextChangedAt` among writers that do not take turns by themselves, and tells everybody who listens
 * when the change is committed. What it reads, it reads anew, after the wait for its turn.
 */
const noteChange = `create function turnpike_note_change() returns trigger language plpgsql as $$
declare
  latest bigint;
begin
  perform pg_advisory_xact_lock(hashtextextended(tg_table_schema || ' changes of ' || tg_table_name, 0));
  execute format('select coalesce(max(changed_at), 0) from %I.%I', tg_table_schema, tg_table_name) into latest;
  new.changed_at := greatest(new.changed_at, latest + 1);
  perform pg_notify('turnpike_changed', tg_table_schema);
  return new;
end $$`

const refuse = `create function turnpike_refuse_change() returns trigger language plpgsql as $$
begin
  raise exception '% is append-only', tg_table_name using errcode = 'integrity_constraint_violation';
end $$`

export const postgresFunctions: readonly MigrationStatement[] = [
  { postgres: now },
  { postgres: turn },
  { postgres: noteChange },
  { postgres: refuse },
]

export function changesNoted(table: string): MigrationStatement {
  return {
    postgres: `create trigger ${table}_change before insert or update of changed_at on ${table}
for each row execute function turnpike_note_change()`,
  }
}

/** What is written once stays: corrections are new rows. */
export function appendOnly(table: string): readonly MigrationStatement[] {
  const sqlite = ['update', 'delete'].map((change) => ({
    sqlite: `create trigger ${table}_refuses_${change} before ${change} on ${table}
begin select raise(abort, '${table} is append-only'); end`,
  }))
  const postgres = `create trigger ${table}_refuses_changes before update or delete or truncate on ${table}
for each statement execute function turnpike_refuse_change()`
  return [...sqlite, { postgres }]
}
