/**
 * Group commit: holds, settlements and all other units of work of this process, one batch at a time. What comes while a
 * batch is under way goes out with the next, as soon as that one has ended. Holds are refused when the database is away
 * or slow; settlements and releases stay until they are in it. Knows no SQL: a `LedgerStore` carries batches out.
 */
import { databaseUnavailable } from '../../db/failure.ts'
import type { RunningEstimate } from '../../domain/credit.ts'
import { GatewayError } from '../../domain/errors.ts'
import { invariant } from '../../lib/invariant.ts'
import { type AskDesk, hasRoom, refusalOf, refuseSent, watchAsks } from './commit-asks.ts'
import { answerAsk, answerLandings, type Delivery } from './commit-outcomes.ts'
import {
  createCommitQueue,
  dropLanded,
  landRelease,
  landSettlement,
  noteEstimates,
  putBack,
  type Taken,
  takeBatch,
} from './commit-queue.ts'
import type { ExtendUnit, HoldUnit, LedgerStore, Outcome, ReleaseUnit, SettleUnit, Unit } from './unit.ts'

/** How long settlements wait for holds whose batch they can share. */
const LANDING_PATIENCE_MS = 20
const FIRST_PROBE_MS = 250
const LAST_PROBE_MS = 1_000
const CLOSE_TIMEOUT_MS = 30_000

export interface CommitterInput {
  readonly store: LedgerStore
  readonly log: Delivery['log']
  /** Monotonic milliseconds. */
  readonly clock?: () => number
  readonly closeTimeoutMs?: number
}

export interface Committer {
  /**
   * Resolves when the hold is committed, or was not granted. Rejects with `database_unavailable` at once when the
   * database is away and after 5 s when it is slow, with `overloaded` when there is no room; then nothing is held, or
   * what is will be given back.
   */
  hold(unit: HoldUnit): Promise<Outcome>
  extend(unit: ExtendUnit): Promise<Outcome>
  /**
   * Any other unit, also a settlement of a hold that is not this process's own. Rejects with `database_unavailable`:
   * nothing is known to be committed then, and nothing is tried again.
   */
  submit(unit: Unit): Promise<Outcome>
  /**
   * Resolves when the settlement is in the database, however long that takes. Never rejects. Those that came one after the
   * other share the promise.
   */
  settle(unit: SettleUnit): Promise<void>
  release(unit: ReleaseUnit): void
  /** Notes what running requests have come to. They go with a later batch; of each request the newest. */
  estimates(list: readonly RunningEstimate[]): void
  /** Resolves when all settlements and releases that came before are in the database. */
  flush(): Promise<void>
  /** Writes what is left. Rejects with `database_unavailable` when that takes more than 30 s; what is left is not written. */
  close(): Promise<void>
  /** Settlements and releases that are not in the database yet. */
  pending(): number
  /** Settlements and releases that the database refused for good; each was logged whole. */
  failed(): number
  /** Whether another hold could be settled later, come what may. */
  room(): boolean
  available(): boolean
  /** @returns Ends it. */
  onAvailability(listener: (available: boolean) => void): () => void
}

interface Desk extends Delivery, AskDesk {
  readonly store: LedgerStore
  readonly listeners: Set<(available: boolean) => void>
  probeMs: number
  starting: NodeJS.Immediate | undefined
  landTimer: NodeJS.Timeout | undefined
  probeTimer: NodeJS.Timeout | undefined
  flushes: { readonly until: number; readonly resolve: () => void }[]
}

