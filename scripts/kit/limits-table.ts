/**
 * Parses and checks `docs/limits.md`. Each row has a limit: what it limits, its value, its place in the code, and its test.
 * The last cell is `` `id` in `path/of.test.ts` ``, and that file has a test with `[limit: id]` in its name.
 */
import { type SourceFile, withoutComments } from '../source-files.ts'

export interface LimitRow {
  /** Line number in the page, from 1. */
  readonly line: number
  readonly what: string
  readonly caps: string
  /** Source files that contain the numbers. */
  readonly files: readonly string[]
  readonly id: string | undefined
  readonly provenBy: string | undefined
}

/** Returns the text of a project file; undefined if it does not exist. */
export type ReadText = (path: string) => string | undefined

const FIRST_CELLS = '| what | cap |'

export function limitRows(page: string): LimitRow[] {
  const rows: LimitRow[] = []
  let isInside = false
  for (const [index, line] of page.split('\n').entries()) {
    if (line.startsWith(FIRST_CELLS)) isInside = true
    else if (!line.startsWith('|')) isInside = false
    else if (isInside && !line.startsWith('|---')) rows.push(rowOf(line, index + 1))
  }
  return rows
}

function rowOf(text: string, line: number): LimitRow {
  const [, what = '', caps = '', , where = '', proof = ''] = text.split('|').map((cell) => cell.trim())
  const [, id, provenBy] = /^`([a-z0-9-]+)` in `([^`]+\.test\.ts)`$/.exec(proof) ?? []
  return { line, what, caps, files: [...where.matchAll(/`(src\/[^`]+)`/g)].map(([, path = '']) => path), id, provenBy }
}

/** Factors from units of the page to those of the code, where times are milliseconds. */
const FACTORS: Readonly<Record<string, number>> = {
  KiB: 1024,
  Ki: 1024,
  MiB: 1024 ** 2,
  Mi: 1024 ** 2,
  s: 1_000,
  min: 60_000,
  h: 3_600_000,
  days: 86_400_000,
  '%': 0.01,
}

/** `256 KiB beside the socket's own buffer`, `16 KiB, 100 fields`, `10 000, for 5 s`, `85 %`. */
export function capsOf(cell: string): number[] {
  return [...cell.matchAll(/(\d{1,3}(?: \d{3})+|\d+)(?: (KiB|Ki|MiB|Mi|s|min|h|days|%)(?![A-Za-z]))?/g)].map(
    ([, digits = '', unit = '']) => Number(digits.replaceAll(' ', '')) * (FACTORS[unit] ?? 1),
  )
}

/** Returns every literal, and every product of literals such as `256 * 1024`. */
function numbersIn(code: string): ReadonlySet<number> {
  const products = [...code.matchAll(/\b\d[\d_]*(?:\.\d+)?(?: \* \d[\d_]*)*/g)].map(([text]) =>
    text.split(' * ').reduce((product, factor) => product * Number(factor.replaceAll('_', '')), 1),
  )
  return new Set(products)
}

/** Returns faults of a row's numbers: each must be in a named file. */
export function numberFaults({ caps, files }: LimitRow, read: ReadText): string[] {
  const numbers = capsOf(caps)
  const gone = files.filter((path) => read(path) === undefined).map((path) => `there is no ${path}`)
  if (gone.length > 0) return gone
  if (numbers.length > 0 && files.length === 0) return [`name the file below src/ that has '${caps}'`]
  const known = files.map((path) => numbersIn(withoutComments(read(path) ?? '')))
  return numbers
    .filter((number) => !known.some((numbersOfFile) => numbersOfFile.has(number)))
    .map((number) => `${files.join(', ')} has no ${number}, which '${caps}' says`)
}

/** Returns faults of a row's test: the named file must have a test with its ID. */
export function proofFaults({ what, id, provenBy }: LimitRow, read: ReadText): string[] {
  if (id === undefined || provenBy === undefined) {
    return [`'${what}' has no proof: end its row with "\`an-id\` in \`path/of.test.ts\`"`]
  }
  const text = read(provenBy)
  if (text === undefined) return [`'${what}': there is no ${provenBy}`]
  const name = new RegExp(`\\b(?:test|\\w+Test)\\(\\s*(['"\`]).*\\[limit: ${id}\\]`)
  return name.test(text) ? [] : [`'${what}': no test of ${provenBy} has [limit: ${id}] in its name`]
}

/** Returns IDs of more than one row. */
export function repeatedIds(rows: readonly LimitRow[]): string[] {
  const ids = rows.flatMap(({ id }) => (id === undefined ? [] : [id]))
  return [...new Set(ids.filter((id, index) => ids.indexOf(id) !== index))]
}

/** Constants that are no limits: retries of transactions, ranges of numbers, sizes of batches. */
const NO_LIMITS: ReadonlySet<string> = new Set([
  'src/db/move/move.ts',
  'src/features/credit/ledger/postgres/store.ts',
  'src/features/credit/ledger/sqlite/program.ts',
  'src/features/idempotency/rows.ts',
  'src/features/keys/shapes.ts',
])
/** Limits of providers, files and commands are documented on their own pages. */
const ELSEWHERE = /^src\/(?:protocols|providers|config|cli)\//

/** Constants named `MAX_…` in a product file that no row names. */
export function missingRows(rows: readonly LimitRow[], files: readonly SourceFile[]): string[] {
  const named = new Set(rows.flatMap((row) => row.files))
  return files
    .filter(({ path }) => !named.has(path) && !NO_LIMITS.has(path) && !ELSEWHERE.test(path))
    .flatMap(({ path, text }) =>
      [...text.matchAll(/^(?:export )?const (MAX_[A-Z_]+) = /gm)].map(
        ([, name = '']) => `${path}: ${name} is in no row of docs/limits.md`,
      ),
    )
}
