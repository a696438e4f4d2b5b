/** The calls of a completion as they are kept and told: in whole milliseconds, and never more than fit a row. */
import { isRecord, parseJson } from '../lib/json.ts'
import type { AttemptNote } from './completion.ts'

/** The newest ones. */
const MAX_NOTES = 10
/** Of a provider or a model: the configuration sets its names no limit. */
const MAX_NAME_LENGTH = 200

export function boundedAttempts(log: readonly AttemptNote[]): readonly AttemptNote[] {
  return log.slice(-MAX_NOTES).map(({ provider, model, outcome, status, startedMs, durationMs }) => ({
    provider: provider.slice(0, MAX_NAME_LENGTH),
    model: model.slice(0, MAX_NAME_LENGTH),
    outcome,
    status,
    startedMs: Math.round(startedMs),
    durationMs: Math.round(durationMs),
  }))
}

/** JSON, as it is in the database. */
export function attemptLogText(log: readonly AttemptNote[] | undefined): string | undefined {
  return log === undefined ? undefined : JSON.stringify(boundedAttempts(log))
}

/** @returns undefined for null, and for what `attemptLogText` has not written. */
export function parseAttemptLog(text: string | null): readonly AttemptNote[] | undefined {
  const list = text === null ? undefined : parseJson(text)
  if (!Array.isArray(list) || !list.every(isRecord)) return undefined
  return list as unknown as readonly AttemptNote[] // only `attemptLogText` writes the column
}
