/**
 * Group commit: commits the holds, settlements and other units of this process, one batch at a time. Units that arrive
 * while a batch is in flight form the next one. Holds are rejected while the database is unavailable or slow; settlements
 * stay queued until they are committed. Knows no SQL: a `LedgerStore` commits the batches.
 */
import { databaseUnavailable } from '../../../db/failure.ts'
import type { RunningEstimate } from '../../../domain/credit.ts'
import { GatewayError } from '../../../domain/errors.ts'
import type { CompletionId } from '../../../domain/ids.ts'
import { invariant } from '../../../lib/crash-point.ts'
import {
  type ExtendUnit,
  type HoldUnit,
  type LedgerStore,
  type Outcome,
  type SettleUnit,
  type Unit,
  unchargedUnit,
} from '../ledger/unit.ts'
import {
  type CommitBatch,
  createCommitQueue,
  enqueueSettlement,
  hasRoom,
  type QueuedRequest,
  type QueuedSettlement,
  REQUEST_TIMEOUT_MS,
  type RequestState,
  rejectionOf,
  rejectSent,
  removeCommitted,
  requeue,
  resolveGroup,
  scheduleTimeout,
  setEstimates,
  takeBatch,
} from './queue.ts'

/** How long settlements wait for holds whose batch they can share. */
const SETTLEMENT_DELAY_MS = 20
const FIRST_PROBE_MS = 250
const LAST_PROBE_MS = 1_000
const CLOSE_TIMEOUT_MS = 30_000

export interface CommitterInput {
  readonly store: LedgerStore
  readonly log: Counters['log']
  /** Monotonic milliseconds. */
  readonly clock?: () => number
  /** A hold that is not committed by then is rejected; after 5 s unless set. */
  readonly requestTimeoutMs?: number
  readonly closeTimeoutMs?: number
}

export interface Committer {
  /**
   * Resolves when the hold is committed or refused. Rejects with `database_unavailable` at once while the database is
   * away and after 5 s when it is slow, with `overloaded` when the queue is full; then the hold is released if it exists.
   */
  hold(unit: HoldUnit): Promise<Outcome>
  extend(unit: ExtendUnit): Promise<Outcome>
  /**
   * Commits any other unit, also a settlement of another process's hold. Rejects with `database_unavailable`: the unit
   * may or may not be committed then, and is not retried.
   */
  submit(unit: Unit): Promise<Outcome>
  /** Resolves when the settlement is committed, however long that takes. Never rejects. Consecutive ones share a promise. */
  settle(unit: SettleUnit): Promise<void>
  /** Returns a hold for which nothing is charged. */
  release(unit: HoldUnit): void
  /** Records the cost so far of running requests, in a later batch; the newest per request counts. */
  estimates(list: readonly RunningEstimate[]): void
  /** Resolves when all settlements enqueued before are committed. */
  flush(): Promise<void>
  /** Commits what is queued. Rejects with `database_unavailable` when that takes more than 30 s. */
  close(): Promise<void>
  /** Settlements that are not committed yet, those of nothing included. */
  pending(): number
  /** Milliseconds that the oldest of them waits. */
  lagMs(): number
  /** Settlements that the database rejected for good; each was logged whole. */
  failed(): number
  /** Whether the queue has room for the settlement of another hold. */
  room(): boolean
  available(): boolean
  /** @returns Removes the listener. */
  onAvailability(listener: (available: boolean) => void): () => void
}

interface CommitterState extends Counters, RequestState {
  readonly store: LedgerStore
  readonly listeners: Set<(available: boolean) => void>
  probeMs: number
  starting: NodeJS.Immediate | undefined
  settlementTimer: NodeJS.Timeout | undefined
  probeTimer: NodeJS.Timeout | undefined
  flushes: { readonly until: number; readonly resolve: () => void }[]
}

