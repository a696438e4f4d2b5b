import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limitedCaller as caller, limitedCaller, planLimits } from '../../../test/support/limits.ts'
import { GatewayError } from '../../domain/errors.ts'
import type { Caller } from '../../domain/identity/caller.ts'
import type { RequestEntry, RequestGate } from '../../domain/limits.ts'
import {
  type Admission,
  createBuckets,
  createLimiter,
  createRequestGate,
  MAX_LIMITED,
  type PlanLimits,
} from './limiter.ts'

interface TestLimiter {
  admit(caller: Caller, worstTokens?: number): Admission
}

function limiter(limits: { perMinute?: number; tokens?: number; inFlight?: number }, clock = () => 0): TestLimiter {
  const made = createLimiter({
    limitsOf: () => ({
      requestsPerMinute: limits.perMinute,
      tokensPerMinute: limits.tokens,
      maxInFlight: limits.inFlight ?? 1000,
    }),
    clock,
  })
  return { admit: (who, worst = 1) => made.admit(who, () => worst) }
}

const refused = (action: () => unknown): GatewayError => {
  try {
    action()
  } catch (error) {
    assert.ok(error instanceof GatewayError)
    return error
  }
  throw new assert.AssertionError({ message: 'it was admitted' })
}

test('RL-2: limits of accounts are apart, and the tighter of account and key is told', () => {
  const limits = limiter({ perMinute: 3 })
  assert.equal(limits.admit(caller('a')).requests?.remaining, 2)
  assert.equal(limits.admit(caller('b')).requests?.remaining, 2)
  assert.equal(limits.admit(caller('a', 'key_1', 1)).requests?.remaining, 0)
  const error = refused(() => limits.admit(caller('a', 'key_1', 1)))
  assert.equal(error.code, 'rate_limit_exceeded')
  assert.equal(error.headers?.['x-ratelimit-limit-requests'], '1')
  assert.equal(limits.admit(caller('a')).requests?.remaining, 0, 'a refusal by the key costs the account nothing')
})

test('RL-3: whoever waits as long as the refusal says is admitted', () => {
  let now = 0
  const limits = limiter({ perMinute: 2 }, () => now)
  limits.admit(caller('a'))
  limits.admit(caller('a'))
  const { retryAfterMs = 0 } = refused(() => limits.admit(caller('a')))
  now += retryAfterMs
  assert.doesNotThrow(() => limits.admit(caller('a')))
})

test('R-A9: a place for a request under way is given back once, however often it is released', () => {
  const limits = limiter({ inFlight: 2 })
  const first = limits.admit(caller('a'))
  limits.admit(caller('a'))
  assert.equal(refused(() => limits.admit(caller('a'))).retryAfterMs, 1000)
  assert.doesNotThrow(() => limits.admit(caller('b')))
  first.release()
  first.release()
  limits.admit(caller('a'))
  refused(() => limits.admit(caller('a')))
})

test('a refusal for want of a place does not count against the rate [limit: in-flight]', () => {
  const limits = limiter({ perMinute: 2, inFlight: 1 })
  const { release } = limits.admit(caller('a'))
  refused(() => limits.admit(caller('a')))
  release()
  assert.equal(limits.admit(caller('a')).requests?.remaining, 0)
})

test('R-E3: tokens are reserved at admission and corrected at the end', () => {
  const limits = limiter({ tokens: 1000 })
  const first = limits.admit(caller('a'), 600)
  assert.deepEqual(first.tokens, { limit: 1000, remaining: 400, resetMs: 36_000 })
  assert.match(refused(() => limits.admit(caller('a'), 500)).message, /1000 tokens a minute/)
  first.settle(100)
  first.settle(0)
  assert.equal(limits.admit(caller('a'), 500).tokens?.remaining, 400)
})

test('a request that used more than was reserved owes the rest', () => {
  const limits = limiter({ tokens: 1000 })
  limits.admit(caller('a'), 100).settle(900)
  assert.equal(refused(() => limits.admit(caller('a'), 200)).headers?.['x-ratelimit-remaining-tokens'], '100')
})

test('a reservation above the limit is admitted to a rested account, and empties it', () => {
  const limits = limiter({ tokens: 1000 })
  const large = limits.admit(caller('a'), 5000)
  assert.equal(large.tokens?.remaining, 0)
  refused(() => limits.admit(caller('a'), 1))
  large.settle(300)
  assert.equal(limits.admit(caller('a'), 700).tokens?.remaining, 0)
})

test('a refusal for tokens does not count as a request [limit: tokens-per-minute]', () => {
  const limits = limiter({ perMinute: 2, tokens: 100 })
  const first = limits.admit(caller('a'), 100)
  refused(() => limits.admit(caller('a'), 100))
  first.settle(0)
  assert.equal(limits.admit(caller('a'), 100).requests?.remaining, 0)
})

test('beyond 100 000 the rested are forgotten, then those seen first, and never who has something under way [limit: rate-buckets]', () => {
  const buckets = createBuckets(() => 1_000)
  const [busy, owing, rested] = [buckets.of('busy'), buckets.of('owing'), buckets.of('rested')]
  busy.inFlight = 1
  owing.requestsRestedAt = 2_000
  rested.requestsRestedAt = 1_000
  const others = (from: number, to: number): void => {
    for (let id = from; id < to; id++) buckets.of(`a${id}`).requestsRestedAt = 2_000
  }
  others(3, MAX_LIMITED)
  assert.equal(buckets.of('rested'), rested, 'there is still room')
  others(MAX_LIMITED, MAX_LIMITED + 1)
  assert.equal(buckets.of('owing'), owing)
  assert.notEqual(buckets.of('rested'), rested, 'it had rested')
  others(MAX_LIMITED + 1, MAX_LIMITED + 10)
  assert.equal(buckets.of('busy'), busy)
  assert.notEqual(buckets.of('owing'), owing, 'it was seen first')
})

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
