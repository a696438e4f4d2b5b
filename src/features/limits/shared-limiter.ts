/**
 * Rate limits that several processes hold together, counted at Redis or Valkey in one call an admission. A request waits
 * for the reply, and the call is repeated where the reply was lost; only while Redis counts as down does each process enforce
 * its share of the limits alone. Money never depends on it.
 */
import type { Caller } from '../../domain/identity/caller.ts'
import type { LimitState } from '../../domain/limits.ts'
import { createLeases, type Leases } from './leases.ts'
import {
  type Admission,
  createLimiter,
  type Limiter,
  type PlanLimits,
  type Refusal,
  tighter,
  tooMany,
  tooManyAtOnce,
} from './limiter.ts'
import { type LimitsLog, type RedisHealth, reasonOf, type ScriptCall, watchRedis } from './redis.ts'
import {
  type AdmitAnswer,
  accountKey,
  type CountedLimit,
  keyKey,
  leasesKey,
  readAnswer,
  SCRIPTS,
  SINCE_KEY,
  SLACK,
  WINDOW_MS,
} from './redis-scripts.ts'

export interface SharedLimiterInput {
  /** `redis://` or `rediss://`, with password and number of the database where needed. */
  readonly url: string
  readonly limitsOf: (plan: string) => PlanLimits
  /** Monotonic milliseconds. */
  readonly clock: () => number
  readonly log: LimitsLog
  /** The longest wait for Redis; 1 s unless set. */
  readonly waitMs?: number | undefined
  /** Processes that serve at the moment, this one among them. */
  readonly nodes: () => number
}

export interface SharedLimiterState {
  /** Whether limits are counted in Redis now. */
  readonly shared: boolean
  /** Requests that were counted locally instead, admitted or not. */
  readonly localFallback: number
}

export interface SharedLimiter {
  /** As a limiter of one process does; a promise where Redis counts. It may also throw at once. */
  admit(caller: Caller, maxTokens: () => number): Admission | Promise<Admission>
  /** Resolves when Redis counts, or after 2 s without it. Never rejects. */
  started(): Promise<void>
  /** Rejects unless Redis does now what an admission needs of it. */
  ping(): Promise<void>
  state(): SharedLimiterState
  /** Ended leases are returned before the connection is closed. */
  close(): Promise<void>
}

/** Delay before a call is repeated whose reply was lost. */
const RETRY_MS = 50

interface State {
  readonly limitsOf: SharedLimiterInput['limitsOf']
  /** Of this outage; counts of an earlier one have expired, or are in Redis. */
  local: Limiter
  /** When the last outage began; monotonic milliseconds. */
  downAt: number
  readonly leases: Leases
  readonly health: RedisHealth
  localFallback: number
}

export function createSharedLimiter(input: SharedLimiterInput): SharedLimiter {
  const { limitsOf, clock } = input
  const onDown = (): void => beginOutage(state, input)
  const health = watchRedis({ ...input, onUp: () => leases.restore(), onDown })
  const { run } = health.connection
  const leases = createLeases({ run, isUp: health.isUp, clock })
  const local = localLimiter(input, SLACK)
  const state: State = { limitsOf, local, downAt: Number.NEGATIVE_INFINITY, leases, health, localFallback: 0 }
  return {
    admit: (caller, maxTokens) =>
      health.isUp() ? admitShared(state, caller, maxTokens) : countLocally(state, caller, maxTokens),
    started: health.started,
    ping: health.ping,
    state: () => ({ shared: health.isUp(), localFallback: state.localFallback }),
    close() {
      leases.flush()
      leases.close()
      return health.close()
    },
  }
}

/**
 * Starts a local limiter. What other processes spent in Redis before an outage is not known, so shares start nearly spent,
 * and wholly spent where outages follow in quick succession.
 */
function beginOutage(state: State, input: SharedLimiterInput): void {
  const now = input.clock()
  state.local = localLimiter(input, now - state.downAt < WINDOW_MS ? 0 : SLACK)
  state.downAt = now
}

function localLimiter({ limitsOf, clock, nodes }: SharedLimiterInput, slack: number): Limiter {
  const since = clock()
  return createLimiter({ limitsOf, clock, share: () => ({ processes: nodes(), spent: 1 - slack, since }) })
}

function countLocally(state: State, caller: Caller, maxTokens: () => number): Admission {
  state.localFallback += 1
  return state.local.admit(caller, maxTokens)
}

/** A request that waits for its admission. */
interface PendingRequest {
  readonly caller: Caller
  readonly maxTokens: () => number
  readonly limits: PlanLimits
  /** Tokens reserved. */
  readonly cost: number
  readonly lease: string
  readonly resolve: (admission: Admission) => void
  readonly reject: (error: unknown) => void
  timer: NodeJS.Timeout | undefined
  /** Answered, or counted locally. */
  over: boolean
}

function admitShared(state: State, caller: Caller, maxTokens: () => number): Promise<Admission> {
  return new Promise((resolve, reject) => {
    const limits = state.limitsOf(caller.plan)
    const cost = limits.tokensPerMinute === undefined ? 0 : Math.min(maxTokens(), limits.tokensPerMinute)
    const lease = state.leases.nextId()
    const request: PendingRequest = {
      caller,
      maxTokens,
      limits,
      cost,
      lease,
      resolve,
      reject,
      timer: undefined,
      over: false,
    }
    request.timer = setTimeout(overdue, state.health.waitMs, state, request)
    send(state, request, false)
  })
}

