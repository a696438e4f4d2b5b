/** Background work of webhooks, by the names of its kinds. */
import type { Kysely } from 'kysely'
import type { Database } from '../../db/schema.ts'
import { openFileLimit } from '../../http/open-files.ts'
import { every, type JobKind } from '../../jobs/job.ts'
import type { RecordEvent } from '../deps.ts'
import { tellAlerts } from './deliver/alerts.ts'
import { type Deliverer, RETRY_DELAYS_MS } from './deliver/deliverer.ts'
import { forgetEvents } from './deliver/forget.ts'
import { DELIVER } from './record-event.ts'

/** Attempts to one endpoint that are under way at once, in all processes together. */
export const ENDPOINT_CONCURRENCY = 10
/**
 * And in one process, to all: a hundred endpoints of which each takes its ten seconds for all of its ten leave room for
 * others. Beyond that endpoints take turns.
 */
const CONCURRENCY = 1_200
/** Of the files that this process may open, so many at most are connections to receivers: one in so many. */
const SHARE_OF_FILES = 8
const LEAST_CONCURRENCY = 20

const ALERTS_EVERY_MS = 5_000
const FORGET_EVERY_MS = 3_600_000

export interface WebhookJobsInput {
  readonly db: Kysely<Database>
  /** Unix milliseconds. */
  readonly now: () => number
  readonly recordEvent: RecordEvent
  readonly deliverer: Pick<Deliverer, 'handler'>
}

export function webhookJobs({ db, now, recordEvent, deliverer }: WebhookJobsInput): Readonly<Record<string, JobKind>> {
  return {
    [DELIVER]: {
      handler: deliverer.handler,
      // The handler itself says when to try again, and when no more: this is for what it did not see coming.
      backoff: (failures) => RETRY_DELAYS_MS[failures - 1] ?? RETRY_DELAYS_MS[RETRY_DELAYS_MS.length - 1] ?? 0,
      maxAttempts: Number.POSITIVE_INFINITY,
      concurrency: deliveriesAtOnce(openFileLimit()),
      laneConcurrency: ENDPOINT_CONCURRENCY,
    },
    'webhooks.alerts': every(ALERTS_EVERY_MS, async (_job, { signal }) => {
      await tellAlerts({ db, recordEvent, signal })
    }),
    'webhooks.retention': every(FORGET_EVERY_MS, async (_job, { signal }) => {
      await forgetEvents({ db, now, signal })
    }),
  }
}

/** @param openFiles The system's limit; undefined where it tells none. */
export function deliveriesAtOnce(openFiles: number | undefined): number {
  if (openFiles === undefined) return CONCURRENCY
  return Math.min(Math.max(Math.floor(openFiles / SHARE_OF_FILES), LEAST_CONCURRENCY), CONCURRENCY)
}
