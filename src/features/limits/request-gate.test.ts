import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limitedCaller, planLimits } from '../../../test/support/limits.ts'
import { GatewayError } from '../../domain/errors.ts'
import type { RequestEntry, RequestGate } from '../../domain/limits.ts'
import type { PlanLimits } from './limiter.ts'
import { createRequestGate } from './request-gate.ts'

const MINUTE = 60_000

function gateOf(limits: Partial<PlanLimits>): { gate: RequestGate; wait: (ms: number) => void } {
  let now = 1_000
  const gate = createRequestGate({ limitsOf: () => planLimits(limits), clock: () => now })
  return {
    gate,
    wait(ms) {
      now += ms
    },
  }
}

/** As many entries as there are, at most `most`, and the error that ended them. */
function enterAll(
  enter: () => RequestEntry,
  most: number,
): { entries: RequestEntry[]; error: GatewayError | undefined } {
  const entries: RequestEntry[] = []
  try {
    while (entries.length < most) entries.push(enter())
  } catch (error) {
    assert.ok(error instanceof GatewayError)
    assert.equal(error.code, 'rate_limit_exceeded')
    assert.ok((error.retryAfterMs ?? 0) > 0)
    return { entries, error }
  }
  return { entries, error: undefined }
}

test('requests a minute are charged before the body is read, for account and key', () => {
  const { gate, wait } = gateOf({ requestsPerMinute: 20 })
  const caller = limitedCaller('acc')
  const { entries, error } = enterAll(() => gate.enter(caller, true), 100)
  assert.equal(entries.length, 20)
  assert.match(error?.message ?? '', /limit of 20 requests/)
  assert.equal(error?.headers?.['x-ratelimit-remaining-requests'], '0')
  assert.equal(enterAll(() => gate.enter(caller, false), 100).entries.length, 100) // other routes are not metered
  wait(MINUTE / 20)
  assert.equal(enterAll(() => gate.enter(caller, true), 100).entries.length, 1)
  const ofKey = limitedCaller('other', 'key', 5)
  assert.equal(enterAll(() => gate.enter(ofKey, true), 100).entries.length, 5)
})

test('an error that is no rejection gives the request back, once', () => {
  const { gate } = gateOf({ requestsPerMinute: 20 })
  const caller = limitedCaller('acc')
  const { entries } = enterAll(() => gate.enter(caller, true), 20)
  for (const entry of [...entries, ...entries]) entry.failed(false)
  assert.equal(enterAll(() => gate.enter(caller, true), 100).entries.length, 20)
})

test('rejected requests are counted apart: 60 a minute, or a tenth of what a key may [limit: rejected]', () => {
  for (const [requestsPerMinute, rejected] of [
    [20, 60],
    [6_000, 600],
    [undefined, 600],
  ] as const) {
    const { gate, wait } = gateOf({ requestsPerMinute })
    const caller = limitedCaller('acc', 'key_1')
    const rejectAll = () => {
      let count = 0
      for (; count < 5_000; count++) {
        const { entries } = enterAll(() => gate.enter(caller, true), 1)
        if (entries.length === 0) break
        entries[0]?.failed(true)
      }
      return count
    }
    assert.equal(rejectAll(), rejected)
    assert.match(enterAll(() => gate.enter(caller, false), 1).error?.message ?? '', /were rejected/)
    assert.equal(enterAll(() => gate.enter(limitedCaller('acc', 'key_2'), true), 1).entries.length, 1)
    wait(MINUTE)
    assert.equal(rejectAll(), rejected)
  }
})

test('two keys of an account that use up their rejections use up those of the account', () => {
  const { gate } = gateOf({ requestsPerMinute: 20 })
  for (const key of ['key_1', 'key_2']) {
    for (let at = 0; at < 60; at++) gate.enter(limitedCaller('acc', key), true).failed(true)
  }
  assert.ok(enterAll(() => gate.enter(limitedCaller('acc', 'key_3'), true), 1).error)
  assert.equal(enterAll(() => gate.enter(limitedCaller('unknown'), true), 1).entries.length, 1)
})

test('no more bodies of an account are read at once than it may have requests under way', () => {
  const { gate } = gateOf({ maxInFlight: 8 })
  const caller = limitedCaller('acc')
  const { entries, error } = enterAll(() => gate.enter(caller, true), 100)
  assert.equal(entries.length, 8)
  assert.match(error?.message ?? '', /8 requests/)
  entries[0]?.read()
  entries[0]?.read()
  entries[0]?.failed(true)
  assert.equal(enterAll(() => gate.enter(caller, true), 100).entries.length, 1)
})

test('what is remembered is bounded: those at rest are forgotten, those with bodies under way are not [limit: gate-memory]', () => {
  const { gate } = gateOf({ requestsPerMinute: 1, maxInFlight: 1 })
  const reading = gate.enter(limitedCaller('reading'), true)
  for (let at = 0; at < 50_001; at++) gate.enter(limitedCaller(`acc_${at}`), true).failed(false)
  assert.ok(enterAll(() => gate.enter(limitedCaller('reading'), true), 1).error)
  reading.failed(false)
  assert.equal(enterAll(() => gate.enter(limitedCaller('reading'), true), 1).error, undefined)
})
