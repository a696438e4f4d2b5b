/**
 * Limits the calls that a provider receives at a time. Requests beyond the limit queue by account, and the queues are
 * served round-robin: many requests of one account delay a single request of another by at most one call.
 */

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
