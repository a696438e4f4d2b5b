import type { OpenedDatabase } from '../../../db/database.ts'
import { createBatcher, mayPass } from '../../../jobs/batcher.ts'
import type { JobLog } from '../../../jobs/execution.ts'
import { afterDelays, type Job, type JobContext, type JobHandler, TryAgainIn } from '../../../jobs/job.ts'
import { reach } from '../../../lib/crash-point.ts'
import type { ResolveAddresses } from '../../../net/guarded-agent.ts'
import type { FeatureDeps } from '../../deps.ts'
import type { WebhookSecrets } from '../secrets.ts'
import { type AttemptInput, createOutbound, makeAttempt } from './attempt.ts'
import {
  type Attempt,
  type Delivery,
  type DeliveryEnd,
  type DeliveryStart,
  deliveryStart,
  GONE,
  loadDeliveries,
  writeEnds,
} from './delivery.ts'

const [MINUTE_MS, HOUR_MS] = [60_000, 3_600_000]
/** WH-2: delays after successive failures, to which the job adds a jitter of at most 2 %. */
export const RETRY_DELAYS_MS = [MINUTE_MS, 5 * MINUTE_MS, 30 * MINUTE_MS, 2 * HOUR_MS, 12 * HOUR_MS] as const
/**
 * Deliveries loaded in one turn of the event loop, each of which takes a fraction of a millisecond. Endpoints take turns, so
 * that a burst of one does not delay another.
 */
const LOADING = { size: 32, laneOf: ({ payload }: DeliveryStart) => payload.webhookId }
/** Outcomes written in one transaction. */
const WRITE_SIZE = 200
/** Older data is read again before it is used: the process may have been suspended, and its job taken over. */
const FRESH_MS = 2_000
const AGAIN_AFTER_MS = 500
/**
 * Minimum duration of a failed attempt to an endpoint that fails already: an endpoint that rejects requests within a
 * millisecond would otherwise occupy the worker and the database.
 */
const FAILING_ATTEMPT_MS = 250
/** Tolerance for a clock that was set back. */
const SLACK_MS = 1_000
/** Maximum starts of a job, including lost and released ones. */
const MAX_STARTS = 100

export interface DelivererInput extends Pick<FeatureDeps, 'db' | 'now'> {
  readonly batch: OpenedDatabase['batch']
  readonly secrets: Pick<WebhookSecrets, 'open'>
  /** Of the program. */
  readonly version: string
  /** Monotonic milliseconds. */
  readonly clock: () => number
  /** In [0, 1). */
  readonly random: () => number
  readonly log: JobLog
  /** From the current configuration. */
  readonly allowPrivateNetworks: () => boolean
  readonly mail?: AttemptInput['mail']
  readonly publicUrl?: string | undefined
  readonly delaysMs?: readonly number[]
  readonly deadlineMs?: number
  /** Time for running attempts when the process stops; then they are released. */
  readonly stopGraceMs?: number
  /** See `FAILING_ATTEMPT_MS`. */
  readonly failingAttemptMs?: number
  readonly resolve?: ResolveAddresses
  /** Trusted certificate authorities (PEM) instead of the default ones. */
  readonly ca?: string
}

export interface Deliverer {
  /** Handles jobs of the kind `DELIVER`. */
  readonly handler: JobHandler
  /** Closes all connections. Handlers must have ended before. */
  close(): Promise<void>
}

interface DelivererState {
  readonly input: DelivererInput
  readonly attempt: AttemptInput
  readonly schedule: ReturnType<typeof afterDelays>
  readonly load: (start: DeliveryStart) => Promise<Delivery | undefined>
  readonly write: (end: DeliveryEnd) => Promise<undefined>
}

