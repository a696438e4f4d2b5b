/**
 * Alerts the operator of deployments whose provider refuses the gateway: its credential (401, 403), its account (quota) or
 * the model (404). Only the operator can fix these, and requests that another deployment answers do not show them.
 */
import type { Kysely } from 'kysely'
import { acquireAdvisoryLock } from '../../db/database.ts'
import type { Database } from '../../db/schema/schema.ts'
import { findFirstAccount } from '../../db/shared-queries.ts'
import type { AttemptNote } from '../../domain/completion.ts'
import type { AccountId } from '../../domain/ids.ts'
import { type ProviderRefusedData, REFUSAL_REASONS } from '../../domain/webhook-event.ts'
import { type AttemptWatch, watchAttempts } from '../../jobs/completion-watch.ts'
import { traceField } from '../../telemetry/log.ts'
import type { FeatureDeps, RecordEvent } from '../deps.ts'

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
