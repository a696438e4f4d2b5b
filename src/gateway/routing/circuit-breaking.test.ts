import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { ProviderFailure } from '../../protocols/protocol.ts'
import {
  type Breaker,
  breakerState,
  closeOnFirstEvent,
  cooldownOf,
  countFailure,
  createBreaker,
  createCredentialHealth,
  createRetryBudget,
  earn,
  endCooldowns,
  endTrial,
  FORGET_MS,
  isAboutCredential,
  MAX_COOLDOWN_MS,
  MAX_OPEN_MS,
  MIN_REPEATS,
  mayRepeat,
  mayTry,
  REFUSED_MS,
  type Role,
  refill,
  resetFailures,
  roleNow,
  spend,
  startCooldown,
  type Trial,
} from './circuit-breaking.ts'

const SETTINGS = { failures: 5, openMs: 30_000 }

function begin(breaker: Breaker, now: number, forced?: Role): Trial {
  const role = forced ?? roleNow(breaker, now) ?? assert.fail('it is left alone')
  if (role === 'probe') breaker.probing = true
  return { role, epoch: breaker.epoch }
}

function fail(breaker: Breaker, now: number, trial = begin(breaker, now)): void {
  countFailure(breaker, trial, now, SETTINGS)
  endTrial(breaker, trial)
}

function succeed(breaker: Breaker, now: number, trial = begin(breaker, now)): void {
  closeOnFirstEvent(breaker, trial, now)
  resetFailures(breaker, trial)
  endTrial(breaker, trial)
}

function opened(now = 0): Breaker {
  const breaker = createBreaker()
  for (let i = 0; i < 5; i++) fail(breaker, now)
  return breaker
}

test('UP-4: five consecutive failures open the breaker for 30 s, and an answer in between resets the count', () => {
  const breaker = createBreaker()
  for (let i = 0; i < 4; i++) fail(breaker, 0)
  succeed(breaker, 0)
  for (let i = 0; i < 4; i++) fail(breaker, 0)
  assert.equal(breakerState(breaker, 0), 'closed')
  fail(breaker, 0)
  assert.equal(breakerState(breaker, 29_999), 'open')
  assert.equal(roleNow(breaker, 29_999), undefined)
  assert.equal(breakerState(breaker, 30_000), 'half_open')
})

test('UP-4: one request probes a half-open breaker, and no other in the meantime', () => {
  const breaker = opened()
  const probe = begin(breaker, 30_000)
  assert.deepEqual([probe.role, roleNow(breaker, 30_001)], ['probe', undefined])
  succeed(breaker, 30_500, probe)
  assert.deepEqual([breakerState(breaker, 30_500), breaker.failures], ['closed', 0])
})

test('UP-4: a failed probe keeps the breaker open for the same time, not longer', () => {
  const breaker = opened()
  for (const at of [30_000, 60_000, 90_000]) {
    fail(breaker, at)
    assert.deepEqual([breakerState(breaker, at + 29_999), breakerState(breaker, at + 30_000)], ['open', 'half_open'])
  }
})

test('a probe without an outcome permits another one', () => {
  const breaker = opened()
  endTrial(breaker, begin(breaker, 30_000))
  assert.equal(roleNow(breaker, 30_001), 'probe')
})

test('UP-4: the n-th recent opening lasts n times as long, at most 300 s, and openings are forgotten after 10 minutes [limit: breaker]', () => {
  const breaker = createBreaker()
  let now = 0
  for (let n = 1; n <= 12; n++) {
    for (let i = 0; i < 5; i++) fail(breaker, now)
    const length = Math.min(MAX_OPEN_MS, n * 30_000)
    assert.deepEqual(
      [breakerState(breaker, now + length - 1), breakerState(breaker, now + length)],
      ['open', 'half_open'],
    )
    now += length
    succeed(breaker, now)
  }
  now += FORGET_MS + 1
  for (let i = 0; i < 5; i++) fail(breaker, now)
  assert.equal(breakerState(breaker, now + 30_000), 'half_open')
})

test('a call that began before the opening neither closes the breaker nor keeps it open', () => {
  const breaker = createBreaker()
  const old = begin(breaker, 0)
  for (let i = 0; i < 5; i++) fail(breaker, 0)
  closeOnFirstEvent(breaker, old, 10)
  assert.equal(breakerState(breaker, 10), 'open')
  fail(breaker, 29_000, old)
  assert.equal(breakerState(breaker, 30_000), 'half_open')
})

test('UP-4: if it is the last candidate, an answer closes the breaker and a failure changes nothing', () => {
  const breaker = opened()
  fail(breaker, 10_000, begin(breaker, 10_000, 'last'))
  assert.equal(breakerState(breaker, 30_000), 'half_open')
  succeed(breaker, 11_000, begin(breaker, 11_000, 'last'))
  assert.equal(breakerState(breaker, 11_000), 'closed')
})

