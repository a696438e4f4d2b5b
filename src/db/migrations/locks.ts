/** Which locks a statement of a migration takes on PostgreSQL, and whom they keep waiting: what `migrate --dry-run` prints. */
import type { DialectName } from '../database.ts'
import { type MigrationStatement, postgresStatement, sqliteStatement } from './statement.ts'

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
