import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Caller } from '../../domain/caller.ts'
import { GatewayError } from '../../domain/errors.ts'
import type { AccountId, KeyId } from '../../domain/ids.ts'
import { createLimiter, type Limiter } from './limiter.ts'

function caller(account: string, key = `key_${account}`, requestsPerMinute?: number): Caller {
  return {
    accountId: account as AccountId,
    keyId: key as KeyId,
    plan: 'plan',
    models: undefined,
    requestsPerMinute,
    scopes: new Set(),
  }
}

function limiter(limits: { perMinute?: number; inFlight?: number }, clock = () => 0): Limiter {
  return createLimiter({
    requestsPerMinute: () => limits.perMinute,
    maxInFlight: () => limits.inFlight ?? 1000,
    clock,
  })
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

test('a refusal for want of a place does not count against the rate', () => {
  const limits = limiter({ perMinute: 2, inFlight: 1 })
  const { release } = limits.admit(caller('a'))
  refused(() => limits.admit(caller('a')))
  release()
  assert.equal(limits.admit(caller('a')).requests?.remaining, 0)
})
