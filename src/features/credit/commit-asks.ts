/** Who waits for an answer: how many may, for how long, and what becomes of a hold whose answer came too late. */
import { databaseUnavailable } from '../../db/failure.ts'
import { GatewayError } from '../../domain/errors.ts'
import { type Ask, type CommitQueue, landRelease, type Taken } from './commit-queue.ts'
import type { Unit } from './unit.ts'

/** Asks that may wait for a batch. */
export const MAX_WAITING_ASKS = 10_000
/** Settlements that wait, and holds that will become some. Beyond it nothing new is admitted, so that none is lost. */
export const MAX_UNSETTLED = 100_000
/** A hold that is not committed by then is refused. */
const ASK_PATIENCE_MS = 5_000

/** What of the committer's state concerns them. */
export interface AskDesk {
  readonly clock: () => number
  readonly queue: CommitQueue
  /** Holds that were granted and not yet resolved. */
  holdsOut: number
  underWay: Taken | undefined
  /** Undefined: the database is there. */
  outage: GatewayError | undefined
  closing: boolean
  stopped: boolean
  askTimer: NodeJS.Timeout | undefined
}

/** Undefined: the unit may be queued. */
export function refusalOf(desk: AskDesk, { kind }: Unit): GatewayError | undefined {
  if (desk.closing) return new GatewayError('shutting_down', 'The server is shutting down.', { retryAfterMs: 1_000 })
  if (desk.outage !== undefined) return desk.outage
  const isTooMuch = desk.queue.asks.length >= MAX_WAITING_ASKS || (kind === 'hold' && !hasRoom(desk))
  if (!isTooMuch) return undefined
  return new GatewayError('overloaded', 'Too many requests wait for the database.', { retryAfterMs: 1_000 })
}

export function hasRoom({ queue, holdsOut }: AskDesk): boolean {
  return queue.asks.length < MAX_WAITING_ASKS && queue.landings.length + holdsOut < MAX_UNSETTLED
}

/** The answer may have been lost: a hold that was or will be committed is given back. */
export function refuseSent(desk: AskDesk, each: Ask, failure: GatewayError): void {
  if (each.given) return
  each.given = true
  if (each.unit.kind === 'hold') {
    const { accountId, id } = each.unit
    landRelease(desk.queue, { kind: 'release', accountId, id }, desk.clock())
  }
  each.reject(failure)
}

/** One timer, for who has waited longest. */
export function watchAsks(desk: AskDesk): void {
  if (desk.askTimer !== undefined || desk.stopped) return
  const oldest = desk.underWay?.asks.find(isRefusable) ?? desk.queue.asks[0]
  if (oldest === undefined) return
  const waitMs = Math.max(0, oldest.since + ASK_PATIENCE_MS - desk.clock())
  desk.askTimer = setTimeout(refuseStale, waitMs, desk)
  desk.askTimer.unref()
}

/** Holds can be given back. Whether anything else of a batch under way is committed, only its end tells. */
function isRefusable({ unit, given }: Ask): boolean {
  return unit.kind === 'hold' && !given
}

function refuseStale(desk: AskDesk): void {
  desk.askTimer = undefined
  const { queue, underWay } = desk
  const latest = desk.clock() - ASK_PATIENCE_MS
  const failure = databaseUnavailable(new Error(`No answer in ${ASK_PATIENCE_MS} ms.`))
  const firstFresh = queue.asks.findIndex(({ since }) => since > latest)
  const stale = queue.asks.splice(0, firstFresh < 0 ? queue.asks.length : firstFresh)
  for (const { reject } of stale) reject(failure)
  for (const each of underWay?.asks ?? [])
    if (isRefusable(each) && each.since <= latest) refuseSent(desk, each, failure)
  watchAsks(desk)
}
