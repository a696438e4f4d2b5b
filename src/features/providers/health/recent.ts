/** The health of providers over the last 24 hours, from the hourly counts of all processes. */
import type { Kysely } from 'kysely'
import type { Database } from '../../../db/schema/schema.ts'
import { HOUR_MS } from './recorder.ts'

const HOURS = 24

export interface RecentCalls {
  readonly calls: number
  readonly failures: number
  readonly lastFailure: ProviderFailureNote | undefined
  /** Unix milliseconds; undefined: no answer in this time. */
  readonly lastAnswerAt: number | undefined
}

export interface ProviderFailureNote {
  /** Unix milliseconds. */
  readonly at: number
  readonly outcome: string
  /** HTTP status of the provider; null: no response. */
  readonly status: number | null
  readonly model: string
}

/** Returns the calls of the current hour and the 23 before it, by provider. @param now Unix milliseconds. */
export async function recentCalls(db: Kysely<Database>, now: number): Promise<ReadonlyMap<string, RecentCalls>> {
  const rows = await db
    .selectFrom('provider_hour')
    .selectAll()
    .where('hour', '>', Math.floor(now / HOUR_MS) - HOURS)
    .orderBy('provider')
    .orderBy('hour')
    .execute()
  const found = new Map<string, RecentCalls>()
  for (const row of rows) found.set(row.provider, merged(found.get(row.provider), row))
  return found
}

type HourRow = Readonly<Database['provider_hour']>

/** @param row Of a later hour than `sum`. */
function merged(sum: RecentCalls | undefined, row: HourRow): RecentCalls {
  const { last_failure_at: at, last_failure_outcome: outcome, last_failure_status: status } = row
  const failure = outcome === null ? undefined : { at, outcome, status, model: row.last_failure_model ?? '' }
  return {
    calls: (sum?.calls ?? 0) + row.calls,
    failures: (sum?.failures ?? 0) + row.failures,
    lastFailure: failure ?? sum?.lastFailure,
    lastAnswerAt: row.last_answer_at === 0 ? sum?.lastAnswerAt : row.last_answer_at,
  }
}

/** What an operator has to fix or wait for: the last call failed. Undefined: it was answered, or there was none. */
export function currentProblem({ lastFailure, lastAnswerAt = 0 }: RecentCalls): string | undefined {
  if (lastFailure === undefined || lastFailure.at < lastAnswerAt) return undefined
  return failureName(lastFailure)
}

/** Whether the provider refuses the gateway and no call has been answered since. */
export function isRefused({ lastFailure, lastAnswerAt = 0 }: RecentCalls): boolean {
  if (lastFailure === undefined || lastFailure.at < lastAnswerAt) return false
  return lastFailure.outcome === 'credentials' || lastFailure.outcome === 'quota'
}

const NAMES: Readonly<Record<string, string>> = {
  credentials: 'Key refused',
  quota: 'Quota exhausted',
  rate_limited: 'Rate limited',
  not_found: 'Model not found',
  overloaded: 'Overloaded',
  cut: 'Answer interrupted',
}

/** `Key refused (401)`, `No connection`. */
export function failureName({ outcome, status }: ProviderFailureNote): string {
  if (status === null) return NAMES[outcome] ?? 'No response'
  return `${NAMES[outcome] ?? 'Failing'} (${status})`
}
