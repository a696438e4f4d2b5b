/**
 * Many rows as one statement: each column travels as an SQL array in its text form. Made here, from what a batch has in
 * hand: `pg` would look at every value anew, and the arrays would have to be built first.
 */
import type { PostgresClient, PostgresRows } from '../../../../db/postgres/client.ts'

/** A column that is written, and where its values come from. */
export interface Column<Row> {
  readonly name: string
  readonly type: 'text' | 'bigint'
  list(rows: readonly Row[]): string
}

type Maybe<Value> = Value | null | undefined

export function text<Row>(name: string, pick: (row: Row) => Maybe<string>): Column<Row> {
  return { name, type: 'text', list: (rows) => textList(rows, pick) }
}

/** Whole numbers; true is 1 and false is 0. */
export function whole<Row>(name: string, pick: (row: Row) => Maybe<number | bigint | boolean>): Column<Row> {
  return { name, type: 'bigint', list: (rows) => wholeList(rows, pick) }
}

function textList<Row>(rows: readonly Row[], pick: (row: Row) => Maybe<string>): string {
  let list = ''
  for (const row of rows) {
    const value = pick(row)
    if (list !== '') list += ','
    list += value === undefined || value === null ? 'NULL' : quoted(value)
  }
  return `{${list}}`
}

const SPECIAL = /["\\]/
const EVERY_SPECIAL = /["\\]/g

function quoted(value: string): string {
  return SPECIAL.test(value) ? `"${value.replace(EVERY_SPECIAL, '\\$&')}"` : `"${value}"`
}

function wholeList<Row>(rows: readonly Row[], pick: (row: Row) => Maybe<number | bigint | boolean>): string {
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

export interface Insertion<Row> {
  readonly table: string
  readonly columns: readonly Column<Row>[]
  /** What follows, such as `on conflict do nothing`. */
  readonly rest?: string
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

function namesOf(columns: readonly ColumnShape[]): string {
  return columns.map(({ name }) => name).join(', ')
}

/** One parameter for each column. */
export function listsOf<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): string[] {
  return columns.map((column) => column.list(rows))
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
