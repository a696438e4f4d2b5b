/** What a request waits for where no candidate can be called at once: capacity, a credential, a backoff; and when it gives up. */
import { GatewayError } from '../../domain/errors.ts'
import { isCancelled, pause, unlessCancelled } from '../cancellation.ts'
import type { AttemptLease } from './attempt-lease.ts'
import { roleNow } from './breaker.ts'
import { coolingOf, TRY_EVERY_MS } from './credentials.ts'
import type { Candidate } from './health.ts'
import { skipReason } from './order.ts'
import { callsAt, deadlineOf, listSkipped, mayBeCalled, NONE, type Selection, take, targetNow } from './selection.ts'

/** Full jitter starts here and doubles. */
const RETRY_BASE_MS = 100
/** Waiting longer than this for a provider is the client's decision. */
export const RETRY_MAX_MS = 2_000
/** Interval at which a cooldown is checked: it ends early when another request succeeds. */
const LOOK_MS = 100
/** In the queue of a provider. */
const MAX_QUEUE_MS = 10_000
/** `Retry-After` where the queue is full, and where a request has queued in vain. */
const CROWDED_RETRY_MS = 2_000

/** Queues at the best candidate that only lacks capacity. @returns undefined where there is none, or no longer. */
export async function queueForCapacity(selection: Selection): Promise<AttemptLease | undefined> {
  const { context, left } = selection
  const { health, cancellation } = context
  const candidate = left.find((each) => mayBeCalled(selection, each) && isFull(selection, each))
  if (candidate === undefined) return undefined
  const { limiter } = candidate.provider
  const calls = callsAt(candidate, context)
  const waitMs = Math.min(MAX_QUEUE_MS, deadlineOf(context, candidate) - health.clock())
  const waiter = waitMs > 0 ? limiter.enqueue(context.accountId, calls) : undefined
  if (waiter === undefined) throw selection.failure ?? crowded(selection, candidate)
  const timer = setTimeout(waiter.leave, waitMs)
  try {
    await unlessCancelled(cancellation, waiter.over)
  } finally {
    clearTimeout(timer)
    waiter.leave()
  }
  if (!waiter.granted())
    throw isCancelled(cancellation) ? giveUp(selection) : (selection.failure ?? crowded(selection, candidate))
  const target = targetNow(selection, candidate)
  const isHealthy = candidate.scripted || roleNow(candidate.deployment.breaker, health.clock()) !== undefined
  if (!isCancelled(cancellation) && target !== undefined && isHealthy) {
    return take(selection, { candidate, target, role: undefined, calls })
  }
  limiter.release(calls)
  if (isCancelled(cancellation)) throw giveUp(selection)
  return undefined
}

function isFull({ context }: Selection, candidate: Candidate): boolean {
  return skipReason(candidate, context.health, callsAt(candidate, context)) === 'full'
}

/** Begins the next round with the candidates that may succeed after a backoff. @returns the backoff in milliseconds. */
export function beginRound(selection: Selection): number {
  const { context, again, left, retryAfterMs } = selection
  selection.round += 1
  selection.left = context.route.candidates.filter(
    (each) => left.includes(each) || (again.includes(each) && mayBeCalled(selection, each)),
  )
  selection.again = NONE
  selection.retryAfterMs = undefined
  if (selection.left.length === 0) throw giveUp(selection)
  return retryAfterMs ?? context.health.random() * Math.min(RETRY_MAX_MS, RETRY_BASE_MS * 2 ** (selection.round - 1))
}

/** @returns how long to wait until a credential may be used again; throws where that is too long. */
export function waitForCredential(selection: Selection): number {
  const { context, left, waitedMs } = selection
  const now = context.health.clock()
  let soonest = Number.POSITIVE_INFINITY
  let limited: Candidate | undefined
  for (const candidate of left) {
    if (!mayBeCalled(selection, candidate)) continue
    for (const { health } of candidate.targets) {
      const cooling = coolingOf(health, candidate.model, now)
      if (cooling?.cause !== 'limited' || cooling.until >= soonest) continue
      soonest = cooling.until
      limited = candidate
    }
  }
  if (limited === undefined) throw giveUp(selection)
  const leftMs = soonest - now
  const maxWaitMs = leftMs > RETRY_MAX_MS ? TRY_EVERY_MS + LOOK_MS : RETRY_MAX_MS + LOOK_MS
  if (selection.failure !== undefined && leftMs > RETRY_MAX_MS) throw selection.failure
  if (waitedMs >= maxWaitMs) throw selection.failure ?? limiting(selection, limited, leftMs)
  // (a timer may fire a moment early)
  const waitMs = leftMs > RETRY_MAX_MS ? LOOK_MS : Math.ceil(leftMs) + 1
  selection.waitedMs += waitMs
  return waitMs
}

export async function waitWithin(selection: Selection, waitMs: number): Promise<void> {
  const { context, left } = selection
  const [first] = left
  if (first === undefined || context.health.clock() + waitMs >= deadlineOf(context, first)) throw giveUp(selection)
  await pause(context.cancellation, waitMs)
  if (isCancelled(context.cancellation)) throw giveUp(selection)
}

function giveUp(selection: Selection): unknown {
  const { failure, context } = selection
  if (failure !== undefined) return failure
  if (isCancelled(context.cancellation)) return new Error('The request was cancelled before a provider was called.')
  listSkipped(selection, undefined)
  const message = 'No provider of the model could be called in time.'
  return new GatewayError('overloaded', message, { retryAfterMs: CROWDED_RETRY_MS })
}

function crowded(selection: Selection, { upstream, provider }: Candidate): GatewayError {
  listSkipped(selection, undefined)
  const message = `Concurrency limit (${provider.limiter.inFlight()}) of the provider '${upstream.name}' reached.`
  return new GatewayError('overloaded', message, { retryAfterMs: CROWDED_RETRY_MS })
}

function limiting(selection: Selection, { upstream }: Candidate, waitMs: number): GatewayError {
  listSkipped(selection, undefined)
  const message = `The provider '${upstream.name}' is limiting the gateway's requests.`
  return new GatewayError('provider_rate_limited', message, { retryAfterMs: Math.ceil(waitMs) })
}
