/** `turnpike ledger audit`: recomputes what accounts were charged, and everything that is kept of it, while the service runs. */
import { randomBytes } from 'node:crypto'
import { createIdSource } from '../domain/ids.ts'
import { findAccount } from '../features/accounts/queries.ts'
import { knownAllowances } from '../features/credit/audit/allowances.ts'
import { FINDING_KINDS } from '../features/credit/audit/finding.ts'
import { auditEverything } from '../features/credit/audit/jobs.ts'
import { MAX_LISTED, renderAudit } from '../features/credit/audit/outcome.ts'
import { runAudit } from '../features/credit/audit/run.ts'
import {
  type AuditScope,
  countFindings,
  createAudit,
  deleteOpenAudits,
  findLatestAudit,
  listFindings,
  type StoredAudit,
} from '../features/credit/audit/store.ts'
import { eventRecorder } from '../features/webhooks/record-event.ts'
import { textTable } from '../lib/text-table.ts'
import { type CommandContext, unknownAccount, withDatabase } from './database.ts'
import type { LedgerAuditOptions } from './program.ts'

const OPEN_FOR_MS = 86_400_000
const SHOWN_EVERY_MS = 5_000

/** Exit code 1 where there are findings. A run that was interrupted is continued, unless it is to begin anew. */
export async function ledgerAudit({ account, since, restart, json }: LedgerAuditOptions): Promise<void> {
  await withDatabase(async (context) => {
    const { db } = context
    const accountId = account === undefined ? undefined : (await findAccount(db, account))?.id
    if (account !== undefined && accountId === undefined) throw unknownAccount(account)
    const scope: AuditScope = { accountId, since }
    if (restart === true) await deleteOpenAudits(db, scope)
    const started = performance.now()
    const audit = await run(context, scope)
    const seconds = (performance.now() - started) / 1000
    const findings = countFindings(audit.progress)
    if (json === true) print(JSON.stringify({ ...(await renderAudit(db, audit)), cursor: undefined }))
    else await show(context, audit, seconds)
    if (findings > 0) process.exitCode = 1
  })
}

async function run(context: CommandContext, scope: AuditScope): Promise<StoredAudit> {
  const { db, now } = context
  const onProgress = showProgress()
  if (scope.accountId === undefined && scope.since === undefined) {
    const ids = createIdSource(now, randomBytes)
    const log = { warn: () => undefined, info: () => undefined }
    return auditEverything({ db, now, recordEvent: eventRecorder({ now, ids }), log }, { onProgress })
  }
  const open = await findLatestAudit(db, scope, 'open')
  const isFresh = open !== undefined && now() - open.startedAt < OPEN_FOR_MS
  const audit = isFresh ? open : await createAudit(db, scope, now())
  await runAudit({ db, now, allowances: await knownAllowances(db), onProgress }, audit)
  return { ...audit, endedAt: now() }
}

/** On a terminal alone. */
function showProgress(): (audit: StoredAudit) => void {
  let shownAt = performance.now()
  return ({ progress }) => {
    if (!process.stderr.isTTY || performance.now() - shownAt < SHOWN_EVERY_MS) return
    shownAt = performance.now()
    process.stderr.write(`${progress.accounts} accounts, ${progress.rows} rows, ${countFindings(progress)} findings\n`)
  }
}

async function show({ db }: CommandContext, audit: StoredAudit, seconds: number): Promise<void> {
  const { progress } = audit
  const findings = await listFindings(db, audit.id, MAX_LISTED)
  const count = countFindings(progress)
  if (findings.length > 0) {
    const rows = findings.map(({ accountId, kind, subject, expected, actual }) => [
      accountId,
      kind,
      subject,
      expected,
      actual,
    ])
    process.stdout.write(`${textTable(['ACCOUNT', 'FINDING', 'OF', 'EXPECTED', 'ACTUAL'], rows)}\n`)
    for (const kind of new Set(findings.map((finding) => finding.kind))) print(`${kind}: ${FINDING_KINDS[kind]}`)
    if (findings.length < count) print(`${count - findings.length} more are not listed.`)
    print('')
  }
  const read = `${progress.rows} rows of ${progress.accounts} accounts in ${seconds.toFixed(1)} s`
  print(count === 0 ? `No findings: ${read}.` : `${count} findings: ${read}.`)
}

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}
