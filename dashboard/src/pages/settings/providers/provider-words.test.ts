import assert from 'node:assert/strict'
import { test } from 'node:test'
import { breakerText, bySeverity, countsText, failedText, hasNews, recentText, untilText } from './provider-words.ts'
import type { Deployment, Provider } from './queries.ts'

const NOW = Date.UTC(2026, 10, 22, 12)
const at = (ms: number) => new Date(NOW + ms).toISOString()

function deployment(over: Partial<Deployment> = {}): Deployment {
  return {
    model: 'm',
    breaker: 'closed',
    open_until: null,
    failures: 0,
    in_flight: 0,
    first_event_ms: null,
    whole_answer_ms: null,
    calls: 40,
    failed_calls: 0,
    last_failure: null,
    ...over,
  }
}

function provider(name: string, status: Provider['status'], over: Partial<Provider> = {}): Provider {
  const busy = { max_in_flight: null, in_flight: 0, queued: 0 }
  const recent = { calls: 0, failures: 0, last_answer_at: null, last_failure: null, hours: [] }
  const rest = { base_url: '', cost_unbilled_usd: 0, credentials: [], deployments: [], problem: null, last_24h: recent }
  return { id: name, object: 'provider', name, status, source: 'configuration', ...busy, ...rest, ...over }
}

test('what is down comes first, and counts leave out what there is none of', () => {
  const all = [provider('a', 'healthy'), provider('b', 'down'), provider('c', 'degraded'), provider('d', 'healthy')]
  assert.deepEqual(
    bySeverity(all).map(({ name }) => name),
    ['b', 'c', 'a', 'd'],
  )
  assert.equal(countsText(all), '1 down, 1 degraded, 2 healthy')
  assert.equal(countsText([provider('a', 'healthy')]), '1 healthy')
})

test('a breaker says why it is open and when that ends', () => {
  assert.equal(breakerText(deployment(), NOW), undefined)
  const open = deployment({ breaker: 'open', failures: 5, open_until: at(23_400) })
  assert.equal(breakerText(open, NOW), 'Breaker open after 5 failures in a row, probed in 24 s')
  const half = deployment({ breaker: 'half_open', failures: 1 })
  assert.equal(breakerText(half, NOW), 'Breaker half-open: one test request after 1 failure in a row')
})

test('a time that is over is the next request’s, a far one is told in minutes', () => {
  assert.equal(untilText(at(-1), NOW), 'with the next request')
  assert.equal(untilText(at(180_000), NOW), 'in 3 min')
})

test('failures are told with their share of the calls', () => {
  assert.equal(failedText(deployment()), '0 of 40')
  assert.equal(failedText(deployment({ failed_calls: 2 })), '2 of 40 (5%)')
})

test('calls of other processes, and before a restart, count for 24 hours', () => {
  const recent = { calls: 40, failures: 2, last_answer_at: at(-1), last_failure: null, hours: [] }
  const called = provider('a', 'healthy', { last_24h: recent })
  assert.deepEqual([hasNews(called), recentText(called)], [true, '2 of 40 (5%)'])
})

test('a credential that cools is news of a provider that was not called', () => {
  assert.equal(hasNews(provider('a', 'healthy')), false)
  const cooling = [{ number: 1, in_flight: 0, cooling: [{ model: '*', until: at(1) }] }]
  assert.equal(hasNews(provider('a', 'degraded', { credentials: cooling })), true)
})