export function createCommitter(input: CommitterInput): Committer {
  const { closeTimeoutMs = CLOSE_TIMEOUT_MS } = input
  const desk = createDesk(input)
  const { queue, listeners } = desk
  return {
    hold: (unit) => ask(desk, unit),
    extend: (unit) => ask(desk, unit),
    submit: (unit) => ask(desk, unit),
    settle(unit) {
      if (!unit.unrecorded && desk.holdsOut > 0) desk.holdsOut--
      const landed = landSettlement(queue, unit, desk.clock())
      if (queue.isAwaited) startSoon(desk)
      else landSoon(desk)
      return landed
    },
    release(unit) {
      if (desk.holdsOut > 0) desk.holdsOut--
      landRelease(queue, unit, desk.clock())
      landSoon(desk)
    },
    estimates(list) {
      noteEstimates(queue, list)
      landSoon(desk)
    },
    flush: () => flush(desk),
    close: () => close(desk, closeTimeoutMs),
    pending: () => queue.landings.length,
    failed: () => desk.failed,
    room: () => hasRoom(desk),
    available: () => desk.outage === undefined,
    onAvailability(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  }
}

function createDesk({ store, log, clock = () => performance.now() }: CommitterInput): Desk {
  return {
    store,
    log,
    clock,
    queue: createCommitQueue(),
    listeners: new Set(),
    holdsOut: 0,
    failed: 0,
    underWay: undefined,
    outage: undefined,
    probeMs: FIRST_PROBE_MS,
    closing: false,
    stopped: false,
    starting: undefined,
    landTimer: undefined,
    askTimer: undefined,
    probeTimer: undefined,
    flushes: [],
  }
}

function ask(desk: Desk, unit: Unit): Promise<Outcome> {
  const refusal = refusalOf(desk, unit)
  if (refusal !== undefined) return Promise.reject(refusal)
  return new Promise((resolve, reject) => {
    desk.queue.asks.push({ unit, since: desk.clock(), resolve, reject, given: false })
    startSoon(desk)
    watchAsks(desk)
  })
}

/** At the end of this turn of the event loop, so that everything that came in it goes together. */
function startSoon(desk: Desk): void {
  if (desk.underWay !== undefined || desk.starting !== undefined) return
  desk.starting = setImmediate(() => {
    desk.starting = undefined
    if (desk.outage === undefined) start(desk)
  })
}

/** With the next batch of asks; if none comes in time, alone. */
function landSoon(desk: Desk): void {
  const { queue, underWay, outage, landTimer, stopped } = desk
  if (underWay !== undefined || outage !== undefined || landTimer !== undefined || stopped) return
  if (queue.landings.length > 0 || queue.estimates.size > 0)
    desk.landTimer = setTimeout(landDue, patienceMs(desk), desk)
}

function landDue(desk: Desk): void {
  desk.landTimer = undefined
  if (desk.queue.landings.length === 0 || patienceMs(desk) === 0) start(desk)
  else landSoon(desk)
}

/** How much longer the oldest settlement waits. */
function patienceMs({ queue, clock }: Desk): number {
  const since = queue.landings[0]?.since ?? clock()
  return Math.max(0, since + LANDING_PATIENCE_MS - clock())
}

function start(desk: Desk): void {
  if (desk.underWay !== undefined || desk.stopped) return
  const taken = takeBatch(desk.queue)
  if (taken.units.length === 0 && desk.outage === undefined) return
  desk.underWay = taken
  desk.store.commit({ units: taken.units }).then(
    (outcomes) => onCommitted(desk, taken, outcomes),
    (error: unknown) => onRefused(desk, taken, error),
  )
}

function onCommitted(desk: Desk, taken: Taken, outcomes: readonly Outcome[]): void {
  const { queue } = desk
  // Otherwise nobody knows what was committed: the spool does, and a new start reads it.
  invariant(outcomes.length === taken.units.length, `${taken.units.length} units came to ${outcomes.length} outcomes.`)
  desk.underWay = undefined
  dropLanded(queue, taken)
  if (desk.outage !== undefined) endOutage(desk)
  // The next batch goes out before this one's answers do: the database works while they are given.
  if (queue.asks.length > 0 || queue.isAwaited || desk.flushes.length > 0) start(desk)
  else landLeft(desk)
  answerLandings(desk, taken, outcomes)
  let at = outcomes.length - taken.asks.length
  for (const each of taken.asks) answerAsk(desk, each, outcomes[at++])
  endFlushes(desk)
}

/** After an outage there are more than one batch takes: those have waited long enough. */
function landLeft(desk: Desk): void {
  if (desk.queue.landings.length > 0 && patienceMs(desk) === 0) start(desk)
  else landSoon(desk)
}

/** Nothing is known to be committed. Asks are refused; what must land stays, and asks when the database is back. */
function onRefused(desk: Desk, taken: Taken, error: unknown): void {
  const { queue } = desk
  desk.underWay = undefined
  putBack(queue, taken)
  const failure = error instanceof GatewayError ? error : databaseUnavailable(error)
  if (desk.outage === undefined) beginOutage(desk, failure)
  for (const each of taken.asks) refuseSent(desk, each, failure)
  for (const { reject } of queue.asks.splice(0)) reject(failure)
  if (desk.stopped) return
  clearTimeout(desk.probeTimer)
  desk.probeTimer = setTimeout(() => start(desk), desk.probeMs)
  desk.probeMs = Math.min(LAST_PROBE_MS, desk.probeMs * 2)
}

function beginOutage(desk: Desk, failure: GatewayError): void {
  desk.outage = failure
  clearTimeout(desk.landTimer)
  desk.landTimer = undefined
  desk.log.warn({ error: String(failure.cause ?? failure) }, 'the ledger waits for the database')
  for (const listener of desk.listeners) listener(false)
}

function endOutage(desk: Desk): void {
  desk.outage = undefined
  desk.probeMs = FIRST_PROBE_MS
  clearTimeout(desk.probeTimer)
  desk.log.warn({ waiting: desk.queue.landings.length }, 'the ledger is written again')
  for (const listener of desk.listeners) listener(true)
}

function flush(desk: Desk): Promise<void> {
  const { queue, flushes } = desk
  if (queue.landed === queue.came) return Promise.resolve()
  return new Promise((resolve) => {
    flushes.push({ until: queue.came, resolve })
    start(desk)
  })
}

function endFlushes(desk: Desk): void {
  const { flushes, queue } = desk
  while (flushes[0] !== undefined && flushes[0].until <= queue.landed) flushes.shift()?.resolve()
}

async function close(desk: Desk, timeoutMs: number): Promise<void> {
  desk.closing = true
  const late = Promise.withResolvers<void>()
  const timer = setTimeout(late.resolve, timeoutMs)
  await Promise.race([flush(desk), late.promise])
  desk.stopped = true
  for (const each of [timer, desk.landTimer, desk.askTimer, desk.probeTimer]) clearTimeout(each)
  const left = desk.queue.landings.length
  if (left > 0) throw new GatewayError('database_unavailable', `${left} settlements are not in the database.`)
}
