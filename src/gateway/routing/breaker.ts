/**
 * What keeps calls from a provider: the circuit breaker of a deployment that fails repeatedly (UP-4), then the provider's
 * concurrency limit and retry budget. Failures that clients cause do not count. This file knows no clock: callers pass
 * the time, in monotonic milliseconds.
 */
import type { BreakerState } from '../../domain/provider-status.ts'

export interface BreakerSettings {
  /** The consecutive failures that open the breaker. */
  readonly failures: number
  /** How long the first opening lasts; the n-th recent opening lasts n times as long. */
  readonly openMs: number
}

export interface Breaker {
  /** Consecutive failures. */
  failures: number
  /** Undefined while the breaker is closed. */
  openUntil: number | undefined
  /** The only call of a half-open breaker is in flight. */
  probing: boolean
  /** The number of openings. The outcome of a call that began before the last one does not count. */
  epoch: number
  /** The number of recent openings. */
  openings: number
  openForMs: number
  closedAt: number
}

/** `probe`: tests a half-open breaker. `last`: uses an open breaker because there is no other candidate. */
export type Role = 'normal' | 'probe' | 'last'

/** The part of a call that a breaker needs. */
export interface Trial {
  readonly role: Role
  readonly epoch: number
}

export const MAX_OPEN_MS = 300_000
/** After this time without an opening, the next one counts as the first. */
export const FORGET_MS = 600_000

export function createBreaker(): Breaker {
  return {
    failures: 0,
    openUntil: undefined,
    probing: false,
    epoch: 0,
    openings: 0,
    openForMs: 0,
    closedAt: Number.NEGATIVE_INFINITY,
  }
}

export function breakerState({ openUntil }: Breaker, now: number): BreakerState {
  if (openUntil === undefined) return 'closed'
  return now < openUntil ? 'open' : 'half_open'
}

/** Returns the role of a call that would begin now. Undefined if the breaker is open. */
export function roleNow(breaker: Breaker, now: number): 'normal' | 'probe' | undefined {
  if (breaker.openUntil === undefined) return 'normal'
  return now < breaker.openUntil || breaker.probing ? undefined : 'probe'
}

/** Closes the breaker, because an answer has begun. */
export function closeOnFirstEvent(breaker: Breaker, { epoch }: Trial, now: number): void {
  if (breaker.openUntil === undefined || epoch !== breaker.epoch) return
  breaker.openUntil = undefined
  breaker.probing = false
  breaker.failures = 0
  breaker.closedAt = now
}

/** Resets the count of failures after a complete answer. */
export function resetFailures(breaker: Breaker, { epoch }: Trial): void {
  if (breaker.openUntil === undefined && epoch === breaker.epoch) breaker.failures = 0
}

/**
 * Counts a failure. `settings.failures` consecutive failures open a closed breaker; a failed probe keeps it open. Calls
 * that began before the breaker last opened do not count.
 */
export function countFailure(breaker: Breaker, trial: Trial, now: number, settings: BreakerSettings): void {
  if (trial.epoch !== breaker.epoch) return
  breaker.failures += 1
  if (breaker.openUntil !== undefined) {
    // The time does not grow: the gateway notices a provider's recovery soon, however long the outage was.
    if (trial.role === 'probe') breaker.openUntil = now + breaker.openForMs
    return
  }
  if (breaker.failures < settings.failures) return
  breaker.openings = now - breaker.closedAt > FORGET_MS ? 1 : breaker.openings + 1
  breaker.openForMs = Math.min(MAX_OPEN_MS, settings.openMs * breaker.openings)
  breaker.openUntil = now + breaker.openForMs
  breaker.epoch += 1
}

/** Ends a call, whatever its outcome, so that another one may probe. */
export function endTrial(breaker: Breaker, { role, epoch }: Trial): void {
  if (role === 'probe' && epoch === breaker.epoch) breaker.probing = false
}

// Limits the calls that a provider receives at a time. Requests beyond the limit queue by account, and the queues are
// served round-robin: many requests of one account delay a single request of another by at most one call.

/** The requests that queue for one provider. */
export const MAX_WAITING = 1_000
/** The requests of one account among them. */
export const MAX_WAITING_OF_ACCOUNT = 100

export interface Waiter {
  /** Resolves when the calls may begin, or when the request has left the queue. */
  readonly over: Promise<void>
  /** Returns whether the calls may begin. They are then counted and must be released. */
  granted(): boolean
  /** Leaves the queue. Has no effect once granted. */
  leave(): void
}

