/**
 * `npm run bench:aborts`: compares the charges of aborted answers with the bill of a provider that counts exactly: 1,000
 * random aborts for each family, with a simulated clock and a fixed seed.
 */
import { type AbortBills, compareAborts } from '../test/support/providers/abort-bills.ts'
import { FAMILIES } from '../test/support/providers/abort-families.ts'
import { seeded } from '../test/support/providers/recordings.ts'

const ABORTS = 1000
const SEED = 20_261_123

const percent = (share: number): string => `${share >= 0 ? '+' : '−'}${Math.abs(share * 100).toFixed(1)} %`

function rowOf({ family, aborts, billed, charged, errors, free, all }: AbortBills): string {
  const at = (share: number): string => percent(errors[Math.floor(share * (errors.length - 1))] ?? Number.NaN)
  const near = errors.filter((error) => Math.abs(error) <= 0.2).length / errors.length
  const cells = [family, aborts, billed.toFixed(3), charged.toFixed(3), percent(charged / billed - 1)]
  return `| ${[...cells, `${at(0.05)} … ${at(0.95)}`, `${Math.round(near * 100)} %`, free, all].join(' | ')} |`
}

console.log(
  '| family | aborts | billed, $ | charged, $ | in total | 90 % of single calls | within 20 % | free | all of the hold |',
)
console.log('|---|---|---|---|---|---|---|---|---|')
for (const family of FAMILIES) console.log(rowOf(await compareAborts(family, ABORTS, seeded(SEED))))
