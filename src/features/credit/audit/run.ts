/**
 * Audits the ledger: recomputes what accounts were charged from tokens and tariffs, and everything that is kept of it from
 * the rows below. It knows nothing of how the gateway charges: what it multiplies and adds is in this folder.
 *
 * It reads pages by key while the service runs, without a transaction or a lock. An account is held against one snapshot,
 * and what is written while it is read is read again in one statement before it is a finding. Progress is kept every two
 * seconds: an audit that is killed goes on where it was.
 */
import { setImmediate, setTimeout } from 'node:timers/promises'
import type { Kysely } from 'kysely'
import { findFirstAccount } from '../../../db/first-account.ts'
import type { Database } from '../../../db/schema/schema.ts'
import { GatewayError } from '../../../domain/errors.ts'
import type { AccountId } from '../../../domain/ids.ts'
import { type JobKind, weekly } from '../../../jobs/job.ts'
import type { FeatureDeps, RecordEvent } from '../../deps.ts'
import { type AccountAudit, type AccountDeps, accountStepper, beginAccount } from './account.ts'
import { createPriceBook } from './charges.ts'
import type { Finding } from './finding.ts'
import type { Seal } from './ledger-page.ts'
import { tellFindings } from './outcome.ts'
import {
  type AuditScope,
  countFindings,
  createAudit,
  deleteOpenAudits,
  findAudit,
  findLatestAudit,
  knownAllowances,
  MAX_KEPT_OF_A_KIND,
  type StoredAudit,
  saveAudit,
} from './store.ts'

const SAVE_EVERY_MS = 2_000
/** The share of the time that an audit works in a process that serves: requests come first. */
const SHARE = 0.5

export interface RunInput extends Pick<FeatureDeps, 'db' | 'now'> {
  /** Amounts that plans grant, or have granted; undefined: not known. */
  readonly allowances: ReadonlySet<bigint> | undefined
  /** Ends it after the step at hand; what was done is kept. */
  readonly signal?: AbortSignal | undefined
  /** The same when so many milliseconds are over. */
  readonly budgetMs?: number | undefined
  /** Of the time, what it works at most: in a process that serves, chats come first. 1 by default. */
  readonly share?: number | undefined
  readonly onProgress?: ((audit: StoredAudit) => void) | undefined
}

/** Continues an audit to its end, or until its signal aborts. @returns Whether it has ended. */
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
  /** False: nothing is left. */
  step(): Promise<boolean>
  /** What was found and sealed since it was taken last. */
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

/** How long one request audits. */
const DEEP_BUDGET_MS = 2_000

interface DeepInput extends Pick<FeatureDeps, 'db' | 'now'> {
  readonly accountId: AccountId
  /** Of a partial audit; undefined: a new one is begun, and what was left open of the account is dropped. */
  readonly cursor: string | undefined
  readonly budgetMs?: number | undefined
}

/** Rejects with 400 for a cursor that is not the account's, and with 409 where another request goes on with it. */
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

/** Sundays, when there is the least to do. */
const AUDIT_TIME = { weekday: 0, hour: 3, minute: 17 }
/** What was left open for longer starts again: its snapshots are too old to be worth the rest. */
const OPEN_FOR_MS = 8 * 86_400_000

interface AuditJobsInput extends Pick<FeatureDeps, 'db' | 'now'> {
  readonly recordEvent: RecordEvent
  readonly log: { warn(fields: object, message: string): void; info(fields: object, message: string): void }
}

/** Background work of audits, by the names of its kinds. */
export function auditJobs(input: AuditJobsInput): Readonly<Record<string, JobKind>> {
  return { 'ledger.audit': weekly(AUDIT_TIME, (_job, { signal }) => auditEverything(input, { signal, share: SHARE })) }
}

const EVERYTHING: AuditScope = { accountId: undefined, since: undefined }

/** @returns The audit, ended unless it was stopped; the first account has received an event with its findings. */
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
