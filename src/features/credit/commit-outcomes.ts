/** Gives a committed batch's outcomes to those who wait for them, and notes what should not have happened. */
import type { CompletionId } from '../../domain/ids.ts'
import { type Ask, type Landing, resolveGroup, type Taken } from './commit-queue.ts'
import type { Outcome } from './unit.ts'

/** What is kept count of on the way. */
export interface Delivery {
  readonly log: {
    warn(fields: object, message: string): void
    error(fields: object, message: string): void
  }
  /** Holds that were granted and not yet resolved. */
  holdsOut: number
  failed: number
}

export function answerAsk(delivery: Delivery, ask: Ask, outcome: Outcome = NONE): void {
  if (ask.given) return
  if (ask.unit.kind === 'hold' && outcome.kind === 'held') delivery.holdsOut++
  ask.resolve(outcome)
}

/** Settlements and releases, and the estimates behind them. */
export function answerLandings(delivery: Delivery, taken: Taken, outcomes: readonly Outcome[]): void {
  const found: CompletionId[] = []
  const corrected: CompletionId[] = []
  let isRetry = false
  let at = 0
  for (const landing of taken.landings) {
    const outcome = outcomes[at++] ?? NONE
    if (outcome.kind === 'failed') noteFailure(delivery, landing, outcome.message)
    if (outcome.kind === 'corrected' && landing.unit.kind === 'settle') corrected.push(landing.unit.record.id)
    if (outcome.kind === 'already' && landing.unit.kind === 'settle') {
      found.push(landing.unit.record.id)
      isRetry ||= landing.tried
    }
    resolveGroup(landing.group)
  }
  if (found.length > 0) delivery.log.warn({ completions: found, isRetry }, 'settled before: nothing was charged again')
  if (corrected.length > 0)
    delivery.log.warn({ completions: corrected }, 'charged at an estimate before: corrected to what they came to')
  const estimates = taken.estimates.length > 0 ? outcomes[at] : undefined
  if (estimates?.kind === 'failed') delivery.log.error({ reason: estimates.message }, 'running estimates were refused')
}

const NONE: Outcome = { kind: 'failed', message: 'The batch has no outcome for it.' }

/** The record, never the answer that is kept with it: that is the customer's. */
function noteFailure(delivery: Delivery, { unit }: Landing, reason: string): void {
  delivery.failed++
  if (unit.kind === 'release') {
    delivery.log.error({ release: unit, reason }, 'release refused by the database')
    return
  }
  const record = { ...unit.record, costNanoUsd: String(unit.record.costNanoUsd) }
  delivery.log.error({ settlement: record, reason }, 'settlement refused by the database')
}
