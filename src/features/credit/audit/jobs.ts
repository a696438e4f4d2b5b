/** The audit of the whole ledger every week: in one process at a time, and going on where it was when that one ends. */
import type { Kysely } from 'kysely'
import type { Database } from '../../../db/schema.ts'
import type { AccountId } from '../../../domain/ids.ts'
import { cron, type JobKind } from '../../../jobs/job.ts'
import type { RecordEvent } from '../../deps.ts'
import { knownAllowances } from './allowances.ts'
import { tellFindings } from './outcome.ts'
import { type RunInput, runAudit } from './run.ts'
import { type AuditScope, countFindings, createAudit, findLatestAudit, type StoredAudit } from './store.ts'

/** Sundays, when there is the least to do. */
const WEEKLY = '17 3 * * 0'
/** Of the time: in a process that serves, chats come first. */
const SHARE = 0.5
/** What was left open for longer begins anew: its snapshots are too old to be worth the rest. */
const OPEN_FOR_MS = 8 * 86_400_000

export interface AuditJobsInput {
  readonly db: Kysely<Database>
  /** Unix milliseconds. */
  readonly now: () => number
  readonly recordEvent: RecordEvent
  readonly log: { warn(fields: object, message: string): void; info(fields: object, message: string): void }
}

/** Background work of audits, by the names of its kinds. */
export function auditJobs(input: AuditJobsInput): Readonly<Record<string, JobKind>> {
  return {
    'ledger.audit': cron(WEEKLY, async (_job, { signal }) => {
      await auditEverything(input, { signal, share: SHARE })
    }),
  }
}

const EVERYTHING: AuditScope = { accountId: undefined, since: undefined }

/** @returns The audit, ended unless it was told to stop; the first account has been told of what it found. */
export async function auditEverything(
  input: AuditJobsInput,
  how: Pick<RunInput, 'signal' | 'share' | 'onProgress'>,
): Promise<StoredAudit> {
  const { db, now, log } = input
  const open = await findLatestAudit(db, EVERYTHING, 'open')
  const isFresh = open !== undefined && now() - open.startedAt < OPEN_FOR_MS
  const audit = isFresh ? open : await createAudit(db, EVERYTHING, now())
  const hasEnded = await runAudit({ db, now, allowances: await knownAllowances(db), ...how }, audit)
  if (!hasEnded) return audit
  const ended = { ...audit, endedAt: now() }
  const findings = countFindings(audit.progress)
  const { accounts, rows, counts } = audit.progress
  if (findings === 0) log.info({ accounts, rows }, 'the audit of the ledger has no findings')
  else log.warn({ accounts, rows, findings, ...counts }, 'the audit of the ledger has findings')
  const accountId = await firstAccount(db)
  if (findings > 0 && accountId !== undefined) {
    await db.transaction().execute((inside) => tellFindings(inside, ended, { ...input, accountId }))
  }
  return ended
}

/** The operator's; undefined: the installation has none yet. */
async function firstAccount(db: Kysely<Database>): Promise<AccountId | undefined> {
  const row = db.selectFrom('setting').select('value').where('key', '=', 'first_account')
  return (await row.executeTakeFirst())?.value as AccountId | undefined
}
