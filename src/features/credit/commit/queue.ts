/**
 * The queue of the committer. Requests (holds and other units with a caller that waits) can be rejected and time out;
 * settlements must be committed, so they stay here until they are. Knows no database.
 */
import { databaseUnavailable } from '../../../db/failure.ts'
import type { RunningEstimate } from '../../../domain/credit.ts'
import { GatewayError } from '../../../domain/errors.ts'
import type { CompletionId } from '../../../domain/ids.ts'
import { type Outcome, type SettleUnit, type Unit, unchargedUnit } from '../ledger/unit.ts'

/** Requests that may wait for a batch. */
export const MAX_WAITING_REQUESTS = 10_000
/** Settlements that wait, and holds that will become some. Beyond it nothing new is admitted, so that none is lost. */
export const MAX_UNSETTLED = 100_000
/** A hold that is not committed by then is rejected. */
export const REQUEST_TIMEOUT_MS = 5_000
export const BATCH_SIZE = 500
/** The part of a batch that is left to requests, however many settlements wait after an outage. */
const REQUESTS_SHARE = 250
const MAX_ESTIMATES = 100_000

export interface QueuedRequest {
  readonly unit: Unit
  /** When it was enqueued, in milliseconds of the committer's clock. */
  readonly since: number
  readonly resolve: (outcome: Outcome) => void
  readonly reject: (error: Error) => void
  /** It was rejected while its batch was in flight: nobody waits for the outcome. */
  rejected: boolean
}

export interface QueuedSettlement {
  readonly unit: SettleUnit
  readonly since: number
  readonly group: SettlementGroup
  /** It was in a batch that failed, and may have been committed nevertheless. */
  tried: boolean
}

/** Consecutive settlements share one promise. */
export interface SettlementGroup {
  readonly committed: Promise<void>
  readonly resolve: () => void
  left: number
}

/** One batch. Its units are the settlements, then the estimates as one, then the requests. */
export interface CommitBatch {
  readonly units: readonly Unit[]
  readonly settlements: readonly QueuedSettlement[]
  readonly estimates: readonly RunningEstimate[]
  readonly requests: readonly QueuedRequest[]
}

export interface CommitQueue {
  /** Waiting for a batch, oldest first. */
  requests: QueuedRequest[]
  /** Not known to be committed, in order of arrival; a batch in flight has the first of them. */
  settlements: QueuedSettlement[]
  /** The newest of each request. */
  readonly estimates: Map<CompletionId, RunningEstimate>
  /** The group that the next settlement joins. */
  group: SettlementGroup | undefined
  /** A settlement has an answer that is sent only when it is committed. */
  isAwaited: boolean
  /** Settlements enqueued so far, and those committed. */
  enqueued: number
  committed: number
}

export function createCommitQueue(): CommitQueue {
  return {
    requests: [],
    settlements: [],
    estimates: new Map(),
    group: undefined,
    isAwaited: false,
    enqueued: 0,
    committed: 0,
  }
}

export function enqueueSettlement(queue: CommitQueue, unit: SettleUnit, since: number): Promise<void> {
  const group = queue.group ?? newGroup(queue)
  group.left++
  if (unit.kept !== undefined) queue.isAwaited = true
  queue.settlements.push({ unit, since, group, tried: false })
  queue.enqueued++
  return group.committed
}

function newGroup(queue: CommitQueue): SettlementGroup {
  const { promise, resolve } = Promise.withResolvers<void>()
  queue.group = { committed: promise, resolve, left: 0 }
  return queue.group
}

export function setEstimates({ estimates }: CommitQueue, list: readonly RunningEstimate[]): void {
  for (const estimate of list) {
    if (estimates.size >= MAX_ESTIMATES && !estimates.has(estimate.id)) return // a crash now would charge an older estimate
    estimates.set(estimate.id, estimate)
  }
}

/** The next batch; empty when nothing waits. */
export function takeBatch(queue: CommitQueue): CommitBatch {
  const settlements = queue.settlements.slice(0, BATCH_SIZE - Math.min(queue.requests.length, REQUESTS_SHARE))
  const requests = queue.requests.splice(0, BATCH_SIZE - settlements.length)
  const estimates = takeEstimates(queue, BATCH_SIZE - settlements.length - requests.length)
  queue.group = undefined
  if (settlements.length === queue.settlements.length) queue.isAwaited = false
  const units: Unit[] = []
  for (const { unit } of settlements) units.push(unit)
  if (estimates.length > 0) units.push({ kind: 'estimates', estimates })
  for (const { unit } of requests) units.push(unit)
  return { units, settlements, estimates, requests }
}

