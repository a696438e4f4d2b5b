/**
 * Rate limits that several processes hold together, counted at Redis or Valkey in one call an admission. While that does
 * not answer in time, each process holds its share of the limits by itself. Money never depends on it.
 */
import type { Caller } from '../../domain/caller.ts'
import type { LimitState } from '../../domain/limits.ts'
import { type Refusal, tighter, tooMany, tooManyAtOnce } from './answer.ts'
import { createLeases, type Leases } from './leases.ts'
import { type Admission, createLimiter, type Limiter, type PlanLimits } from './limiter.ts'
import { reasonOf, type ScriptCall } from './redis-connection.ts'
import { type LimitsLog, type RedisHealth, tooSlow, watchRedis } from './redis-health.ts'
import {
  type AdmitAnswer,
  accountKey,
  type CountedLimit,
  keyKey,
  leasesKey,
  readAnswer,
  SCRIPTS,
  WINDOW_MS,
} from './redis-scripts.ts'

export interface SharedLimiterInput {
  /** `redis://` or `rediss://`, with password and number of the database where needed. */
  readonly url: string
  readonly limitsOf: (plan: string) => PlanLimits
  /** Monotonic milliseconds. */
  readonly clock: () => number
  readonly log: LimitsLog
  /** Longer than this no request waits for Redis; 50 ms unless given. */
  readonly slowMs?: number | undefined
  /** Processes that serve at the moment, this one among them. */
  readonly nodes: () => number
}

export interface SharedLimiterState {
  /** Whether limits are counted at Redis now. */
  readonly shared: boolean
  /** Requests that were counted in this process instead, admitted or not. */
  readonly countedHere: number
}

export interface SharedLimiter {
  /** As a limiter of one process does; a promise where Redis is asked. It may also throw at once. */
  admit(caller: Caller, worstTokens: () => number): Admission | Promise<Admission>
  /** Resolves when Redis counts, or after 2 s without it. Never rejects. */
  started(): Promise<void>
  /** Rejects unless Redis does now what an admission needs of it. */
  ping(): Promise<void>
  state(): SharedLimiterState
  /** What has ended is given back before the connection is closed. */
  close(): Promise<void>
}

interface Desk {
  readonly limitsOf: SharedLimiterInput['limitsOf']
  readonly nodes: () => number
  readonly local: Limiter
  readonly leases: Leases
  readonly health: RedisHealth
  countedHere: number
}

export function createSharedLimiter(input: SharedLimiterInput): SharedLimiter {
  const { limitsOf, clock, nodes } = input
  const health = watchRedis({ ...input, onUp: () => leases.restore() })
  const { run } = health.connection
  const leases = createLeases({ run, isUp: health.isUp, clock })
  const local = createLimiter({ limitsOf: (plan) => shareOf(limitsOf(plan), nodes()), clock })
  const desk: Desk = { limitsOf, nodes, local, leases, health, countedHere: 0 }
  return {
    admit: (caller, worstTokens) =>
      health.isUp() ? ask(desk, caller, worstTokens) : admitHere(desk, caller, worstTokens),
    started: health.started,
    ping: health.ping,
    state: () => ({ shared: health.isUp(), countedHere: desk.countedHere }),
    close() {
      leases.flush()
      leases.close()
      return health.close()
    },
  }
}

/** What one of several processes may admit by itself. A limit smaller than their number lets each admit one. */
function shareOf({ requestsPerMinute, tokensPerMinute, maxInFlight }: PlanLimits, nodes: number): PlanLimits {
  return {
    requestsPerMinute: requestsPerMinute === undefined ? undefined : share(requestsPerMinute, nodes),
    tokensPerMinute: tokensPerMinute === undefined ? undefined : share(tokensPerMinute, nodes),
    maxInFlight: share(maxInFlight, nodes),
  }
}

function share(limit: number, nodes: number): number {
  return Math.max(1, Math.floor(limit / Math.max(1, nodes)))
}

function admitHere(desk: Desk, caller: Caller, worstTokens: () => number): Admission {
  desk.countedHere += 1
  const { requestsPerMinute } = caller
  const nodes = desk.nodes()
  if (requestsPerMinute === undefined || nodes <= 1) return desk.local.admit(caller, worstTokens)
  return desk.local.admit({ ...caller, requestsPerMinute: share(requestsPerMinute, nodes) }, worstTokens)
}

/** A request that waits for its limits. */
interface Ask {
  readonly caller: Caller
  readonly worstTokens: () => number
  readonly limits: PlanLimits
  /** Tokens reserved. */
  readonly cost: number
  readonly lease: string
  readonly resolve: (admission: Admission) => void
  readonly reject: (error: unknown) => void
  timer: NodeJS.Timeout | undefined
  /** Answered, or counted here. */
  over: boolean
}

