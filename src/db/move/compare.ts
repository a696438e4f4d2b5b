/** Compares a table on both sides: counts and exact sums of every column, by account and range of keys. */
import type { DatabaseSync } from 'node:sqlite'
import type { Postgres } from '../postgres/client.ts'
import { bindable, type Column, type Key, keyNames, type Range, rangesOf, type Table } from './tables.ts'

/** Rows that one statement sums up, well within the statement time-out. */
const RANGE_ROWS = 5_000
/** Sums of upper and lower digits apart: no sum of a range exceeds 64 bits. */
const DIGITS = 1_000_000_000n
/** Columns that PostgreSQL's triggers set. */
const REASSIGNED: ReadonlySet<string> = new Set(['changed_at'])

/** Of an account in a range: count of rows, then two sums for each integer column, one for each other. */
type Sums = readonly [account: string, ...sums: string[]]

export interface Compared {
  readonly rows: number
  /** Of the columns that are amounts. */
  readonly amounts: ReadonlyMap<string, bigint>
}

/** Throws where they differ. */
export async function compareTable(database: DatabaseSync, postgres: Postgres, table: Table): Promise<Compared> {
  let rows = 0
  const amounts = new Map<string, bigint>()
  for (const range of rangesOf(database, table, RANGE_ROWS)) {
    const sqliteParameters = [range.above, range.upTo].flatMap((key) => (key === undefined ? [] : bindable(table, key)))
    const ours = database.prepare(sumsOf(table, range, () => '?')).all(...sqliteParameters)
    let position = 0
    const text = sumsOf(table, range, () => `$${++position}`)
    const theirs = await postgres.query<Record<string, string>>(text, [range.above ?? [], range.upTo ?? []].flat())
    const [here, there] = [ours.map(sumsIn), theirs.rows.map(sumsIn)]
    const different = here.find((sums, index) => sums.join() !== there[index]?.join()) ?? there[here.length]
    if (different !== undefined) throw new Error(differenceText(table, different))
    for (const sums of here) {
      rows += Number(sums[1])
      addAmounts(amounts, table, sums)
    }
  }
  return { rows, amounts }
}

function differenceText({ name }: Table, [account]: Sums): string {
  const whose = account === '' ? '' : ` of the account ${account}`
  return `The rows of ${name}${whose} are not the same on both sides. Empty the target and begin again.`
}

/** The query for both sides, which differs in its parameters only. */
function sumsOf(table: Table, { above, upTo }: Range, parameter: () => string): string {
  const compareKey = (operator: '>' | '<=', key: Key) =>
    `(${keyNames(table)}) ${operator} (${key.map(parameter).join(', ')})`
  const conditions = [
    ...(above === undefined ? [] : [compareKey('>', above)]),
    ...(upTo === undefined ? [] : [compareKey('<=', upTo)]),
  ]
  const hasAccount = table.columns.some(({ name }) => name === 'account_id')
  const sums = ['count(*)', ...comparedColumns(table).flatMap(sumTexts)]
  return `select ${hasAccount ? 'account_id' : "''"} as sum_0,
    ${sums.map((sum, index) => `cast(${sum} as text) as sum_${index + 1}`).join(', ')}
    from "${table.name}" ${conditions.length === 0 ? '' : `where ${conditions.join(' and ')}`}
    ${hasAccount ? 'group by account_id order by account_id' : ''}`
}

function comparedColumns({ columns }: Table): readonly Column[] {
  return columns.filter(({ name }) => !REASSIGNED.has(name))
}

function sumTexts({ name, type }: Column): readonly string[] {
  if (type !== 'INTEGER') return [`coalesce(sum(length("${name}")), 0)`]
  return [`coalesce(sum("${name}" / ${DIGITS}), 0)`, `coalesce(sum("${name}" % ${DIGITS}), 0)`]
}

function sumsIn(row: Record<string, unknown>): Sums {
  const [account = '', ...sums] = Object.values(row).map(String)
  return [account, ...sums]
}

function addAmounts(amounts: Map<string, bigint>, table: Table, sums: Sums): void {
  let index = 2
  for (const { name, type } of comparedColumns(table)) {
    if (type === 'INTEGER' && name.endsWith('_nano_usd')) {
      const sum = BigInt(sums[index] ?? 0) * DIGITS + BigInt(sums[index + 1] ?? 0)
      amounts.set(name, (amounts.get(name) ?? 0n) + sum)
    }
    index += type === 'INTEGER' ? 2 : 1
  }
}
