/**
 * Carries deliveries out: each start of a job is one attempt. What came of it is committed before the job ends, so a
 * process that dies in between leaves a job that finds this, and one that dies before leaves an attempt to be made again.
 */
import type { Kysely } from 'kysely'
import type { OpenedDatabase } from '../../../db/database.ts'
import type { Database } from '../../../db/schema/schema.ts'
import { createBatcher, mayPass } from '../../../jobs/batcher.ts'
import type { JobLog } from '../../../jobs/execution.ts'
import { afterDelays, type Job, type JobContext, type JobHandler, TryAgainIn } from '../../../jobs/job.ts'
import { reach } from '../../../lib/crash-point.ts'
import type { ResolveAddresses } from '../../../net/guarded-agent.ts'
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
/** WH-2: after each failure in turn, lengthened by up to a fifth. */
export const RETRY_DELAYS_MS = [MINUTE_MS, 5 * MINUTE_MS, 30 * MINUTE_MS, 2 * HOUR_MS, 12 * HOUR_MS] as const
/**
 * Sent in one turn of the event loop: each takes a fraction of a millisecond, and others are waiting too. A burst of one
 * endpoint's does not go before another's first.
 */
const LOADING = { size: 32, laneOf: ({ payload }: DeliveryStart) => payload.webhookId }
/** Written in one transaction. */
const WRITE_SIZE = 200
/** What was read longer ago is read again before it is acted upon: the process may have been frozen, and its job taken. */
const FRESH_MS = 2_000
const AGAIN_AFTER_MS = 500
/**
 * An endpoint that is known to fail is held to so much for each attempt that fails again: one that refuses in a millisecond
 * would else keep the worker and the database busy with nothing but its refusals.
 */
const FAILING_ATTEMPT_MS = 250
/** A clock that was set back a little must not make a failure of it. */
const SLACK_MS = 1_000
/** Starts that were lost with their processes, or given back, until an end is made of it. */
const MAX_STARTS = 100

export interface DelivererInput {
  readonly db: Kysely<Database>
  readonly batch: OpenedDatabase['batch']
  readonly secrets: Pick<WebhookSecrets, 'open'>
  /** Of the program. */
  readonly version: string
  /** Unix milliseconds. */
  readonly now: () => number
  /** Monotonic milliseconds. */
  readonly clock: () => number
  /** In [0, 1). */
  readonly random: () => number
  readonly log: JobLog
  /** As it is configured now. */
  readonly allowPrivateNetworks: () => boolean
  readonly delaysMs?: readonly number[]
  readonly deadlineMs?: number
  /** A stop leaves an attempt so much time; then it is given back. */
  readonly stopGraceMs?: number
  /** See `FAILING_ATTEMPT_MS`. */
  readonly failingAttemptMs?: number
  readonly resolve?: ResolveAddresses
  /** Certificates (PEM) to trust instead of the usual ones. */
  readonly ca?: string
}

export interface Deliverer {
  /** Of the kind `DELIVER`. */
  readonly handler: JobHandler
  /** Closes all connections. Handlers are to have ended before. */
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
  // The attempt before was written, and then the process died or was told to stop: the failure was not counted yet.
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

/** Why there is no attempt any more. */
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

/** Ends early where the job is another's or this process stops. */
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

/** While the database is away it is tried again, until the job is another's or this process stops. */
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
