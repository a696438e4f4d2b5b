import type { DialectName } from '../database.ts'

/**
 * One step of a migration. A text serves both dialects: SQLite's SQL, which `postgresStatement` translates; what has no
 * counterpart is written for each.
 */
export type MigrationStatement = string | { readonly sqlite?: string; readonly postgres?: string }

/** Text is compared by its bytes, as in SQLite: IDs sort by time in every locale. */
const TYPES: Readonly<Record<string, string>> = { text: 'text collate "C"', integer: 'bigint', blob: 'bytea' }

/** A column on its own line, or after `add column`. */
const COLUMN_TYPE = /(^\s+\w+ |\badd column \w+ )(text|integer|blob)\b/gm

/** @returns Undefined: nothing to do on PostgreSQL. */
export function postgresStatement(statement: MigrationStatement): string | undefined {
  if (typeof statement !== 'string') return statement.postgres
  if (!/^(?:create|alter) table\b/.test(statement)) return statement
  return statement
    .replace(COLUMN_TYPE, (_, before: string, type: string) => `${before}${TYPES[type]}`)
    .replace(/\bjson_type\((\w+)\)/g, 'json_typeof($1::json)')
    .replace(/\bjson_valid\((\w+)\)/g, '($1::json is not null)')
    .replace(/\) strict, without rowid$/, ')')
}

export function sqliteStatement(statement: MigrationStatement): string | undefined {
  return typeof statement === 'string' ? statement : statement.sqlite
}

/**
 * Returns the condition that a column has one of some texts. For SQL's `in`, SQLite builds a table of three or more texts
 * for every row that is written: more work than the rest of the row.
 */
export function oneOf(column: string, texts: readonly string[]): string {
  return texts.map((text) => `${column} = '${text}'`).join(' or ')
}

/** The time of the statement, which the planner may use an index for; not of the transaction, which may have waited. */
const now = `create function turnpike_now() returns bigint language sql stable parallel safe
as 'select cast(extract(epoch from statement_timestamp()) * 1000 as bigint)'`

/** Acquires an advisory lock until the transaction ends. */
const advisoryLock = `create function turnpike_turn(name text) returns bigint language plpgsql as $$
begin
  perform pg_advisory_xact_lock(hashtextextended(current_schema() || ' ' || name, 0));
  return 0;
end $$`

/**
 * Serializes writers so that `changed_at` rises, as `nextChangedAt` promises, and notifies listeners at the commit. It reads
 * the latest value after it has acquired the lock.
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

/** Functions that the queries need on PostgreSQL; on SQLite each connection has its own (`sqlite/connection.ts`). */
export const postgresFunctions: readonly MigrationStatement[] = [
  { postgres: now },
  { postgres: advisoryLock },
  { postgres: noteChange },
  { postgres: refuse },
]

export function changesNoted(table: string): MigrationStatement {
  return {
    postgres: `create trigger ${table}_change before insert or update of changed_at on ${table}
for each row execute function turnpike_note_change()`,
  }
}

/** Rejects changes of rows: corrections are new rows. */
export function appendOnly(table: string): readonly MigrationStatement[] {
  const sqlite = ['update', 'delete'].map((change) => ({
    sqlite: `create trigger ${table}_refuses_${change} before ${change} on ${table}
begin select raise(abort, '${table} is append-only'); end`,
  }))
  const postgres = `create trigger ${table}_refuses_changes before update or delete or truncate on ${table}
for each statement execute function turnpike_refuse_change()`
  return [...sqlite, { postgres }]
}

/* Which locks a statement takes on PostgreSQL, and whom they keep waiting: what `migrate --dry-run` prints. */

export interface TableLock {
  readonly table: string
  /** As in `pg_locks`, in words: `access exclusive`. */
  readonly mode: LockMode
}