export function createDeliverer(input: DelivererInput): Deliverer {
  const { db, allowPrivateNetworks, resolve, ca, log, random } = input
  const outbound = createOutbound({ allowPrivateNetworks, ...(resolve && { resolve }), ...(ca && { ca }) })
  const onError: AttemptInput['onError'] = (error, { accountId, webhookId }) =>
    log.error({ err: error, account: accountId, webhook: webhookId }, 'a webhook could not be sent')
  const state: DelivererState = {
    input,
    attempt: { ...input, outbound, onError },
    schedule: afterDelays(input.delaysMs ?? RETRY_DELAYS_MS, random),
    load: createBatcher(LOADING, (starts) => loadDeliveries(db, starts)),
    write: createBatcher({ size: WRITE_SIZE }, async (ends) => {
      await writeEnds(input, ends)
      return ends.map(() => undefined)
    }),
  }
  return { handler: (job, context) => deliver(state, job, context), close: outbound.close }
}

async function deliver(state: DelivererState, job: Job, { signal }: JobContext): Promise<void> {
  const { input, attempt: attempting, write } = state
  const delivery = await loadFresh(state, deliveryStart(job), signal)
  if (delivery === undefined) return
  const { attempts, waitMs, webhook } = delivery
  // The process stopped after it wrote the previous attempt and before the job's failure was counted.
  if (job.attempt > 1 && attempts > 0 && waitMs > SLACK_MS) throw new TryAgainIn(waitMs, 'The attempt before failed.')
  const refusal = refusalOf(webhook, job)
  const attempt = refusal === undefined ? await makeAttempt(attempting, delivery, signal) : undefined
  if (attempt !== undefined) reach('after_webhook_post')
  if (attempt?.error !== undefined && webhook.failing_since !== null) {
    await pauseFor((input.failingAttemptMs ?? FAILING_ATTEMPT_MS) - attempt.durationMs, signal)
  }
  const endedAt = input.now()
  const end: DeliveryEnd =
    attempt === undefined
      ? { delivery, attempt, status: 'failed', error: refusal, retryInMs: undefined, endedAt }
      : { delivery, attempt, ...outcomeOf(state, delivery, attempt), error: attempt.error, endedAt }
  await persistently(() => write(end), signal)
  if (end.retryInMs !== undefined) throw new TryAgainIn(end.retryInMs, end.error ?? '')
}

/** Returns the reason why no further attempt is made; undefined: none. */
function refusalOf({ disabled_at: disabledAt }: Delivery['webhook'], { attempt }: Job): string | undefined {
  if (disabledAt !== null) return 'endpoint_disabled'
  return attempt > MAX_STARTS ? 'interrupted too often' : undefined
}

function outcomeOf(
  { schedule }: DelivererState,
  { failures }: Delivery,
  { error, status }: Attempt,
): Pick<DeliveryEnd, 'status' | 'retryInMs'> {
  if (error === undefined) return { status: 'delivered', retryInMs: undefined }
  const isLast = failures + 1 >= schedule.maxAttempts || status === GONE
  if (isLast) return { status: 'failed', retryInMs: undefined }
  return { status: 'pending', retryInMs: schedule.backoff(failures + 1) }
}

async function loadFresh(
  { input, load }: DelivererState,
  start: DeliveryStart,
  signal: AbortSignal,
): Promise<Delivery | undefined> {
  for (;;) {
    const askedAt = input.clock()
    const delivery = await persistently(() => load(start), signal)
    if (delivery === undefined || input.clock() - askedAt < FRESH_MS) return delivery
    signal.throwIfAborted()
  }
}

/** Resolves early when the job's lease is lost or this process stops. */
function pauseFor(ms: number, signal: AbortSignal): Promise<void> {
  if (ms <= 0 || signal.aborted) return Promise.resolve()
  return new Promise((resolve) => {
    const over = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', over)
      resolve()
    }
    const timer = setTimeout(over, ms)
    signal.addEventListener('abort', over)
  })
}

/** Retries while the database is unavailable, until the job's lease is lost or this process stops. */
async function persistently<Result>(work: () => Promise<Result>, signal: AbortSignal): Promise<Result> {
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (!mayPass(error) || signal.aborted) throw error
      await new Promise((resolve) => setTimeout(resolve, AGAIN_AFTER_MS))
    }
  }
}