export interface ConcurrencyLimiter {
  /** Returns whether `calls` could begin now, ahead of the queue. */
  hasCapacity(calls: number): boolean
  /** Counts `calls` as begun, whatever the limit. */
  acquire(calls: number): void
  /** Counts `calls` as ended and serves the queues. */
  release(calls: number): void
  /** @returns undefined when the queue is full. */
  enqueue(account: string, calls: number): Waiter | undefined
  /** Sets the limit. Undefined removes it. */
  setLimit(limit: number | undefined): void
  inFlight(): number
  queued(): number
}

interface Waiting {
  readonly calls: number
  readonly resolve: () => void
  granted: boolean
}

interface Queue {
  readonly account: string
  readonly waiting: Waiting[]
}

interface State {
  limit: number
  inFlight: number
  queued: number
  /** The queues of accounts with waiting requests; the first one is served next. */
  readonly queues: Queue[]
}

export function createConcurrencyLimiter(limit = Number.POSITIVE_INFINITY): ConcurrencyLimiter {
  const state: State = { limit, inFlight: 0, queued: 0, queues: [] }
  return {
    hasCapacity: (calls) => state.queued === 0 && fits(state, calls),
    acquire(calls) {
      state.inFlight += calls
    },
    release(calls) {
      state.inFlight -= calls
      if (state.queued > 0) serve(state)
    },
    enqueue: (account, calls) => enqueue(state, account, calls),
    setLimit(next) {
      state.limit = next ?? Number.POSITIVE_INFINITY
      serve(state)
    },
    inFlight: () => state.inFlight,
    queued: () => state.queued,
  }
}

/** A request with more calls than the limit begins when nothing else is in flight. */
function fits({ inFlight, limit }: State, calls: number): boolean {
  return inFlight + calls <= limit || inFlight === 0
}

function enqueue(state: State, account: string, calls: number): Waiter | undefined {
  if (state.queued >= MAX_WAITING) return undefined
  let queue = state.queues.find((each) => each.account === account)
  if (queue === undefined) {
    queue = { account, waiting: [] }
    state.queues.push(queue)
  }
  if (queue.waiting.length >= MAX_WAITING_OF_ACCOUNT) return undefined
  const { promise, resolve } = Promise.withResolvers<void>()
  const waiting: Waiting = { calls, resolve, granted: false }
  queue.waiting.push(waiting)
  state.queued += 1
  serve(state)
  return { over: promise, granted: () => waiting.granted, leave: () => leave(state, account, waiting) }
}

function leave(state: State, account: string, waiting: Waiting): void {
  const position = state.queues.findIndex((queue) => queue.account === account)
  const queue = state.queues[position]
  const at = queue?.waiting.indexOf(waiting) ?? -1
  if (queue === undefined || at < 0) return
  queue.waiting.splice(at, 1)
  if (queue.waiting.length === 0) state.queues.splice(position, 1)
  state.queued -= 1
  waiting.resolve()
  serve(state) // the next waiter may fit into the free capacity
}

function serve(state: State): void {
  for (;;) {
    const [queue] = state.queues
    const next = queue?.waiting[0]
    if (queue === undefined || next === undefined || !fits(state, next.calls)) return
    queue.waiting.shift()
    state.queues.shift()
    if (queue.waiting.length > 0) state.queues.push(queue)
    state.queued -= 1
    state.inFlight += next.calls
    next.granted = true
    next.resolve()
  }
}

// The retry budget of a provider (UP-2): a token bucket. Each first call adds a share of a token, and each retry
// takes one.

export interface RetryBudget {
  tokens: number
}

/** The retries that a provider always allows, even with few calls. */
export const MIN_REPEATS = 3

export function createRetryBudget(): RetryBudget {
  return { tokens: MIN_REPEATS }
}

interface BudgetScale {
  /** Retries for each first call; 0 disables retries. */
  readonly share: number
  /** Calls in flight at the provider. */
  readonly inFlight: number
}

/** Adds the share of a request's first call at the provider. */
export function earn(budget: RetryBudget, { share, inFlight }: BudgetScale): void {
  const most = Math.max(MIN_REPEATS, share * inFlight)
  // The cap falls with the calls in flight, but existing tokens above it remain.
  if (budget.tokens < most) budget.tokens = Math.min(most, budget.tokens + share)
}

/** Adds a token after a complete answer. */
export function refill(budget: RetryBudget): void {
  if (budget.tokens < MIN_REPEATS) budget.tokens = MIN_REPEATS
}

export function mayRepeat({ tokens }: RetryBudget, share: number): boolean {
  return share > 0 && tokens >= 1
}

export function spend(budget: RetryBudget): void {
  budget.tokens -= 1
}
