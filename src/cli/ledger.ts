/** `turnpike ledger audit` and `turnpike ledger recovery`. */
import type { Kysely } from 'kysely'
import type { Database } from '../db/schema/schema.ts'
import type { AccountId } from '../domain/ids.ts'
import { usdNumber } from '../domain/money.ts'
import { FINDING_KINDS } from '../features/credit/audit/finding.ts'
import { auditEverything, MAX_LISTED, renderAudit, runAudit } from '../features/credit/audit/run.ts'
import {
  type AuditScope,
  countFindings,
  createAudit,
  deleteOpenAudits,
  findLatestAudit,
  knownAllowances,
  listFindings,
  type StoredAudit,
} from '../features/credit/audit/store.ts'
import { type DamagedSpool, type DamageReport, damagedSpools } from '../features/credit/spool/reader.ts'
import { eventRecorder } from '../features/webhooks/events.ts'
import { wrappedTable } from '../lib/table.ts'
import { accountNamed, accountNames, type CommandContext, withDatabase } from './database.ts'
import {
  dollars,
  grouped,
  type JsonOption,
  jsonLine,
  plainTable,
  printLine,
  printPage,
  steadyProgress,
} from './output.ts'

export interface LedgerAuditOptions extends JsonOption {
  /** ID or name. */
  readonly account?: string
  /** Unix milliseconds. */
  readonly from?: number
  readonly since?: number
  readonly restart?: boolean
}

const OPEN_FOR_MS = 86_400_000

/** Recomputes charges and balances. Exit code 1 if there are findings. Resumes an interrupted audit unless `restart`. */
export async function ledgerAudit({ account, restart, json, ...period }: LedgerAuditOptions): Promise<void> {
  await withDatabase(async (context) => {
    const { db } = context
    const accountId = account === undefined ? undefined : (await accountNamed(db, account)).id
    const scope: AuditScope = { accountId, since: period.from ?? period.since }
    if (restart === true) await deleteOpenAudits(db, scope)
    const started = performance.now()
    const audit = await run(context, scope)
    const seconds = (performance.now() - started) / 1000
    const findings = countFindings(audit.progress)
    if (json === true) process.stdout.write(jsonLine({ ...(await renderAudit(db, audit)), cursor: undefined }))
    else await show(context, audit, seconds)
    if (findings > 0) process.exitCode = 1
  })
}

async function run(context: CommandContext, scope: AuditScope): Promise<StoredAudit> {
  const { db, now, ids } = context
  const onProgress = showProgress()
  if (scope.accountId === undefined && scope.since === undefined) {
    const log = { warn: () => undefined, info: () => undefined }
    return auditEverything({ db, now, recordEvent: eventRecorder({ now, ids }), log }, { onProgress })
  }
  const open = await findLatestAudit(db, scope, 'open')
  const isFresh = open !== undefined && now() - open.startedAt < OPEN_FOR_MS
  const audit = isFresh ? open : await createAudit(db, scope, now())
  await runAudit({ db, now, allowances: await knownAllowances(db), onProgress }, audit)
  return { ...audit, endedAt: now() }
}

/** Shows progress on a terminal. */
function showProgress(): (audit: StoredAudit) => void {
  const show = steadyProgress()
  return ({ progress }) => {
    const { accounts, rows } = progress
    const findings = grouped(countFindings(progress))
    show(() => `${grouped(accounts)} accounts, ${grouped(rows)} rows, findings: ${findings}`)
  }
}

async function show({ db }: CommandContext, audit: StoredAudit, seconds: number): Promise<void> {
  const { rows: rowCount, accounts } = audit.progress
  const findings = await listFindings(db, audit.id, MAX_LISTED)
  const count = countFindings(audit.progress)
  if (findings.length > 0) {
    const names = await accountNames(db)
    const rows = findings.map(({ accountId, kind, subject, expected, actual }) => [
      names.get(accountId) ?? accountId,
      kind,
      subject,
      expected,
      actual,
    ])
    const head = ['ACCOUNT', 'FINDING', 'OF', 'EXPECTED', 'ACTUAL']
    process.stdout.write(`${plainTable(head, rows, wrappedTable)}\n`)
    for (const kind of new Set(findings.map((finding) => finding.kind))) printLine(`${kind}: ${FINDING_KINDS[kind]}`)
    if (findings.length < count) printLine(`${grouped(count - findings.length)} more findings are not listed.`)
    printLine('')
  }
  const read = `${grouped(rowCount)} rows of ${grouped(accounts)} accounts in ${seconds.toFixed(1)} s`
  printLine(count === 0 ? `No findings: ${read}.` : `${grouped(count)} findings: ${read}.`)
}

type Undecided = DamageReport['undecided'][number]

/** `open`: the hold waits for the sweep. `charged`: the usage was charged. `released`: nothing was charged. */
interface Resolution extends Undecided {
  readonly state: 'open' | 'charged' | 'released'
  readonly usage_source: string | null
  readonly cost_usd: number | null
}

export async function ledgerRecovery({ json }: JsonOption): Promise<void> {
  await withDatabase(async ({ db, config }) => {
    const spools = await damagedSpools(config.data_dir)
    const found = await Promise.all(spools.map((spool) => describe(db, spool)))
    if (json === true) printPage(found)
    else process.stdout.write(textOf(found, await accountNames(db)))
  })
}

async function describe(db: Kysely<Database>, { path, report }: DamagedSpool) {
  const undecided: Resolution[] = []
  for (const each of report?.undecided ?? []) undecided.push(await resolutionOf(db, each))
  return {
    path,
    instance: report?.instance ?? null,
    found_at: report?.found_at ?? null,
    problems: report?.problems ?? ['unreadable lines, or records that the ledger rejected'],
    undecided,
  }
}

async function resolutionOf(db: Kysely<Database>, each: Undecided): Promise<Resolution> {
  const { account, completion: id } = each
  const row = await db
    .selectFrom('completion')
    .select(['cost_nano_usd', 'usage_source'])
    .where(({ and }) => and({ account_id: account, id }))
    .executeTakeFirst()
  if (row !== undefined)
    return { ...each, state: 'charged', usage_source: row.usage_source, cost_usd: usdNumber(row.cost_nano_usd) }
  const hold = await db
    .selectFrom('hold')
    .select('id')
    .where(({ and }) => and({ account_id: account, id }))
    .executeTakeFirst()
  return { ...each, state: hold === undefined ? 'released' : 'open', usage_source: null, cost_usd: null }
}

function textOf(found: readonly Awaited<ReturnType<typeof describe>>[], names: ReadonlyMap<AccountId, string>): string {
  if (found.length === 0) return 'No damaged spools.\n'
  return found
    .map(({ path, found_at: at, problems, undecided }) => {
      const head = [`${path}${at === null ? '' : `, found ${at}`}`, ...problems.map((problem) => `  ${problem}`)]
      const rows = undecided.map(({ account, completion, state, usage_source: source, cost_usd: cost }) => [
        completion,
        names.get(account) ?? account,
        state,
        source ?? '',
        cost === null ? '' : dollars(cost),
      ])
      const table = rows.length === 0 ? '' : plainTable(['REQUEST', 'ACCOUNT', 'STATE', 'USAGE', 'COST'], rows)
      return `${head.join('\n')}\n${table}`
    })
    .join('\n')
}
