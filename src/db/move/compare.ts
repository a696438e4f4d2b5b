/** Proves that a table is the same on both sides: counts and exact sums of every column, by account, range by range. */
import type { DatabaseSync } from 'node:sqlite'
import type { Postgres } from '../postgres/client.ts'
import { bindable, keyNames, type Range, rangesOf } from './source.ts'
import type { Column, Key, Table } from './tables.ts'

/** So many rows are added up at once: in much less time than a statement may take. */
const RANGE_ROWS = 5_000
/** Sums of upper and lower digits apart: no sum of a range exceeds 64 bits. */
const DIGITS = 1_000_000_000n
/** PostgreSQL gives these itself when a row is written. */
const GIVEN_ANEW: ReadonlySet<string> = new Set(['changed_at'])

/** Of one account in one range: how many rows, then two sums for each column that is an integer, else one. */
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
    let place = 0
    const text = sumsOf(table, range, () => `$${++place}`)
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

/** The same text for both sides but for the parameters: text is never longer in one than in the other. */
function sumsOf(table: Table, { above, upTo }: Range, parameter: () => string): string {
  const isBeside = (operator: '>' | '<=', key: Key) =>
    `(${keyNames(table)}) ${operator} (${key.map(parameter).join(', ')})`
  const conditions = [
    ...(above === undefined ? [] : [isBeside('>', above)]),
    ...(upTo === undefined ? [] : [isBeside('<=', upTo)]),
  ]
  const hasAccount = table.columns.some(({ name }) => name === 'account_id')
  const sums = ['count(*)', ...comparedColumns(table).flatMap(sumTexts)]
  return `select ${hasAccount ? 'account_id' : "''"} as sum_0,
    ${sums.map((sum, index) => `cast(${sum} as text) as sum_${index + 1}`).join(', ')}
    from "${table.name}" ${conditions.length === 0 ? '' : `where ${conditions.join(' and ')}`}
    ${hasAccount ? 'group by account_id order by account_id' : ''}`
}

function comparedColumns({ columns }: Table): readonly Column[] {
  return columns.filter(({ name }) => !GIVEN_ANEW.has(name))
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
