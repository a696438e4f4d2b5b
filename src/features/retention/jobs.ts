/**
 * What is not kept for ever, and for how long. Never deleted are the ledger, invoices, usage alerts, and the sums of
 * usage.
 */
import { every, type JobKind } from '../../jobs/job.ts'
import { forgetIdempotencyKeys, type RetentionInput } from './idempotency.ts'
import { forgetTraces } from './traces.ts'
import { retireUsage } from './usage.ts'

const MINUTE_MS = 60_000

/** Background work of retention, by the names of its kinds. */
export function retentionJobs(input: Omit<RetentionInput, 'signal'>): Readonly<Record<string, JobKind>> {
  const repeated = (minutes: number, work: (input: RetentionInput) => Promise<number>) =>
    every(minutes * MINUTE_MS, async (_job, { signal }) => {
      await work({ ...input, signal })
    })
  return {
    'retention.idempotency': repeated(15, forgetIdempotencyKeys),
    'retention.usage': repeated(60, retireUsage),
    'retention.traces': repeated(60, forgetTraces),
  }
}
