import assert from 'node:assert/strict'
import { test } from 'node:test'
import { plotCpu } from './plot.ts'

test('bars are as long as the ratio to the forwarder, of CPU time alone', () => {
  const svg = plotCpu([
    { figure: 'JSON: CPU µs per request', values: { nginx: 25, forwarder: 100, gateway: 200 }, digits: 1, ratio: 2 },
    { figure: 'JSON: p50 <ms>', values: { forwarder: 1, gateway: 9 }, digits: 1, ratio: 9 },
  ])
  const widths = [...svg.matchAll(/<rect x[^>]* width="([\d.]+)"/g)].map((match) => Number(match[1]))
  assert.equal(widths.length, 3)
  const [nginx = 0, forwarder = 0, gateway = 0] = widths
  assert.equal((nginx / forwarder).toFixed(2), '0.25')
  assert.equal((gateway / forwarder).toFixed(2), '2.00')
  assert.doesNotMatch(svg, /<ms>|p50/)
})
