/**
 * The calls to each provider by hour, which survive restarts and cover all processes: recorded by each process every
 * few seconds, and read as the health of providers over the last 24 hours. Counts that the database does not accept
 * are dropped. Alerts of refused calls follow.
 */
import { type Insertable, type Kysely, sql } from 'kysely'
import { acquireAdvisoryLock } from '../../db/database.ts'
import type { Database } from '../../db/schema/schema.ts'
import { findFirstAccount } from '../../db/shared-queries.ts'
import type { AttemptNote, AttemptOutcome, CompletionRecord } from '../../domain/completion.ts'
import type { AccountId } from '../../domain/ids.ts'
import { type ProviderRefusedData, REFUSAL_REASONS } from '../../domain/webhook-event.ts'
import {
  type AttemptWatch,
  type CompletionCounts,
  countCompletions,
  watchAttempts,
} from '../../jobs/completion-watch.ts'
import { traceField } from '../../telemetry/log.ts'
import type { FeatureDeps, RecordEvent } from '../deps.ts'

const HOUR_MS = 3_600_000
const WRITE_AFTER_MS = 5_000

type Row = Insertable<Database['provider_hour']>

/** Outcomes that are the provider's failure: not those that a client's request causes. */
const FAILURES: ReadonlySet<AttemptOutcome> = new Set([
  'credentials',
  'quota',
  'rate_limited',
  'not_found',
  'overloaded',
  'failed',
  'cut',
])

interface RecorderInput {
  readonly db: Kysely<Database>
  /** Unix milliseconds. */
  readonly now: () => number
  /** Whether clients script the provider's answers, so that failures say nothing of its health. */
  readonly isScripted: (provider: string) => boolean
  readonly log: { warn(fields: object, message: string): void }
}

/** Observes the completions that the gateway publishes. */
export function startProviderHealthRecorder({ db, now, isScripted, log }: RecorderInput): CompletionCounts {
  return countCompletions<Row>({
    writeAfterMs: WRITE_AFTER_MS,
    count(waiting, record) {
      const at = now()
      for (const call of callsOf(record)) {
        if (FAILURES.has(call.outcome) && isScripted(call.provider)) continue
        addCall(rowOf(waiting, call.provider, Math.floor(at / HOUR_MS)), call, at)
      }
    },
    add: (rows) => addCounts(db, [...rows.values()]),
    onFailure: (err, hours) => log.warn({ err, hours }, 'calls to providers were not added to their hourly counts'),
  })
}

type Call = Pick<AttemptNote, 'provider' | 'outcome'> & Partial<Pick<AttemptNote, 'status' | 'model'>>

/** The calls of a completion with credentials of the operator. Without a log, one call answered it. */
function callsOf({ attemptLog, attempts, provider }: CompletionRecord): readonly Call[] {
  if (attemptLog !== undefined) return attemptLog.filter(({ credentialId }) => credentialId === undefined)
  return attempts > 0 ? [{ provider, outcome: 'answered' }] : []
}

function addCall(row: Row, { outcome, status = 0, model }: Call, at: number): void {
  row.calls += 1
  if (outcome === 'answered') row.last_answer_at = at
  if (!FAILURES.has(outcome)) return
  row.failures += 1
  row.last_failure_at = at
  row.last_failure_outcome = outcome
  row.last_failure_status = status === 0 ? null : status
  row.last_failure_model = model ?? null
}

/** The counts of a provider's hour that wait for the database; the configuration bounds the number of providers. */
function rowOf(waiting: Map<string, Row>, provider: string, hour: number): Row {
  const name = `${hour} ${provider}`
  const known = waiting.get(name)
  if (known !== undefined) return known
  const row: Row = {
    provider,
    hour,
    calls: 0,
    failures: 0,
    last_answer_at: 0,
    last_failure_at: 0,
    last_failure_outcome: null,
    last_failure_status: null,
    last_failure_model: null,
  }
  waiting.set(name, row)
  return row
}

async function addCounts(db: Kysely<Database>, rows: readonly Row[]): Promise<void> {
  const isNewer = sql`excluded.last_failure_at >= provider_hour.last_failure_at`
  const newest = <T>(column: string) =>
    sql<T>`case when ${isNewer} then excluded.${sql.ref(column)} else provider_hour.${sql.ref(column)} end`
  const sum = (column: string) => sql<number>`provider_hour.${sql.ref(column)} + excluded.${sql.ref(column)}`
  await db
    .insertInto('provider_hour')
    .values([...rows])
    .onConflict((conflict) =>
      conflict.columns(['provider', 'hour']).doUpdateSet({
        calls: sum('calls'),
        failures: sum('failures'),
        last_answer_at: sql<number>`case when excluded.last_answer_at > provider_hour.last_answer_at
          then excluded.last_answer_at else provider_hour.last_answer_at end`,
        last_failure_at: newest<number>('last_failure_at'),
        last_failure_outcome: newest<string | null>('last_failure_outcome'),
        last_failure_status: newest<number | null>('last_failure_status'),
        last_failure_model: newest<string | null>('last_failure_model'),
      }),
    )
    .execute()
}

const HOURS = 24

