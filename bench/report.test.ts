import assert from 'node:assert/strict'
import { test } from 'node:test'
import { plotCpu } from './plot.ts'
import { brokenVerdicts, FORWARDER, type Row, ratioOf, TURNPIKE, tableLines, withTolerance } from './report.ts'

const CPU: Row = {
  figure: 'JSON: CPU µs per request',
  values: { nginx: 25, [FORWARDER]: 100, [TURNPIKE]: 200, slow: 9000 },
  digits: 1,
}
const LATENCY: Row = { figure: 'JSON: p50 <ms>', values: { [FORWARDER]: 0, [TURNPIKE]: 9 }, digits: 1 }
const NAMES = ['nginx', FORWARDER, TURNPIKE, 'slow']

test('bars are as long as the ratio to the forwarder, at most ten, of CPU time alone', () => {
  const svg = plotCpu([CPU, LATENCY], NAMES)
  const widths = [...svg.matchAll(/<rect x[^>]* width="([\d.]+)"/g)].map((match) => Number(match[1]))
  assert.equal(widths.length, NAMES.length)
  const bare = widths[1] ?? 0
  assert.deepEqual(
    widths.map((width) => (width / bare).toFixed(1)),
    ['0.3', '1.0', '2.0', '10.0'],
  )
  assert.match(svg, /slow 9000\.0, 90 ×/)
  assert.doesNotMatch(svg, /<ms>|p50/)
})

test('the table has a column for each target, a dash for what was not measured, and ratios where there is one', () => {
  const [head = '', cpu = '', latency = ''] = tableLines([CPU, LATENCY], NAMES)
  const cells = (line: string): string[] => line.trim().split(/ {2,}/)
  assert.deepEqual(cells(head), [...NAMES, 'Turnpike SQLite / forwarder'])
  assert.deepEqual(cells(cpu), [CPU.figure, '25.0', '100.0', '200.0', '9000.0', '2.00 ×'])
  assert.deepEqual(cells(latency), [LATENCY.figure, '–', '0.0', '9.0', '–'])
  assert.equal(ratioOf({ ...CPU, values: { [FORWARDER]: 100 } }), undefined)
})

test('the guard fails above 115 % of a budget, and for what could not be measured', () => {
  const verdict = (figure: string, measured: number) => ({ figure, measured, budget: 2 })
  const verdicts = [verdict('within', 2.29), verdict('above', 2.31), verdict('failed', Number.NaN)]
  const broken = brokenVerdicts(withTolerance(verdicts)).map(({ figure }) => figure)
  assert.deepEqual(broken, ['above', 'failed'])
  assert.equal(brokenVerdicts(verdicts).length, 3)
})