/** What waits for each, of the statements that a gateway runs. */
export const WAITING = {
  'access exclusive': 'reads and writes of it wait',
  'share row exclusive': 'writes of it wait',
  share: 'writes of it wait',
  'row exclusive': 'nothing waits but writes of the same rows',
} as const

export type LockMode = keyof typeof WAITING

export interface PlannedStatement {
  readonly sql: string
  /** On tables that exist already; nobody uses a new one. */
  readonly locks: readonly TableLock[]
}

/** By the beginning of a statement: the table after it, and the mode. */
const RULES: readonly (readonly [begins: RegExp, mode: LockMode | undefined])[] = [
  [/^create (?:or replace )?function\b/, undefined],
  [/^create table (\w+)/, undefined],
  [/^create (?:unique )?index \w+ on (\w+)/, 'share'],
  [/^create trigger [\s\S]+? on (\w+)/, 'share row exclusive'],
  [/^drop trigger \w+ on (\w+)/, 'access exclusive'],
  [/^alter index \w+ rename\b/, undefined],
  [/^(?:alter|drop) table (\w+)/, 'access exclusive'],
  [/^insert into (\w+)/, 'row exclusive'],
  [/^update (\w+)/, 'row exclusive'],
  [/^do \$\$[\s\S]*?'(\w+)'::regclass/, 'access exclusive'],
]

interface Tables {
  /** Table of each index: `drop index` does not name it. */
  readonly ofIndexes: Map<string, string>
  /** What pending migrations create; nobody else uses it yet. */
  readonly created: Set<string>
}

function locksOf(sql: string, { ofIndexes }: Tables): readonly TableLock[] {
  const [, dropped = ''] = /^drop index (\w+)/.exec(sql) ?? []
  if (dropped !== '') return [{ table: ofIndexes.get(dropped) ?? dropped, mode: 'access exclusive' }]
  const rule = RULES.find(([begins]) => begins.test(sql))
  if (rule === undefined) throw new Error(`The locks of this statement are unknown: ${sql}`)
  const [begins, mode] = rule
  const own = mode === undefined ? [] : [{ table: begins.exec(sql)?.[1] ?? '', mode }]
  const foreign = /^(?:create|alter) table\b/.test(sql) ? sql.matchAll(/\breferences (\w+)/g) : []
  const referenced = [...new Set([...foreign].map(([, table = '']) => table))]
  return [...own, ...referenced.map((table): TableLock => ({ table, mode: 'share row exclusive' }))]
}

/** Takes the statements of all migrations in order. */
export interface Planner {
  /** Of pending migrations. */
  plan(statements: readonly MigrationStatement[]): readonly PlannedStatement[]
  /** Of migrations that are applied: later statements name their indexes. */
  pass(statements: readonly MigrationStatement[]): readonly never[]
}

export function createPlanner(dialect: DialectName): Planner {
  const tables: Tables = { ofIndexes: new Map(), created: new Set() }
  const render = dialect === 'postgres' ? postgresStatement : sqliteStatement
  const rendered = (statements: readonly MigrationStatement[]): readonly string[] =>
    statements.map(render).filter((sql) => sql !== undefined)
  const noteIndex = (sql: string): void => {
    const [, index, table] = /^create (?:unique )?index (\w+) on (\w+)/.exec(sql) ?? []
    if (index !== undefined && table !== undefined) tables.ofIndexes.set(index, table)
  }
  const noteTable = (sql: string): void => {
    const [, table] = /^(?:create table|alter table \w+ rename to) (\w+)/.exec(sql) ?? []
    if (table !== undefined) tables.created.add(table)
  }
  return {
    plan: (statements) =>
      rendered(statements).map((sql) => {
        noteIndex(sql)
        const locks = dialect === 'postgres' ? locksOf(sql, tables) : []
        noteTable(sql)
        return { sql, locks: locks.filter(({ table }) => !tables.created.has(table)) }
      }),
    pass: (statements) => {
      rendered(statements).forEach(noteIndex)
      return []
    },
  }
}
