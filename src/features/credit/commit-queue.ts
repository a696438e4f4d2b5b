/**
 * What waits to be committed. Asks wait for their answer and may be refused; settlements and releases must land, so they
 * stay here until they have. Knows no clock and no database.
 */
import type { RunningEstimate } from '../../domain/credit.ts'
import type { CompletionId } from '../../domain/ids.ts'
import type { Outcome, ReleaseUnit, SettleUnit, Unit } from './unit.ts'

export const BATCH_SIZE = 500
/** What asks get of a batch, however many settlements wait after an outage. */
const ASKS_SHARE = 250
const MAX_ESTIMATES = 100_000

export interface Ask {
  readonly unit: Unit
  /** When it came, in the milliseconds of the committer's clock. */
  readonly since: number
  readonly resolve: (outcome: Outcome) => void
  readonly reject: (error: Error) => void
  /** It was refused while its batch was under way: nobody waits for the outcome. */
  given: boolean
}

export interface Landing {
  readonly unit: SettleUnit | ReleaseUnit
  readonly since: number
  /** Undefined for releases, whose end nobody waits for. */
  readonly group: SettlementGroup | undefined
  /** It was in a batch that failed, and may have been committed all the same. */
  tried: boolean
}

/** Settlements that came one after the other share one promise. */
export interface SettlementGroup {
  readonly landed: Promise<void>
  readonly resolve: () => void
  left: number
}

/** One batch. Its units are the landings, then the estimates as one, then the asks. */
export interface Taken {
  readonly units: readonly Unit[]
  readonly landings: readonly Landing[]
  readonly estimates: readonly RunningEstimate[]
  readonly asks: readonly Ask[]
}

export interface CommitQueue {
  /** Waiting for a batch, oldest first. */
  asks: Ask[]
  /** Not known to be committed, in the order they came; a batch under way has the first of them. */
  landings: Landing[]
  /** The newest of each request. */
  readonly estimates: Map<CompletionId, RunningEstimate>
  /** That the next settlement joins. */
  group: SettlementGroup | undefined
  /** Among the landings is one with an answer that is given only when it has landed. */
  isAwaited: boolean
  /** How many settlements and releases have ever come, and how many have landed. */
  came: number
  landed: number
}

export function createCommitQueue(): CommitQueue {
  return { asks: [], landings: [], estimates: new Map(), group: undefined, isAwaited: false, came: 0, landed: 0 }
}

export function landSettlement(queue: CommitQueue, unit: SettleUnit, since: number): Promise<void> {
  const group = queue.group ?? newGroup(queue)
  group.left++
  if (unit.kept !== undefined) queue.isAwaited = true
  queue.landings.push({ unit, since, group, tried: false })
  queue.came++
  return group.landed
}

export function landRelease(queue: CommitQueue, unit: ReleaseUnit, since: number): void {
  queue.landings.push({ unit, since, group: undefined, tried: false })
  queue.came++
}

function newGroup(queue: CommitQueue): SettlementGroup {
  const { promise, resolve } = Promise.withResolvers<void>()
  queue.group = { landed: promise, resolve, left: 0 }
  return queue.group
}

export function noteEstimates({ estimates }: CommitQueue, list: readonly RunningEstimate[]): void {
  for (const estimate of list) {
    if (estimates.size >= MAX_ESTIMATES && !estimates.has(estimate.id)) return // a crash now would charge an older estimate
    estimates.set(estimate.id, estimate)
  }
}

/** The next batch; empty when nothing waits. */
export function takeBatch(queue: CommitQueue): Taken {
  const landings = queue.landings.slice(0, BATCH_SIZE - Math.min(queue.asks.length, ASKS_SHARE))
  const asks = queue.asks.splice(0, BATCH_SIZE - landings.length)
  const estimates = takeEstimates(queue, BATCH_SIZE - landings.length - asks.length)
  queue.group = undefined
  if (landings.length === queue.landings.length) queue.isAwaited = false
  const units: Unit[] = []
  for (const { unit } of landings) units.push(unit)
  if (estimates.length > 0) units.push({ kind: 'estimates', estimates })
  for (const { unit } of asks) units.push(unit)
  return { units, landings, estimates, asks }
}

function takeEstimates({ estimates }: CommitQueue, count: number): readonly RunningEstimate[] {
  if (estimates.size === 0) return []
  const taken: RunningEstimate[] = []
  for (const [id, estimate] of estimates) {
    if (taken.length >= count) break
    taken.push(estimate)
    estimates.delete(id)
  }
  return taken
}

/** The batch is committed: what had to land has. */
export function dropLanded(queue: CommitQueue, { landings }: Taken): void {
  queue.landings.splice(0, landings.length)
  queue.landed += landings.length
}

/** The batch is not known to be committed: its landings stay first in the queue, its estimates wait unless newer came. */
export function putBack({ estimates }: CommitQueue, taken: Taken): void {
  for (const landing of taken.landings) landing.tried = true
  for (const estimate of taken.estimates) {
    if (!estimates.has(estimate.id)) estimates.set(estimate.id, estimate)
  }
}

export function resolveGroup(group: SettlementGroup | undefined): void {
  if (group !== undefined && --group.left === 0) group.resolve()
}
