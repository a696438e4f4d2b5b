/**
 * Audits the ledger: recomputes the charges from tokens and tariffs, and everything derived from them from
 * the ledger's rows. It shares no arithmetic with the code that charges: all of its own is in this folder.
 *
 * It reads pages by key while the service runs, without transaction or lock. It compares an account with one snapshot,
 * and reads a mismatch again in one statement before it becomes a finding. Progress is stored every two
 * seconds: a killed audit resumes there.
 */
import { setImmediate, setTimeout } from 'node:timers/promises'
import type { Kysely } from 'kysely'
import { type Static, Type } from 'typebox'
import type { Database } from '../../../db/schema/schema.ts'
import { findFirstAccount } from '../../../db/shared-queries.ts'
import { GatewayError } from '../../../domain/errors.ts'
import type { AccountId } from '../../../domain/ids.ts'
import type { LedgerAuditData } from '../../../domain/webhook-event.ts'
import { isoTime, nullable, oneOf } from '../../../http/wire-fields.ts'
import { type JobKind, weekly } from '../../../jobs/job.ts'
import type { FeatureDeps, RecordEvent } from '../../deps.ts'
import { type AccountAudit, type AccountDeps, accountStepper, beginAccount } from './account.ts'
import { createPriceBook } from './charges.ts'
import { FINDING_KINDS, type Finding, type FindingKind } from './finding.ts'
import type { Seal } from './ledger-page.ts'
import {
  type AuditScope,
  countFindings,
  createAudit,
  deleteOpenAudits,
  findAudit,
  findLatestAudit,
  knownAllowances,
  listFindings,
  MAX_KEPT_OF_A_KIND,
  type StoredAudit,
  saveAudit,
} from './store.ts'

const SAVE_EVERY_MS = 2_000
/** The share of time that an audit may use in a process that serves requests. */
const SHARE = 0.5

export interface RunInput extends Pick<FeatureDeps, 'db' | 'now'> {
  /** Allowances that plans grant, or have granted; undefined if unknown. */
  readonly allowances: ReadonlySet<bigint> | undefined
  /** Stops the audit after the current step; its progress is stored. */
  readonly signal?: AbortSignal | undefined
  /** Stops it the same way after this many milliseconds. */
  readonly budgetMs?: number | undefined
  /** The largest share of time that it uses. 1 by default. */
  readonly share?: number | undefined
  readonly onProgress?: ((audit: StoredAudit) => void) | undefined
}

/** Resumes an audit until it ends or its signal aborts. @returns Whether it has ended. */
export async function runAudit(input: RunInput, audit: StoredAudit): Promise<boolean> {
  const { db, now, signal, budgetMs, share = 1 } = input
  const work = beginWork(input, audit)
  const started = performance.now()
  let savedAt = started
  const isOver = () => signal?.aborted === true || (budgetMs !== undefined && performance.now() - started >= budgetMs)
  const save = async (isEnd: boolean) => {
    await saveAudit(db, audit, { ...work.take(), now: now(), isEnd })
    savedAt = performance.now()
    input.onProgress?.(audit)
  }
  for (;;) {
    const stepAt = performance.now()
    if (!(await work.step())) {
      await save(true)
      return true
    }
    if (isOver()) {
      await save(false)
      return false
    }
    if (performance.now() - savedAt >= SAVE_EVERY_MS) await save(false)
    const restMs = (performance.now() - stepAt) * (1 / share - 1)
    await (restMs < 1 ? setImmediate() : setTimeout(restMs))
  }
}

interface Work {
  /** False if nothing is left to do. */
  step(): Promise<boolean>
  /** Takes the findings and seals since the last call. */
  take(): { findings: readonly Finding[]; seals: Map<string, { accountId: AccountId; seal: Seal }> }
}

function beginWork(input: RunInput, audit: StoredAudit): Work {
  const { db, now, allowances } = input
  const { progress, scope } = audit
  let findings: Finding[] = []
  let seals = new Map<string, { accountId: AccountId; seal: Seal }>()
  const kept = new Map<string, number>()
  const deps: AccountDeps = {
    db,
    prices: createPriceBook(),
    allowances,
    report(finding) {
      progress.counts[finding.kind] = (progress.counts[finding.kind] ?? 0) + 1
      const name = `${finding.accountId} ${finding.kind}`
      const count = (kept.get(name) ?? 0) + 1
      kept.set(name, count)
      if (count <= MAX_KEPT_OF_A_KIND) findings.push(finding)
    },
    seal: (accountId, seal) => void seals.set(`${accountId} ${seal.page}`, { accountId, seal }),
  }
  let step = progress.account && accountStepper(deps, progress.account)
  const begin = async (accountId: AccountId): Promise<AccountAudit> => {
    const account = await beginAccount(deps, { accountId, since: scope.since, now: now() })
    progress.account = account
    step = accountStepper(deps, account)
    return account
  }
  return {
    async step() {
      const account = progress.account ?? (await nextAccount(db, audit).then((id) => id && begin(id)))
      if (account === undefined || step === undefined) return false
      const before = account.rows
      await step()
      progress.rows += account.rows - before
      if (account.phase === 'done') {
        progress.after = account.accountId
        progress.account = undefined
        progress.accounts++
      }
      return true
    },
    take() {
      const taken = { findings, seals }
      findings = []
      seals = new Map()
      return taken
    },
  }
}

async function nextAccount(db: Kysely<Database>, { scope, progress }: StoredAudit): Promise<AccountId | undefined> {
  if (scope.accountId !== undefined) return progress.accounts === 0 ? scope.accountId : undefined
  const row = await db
    .selectFrom('account')
    .select('id')
    .where('id', '>', progress.after as AccountId)
    .orderBy('id')
    .limit(1)
    .executeTakeFirst()
  return row?.id
}