function send(state: State, request: PendingRequest, again: boolean): void {
  state.health.connection.run(callOf(request, again)).then(
    (reply) => answered(state, request, reply),
    (error: unknown) => failed(state, request, reasonOf(error)),
  )
}

/** @param again Whether the server may have counted it already: the reply was lost. */
function callOf({ caller, limits, cost, lease }: PendingRequest, again: boolean): ScriptCall {
  const { accountId, requestsPerMinute, teamRequestsPerMinute } = caller
  const keys = [accountKey(accountId), leasesKey(accountId), SINCE_KEY, ...limitedKeys(caller)]
  const ofAccount = [limits.requestsPerMinute ?? 0, requestsPerMinute ?? 0, limits.tokensPerMinute ?? 0]
  return {
    script: SCRIPTS.admit,
    keys,
    args: [...ofAccount, cost, limits.maxInFlight, lease, again ? 1 : 0, teamRequestsPerMinute ?? 0],
  }
}

/** Of its key, then of its team, where these have a limit. */
function limitedKeys({
  accountId,
  keyId,
  rateKeyId = keyId,
  requestsPerMinute,
  teamId,
  teamRequestsPerMinute,
}: Caller) {
  const keys: string[] = []
  if (requestsPerMinute !== undefined) keys.push(keyKey(accountId, rateKeyId))
  if (teamId !== undefined && teamRequestsPerMinute !== undefined) keys.push(keyKey(accountId, teamId))
  return keys
}

/** Repeats the call until it is answered or Redis is down; the script counts it once. */
function failed(state: State, request: PendingRequest, reason: string): void {
  if (request.over) return
  state.health.failed(reason)
  if (!state.health.isUp()) admitLocally(state, request)
  else setTimeout(() => repeat(state, request), RETRY_MS)
}

function repeat(state: State, request: PendingRequest): void {
  if (request.over) return
  if (state.health.isUp()) send(state, request, true)
  else admitLocally(state, request)
}

/** After a stall of this process the reply may have arrived, unread: timers run first. */
function overdue(state: State, request: PendingRequest): void {
  setImmediate(() => {
    if (request.over) return
    state.health.overdue()
    admitLocally(state, request)
  })
}

/** Counts a request locally, and undoes what Redis has counted or still counts. */
function admitLocally(state: State, request: PendingRequest): void {
  end(request)
  state.leases.undo(undoOf(request))
  try {
    request.resolve(countLocally(state, request.caller, request.maxTokens))
  } catch (error) {
    request.reject(error)
  }
}

function undoOf(request: PendingRequest): ScriptCall {
  const { caller, limits, lease } = request
  const { accountId, requestsPerMinute, teamRequestsPerMinute } = caller
  const keys = [accountKey(accountId), leasesKey(accountId), ...limitedKeys(caller)]
  const ofKeys = [requestsPerMinute, teamRequestsPerMinute].filter((limit) => limit !== undefined).map(intervalOf)
  const args = [lease, intervalOf(limits.requestsPerMinute), unusedMs(request, 0), ...ofKeys]
  return { script: SCRIPTS.undo, keys, args }
}

function intervalOf(limit: number | undefined): number {
  return limit === undefined ? 0 : WINDOW_MS / limit
}

function answered(state: State, request: PendingRequest, reply: unknown): void {
  if (request.over) return
  const answer = readAnswer(reply)
  if (answer === undefined) {
    failed(state, request, 'an invalid reply')
    return
  }
  state.health.answered()
  end(request)
  if (answer.admitted) request.resolve(admission(state, request, answer))
  else request.reject(refusal(request, answer))
}

function end(request: PendingRequest): void {
  request.over = true
  clearTimeout(request.timer)
}

function admission({ leases }: State, request: PendingRequest, answer: AdmitAnswer): Admission {
  const { caller, limits, lease } = request
  const untrack = leases.track(caller.accountId, lease)
  const limited = limits.tokensPerMinute !== undefined
  let [released, settled] = [false, !limited]
  return {
    requests: tighter(
      tighter(stateOf(limits.requestsPerMinute, answer.account), stateOf(caller.requestsPerMinute, answer.key)),
      stateOf(caller.teamRequestsPerMinute, answer.team),
    ),
    tokens: stateOf(limits.tokensPerMinute, answer.tokens),
    release() {
      if (released) return
      released = true
      untrack()
      leases.release(caller.accountId, lease, 0)
    },
    settle(used) {
      if (settled) return
      settled = true
      leases.release(caller.accountId, undefined, unusedMs(request, used))
    },
  }
}

/** Unused reservation, as the time in which the bucket refills by it. */
function unusedMs({ limits, cost }: PendingRequest, used: number): number {
  return limits.tokensPerMinute === undefined ? 0 : (WINDOW_MS / limits.tokensPerMinute) * (cost - used)
}

function stateOf(limit: number | undefined, counted: CountedLimit): LimitState | undefined {
  return limit === undefined ? undefined : { limit, remaining: counted.remaining, resetMs: counted.resetMs }
}

/** Reports the limit with the longest wait: after it, no other is left. */
function refusal({ caller, limits }: PendingRequest, { account, key, tokens, team }: AdmitAnswer): Error {
  let longest = refusalOf('requests', limits.requestsPerMinute, account)
  for (const other of [
    refusalOf('requests', caller.requestsPerMinute, key),
    refusalOf('requests', caller.teamRequestsPerMinute, team),
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