function ask(desk: Desk, caller: Caller, worstTokens: () => number): Promise<Admission> {
  return new Promise((resolve, reject) => {
    const limits = desk.limitsOf(caller.plan)
    const cost = limits.tokensPerMinute === undefined ? 0 : Math.min(worstTokens(), limits.tokensPerMinute)
    const lease = desk.leases.nextId()
    const asked: Ask = { caller, worstTokens, limits, cost, lease, resolve, reject, timer: undefined, over: false }
    asked.timer = setTimeout(overdue, desk.health.slowMs, desk, asked)
    desk.health.connection.run(callOf(asked)).then(
      (reply) => answered(desk, asked, reply),
      (error: unknown) => {
        // Whether it was counted is not known: the place, at least, goes back.
        desk.leases.giveBack(caller.accountId, lease, 0)
        unanswered(desk, asked, reasonOf(error))
      },
    )
  })
}

function callOf({ caller, limits, cost, lease }: Ask): ScriptCall {
  const { accountId, keyId, requestsPerMinute } = caller
  const keys = [accountKey(accountId), leasesKey(accountId)]
  if (requestsPerMinute !== undefined) keys.push(keyKey(accountId, keyId))
  const ofAccount = [limits.requestsPerMinute ?? 0, requestsPerMinute ?? 0, limits.tokensPerMinute ?? 0]
  return { script: SCRIPTS.admit, keys, args: [...ofAccount, cost, limits.maxInFlight, lease] }
}

/** After a pause of this process the answer may be there already, unread: timers come first. */
function overdue(desk: Desk, asked: Ask): void {
  setImmediate(unanswered, desk, asked, tooSlow(desk.health))
}

function unanswered(desk: Desk, asked: Ask, reason: string): void {
  if (asked.over) return
  end(asked)
  desk.health.failed(reason)
  try {
    asked.resolve(admitHere(desk, asked.caller, asked.worstTokens))
  } catch (error) {
    asked.reject(error)
  }
}

function answered(desk: Desk, asked: Ask, reply: unknown): void {
  const answer = readAnswer(reply)
  if (asked.over) {
    // It was counted here meanwhile: what it was granted there goes back.
    if (answer?.admitted) desk.leases.giveBack(asked.caller.accountId, asked.lease, unusedMs(asked, 0))
    return
  }
  if (answer === undefined) {
    unanswered(desk, asked, 'an answer that makes no sense')
    return
  }
  end(asked)
  if (answer.admitted) asked.resolve(admission(desk, asked, answer))
  else asked.reject(refusal(asked, answer))
}

function end(asked: Ask): void {
  asked.over = true
  clearTimeout(asked.timer)
}

function admission({ leases }: Desk, asked: Ask, answer: AdmitAnswer): Admission {
  const { caller, limits, lease } = asked
  const letGo = leases.keep(caller.accountId, lease)
  const limited = limits.tokensPerMinute !== undefined
  let [released, settled] = [false, !limited]
  return {
    requests: tighter(stateOf(limits.requestsPerMinute, answer.account), stateOf(caller.requestsPerMinute, answer.key)),
    tokens: stateOf(limits.tokensPerMinute, answer.tokens),
    release() {
      if (released) return
      released = true
      letGo()
      leases.giveBack(caller.accountId, lease, 0)
    },
    settle(used) {
      if (settled) return
      settled = true
      leases.giveBack(caller.accountId, undefined, unusedMs(asked, used))
    },
  }
}

/** What was reserved and not used, as time until the account is rested. */
function unusedMs({ limits, cost }: Ask, used: number): number {
  return limits.tokensPerMinute === undefined ? 0 : (WINDOW_MS / limits.tokensPerMinute) * (cost - used)
}

function stateOf(limit: number | undefined, counted: CountedLimit): LimitState | undefined {
  return limit === undefined ? undefined : { limit, remaining: counted.remaining, resetMs: counted.resetMs }
}

/** Of several limits that are reached, the one that takes longest is told: whoever waits for it meets no other. */
function refusal({ caller, limits }: Ask, { account, key, tokens }: AdmitAnswer): Error {
  let longest = refusalOf('requests', limits.requestsPerMinute, account)
  for (const other of [
    refusalOf('requests', caller.requestsPerMinute, key),
    refusalOf('tokens', limits.tokensPerMinute, tokens),
  ]) {
    if (other !== undefined && other.retryAfterMs > (longest?.retryAfterMs ?? 0)) longest = other
  }
  return longest === undefined ? tooManyAtOnce(limits.maxInFlight) : tooMany(longest)
}

function refusalOf(unit: Refusal['unit'], limit: number | undefined, counted: CountedLimit): Refusal | undefined {
  const state = stateOf(limit, counted)
  const { retryAfterMs } = counted
  return state === undefined || retryAfterMs === 0 ? undefined : { unit, state, retryAfterMs }
}
