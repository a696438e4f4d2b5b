/** Warns where providers report usage that cannot be: once a minute for each provider and model, with a count. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { COMPLETION_CHANNEL, type CompletionSignal } from '../domain/signals.ts'

export const WARN_EVERY_MS = 60_000

interface Noted {
  /** Since the last warning. */
  count: number
  warnedAt: number
}

export interface WarningInput {
  readonly log: { warn(fields: object, message: string): void }
  /** Monotonic milliseconds. */
  readonly clock?: () => number
}

/** @returns Ends it. */
export function warnOfBoundedUsage({ log, clock = () => performance.now() }: WarningInput): () => void {
  const noted = new Map<string, Noted>() // providers and models are the operator's: few
  function note(message: unknown): void {
    const { record, reported } = message as CompletionSignal
    if (reported === undefined) return
    const { provider, model, promptTokens, completionTokens, id } = record
    const name = `${provider} ${model}`
    const known = noted.get(name) ?? { count: 0, warnedAt: Number.NEGATIVE_INFINITY }
    noted.set(name, known)
    known.count += 1
    if (clock() - known.warnedAt < WARN_EVERY_MS) return
    const charged = { promptTokens, completionTokens }
    const fields = { provider, model, count: known.count, id, reported: totalsOf(reported), charged }
    log.warn(fields, 'a provider reported usage outside of what the request can have used')
    known.count = 0
    known.warnedAt = clock()
  }
  subscribe(COMPLETION_CHANNEL, note)
  return () => void unsubscribe(COMPLETION_CHANNEL, note)
}

function totalsOf({ promptTokens, completionTokens }: NonNullable<CompletionSignal['reported']>): object {
  return { promptTokens, completionTokens }
}
