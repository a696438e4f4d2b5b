/**
 * A bounded queue in front of an exporter. Adding never waits: what does not fit, and what the receiver does not take, is
 * dropped and counted. While the receiver fails, batches are tried seldom, so that a dead one costs only the counter.
 */
import type { SendResult } from './sender.ts'

export interface QueueOptions<Item> {
  readonly maxQueue: number
  readonly maxBatch: number
  /** How long an item waits for others. */
  readonly delayMs: number
  /** Never rejects. */
  readonly send: (batch: readonly Item[]) => Promise<SendResult>
  /** Called at the first failure after a success, and for an item that cannot be made. */
  readonly onFailure?: (reason: string) => void
}

export interface QueueCounts {
  exported: number
  dropped: number
  /** Why the last batch was not taken that was not. */
  lastFailure?: string
}

export interface ExportQueue<Item> {
  /** @param weight What it counts as, of `maxQueue` and `maxBatch`. */
  add(item: Item, weight?: number): void
  /** Adds what `make` returns, which is called only if there is room. What it cannot make is dropped. */
  addMade(make: () => Item, weight: number): void
  readonly counts: Readonly<QueueCounts>
  /** Weight of the items that wait. */
  readonly waiting: number
  /** Sends what waits, for at most this long. */
  flush(timeoutMs: number): Promise<void>
  close(timeoutMs: number): Promise<void>
}

const MAX_BACKOFF_MS = 60_000

interface QueueState<Item> {
  readonly options: QueueOptions<Item>
  readonly counts: QueueCounts
  items: Item[]
  weights: number[]
  waiting: number
  timer: NodeJS.Timeout | undefined
  sending: Promise<void> | undefined
  /** In a row. */
  failures: number
}

export function createQueue<Item>(options: QueueOptions<Item>): ExportQueue<Item> {
  const counts = { exported: 0, dropped: 0 }
  const none = { timer: undefined, sending: undefined, failures: 0 }
  const state: QueueState<Item> = { options, counts, items: [], weights: [], waiting: 0, ...none }
  const flush = (timeoutMs: number): Promise<void> => flushWithin(state, timeoutMs)
  return {
    counts,
    get waiting() {
      return state.waiting
    },
    add: (item, weight = 1) => addMade(state, () => item, weight),
    addMade: (make, weight) => addMade(state, make, weight),
    flush,
    async close(timeoutMs) {
      await flush(timeoutMs)
      clearTimeout(state.timer)
      counts.dropped += state.waiting
      state.items = []
      state.weights = []
      state.waiting = 0
    },
  }
}

function addMade<Item>(state: QueueState<Item>, make: () => Item, weight: number): void {
  const { options, counts } = state
  if (state.waiting + weight > options.maxQueue) {
    counts.dropped += weight
    return
  }
  try {
    state.items.push(make())
  } catch (error) {
    counts.dropped += weight
    options.onFailure?.(String(error))
    return
  }
  state.weights.push(weight)
  state.waiting += weight
  if (state.waiting >= options.maxBatch && state.failures === 0) void sendNext(state)
  else schedule(state, options.delayMs)
}

function schedule<Item>(state: QueueState<Item>, delayMs: number): void {
  if (state.timer !== undefined || state.sending !== undefined) return
  const backoffMs = state.failures === 0 ? 0 : Math.min(MAX_BACKOFF_MS, 1_000 * 2 ** (state.failures - 1))
  const due = (): void => {
    state.timer = undefined
    void sendNext(state)
  }
  state.timer = setTimeout(due, Math.max(delayMs, backoffMs)).unref()
}

/** One batch at a time. */
function sendNext<Item>(state: QueueState<Item>): Promise<void> {
  state.sending ??= sendBatch(state).finally(() => {
    state.sending = undefined
    if (state.items.length === 0) return
    const isFull = state.waiting >= state.options.maxBatch && state.failures === 0
    schedule(state, isFull ? 0 : state.options.delayMs)
  })
  return state.sending
}

async function sendBatch<Item>(state: QueueState<Item>): Promise<void> {
  clearTimeout(state.timer)
  state.timer = undefined
  const { items, weight } = takeBatch(state)
  if (items.length === 0) return
  const result = await state.options.send(items)
  if (result.ok) {
    state.failures = 0
    state.counts.exported += weight
    return
  }
  state.counts.dropped += weight
  state.counts.lastFailure = result.reason
  state.failures += 1
  if (state.failures === 1) state.options.onFailure?.(result.reason)
}

/** At least one item. */
function takeBatch<Item>(state: QueueState<Item>): { readonly items: readonly Item[]; readonly weight: number } {
  let count = 0
  let weight = 0
  for (const each of state.weights) {
    if (count > 0 && weight + each > state.options.maxBatch) break
    count += 1
    weight += each
  }
  const items = state.items.slice(0, count)
  state.items = state.items.slice(count)
  state.weights = state.weights.slice(count)
  state.waiting -= weight
  return { items, weight }
}

async function flushWithin<Item>(state: QueueState<Item>, timeoutMs: number): Promise<void> {
  const until = performance.now() + timeoutMs
  const late = Promise.withResolvers<void>()
  const timer = setTimeout(late.resolve, timeoutMs)
  try {
    while ((state.items.length > 0 || state.sending !== undefined) && performance.now() < until) {
      const failures = state.failures
      await Promise.race([sendNext(state), late.promise])
      if (state.failures > failures) break
    }
  } finally {
    clearTimeout(timer)
  }
}
