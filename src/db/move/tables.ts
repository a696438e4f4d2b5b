/** What is moved from a SQLite file to PostgreSQL, and how a table is described to both. */
import type { DatabaseSync } from 'node:sqlite'

/** Every table after those that it refers to. */
export const MOVED_TABLES: readonly string[] = [
  'account',
  'api_key',
  'credential',
  'sign_in_link',
  'setting',
  'price_version',
  'credit',
  'key_spending',
  'completion',
  'usage_rollup',
  'usage_hour',
  'ledger',
  'ledger_entry_key',
  'ledger_audit',
  'ledger_audit_finding',
  'ledger_seal',
  'plan_allowance',
  'invoice',
  'usage_alert',
  'idempotency',
  'hold',
  'job',
  'person',
  'identity',
  'member',
  'invitation',
  'session',
  'device_code',
  'device',
  'device_token',
  'audit',
  'webhook',
  'event',
  'delivery',
  'delivery_attempt',
  'agent',
  'run',
  'agent_message',
  'agent_event',
  'run_artifact',
]

/** Of the installation on SQLite alone: its processes, which have ended, and its schema. */
export const LEFT_BEHIND: readonly string[] = ['guess', 'instance', 'schema_migration']

export interface Column {
  readonly name: string
  readonly type: 'TEXT' | 'INTEGER' | 'BLOB'
}

export interface Table {
  readonly name: string
  readonly columns: readonly Column[]
  /** The primary key, in its order. */
  readonly key: readonly Column[]
}

/** Values of a primary key as text: integers in digits, bytes as `\x` and hexadecimal digits. */
export type Key = readonly string[]

/** Throws for a file with a table that nobody has said is to be moved or not. */
export function describeTables(database: DatabaseSync): readonly Table[] {
  const known = new Set([...MOVED_TABLES, ...LEFT_BEHIND])
  for (const { name } of database.prepare("select name from sqlite_schema where type = 'table'").all()) {
    if (!known.has(String(name))) throw new Error(`The database has a table ${name}, which cannot be moved.`)
  }
  return MOVED_TABLES.map((name) => describeTable(database, name))
}

function describeTable(database: DatabaseSync, name: string): Table {
  const rows = database.prepare('select name, type, pk from pragma_table_info(?) order by cid').all(name)
  const columns = rows.map((row) => ({ ...columnOf(row), place: Number(row['pk']) }))
  const key = columns.filter(({ place }) => place > 0).sort((one, other) => one.place - other.place)
  return { name, columns, key }
}

function columnOf({ name, type }: Record<string, unknown>): Column {
  if (type !== 'TEXT' && type !== 'INTEGER' && type !== 'BLOB') throw new Error(`${name} is of the type ${type}.`)
  return { name: String(name), type }
}