export function createCommitter(input: CommitterInput): Committer {
  const { closeTimeoutMs = CLOSE_TIMEOUT_MS } = input
  const state = createState(input)
  const { queue, listeners } = state
  return {
    hold: (unit) => enqueue(state, unit),
    extend: (unit) => enqueue(state, unit),
    submit: (unit) => enqueue(state, unit),
    settle(unit) {
      if (!unit.unrecorded && state.openHolds > 0) state.openHolds--
      const committed = enqueueSettlement(queue, unit, state.clock())
      if (queue.isAwaited) scheduleBatch(state)
      else scheduleSettlements(state)
      return committed
    },
    release(unit) {
      if (state.openHolds > 0) state.openHolds--
      void enqueueSettlement(queue, unchargedUnit(unit), state.clock())
      scheduleSettlements(state)
    },
    estimates(list) {
      setEstimates(queue, list)
      scheduleSettlements(state)
    },
    flush: () => flush(state),
    close: () => close(state, closeTimeoutMs),
    pending: () => queue.settlements.length,
    lagMs() {
      const [oldest] = queue.settlements
      return oldest === undefined ? 0 : Math.max(0, state.clock() - oldest.since)
    },
    failed: () => state.failed,
    room: () => hasRoom(state),
    available: () => state.outage === undefined,
    onAvailability(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  }
}

function createState(input: CommitterInput): CommitterState {
  const { store, log, clock = () => performance.now(), requestTimeoutMs = REQUEST_TIMEOUT_MS } = input
  return {
    store,
    log,
    clock,
    requestTimeoutMs,
    queue: createCommitQueue(),
    listeners: new Set(),
    openHolds: 0,
    failed: 0,
    inFlight: undefined,
    outage: undefined,
    probeMs: FIRST_PROBE_MS,
    closing: false,
    stopped: false,
    starting: undefined,
    settlementTimer: undefined,
    requestTimer: undefined,
    probeTimer: undefined,
    flushes: [],
  }
}

function enqueue(state: CommitterState, unit: Unit): Promise<Outcome> {
  const rejection = rejectionOf(state, unit)
  if (rejection !== undefined) return Promise.reject(rejection)
  return new Promise((resolve, reject) => {
    state.queue.requests.push({ unit, since: state.clock(), resolve, reject, rejected: false })
    scheduleBatch(state)
    scheduleTimeout(state)
  })
}

/** At the end of this iteration of the event loop, so that its units share the batch. */
function scheduleBatch(state: CommitterState): void {
  if (state.inFlight !== undefined || state.starting !== undefined) return
  state.starting = setImmediate(() => {
    state.starting = undefined
    if (state.outage === undefined) startBatch(state)
  })
}

/** Settlements share the next batch of requests; after the delay they form one of their own. */
function scheduleSettlements(state: CommitterState): void {
  const { queue, inFlight, outage, settlementTimer, stopped } = state
  if (inFlight !== undefined || outage !== undefined || settlementTimer !== undefined || stopped) return
  if (queue.settlements.length > 0 || queue.estimates.size > 0)
    state.settlementTimer = setTimeout(onSettlementsDue, remainingDelayMs(state), state)
}

function onSettlementsDue(state: CommitterState): void {
  state.settlementTimer = undefined
  if (state.queue.settlements.length === 0 || remainingDelayMs(state) === 0) startBatch(state)
  else scheduleSettlements(state)
}

/** How much longer the oldest settlement waits. */
function remainingDelayMs({ queue, clock }: CommitterState): number {
  const since = queue.settlements[0]?.since ?? clock()
  return Math.max(0, since + SETTLEMENT_DELAY_MS - clock())
}

function startBatch(state: CommitterState): void {
  if (state.inFlight !== undefined || state.stopped) return
  const batch = takeBatch(state.queue)
  if (batch.units.length === 0 && state.outage === undefined) return
  state.inFlight = batch
  state.store.commit({ units: batch.units }).then(
    (outcomes) => onCommitted(state, batch, outcomes),
    (error: unknown) => onCommitFailed(state, batch, error),
  )
}

function onCommitted(state: CommitterState, batch: CommitBatch, outcomes: readonly Outcome[]): void {
  const { queue } = state
  // Otherwise nobody knows what was committed: the spool does, and a new start reads it.
  invariant(outcomes.length === batch.units.length, `${batch.units.length} units have ${outcomes.length} outcomes.`)
  state.inFlight = undefined
  removeCommitted(queue, batch)
  if (state.outage !== undefined) endOutage(state)
  // The next batch is sent before this one's promises resolve: the database works meanwhile.
  if (queue.requests.length > 0 || queue.isAwaited || state.flushes.length > 0) startBatch(state)
  else scheduleRemaining(state)
  resolveSettlements(state, batch, outcomes)
  let at = outcomes.length - batch.requests.length
  for (const each of batch.requests) resolveRequest(state, each, outcomes[at++])
  resolveFlushes(state)
}

/** After an outage more settlements wait than one batch takes: their delay is over. */
function scheduleRemaining(state: CommitterState): void {
  if (state.queue.settlements.length > 0 && remainingDelayMs(state) === 0) startBatch(state)
  else scheduleSettlements(state)
}

/** Nothing is known to be committed: rejects the requests, keeps the settlements, and probes the database. */
function onCommitFailed(state: CommitterState, batch: CommitBatch, error: unknown): void {
  const { queue } = state
  state.inFlight = undefined
  requeue(queue, batch)
  const failure = error instanceof GatewayError ? error : databaseUnavailable(error)
  if (state.outage === undefined) beginOutage(state, failure)
  for (const each of batch.requests) rejectSent(state, each, failure)
  for (const { reject } of queue.requests.splice(0)) reject(failure)
  if (state.stopped) return
  clearTimeout(state.probeTimer)
  state.probeTimer = setTimeout(() => startBatch(state), state.probeMs)
  state.probeMs = Math.min(LAST_PROBE_MS, state.probeMs * 2)
}

function beginOutage(state: CommitterState, failure: GatewayError): void {
  state.outage = failure
  clearTimeout(state.settlementTimer)
  state.settlementTimer = undefined
  state.log.warn({ error: String(failure.cause ?? failure) }, 'database unavailable: settlements wait')
  for (const listener of state.listeners) listener(false)
}

function endOutage(state: CommitterState): void {
  state.outage = undefined
  state.probeMs = FIRST_PROBE_MS
  clearTimeout(state.probeTimer)
  state.log.warn({ waiting: state.queue.settlements.length }, 'database available again: settlements are committed')
  for (const listener of state.listeners) listener(true)
}

function flush(state: CommitterState): Promise<void> {
  const { queue, flushes } = state
  if (queue.committed === queue.enqueued) return Promise.resolve()
  return new Promise((resolve) => {
    flushes.push({ until: queue.enqueued, resolve })
    startBatch(state)
  })
}

function resolveFlushes(state: CommitterState): void {
  const { flushes, queue } = state
  while (flushes[0] !== undefined && flushes[0].until <= queue.committed) flushes.shift()?.resolve()
}

async function close(state: CommitterState, timeoutMs: number): Promise<void> {
  state.closing = true
  const late = Promise.withResolvers<void>()
  const timer = setTimeout(late.resolve, timeoutMs)
  await Promise.race([flush(state), late.promise])
  state.stopped = true
  for (const each of [timer, state.settlementTimer, state.requestTimer, state.probeTimer]) clearTimeout(each)
  const left = state.queue.settlements.length
  if (left > 0) throw new GatewayError('database_unavailable', `${left} settlements are not in the database.`)
}

interface Counters {
  readonly log: {
    warn(fields: object, message: string): void
    error(fields: object, message: string): void
  }
  /** Holds that were granted and not yet resolved. */
  openHolds: number
  failed: number
}

function resolveRequest(state: Counters, request: QueuedRequest, outcome: Outcome = NONE): void {
  if (request.rejected) return
  if (request.unit.kind === 'hold' && outcome.kind === 'held') state.openHolds++
  request.resolve(outcome)
}

/** Resolves the batch's settlements, and reports those that the database rejected or had already. */
function resolveSettlements(state: Counters, batch: CommitBatch, outcomes: readonly Outcome[]): void {
  const found: CompletionId[] = []
  const corrected: CompletionId[] = []
  let isRetry = false
  let at = 0
  for (const settlement of batch.settlements) {
    const outcome = outcomes[at++] ?? NONE
    if (outcome.kind === 'failed') reportFailure(state, settlement, outcome.message)
    if (outcome.kind === 'corrected') corrected.push(settlement.unit.record.id)
    if (outcome.kind === 'already' && !settlement.unit.uncharged) {
      found.push(settlement.unit.record.id)
      isRetry ||= settlement.tried
    }
    resolveGroup(settlement.group)
  }
  if (found.length > 0) state.log.warn({ completions: found, isRetry }, 'already settled: nothing was charged again')
  if (corrected.length > 0)
    state.log.warn({ completions: corrected }, 'late settlements corrected the charges of estimates')
  const estimates = batch.estimates.length > 0 ? outcomes[at] : undefined
  if (estimates?.kind === 'failed')
    state.log.error({ reason: estimates.message }, 'running estimates rejected by the database')
}

const NONE: Outcome = { kind: 'failed', message: 'The batch has no outcome for it.' }

/** Logs the record, never the saved answer: that is the customer's. */
function reportFailure(state: Counters, { unit }: QueuedSettlement, reason: string): void {
  state.failed++
  const record = { ...unit.record, costNanoUsd: String(unit.record.costNanoUsd) }
  state.log.error({ settlement: record, reason }, 'settlement rejected by the database')
}
