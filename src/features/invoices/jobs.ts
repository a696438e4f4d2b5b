import { every, type JobKind } from '../../jobs/job.ts'
import { type CloseInput, closeInvoices } from './close.ts'

const CLOSE_EVERY_MS = 3_600_000

/** Background work of invoices, by the names of its kinds. */
export function invoiceJobs(input: Omit<CloseInput, 'signal'>): Readonly<Record<string, JobKind>> {
  return {
    'invoices.close': every(CLOSE_EVERY_MS, async (_job, { signal }) => {
      await closeInvoices({ ...input, signal })
    }),
  }
}
