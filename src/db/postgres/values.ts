/** What PostgreSQL's values are here: the same as SQLite's, so that one query serves both. */
import type { CustomTypesConfig, QueryResult } from 'pg'
import type { SqlValue } from '../message.ts'
import type { PostgresRows } from './client.ts'

/** Type OIDs (`pg_type.dat`): bool, bytea, float4, float8. */
const BOOL = 16
const BYTEA = 17
const FLOATS: ReadonlySet<number> = new Set([700, 701])
/** int8, int2, int4, and numeric, which is what sums of int8 are. */
const INTEGERS: ReadonlySet<number> = new Set([20, 21, 23, 1700])
const BIGINT_SUFFIX = '_nano_usd'

type Row = Record<string, SqlValue>

/** Everything else stays text, integers too: what becomes of them depends on their column's name, see `toRows`. */
export const COLUMN_TYPES: CustomTypesConfig = {
  getTypeParser(oid: number) {
    if (oid === BOOL) return flagOf
    if (oid === BYTEA) return bytesOf
    return FLOATS.has(oid) ? Number : asText
  },
}

function asText(text: string): string {
  return text
}

function flagOf(text: string): 0 | 1 {
  return text === 't' ? 1 : 0
}

function bytesOf(text: string): Uint8Array {
  return new Uint8Array(Buffer.from(text.slice(2), 'hex')) // `\x` and hexadecimal digits
}

/** Columns ending in `_nano_usd` as bigint, all other integers as number. */
export function toRows<Shape>({ rows, fields, rowCount }: QueryResult<Row>): PostgresRows<Shape> {
  if (rows.length > 0) {
    for (const { name, dataTypeID } of fields) if (INTEGERS.has(dataTypeID)) convertColumn(rows, name)
  }
  return { rows: rows as Shape[], changes: rowCount ?? 0 } // whoever wrote the SQL says what a row is
}

function convertColumn(rows: readonly Row[], name: string): void {
  const isAmount = name.endsWith(BIGINT_SUFFIX)
  for (const row of rows) {
    const text = row[name]
    if (typeof text === 'string') row[name] = isAmount ? BigInt(text) : Number(text)
  }
}
