/** What a request waits for where no candidate can be called at once: a place, a credential, a moment; and when not. */
import { GatewayError } from '../../domain/errors.ts'
import { isOver, pause, unlessOver } from '../completion.ts'
import { roleNow } from './breaker.ts'
import type { Candidate } from './candidate.ts'
import { coolingOf, TRY_EVERY_MS } from './credential.ts'
import { skipReason } from './order.ts'
import type { Passage } from './passage.ts'
import { deadlineOf, enter, laneNow, listSkipped, mayBeCalled, NONE, placesOf, type Search } from './way.ts'

/** Full jitter starts here and doubles. */
const RETRY_BASE_MS = 100
/** Waiting longer than this for a provider is the client's decision. */
export const RETRY_MAX_MS = 2_000
/** Between two looks whether a limit is over before its time, since another request got through. */
const LOOK_MS = 100
/** For a free place. */
export const MAX_QUEUE_MS = 10_000
/** What clients are told to wait where too many wait already, and where one has waited in vain. */
const CROWDED_RETRY_MS = 2_000

/** In the line of the best candidate that only lacks a free place. @returns undefined: there is none, or no longer. */
export async function queueForPlace(search: Search): Promise<Passage | undefined> {
  const { completion, ports, left } = search
  const { health } = ports
  const candidate = left.find((each) => mayBeCalled(search, each) && isFull(search, each))
  if (candidate === undefined) return undefined
  const { places } = candidate.provider
  const size = placesOf(completion, candidate)
  const waitMs = Math.min(MAX_QUEUE_MS, deadlineOf(completion, candidate) - health.clock())
  const waiter = waitMs > 0 ? places.join(completion.caller.accountId, size) : undefined
  if (waiter === undefined) throw search.failure ?? crowded(search, candidate)
  const timer = setTimeout(waiter.leave, waitMs)
  try {
    await unlessOver(completion, waiter.over)
  } finally {
    clearTimeout(timer)
    waiter.leave()
  }
  if (!waiter.granted()) throw isOver(completion) ? giveUp(search) : (search.failure ?? crowded(search, candidate))
  const lane = laneNow(search, candidate)
  const isWell = candidate.scripted || roleNow(candidate.deployment.breaker, health.clock()) !== undefined
  if (!isOver(completion) && lane !== undefined && isWell) {
    return enter(search, { candidate, lane, role: undefined, size })
  }
  places.giveBack(size)
  if (isOver(completion)) throw giveUp(search)
  return undefined
}

function isFull({ completion, ports }: Search, candidate: Candidate): boolean {
  return skipReason(candidate, ports.health, placesOf(completion, candidate)) === 'full'
}

/** Those that may do better after a moment are left again. @returns how long that moment is. */
export function beginRound(search: Search): number {
  const { completion, again, left, askedMs, ports } = search
  search.round += 1
  search.left = completion.targets.filter(
    (each) => left.includes(each) || (again.includes(each) && mayBeCalled(search, each)),
  )
  search.again = NONE
  search.askedMs = undefined
  if (search.left.length === 0) throw giveUp(search)
  return askedMs ?? ports.health.random() * Math.min(RETRY_MAX_MS, RETRY_BASE_MS * 2 ** (search.round - 1))
}

/** @returns how long to wait until a credential may be of use again; throws where that is too long. */
export function waitForCredential(search: Search): number {
  const { ports, left, waitedMs } = search
  const now = ports.health.clock()
  let soonest = Number.POSITIVE_INFINITY
  let limited: Candidate | undefined
  for (const candidate of left) {
    if (!mayBeCalled(search, candidate)) continue
    for (const { health } of candidate.lanes) {
      const cooling = coolingOf(health, candidate.model, now)
      if (cooling?.cause !== 'limited' || cooling.until >= soonest) continue
      soonest = cooling.until
      limited = candidate
    }
  }
  if (limited === undefined) throw giveUp(search)
  const leftMs = soonest - now
  const patienceMs = leftMs > RETRY_MAX_MS ? TRY_EVERY_MS + LOOK_MS : RETRY_MAX_MS + LOOK_MS
  if (search.failure !== undefined && leftMs > RETRY_MAX_MS) throw search.failure
  if (waitedMs >= patienceMs) throw search.failure ?? limiting(search, limited, leftMs)
  // (a timer may fire a moment early)
  const waitMs = leftMs > RETRY_MAX_MS ? LOOK_MS : Math.ceil(leftMs) + 1
  search.waitedMs += waitMs
  return waitMs
}

export async function waitWithin(search: Search, waitMs: number): Promise<void> {
  const { completion, ports, left } = search
  const [first] = left
  if (first === undefined || ports.health.clock() + waitMs >= deadlineOf(completion, first)) throw giveUp(search)
  await pause(completion, waitMs)
  if (isOver(completion)) throw giveUp(search)
}

function giveUp(search: Search): unknown {
  const { failure, completion } = search
  if (failure !== undefined) return failure
  if (isOver(completion)) return new Error('The request was over before a provider was called.')
  listSkipped(search, undefined)
  const message = 'No provider of the model could be called in time.'
  return new GatewayError('overloaded', message, { retryAfterMs: CROWDED_RETRY_MS })
}

function crowded(search: Search, { upstream, provider }: Candidate): GatewayError {
  listSkipped(search, undefined)
  const message = `All ${provider.places.inFlight()} places at the provider '${upstream.name}' are taken.`
  return new GatewayError('overloaded', message, { retryAfterMs: CROWDED_RETRY_MS })
}

function limiting(search: Search, { upstream }: Candidate, waitMs: number): GatewayError {
  listSkipped(search, undefined)
  const message = `The provider '${upstream.name}' is limiting the gateway's requests.`
  return new GatewayError('provider_rate_limited', message, { retryAfterMs: Math.ceil(waitMs) })
}
