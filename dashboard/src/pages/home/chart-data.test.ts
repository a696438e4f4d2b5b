import assert from 'node:assert/strict'
import { test } from 'node:test'
import { causesOf } from './causes.ts'
import { amountsOf, bucketsOf, changeOf, latencyPoints, seriesOf, usualFirstByte } from './chart-data.ts'
import { failureText, healthFromModels, healthFromStates } from './provider-health.ts'
import { rejectedText } from './rejected-text.ts'

const PERIOD = { start: '2026-11-20T00:00:00.000Z', end: '2026-11-22T00:00:00.000Z' }
const row = (at: string, key: string, requests: number) => ({
  at,
  key,
  requests,
  prompt_tokens: 10 * requests,
  completion_tokens: requests,
  cost_usd: requests / 10,
})
const ROWS = [row(PERIOD.start, 'a', 1), row(PERIOD.start, 'b', 2), row('2026-11-21T00:00:00.000Z', '', 4)]

test('days without a request are there, and tokens are those of all models', () => {
  const now = Date.parse('2026-11-21T23:30:00.000Z')
  assert.equal(bucketsOf(PERIOD, { interval: 'hour', zone: 'utc', now }).length, 48)
  const early = { interval: 'hour', zone: 'utc', now: Date.parse(PERIOD.start) + 1 } as const
  assert.equal(bucketsOf(PERIOD, early).length, 1, 'what has not begun is left out')
  const { requests, tokens, cost } = amountsOf(ROWS, PERIOD, { interval: 'day', zone: 'utc', now })
  assert.deepEqual(requests, [
    { at: PERIOD.start, label: 'Nov 20', values: { a: 1, b: 2 } },
    { at: '2026-11-21T00:00:00.000Z', label: 'Nov 21', values: { '': 4 } },
  ])
  assert.deepEqual(tokens[0]?.values, { input: 30, output: 3 })
  assert.deepEqual(cost[0]?.values, { a: 0.1, b: 0.2 })
  assert.deepEqual(
    seriesOf(ROWS, ['b', 'gone']).map(({ label }) => label),
    ['b', 'a', 'Other models'],
  )
})

test('the usual first byte is the median of the hours by their requests; hours without a stream do not count', () => {
  const hour = (at: string, p50: number | null, requests: number) => ({
    at,
    first_byte_ms_p50: p50,
    first_byte_ms_p95: p50,
    requests,
  })
  const hours = [
    hour('2026-11-20T01:00:00.000Z', 900, 1),
    hour('2026-11-20T02:00:00.000Z', 100, 5),
    hour('2026-11-20T03:00:00.000Z', null, 99),
  ]
  assert.equal(usualFirstByte(hours), 100)
  assert.equal(usualFirstByte([]), undefined)
  const points = latencyPoints(hours, PERIOD, { zone: 'utc', now: Date.parse(PERIOD.end) })
  assert.deepEqual(points[1], {
    at: '2026-11-20T01:00:00.000Z',
    label: 'Nov 20, 01:00',
    values: { p50: 900, p95: 900 },
  })
  assert.equal(points[4]?.values.p50, undefined)
})

test('a change, where it can be told', () => {
  assert.equal(changeOf(3, 2), 0.5)
  assert.equal(changeOf(3, 0), undefined)
})

test('providers in words, from models and from what operators are told', () => {
  const served = (healthy: boolean) => ({
    providers: [
      { name: 'north', healthy },
      { name: 'south', healthy: true },
    ],
  })
  const percent = (ratio: number) => `${ratio * 100}%`
  const models = [served(true), served(false), { ...served(false), alias_of: 'x' }]
  assert.deepEqual(healthFromModels(models, { uses: undefined, percent }), [
    { name: 'north', status: 'degraded', detail: '1 of 2 models paused', hours: undefined },
    { name: 'south', status: 'healthy', detail: '2 models', hours: undefined },
  ])
  const hours = [{ at: '2026-11-22T14:00:00Z', requests: 4, failed: 1 }]
  const uses = [{ key: 'south', requests: 4, failed: 1, hours }]
  assert.deepEqual(healthFromModels([served(false)], { uses, percent }), [
    { name: 'north', status: 'open', detail: '1 of 1 model paused', hours: [] },
    { name: 'south', status: 'degraded', detail: '1 model, 25% of your requests failed', hours },
  ])
})

test('what operators are told of a provider has the last failure, and what the process waits for', () => {
  const failure = { reason: 'Key refused (401)', at: '2026-11-22T14:05:00Z' }
  const state = (calls: number, failures: number) => ({
    name: `n${calls}`,
    status: 'healthy' as const,
    problem: null,
    last_24h: { calls, failures, last_failure: null, hours: [{ at: '2026-11-22T14:00:00Z', calls, failures }] },
    deployments: [{ breaker: 'open' }, { breaker: 'closed' }],
    credentials: [{ cooling: [{}] }],
  })
  const quiet = { ...state(0, 0), deployments: [], credentials: [] }
  const well = { ...state(100, 1), deployments: [], credentials: [] }
  const refused = { ...state(5, 5), status: 'down' as const, problem: 'Key refused (401)' }
  const shown = healthFromStates(
    [quiet, well, { ...refused, last_24h: { ...refused.last_24h, last_failure: failure } }],
    (ratio) => `${ratio * 100}%`,
  )
  assert.deepEqual(
    shown.map(({ status, detail, lastFailure, note }) => [status, detail, lastFailure, note]),
    [
      ['unknown', 'in the last 24 hours', undefined, undefined],
      ['healthy', '100 calls, 1% failed', undefined, undefined],
      [
        'down',
        '5 calls, 100% failed',
        { ...failure, isCurrent: true },
        'This process: 1 of 2 models paused, 1 of 1 credential cooling down',
      ],
    ],
  )
  assert.deepEqual(shown[2]?.hours, [{ at: '2026-11-22T14:00:00Z', requests: 5, failed: 5 }])
})

test('failed requests are grouped by cause, the newest first', () => {
  const row = (model: string, outcome: string, status = 503) => ({
    status: 'failed',
    provider: 'north',
    model,
    attempt_log: [{ provider: 'north', outcome, status }],
  })
  const causes = causesOf([row('a', 'credentials', 401), row('a', 'overloaded'), row('b', 'credentials', 401)])
  assert.deepEqual(
    causes.map(({ text, count, models }) => [text, count, models]),
    [
      ['north rejected our credentials (401)', 2, ['a', 'b']],
      ['north was overloaded (503)', 1, ['a']],
    ],
  )
  assert.equal(causesOf([{ ...row('a', ''), attempt_log: [] }])[0]?.text, 'north: cause unknown')
})

test('what arrived before the first request is counted by cause', () => {
  const rejected = (status: number, code: string) => ({ status, code })
  const page = (...data: ReturnType<typeof rejected>[]) => ({ data, has_more: false })
  assert.equal(rejectedText(page()), undefined)
  const key = rejected(401, 'invalid_credential')
  assert.equal(rejectedText(page(key)), '1 request arrived and was rejected: 401 invalid credential')
  assert.equal(
    rejectedText(page(key, rejected(402, 'insufficient_credit'), key)),
    '3 requests arrived and were rejected: 401 invalid credential (2), 402 insufficient credit (1)',
  )
})

test('why a request failed is told from its last call', () => {
  const call = (outcome: string, status: number | null) => ({ provider: 'north', outcome, status })
  assert.equal(failureText([call('rate_limited', 429), call('overloaded', 503)]), 'north was overloaded (503)')
  assert.equal(failureText([call('cut', 200)]), 'north broke off')
  assert.equal(failureText([]), undefined)
})
