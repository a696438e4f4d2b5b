/**
 * What the documentation promises of the rate limits, under a hundred thousand patterns of arrivals. Changes a setting of
 * the engine. Runs in a process of its own.
 */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { keyCaller } from '../../../test/support/identity/caller.ts'
import { GatewayError } from '../../domain/errors.ts'
import type { Caller } from '../../domain/identity/caller.ts'
import type { AccountId, KeyId } from '../../domain/ids.ts'
import { type Admission, createLimiter, type PlanLimits } from './limiter.ts'

const PATTERNS = 100_000
const ARRIVALS = 30
const MINUTE = 60_000

// Refusals are many here, and nobody reads where they come from.
Error.stackTraceLimit = 0

/** Small, quick, and the same again for the same seed: generated lists of this many arrivals would take minutes. */
function chance(seed: number): (below: number) => number {
  let state = seed | 1
  return (below) => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) % below
  }
}

/** The time between one arrival and the next. Those that wait for a window to pass are the ones that could break it. */
function gapOf(style: number, limit: number, random: (below: number) => number): number {
  const interval = MINUTE / limit
  switch (style) {
    case 0: // all at once, then rest
      return random(limit + 3) === 0 ? random(3) * (MINUTE / 2) + random(3) : 0
    case 1: // as soon as the next is due, a moment early or late
      return Math.max(0, interval + random(3) - 1)
    case 2: // around the window
      return [0, 1, MINUTE - 1, MINUTE, MINUTE + 1, MINUTE / 2][random(6)] ?? 0
    case 3:
      return random(Math.ceil(2 * interval))
    default:
      return random(10) === 0 ? random(2 * MINUTE) : random(200)
  }
}

interface Spent {
  readonly at: number
  readonly amount: number
}

/** The most that was spent in any minute. */
function mostInAMinute(spent: readonly Spent[]): number {
  let most = 0
  let sum = 0
  let first = 0
  for (const { at, amount } of spent) {
    sum += amount
    for (let oldest = spent[first]; oldest !== undefined && oldest.at <= at - MINUTE; oldest = spent[first]) {
      sum -= oldest.amount
      first += 1
    }
    most = Math.max(most, sum)
  }
  return most
}

function caller(requestsPerMinute?: number): Caller {
  const [accountId, keyId] = ['acc_1' as AccountId, 'key_1' as KeyId]
  return keyCaller({ accountId, keyId, plan: 'plan', requestsPerMinute })
}

interface Patient {
  now: number
  admit(who: Caller, tokens?: number): Admission | GatewayError
}

function limiter(limits: Partial<PlanLimits>): Patient {
  const made: Patient = {
    now: 1_000_000,
    admit: (who, tokens = 1) => admitted(() => limiting.admit(who, () => tokens)),
  }
  const plan = { requestsPerMinute: undefined, tokensPerMinute: undefined, maxInFlight: 1_000_000, ...limits }
  const limiting = createLimiter({ limitsOf: () => plan, clock: () => made.now })
  return made
}

function admitted(admit: () => Admission): Admission | GatewayError {
  try {
    return admit()
  } catch (error) {
    assert.ok(error instanceof GatewayError)
    return error
  }
}

/** Seconds as the header has them: whole, at least one, at most a minute. */
function retryAfter({ retryAfterMs = 0 }: GatewayError): number {
  return Math.min(60, Math.max(1, Math.ceil(retryAfterMs / 1000))) * 1000
}

/** All that was counted against each limit. Tokens count as reserved until a request ends, and what was not used then counts back. */
interface Counts {
  readonly ofAccount: Spent[]
  readonly ofKey: Spent[]
  readonly tokens: Spent[]
}

interface Pattern {
  readonly seed: number
  readonly style: number
  readonly perMinute: number | undefined
  readonly perMinuteOfKey: number | undefined
  readonly tokensPerMinute: number | undefined
}

function arrive({ seed, style, perMinute, perMinuteOfKey, tokensPerMinute }: Pattern): Counts {
  const random = chance(seed)
  const limits = limiter({ requestsPerMinute: perMinute, tokensPerMinute })
  const [plain, limited] = [caller(), caller(perMinuteOfKey)]
  const counts: Counts = { ofAccount: [], ofKey: [], tokens: [] }
  const running: { readonly admission: Admission; readonly reserved: number }[] = []
  for (let arrival = 0; arrival < ARRIVALS; arrival += 1) {
    limits.now += gapOf(style, perMinute ?? 10, random)
    const at = limits.now
    while (running.length > 0 && random(3) === 0) {
      const [ended] = running.splice(random(running.length), 1)
      const { admission, reserved } = ended ?? assert.fail()
      const used = random(reserved + 1)
      admission.settle(used)
      counts.tokens.push({ at, amount: used - reserved })
    }
    const who = random(2) === 0 ? plain : limited
    const reserved = random(tokensPerMinute ?? 100) + 1
    const admission = random(4) === 0 ? obey(limits, who, reserved) : limits.admit(who, reserved)
    if (admission instanceof GatewayError) continue
    running.push({ admission, reserved })
    counts.ofAccount.push({ at: limits.now, amount: 1 })
    if (who === limited) counts.ofKey.push({ at: limits.now, amount: 1 })
    counts.tokens.push({ at: limits.now, amount: reserved })
  }
  return counts
}

/** RL-3: comes back when it was told to, and is admitted. */
function obey(limits: Patient, who: Caller, tokens: number): Admission {
  const first = limits.admit(who, tokens)
  if (!(first instanceof GatewayError)) return first
  limits.now += retryAfter(first)
  const second = limits.admit(who, tokens)
  assert.ok(!(second instanceof GatewayError), 'RL-3: refused although it waited')
  return second
}

const perMinute = fc.option(fc.integer({ min: 1, max: 20 }), { nil: undefined })
const PATTERN: fc.Arbitrary<Pattern> = fc.record({
  seed: fc.integer({ min: 1 }),
  style: fc.nat({ max: 4 }),
  perMinute,
  perMinuteOfKey: perMinute,
  tokensPerMinute: fc.option(fc.integer({ min: 1, max: 300 }), { nil: undefined }),
})

test(`RL-1, RL-3: ${PATTERNS} patterns of arrivals: at most twice each limit in 60 s, and waiting as told is enough [limit: requests-per-minute]`, () => {
  const promise = fc.property(PATTERN, (pattern) => {
    const { ofAccount, ofKey, tokens } = arrive(pattern)
    const { perMinute: most = Infinity, perMinuteOfKey = Infinity, tokensPerMinute = Infinity } = pattern
    assert.ok(mostInAMinute(ofAccount) <= 2 * most, 'RL-1: requests of the account')
    assert.ok(mostInAMinute(ofKey) <= 2 * perMinuteOfKey, 'RL-1: requests of the key')
    assert.ok(mostInAMinute(tokens) <= 2 * tokensPerMinute, 'RL-1: tokens')
  })
  fc.assert(promise, { numRuns: PATTERNS })
})
