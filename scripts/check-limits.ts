/** `docs/limits.md` tells the numbers that are in the code: each file it names is there and has every cap of its row. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT, report, withoutComments } from './source-files.ts'

const PAGE = 'docs/limits.md'
/** Units of the page to what the code counts in; seconds and minutes are milliseconds there. */
const FACTORS: Readonly<Record<string, number>> = {
  KiB: 1024,
  Ki: 1024,
  MiB: 1024 ** 2,
  Mi: 1024 ** 2,
  s: 1000,
  min: 60_000,
}

/** `256 KiB beside the socket's own buffer`, `16 KiB, 100 fields`, `10 000, for 5 s`. */
function capsOf(cell: string): number[] {
  return [...cell.matchAll(/(\d{1,3}(?: \d{3})+|\d+)(?: (KiB|Ki|MiB|Mi|s|min)\b)?/g)].map(
    ([, digits = '', unit = '']) => Number(digits.replaceAll(' ', '')) * (FACTORS[unit] ?? 1),
  )
}

/** Every literal, and every product of literals: `256 * 1024`. */
function numbersIn(code: string): ReadonlySet<number> {
  const products = [...code.matchAll(/\b\d[\d_]*(?: \* \d[\d_]*)*/g)].map(([text]) =>
    text.split(' * ').reduce((product, factor) => product * Number(factor.replaceAll('_', '')), 1),
  )
  return new Set(products)
}

function faultsOf(row: string): string[] {
  const [, , caps = '', , where = ''] = row.split('|').map((cell) => cell.trim())
  const path = /`(src\/[^`]+)`/.exec(where)?.[1]
  if (path === undefined) return []
  if (!existsSync(join(ROOT, path))) return [`there is no ${path}`]
  const known = numbersIn(withoutComments(readFileSync(join(ROOT, path), 'utf8')))
  return capsOf(caps).flatMap((cap) => (known.has(cap) ? [] : [`${path} has no ${cap}, which '${caps}' says`]))
}

const lines = existsSync(join(ROOT, PAGE)) ? readFileSync(join(ROOT, PAGE), 'utf8').split('\n') : []
report(
  'limits',
  lines.flatMap((line, index) =>
    (line.startsWith('|') ? faultsOf(line) : []).map((fault) => `${PAGE}:${index + 1}: ${fault}`),
  ),
)
