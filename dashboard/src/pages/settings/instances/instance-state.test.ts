import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Instance, newestReport, stateOf, versionsText } from './instance-state.ts'

const NEWEST = Date.UTC(2020, 0, 1)

function instance(over: Partial<Instance> = {}): Instance {
  const seen = new Date(NEWEST).toISOString()
  const vitals = { load: 0.1, lag_ms: 1, active_requests: 0 }
  const rest = { version: '0.1.0', role: 'all', address: 'http://a', started_at: seen, seen_at: seen }
  return { id: 'ins_1', object: 'instance', ...rest, ...vitals, ...over }
}

test('who takes no connections drains; who missed reports is silent, whatever the browser’s clock says', () => {
  const late = instance({ seen_at: new Date(NEWEST - 13_000).toISOString(), address: null })
  const drains = instance({ address: null })
  const newest = newestReport([late, drains, instance()])
  assert.equal(newest, NEWEST)
  assert.deepEqual(
    [late, drains, instance()].map((each) => stateOf(each, newest)),
    ['silent', 'draining', 'running'],
  )
})

test('versions are told where there are several, the most frequent first', () => {
  assert.equal(versionsText([instance(), instance()]), undefined)
  const mixed = [instance(), instance({ version: '0.2.0' }), instance({ version: '0.2.0' })]
  assert.equal(versionsText(mixed), '2 processes run 0.2.0, 1 process runs 0.1.0')
})