export interface RecentCalls {
  readonly calls: number
  readonly failures: number
  readonly lastFailure: ProviderFailureNote | undefined
  /** Unix milliseconds; undefined: no answer in this time. */
  readonly lastAnswerAt: number | undefined
  /** Those with calls, the oldest first. */
  readonly hours: readonly HourlyCalls[]
}

export interface HourlyCalls {
  /** Unix milliseconds: the first moment of an hour of UTC. */
  readonly at: number
  readonly calls: number
  readonly failures: number
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
    hours: [...(sum?.hours ?? []), { at: row.hour * HOUR_MS, calls: row.calls, failures: row.failures }],
  }
}

/** Share of failed calls above which a provider is degraded. */
const DEGRADED_SHARE = 0.05

/** Failed calls without an answer that make a provider down: as many as open a breaker by default. */
const DOWN_AFTER = 5

/** The health by the calls alone, which the API, the dashboard and `turnpike doctor` have in common. */
export function healthOfCalls(recent: RecentCalls): 'healthy' | 'degraded' | 'down' {
  if (isRefused(recent) || failuresInARow(recent) >= DOWN_AFTER) return 'down'
  return recent.failures > recent.calls * DEGRADED_SHARE ? 'degraded' : 'healthy'
}

/** In the hours since the last one in which a call did not fail. */
function failuresInARow({ hours }: RecentCalls): number {
  const last = hours.findLastIndex(({ calls, failures }) => failures < calls)
  return hours.slice(last + 1).reduce((sum, { failures }) => sum + failures, 0)
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

/*
 * Alerts the operator of deployments whose provider refuses the gateway: its credential (401, 403), its account (quota) or
 * the model (404). Only the operator can fix these, and requests that another deployment answers do not show them.
 */

/** Time between two alerts of one deployment, in all processes together. */
const ALERT_EVERY_MS = 3_600_000

interface RefusalAlertsInput extends Pick<FeatureDeps, 'db' | 'now'> {
  readonly recordEvent: RecordEvent
  /** Whether clients script the provider's answers, so that its refusals need no alert. */
  readonly isScripted: (provider: string) => boolean
  /** Notifies the background work of a new delivery. */
  readonly wake: () => void
  readonly log: {
    warn(fields: object, message: string): void
    error(fields: object, message: string): void
  }
}

/** Watches the completions that the gateway publishes: a log line and an event `provider.refused` per deployment and hour. */
export function startRefusalAlerts(input: RefusalAlertsInput): AttemptWatch {
  const { now, isScripted, wake, log } = input
  /** By deployment; the configuration bounds their number. */
  const alertedAt = new Map<string, number>()

  async function alert(refusal: ProviderRefusedData, deployment: string, traceId?: string): Promise<void> {
    const fields = { ...traceField(traceId), ...refusal }
    try {
      if (!(await recordRefusal(input, refusal))) return
      log.warn(fields, 'a provider refuses the gateway; only the operator can fix this')
      wake()
    } catch (error) {
      alertedAt.delete(deployment) // the next refusal tries again
      log.error({ err: error, ...fields }, 'the alert of a provider that refuses the gateway was not recorded')
    }
  }

  return watchAttempts((note, _accountId, trace) => {
    const refusal = refusalOf(note)
    if (refusal === undefined || isScripted(refusal.provider)) return
    const deployment = JSON.stringify([refusal.provider, refusal.model])
    if (now() - (alertedAt.get(deployment) ?? Number.NEGATIVE_INFINITY) < ALERT_EVERY_MS) return
    alertedAt.set(deployment, now())
    return alert(refusal, deployment, trace?.traceId)
  })
}

/** @returns Undefined: the provider did not refuse the gateway. */
function refusalOf({ provider, model, outcome, status, credentialId }: AttemptNote): ProviderRefusedData | undefined {
  if (credentialId !== undefined) return undefined // the account's own
  const reason = REFUSAL_REASONS.find((each) => each === outcome)
  return reason && { provider, model, reason, status: status === 0 ? null : status }
}

/** @returns False where there is no account to alert, or where this or another process has alerted it within the hour. */
async function recordRefusal(
  { db, now, recordEvent }: RefusalAlertsInput,
  refusal: ProviderRefusedData,
): Promise<boolean> {
  const accountId = await findFirstAccount(db)
  if (accountId === undefined) return false
  return db.transaction().execute(async (inside) => {
    await acquireAdvisoryLock(inside, 'provider.refused')
    if (await isRecorded(inside, { accountId, refusal, since: now() - ALERT_EVERY_MS })) return false
    await recordEvent(inside, { accountId, type: 'provider.refused', data: refusal })
    return true
  })
}

interface Recorded {
  readonly accountId: AccountId
  readonly refusal: ProviderRefusedData
  /** Unix milliseconds. */
  readonly since: number
}

async function isRecorded(db: Kysely<Database>, { accountId, refusal, since }: Recorded): Promise<boolean> {
  const rows = await db
    .selectFrom('event')
    .select('data')
    .where(({ and }) => and({ account_id: accountId, type: 'provider.refused' }))
    .where('created_at', '>', since)
    .execute()
  return rows.some(({ data }) => {
    const known = JSON.parse(data) as ProviderRefusedData & { readonly test?: boolean } // our own JSON
    return known.test !== true && known.provider === refusal.provider && known.model === refusal.model
  })
}