/** The time limit of an audit in one request. */
const DEEP_BUDGET_MS = 2_000

interface DeepInput extends Pick<FeatureDeps, 'db' | 'now'> {
  readonly accountId: AccountId
  /** The cursor of a partial audit; undefined begins a new one and drops the account's unfinished one. */
  readonly cursor: string | undefined
  readonly budgetMs?: number | undefined
}

/** Rejects with 400 for a cursor of another account, and with 409 if another request continues the audit. */
export async function auditAccount(input: DeepInput): Promise<StoredAudit> {
  const { db, now, budgetMs = DEEP_BUDGET_MS } = input
  const audit = await beginOrContinue(input)
  if (audit.endedAt !== undefined) return audit
  const allowances = await knownAllowances(db)
  const hasEnded = await runAudit({ db, now, allowances, budgetMs, share: SHARE }, audit)
  return hasEnded ? { ...audit, endedAt: now() } : audit
}

async function beginOrContinue({ db, now, accountId, cursor }: DeepInput): Promise<StoredAudit> {
  if (cursor === undefined) {
    const scope = { accountId, since: undefined }
    await deleteOpenAudits(db, scope)
    return createAudit(db, scope, now())
  }
  const audit = await findAudit(db, cursor)
  if (audit !== undefined && audit.scope.accountId === accountId) return audit
  throw new GatewayError('invalid_value', "'cursor' does not name a stored audit of this account.", {
    param: 'cursor',
  })
}

/** Sundays, the time of least load. */
const AUDIT_TIME = { weekday: 0, hour: 3, minute: 17 }
/** An audit that was unfinished for longer starts again, since its snapshots are too old. */
const OPEN_FOR_MS = 8 * 86_400_000

interface AuditJobsInput extends Pick<FeatureDeps, 'db' | 'now'> {
  readonly recordEvent: RecordEvent
  readonly log: { warn(fields: object, message: string): void; info(fields: object, message: string): void }
}

/** The background jobs of audits, by kind. */
export function auditJobs(input: AuditJobsInput): Readonly<Record<string, JobKind>> {
  return { 'ledger.audit': weekly(AUDIT_TIME, (_job, { signal }) => auditEverything(input, { signal, share: SHARE })) }
}

const EVERYTHING: AuditScope = { accountId: undefined, since: undefined }

/** Audits all accounts and sends findings to the first account. @returns The audit, unfinished if it was stopped. */
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
  const accountId = await findFirstAccount(db)
  if (findings > 0 && accountId !== undefined) {
    await db.transaction().execute((inside) => tellFindings(inside, ended, { ...input, accountId }))
  }
  return ended
}

/* Renders an audit for the command line, the API and the webhook event. */

const time = (description: string) => Type.String({ description: `ISO 8601 UTC. ${description}` })

const FindingView = Type.Object({
  account_id: Type.String(),
  kind: Type.Unsafe<FindingKind>({ type: 'string', description: Object.keys(FINDING_KINDS).join(', ') }),
  subject: Type.String({ description: 'ID of the ledger entry, completion, key, hour, day or invoice.' }),
  expected: Type.String({ description: 'Value that the audit computed; amounts in nano-dollars.' }),
  actual: Type.String({ description: 'Stored value.' }),
})

export const AuditView = Type.Object({
  status: oneOf(['partial', 'complete']),
  cursor: nullable<string>('string', 'Send it as `cursor` to continue a partial audit.'),
  started_at: time('Time of the audited snapshot.'),
  ended_at: nullable<string>('string', 'ISO 8601 UTC.'),
  accounts: Type.Integer({ description: 'Number of audited accounts.' }),
  rows: Type.Integer({ description: 'Number of ledger entries and completions read.' }),
  findings_count: Type.Integer(),
  findings: Type.Array(FindingView),
})

/** The most findings in one answer or table. */
export const MAX_LISTED = 1_000

export async function renderAudit(db: Kysely<Database>, audit: StoredAudit): Promise<Static<typeof AuditView>> {
  const { progress, endedAt } = audit
  const findings = await listFindings(db, audit.id, MAX_LISTED)
  return {
    status: endedAt === undefined ? 'partial' : 'complete',
    cursor: endedAt === undefined ? audit.id : null,
    started_at: isoTime(audit.startedAt),
    ended_at: endedAt === undefined ? null : isoTime(endedAt),
    accounts: progress.accounts,
    rows: progress.rows,
    findings_count: countFindings(progress),
    findings: findings.map(renderFinding),
  }
}

function renderFinding({ accountId, ...finding }: Finding): Static<typeof FindingView> {
  return { account_id: accountId, ...finding }
}

const TOLD_FINDINGS = 20

/** Sends an event to the first account, which is the operator's, if an audit of all accounts has findings. */
async function tellFindings(
  db: Kysely<Database>,
  audit: StoredAudit,
  { recordEvent, accountId }: { readonly recordEvent: RecordEvent; readonly accountId: AccountId },
): Promise<void> {
  const findings = await listFindings(db, audit.id, TOLD_FINDINGS)
  const data: LedgerAuditData = {
    audit_id: audit.id,
    started_at: isoTime(audit.startedAt),
    ended_at: isoTime(audit.endedAt ?? audit.startedAt),
    accounts: audit.progress.accounts,
    rows: audit.progress.rows,
    findings_count: countFindings(audit.progress),
    counts: audit.progress.counts,
    findings: findings.map(renderFinding),
  }
  await recordEvent(db, { accountId, type: 'ledger.audit', data })
}
