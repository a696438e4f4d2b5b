/**
 * Many rows as one statement: each column travels as an SQL array in its text form. Made here, from what a batch has in
 * hand: `pg` would look at every value again, and the arrays would have to be built first.
 */
import type { PostgresClient, PostgresRows } from '../../../../db/postgres/client.ts'
import { type Column, type ColumnValue, type Insertion, namesOf } from '../rows.ts'

function textList<Row>(rows: readonly Row[], pick: (row: Row) => ColumnValue): string {
  let list = ''
  for (const row of rows) {
    const value = pick(row)
    if (list !== '') list += ','
    list += value === undefined || value === null ? 'NULL' : quoted(String(value))
  }
  return `{${list}}`
}

const SPECIAL = /["\\]/
const EVERY_SPECIAL = /["\\]/g

function quoted(value: string): string {
  return SPECIAL.test(value) ? `"${value.replace(EVERY_SPECIAL, '\\$&')}"` : `"${value}"`
}

/** True is 1 and false is 0. */
function wholeList<Row>(rows: readonly Row[], pick: (row: Row) => ColumnValue): string {
  let list = ''
  for (const row of rows) {
    const value = pick(row)
    if (list !== '') list += ','
    list += value === undefined || value === null ? 'NULL' : String(typeof value === 'boolean' ? Number(value) : value)
  }
  return `{${list}}`
}

type ColumnShape = Pick<Column<never>, 'name' | 'type'>

/** `unnest($1::text[], $2::bigint[]) as name (account_id, number)`. @param first The number of the first parameter. */
export function rowsOf(columns: readonly ColumnShape[], name: string, first = 1): string {
  const parameters = columns.map(({ type }, index) => `$${first + index}::${type}[]`)
  return `unnest(${parameters.join(', ')}) as ${name} (${namesOf(columns)})`
}

export function insertion<Row>(shape: Insertion<Row>): RowsStatement<Row> {
  return { columns: shape.columns, sql: insertInto(shape, 1) }
}

/** The parameters of the second follow those of the first, and so on. */
export function insertionsTogether(insertions: readonly InsertionShape[]): string {
  let first = 1
  const texts = insertions.map((each) => {
    const text = insertInto(each, first)
    first += each.columns.length
    return text
  })
  const last = texts.pop() ?? ''
  return `with ${texts.map((text, index) => `part_${index} as (${text})`).join(', ')} ${last}`
}

interface InsertionShape extends Omit<Insertion<never>, 'columns'> {
  readonly columns: readonly ColumnShape[]
}

function insertInto({ table, columns, rest = '' }: InsertionShape, first: number): string {
  return `insert into ${table} (${namesOf(columns)}) select * from ${rowsOf(columns, 'given', first)} ${rest}`
}

/** One parameter for each column. */
export function listsOf<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): string[] {
  return columns.map(({ type, value }) => (type === 'text' ? textList(rows, value) : wholeList(rows, value)))
}

/** A statement whose parameters are these columns. */
export interface RowsStatement<Row> {
  readonly sql: string
  readonly columns: readonly Column<Row>[]
}

export function send<Row, Result = never>(
  client: PostgresClient,
  { sql, columns }: RowsStatement<Row>,
  rows: readonly Row[],
): Promise<PostgresRows<Result>> {
  return client.query<Result>(sql, listsOf(columns, rows))
}