function takeEstimates({ estimates }: CommitQueue, count: number): readonly RunningEstimate[] {
  if (estimates.size === 0) return []
  const batch: RunningEstimate[] = []
  for (const [id, estimate] of estimates) {
    if (batch.length >= count) break
    batch.push(estimate)
    estimates.delete(id)
  }
  return batch
}

/** Removes the settlements of a committed batch. */
export function removeCommitted(queue: CommitQueue, { settlements }: CommitBatch): void {
  queue.settlements.splice(0, settlements.length)
  queue.committed += settlements.length
}

/** After a failed batch: its settlements are still first in the queue, its estimates return unless there are newer ones. */
export function requeue({ estimates }: CommitQueue, batch: CommitBatch): void {
  for (const settlement of batch.settlements) settlement.tried = true
  for (const estimate of batch.estimates) {
    if (!estimates.has(estimate.id)) estimates.set(estimate.id, estimate)
  }
}

export function resolveGroup(group: SettlementGroup): void {
  if (--group.left === 0) group.resolve()
}

/** The part of the committer's state that requests concern. */
export interface RequestState {
  readonly clock: () => number
  readonly requestTimeoutMs: number
  readonly queue: CommitQueue
  /** Holds that were granted and not yet resolved. */
  openHolds: number
  inFlight: CommitBatch | undefined
  /** Undefined: the database is available. */
  outage: GatewayError | undefined
  closing: boolean
  stopped: boolean
  requestTimer: NodeJS.Timeout | undefined
}

/** Undefined: the unit may be queued. */
export function rejectionOf(state: RequestState, { kind }: Unit): GatewayError | undefined {
  if (state.closing) return new GatewayError('shutting_down', 'The server is shutting down.', { retryAfterMs: 1_000 })
  if (state.outage !== undefined) return state.outage
  const isTooMuch = state.queue.requests.length >= MAX_WAITING_REQUESTS || (kind === 'hold' && !hasRoom(state))
  if (!isTooMuch) return undefined
  return new GatewayError('overloaded', 'Too many requests wait for the database.', { retryAfterMs: 1_000 })
}

export function hasRoom({ queue, openHolds }: RequestState): boolean {
  return queue.requests.length < MAX_WAITING_REQUESTS && queue.settlements.length + openHolds < MAX_UNSETTLED
}

/** Rejects a request whose batch was sent. A hold may be committed nevertheless, and even charged by others since. */
export function rejectSent(state: RequestState, each: QueuedRequest, failure: GatewayError): void {
  if (each.rejected) return
  each.rejected = true
  if (each.unit.kind === 'hold') void enqueueSettlement(state.queue, unchargedUnit(each.unit), state.clock())
  each.reject(failure)
}

/** One timer, for the oldest request. */
export function scheduleTimeout(state: RequestState): void {
  if (state.requestTimer !== undefined || state.stopped) return
  const oldest = state.inFlight?.requests.find(isRejectable) ?? state.queue.requests[0]
  if (oldest === undefined) return
  const waitMs = Math.max(0, oldest.since + state.requestTimeoutMs - state.clock())
  state.requestTimer = setTimeout(rejectTimedOut, waitMs, state)
  state.requestTimer.unref()
}

/** Holds can be released. Whether other units of a batch in flight are committed is unknown until it ends. */
function isRejectable({ unit, rejected }: QueuedRequest): boolean {
  return unit.kind === 'hold' && !rejected
}

function rejectTimedOut(state: RequestState): void {
  state.requestTimer = undefined
  const { queue, inFlight, requestTimeoutMs } = state
  const latest = state.clock() - requestTimeoutMs
  const failure = databaseUnavailable(new Error(`No answer in ${requestTimeoutMs} ms.`))
  const firstFresh = queue.requests.findIndex(({ since }) => since > latest)
  const stale = queue.requests.splice(0, firstFresh < 0 ? queue.requests.length : firstFresh)
  for (const { reject } of stale) reject(failure)
  for (const each of inFlight?.requests ?? [])
    if (isRejectable(each) && each.since <= latest) rejectSent(state, each, failure)
  scheduleTimeout(state)
}