function cooled(failure: Partial<ProviderFailure>, random = 0.5) {
  const credential = createCredentialHealth()
  const full = { kind: 'rate_limited', message: '', status: 429, ...failure } as const
  startCooldown(credential, { model: 'm', failure: full, now: 1_000, random: () => random })
  return (model: string, now: number) => cooldownOf(credential, model, now)
}

test('UP-3: a limited credential cools down for that model, as long as the provider says', () => {
  const at = cooled({ retryAfterMs: 7_000 })
  assert.deepEqual([at('m', 7_999)?.until, at('m', 7_999)?.cause], [8_000, 'limited'])
  assert.equal(at('m', 8_000), undefined)
  assert.equal(at('other', 1_001), undefined)
})

test('UP-3: without Retry-After the cooldown lasts about a second, and never more than an hour [limit: cooling]', () => {
  assert.equal(cooled({}, 0)('m', 1_000)?.until, 1_500)
  assert.equal(cooled({}, 1)('m', 1_000)?.until, 2_500)
  assert.equal(cooled({ retryAfterMs: 1e12 })('m', 1_000)?.until, 1_000 + MAX_COOLDOWN_MS)
})

test('a refused or exhausted credential cools down for all models, for a minute', () => {
  for (const failure of [
    { kind: 'credentials', status: 401 },
    { kind: 'quota', status: 402, retryAfterMs: 5 },
  ] as const) {
    const at = cooled(failure)
    assert.deepEqual([at('other', 1_000)?.until, at('other', 1_000)?.cause], [1_000 + REFUSED_MS, 'refused'])
    assert.equal(at('m', 1_000 + REFUSED_MS), undefined)
  }
})

test('a credential that is forbidden for one model cools down for that model only', () => {
  const at = cooled({ kind: 'credentials', status: 403 })
  assert.equal(at('m', 1_000)?.until, 1_000 + REFUSED_MS)
  assert.equal(at('other', 1_000), undefined)
})

test('a credential that is accepted is used again if the call began after the refusal', () => {
  for (const failure of [
    { kind: 'credentials', message: '', status: 401 },
    { kind: 'rate_limited', message: '', status: 429, retryAfterMs: 60_000 },
  ] as const) {
    const credential = createCredentialHealth()
    startCooldown(credential, { model: 'm', failure, now: 10, random: () => 0 })
    endCooldowns(credential, 'm', 9)
    assert.notEqual(cooldownOf(credential, 'm', 11), undefined)
    endCooldowns(credential, 'm', 10)
    assert.equal(cooldownOf(credential, 'm', 11), undefined)
  }
})

test('UP-3: a request without another candidate may try a limited credential once a second', () => {
  const credential = createCredentialHealth()
  const failure = { kind: 'rate_limited', message: '', status: 429, retryAfterMs: 60_000 } as const
  const limit = (now: number) => startCooldown(credential, { model: 'm', failure, now, random: () => 0 })
  const tryAt = (now: number): boolean => {
    const cooling = cooldownOf(credential, 'm', now)
    assert.ok(cooling)
    const may = mayTry(cooling, now)
    if (may) cooling.triedAt = now
    return may
  }
  limit(0)
  assert.deepEqual([tryAt(1), tryAt(2)], [true, false])
  limit(3) // the one that tried was limited, too
  assert.deepEqual([tryAt(1_000), tryAt(1_001)], [false, true])
})

test('failures about the request, the model or the provider are not about the credential', () => {
  const kinds = ['rejected', 'context_length', 'content_filter', 'not_found', 'overloaded', 'failed'] as const
  assert.deepEqual(kinds.filter(isAboutCredential), [])
})

test('UP-2: in any order of calls, retries are at most a share of the first calls plus three', () => {
  fc.assert(
    fc.property(
      fc.array(fc.boolean(), { maxLength: 400 }),
      fc.double({ min: 0.05, max: 1, noNaN: true }),
      (calls, share) => {
        const budget = createRetryBudget()
        let first = 0
        let repeats = 0
        for (const isFirst of calls) {
          if (isFirst) {
            first += 1
            earn(budget, { share, inFlight: 100 })
          } else if (mayRepeat(budget, share)) {
            repeats += 1
            spend(budget)
          }
          assert.ok(repeats <= MIN_REPEATS + share * first + 1e-9)
        }
      },
    ),
  )
})

test('UP-2: the budget is limited by the calls in flight, and an answer restores three retries', () => {
  const budget = createRetryBudget()
  for (let i = 0; i < 1_000; i++) earn(budget, { share: 0.2, inFlight: 50 })
  assert.equal(Math.round(budget.tokens), 10)
  budget.tokens = 0
  assert.equal(mayRepeat(budget, 0.2), false)
  refill(budget)
  assert.equal(budget.tokens, MIN_REPEATS)
})

test('a budget of zero allows no retry', () => {
  assert.equal(mayRepeat(createRetryBudget(), 0), false)
})
