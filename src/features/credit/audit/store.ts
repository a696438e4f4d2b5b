/** Stores audits: their progress and findings. */
import { randomUUID } from 'node:crypto'
import type { Kysely, Selectable } from 'kysely'
import type { Database, LedgerAuditTable } from '../../../db/schema/schema.ts'
import type { LastAudit } from '../../../domain/completion.ts'
import { GatewayError } from '../../../domain/errors.ts'
import type { AccountId } from '../../../domain/ids.ts'
import type { PlanTerms } from '../ledger/unit.ts'
import type { AccountAudit } from './account.ts'
import type { Finding, FindingKind } from './finding.ts'
import type { Seal } from './ledger-page.ts'

/** Ended audits that are retained for each scope. */
const KEPT_AUDITS = 20
/** Findings of one kind and account that are stored; all are counted. */
export const MAX_KEPT_OF_A_KIND = 100
const ROWS_A_STATEMENT = 100

/** The scope of an audit. */
export interface AuditScope {
  /** Undefined for all accounts. */
  readonly accountId: AccountId | undefined
  /** Unix milliseconds: audits only rows since then; undefined for all rows. */
  readonly since: number | undefined
}

export interface AuditProgress {
  /** The last account that was completed. */
  after: string
  /** The current account. */
  account: AccountAudit | undefined
  accounts: number
  rows: number
  counts: Partial<Record<FindingKind, number>>
}

export interface StoredAudit {
  readonly id: string
  readonly scope: AuditScope
  readonly startedAt: number
  readonly endedAt: number | undefined
  readonly progress: AuditProgress
  /** Increases with every change: a process with an old one has lost the audit to another process. */
  version: number
}

export function countFindings({ counts }: AuditProgress): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0)
}

export async function createAudit(db: Kysely<Database>, scope: AuditScope, now: number): Promise<StoredAudit> {
  const progress: AuditProgress = { after: '', account: undefined, accounts: 0, rows: 0, counts: {} }
  const audit = { id: randomUUID(), scope, startedAt: now, endedAt: undefined, progress, version: 1 }
  await db
    .insertInto('ledger_audit')
    .values({
      id: audit.id,
      account_id: scope.accountId ?? null,
      since: scope.since ?? null,
      started_at: now,
      updated_at: now,
      ended_at: null,
      findings: 0,
      state: stateText(progress),
      version: 1,
    })
    .execute()
  return audit
}

/** Returns the newest audit of this scope, if there is one. */
export async function findLatestAudit(
  db: Kysely<Database>,
  { accountId, since }: AuditScope,
  which: 'open' | 'ended',
): Promise<StoredAudit | undefined> {
  const row = await db
    .selectFrom('ledger_audit')
    .selectAll()
    .where('account_id', accountId === undefined ? 'is' : '=', accountId ?? null)
    .where('since', since === undefined ? 'is' : '=', since ?? null)
    .where('ended_at', which === 'open' ? 'is' : 'is not', null)
    .orderBy('started_at', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row && storedAudit(row)
}

/** Returns the unfinished audit of a scope. */
export async function deleteOpenAudits(db: Kysely<Database>, { accountId, since }: AuditScope): Promise<void> {
  const open = await db
    .selectFrom('ledger_audit')
    .select('id')
    .where('account_id', accountId === undefined ? 'is' : '=', accountId ?? null)
    .where('since', since === undefined ? 'is' : '=', since ?? null)
    .where('ended_at', 'is', null)
    .limit(100)
    .execute()
  await deleteAudits(db, open)
}

async function deleteAudits(db: Kysely<Database>, audits: readonly { readonly id: string }[]): Promise<void> {
  if (audits.length === 0) return
  const ids = audits.map(({ id }) => id)
  await db.deleteFrom('ledger_audit_finding').where('audit_id', 'in', ids).execute()
  await db.deleteFrom('ledger_audit').where('id', 'in', ids).execute()
}

export async function findAudit(db: Kysely<Database>, id: string): Promise<StoredAudit | undefined> {
  const row = await db.selectFrom('ledger_audit').selectAll().where('id', '=', id).executeTakeFirst()
  return row && storedAudit(row)
}

function storedAudit(row: Selectable<LedgerAuditTable>): StoredAudit {
  return {
    id: row.id,
    scope: { accountId: row.account_id ?? undefined, since: row.since ?? undefined },
    startedAt: row.started_at,
    endedAt: row.ended_at ?? undefined,
    progress: readState<AuditProgress>(row.state),
    version: row.version,
  }
}

export interface Checkpoint {
  readonly findings: readonly Finding[]
  readonly seals: ReadonlyMap<string, { readonly accountId: AccountId; readonly seal: Seal }>
  readonly now: number
  readonly isEnd: boolean
}

/** Stores progress, findings and seals in one transaction. Throws if another process has continued the audit. */
export async function saveAudit(db: Kysely<Database>, audit: StoredAudit, checkpoint: Checkpoint): Promise<void> {
  const { findings, seals, now, isEnd } = checkpoint
  const { id, progress, version } = audit
  await db.transaction().execute(async (inside) => {
    const { numUpdatedRows } = await inside
      .updateTable('ledger_audit')
      .set({
        state: stateText(progress),
        findings: countFindings(progress),
        updated_at: now,
        ended_at: isEnd ? now : null,
        version: version + 1,
      })
      .where(({ and }) => and({ id, version }))
      .executeTakeFirst()
    if (numUpdatedRows !== 1n) throw new GatewayError('conflict', 'Another process continues this audit.')
    await insertFindings(inside, id, findings)
    for (const { accountId, seal } of seals.values()) await upsertSeal(inside, accountId, { seal, now })
    if (isEnd) await deleteOldAudits(inside, audit.scope)
  })
  audit.version++
}

async function insertFindings(db: Kysely<Database>, auditId: string, findings: readonly Finding[]): Promise<void> {
  const rows = findings.map(({ accountId, ...finding }) => ({
    audit_id: auditId,
    id: randomUUID(),
    account_id: accountId,
    ...finding,
  }))
  for (let at = 0; at < rows.length; at += ROWS_A_STATEMENT) {
    await db
      .insertInto('ledger_audit_finding')
      .values(rows.slice(at, at + ROWS_A_STATEMENT))
      .execute()
  }
}

async function upsertSeal(
  db: Kysely<Database>,
  accountId: AccountId,
  { seal: { page, lastNumber, hash }, now }: { readonly seal: Seal; readonly now: number },
): Promise<void> {
  await db
    .insertInto('ledger_seal')
    .values({ account_id: accountId, page, last_number: lastNumber, hash, sealed_at: now })
    .onConflict((conflict) =>
      conflict.columns(['account_id', 'page']).doUpdateSet({ last_number: lastNumber, hash, sealed_at: now }),
    )
    .execute()
}

async function deleteOldAudits(db: Kysely<Database>, { accountId }: AuditScope): Promise<void> {
  const old = await db
    .selectFrom('ledger_audit')
    .select('id')
    .where('account_id', accountId === undefined ? 'is' : '=', accountId ?? null)
    .orderBy('started_at', 'desc')
    .offset(KEPT_AUDITS)
    .limit(100)
    .execute()
  await deleteAudits(db, old)
}

export async function listFindings(db: Kysely<Database>, auditId: string, limit: number): Promise<readonly Finding[]> {
  const rows = await db
    .selectFrom('ledger_audit_finding')
    .select(['account_id', 'kind', 'subject', 'expected', 'actual'])
    .where('audit_id', '=', auditId)
    .orderBy('account_id')
    .orderBy('kind')
    .orderBy('subject')
    .limit(limit)
    .execute()
  return rows.map(({ account_id: accountId, kind, ...rest }) => ({ accountId, kind: kind as FindingKind, ...rest }))
}

/** Serializes the state of an audit as JSON, with amounts as `n:…`. */
function stateText(state: unknown): string {
  return JSON.stringify(state, (_key, value: unknown) => (typeof value === 'bigint' ? `n:${value}` : value))
}

/** Parses the text that `stateText` returned. */
function readState<State>(text: string): State {
  return JSON.parse(text, (_key, value: unknown) =>
    typeof value === 'string' && /^n:-?\d+$/.test(value) ? BigInt(value.slice(2)) : value,
  ) as State
}

/** Records plans' allowances; called before a process grants any. @param plans By name. @param now Unix milliseconds. */
export async function recordPlanAllowances(
  db: Kysely<Database>,
  plans: ReadonlyMap<string, Pick<PlanTerms, 'monthlyCreditNanoUsd'>>,
  now: number,
): Promise<void> {
  const known = new Set((await readAllowances(db)).map(({ plan, amount_nano_usd }) => `${plan} ${amount_nano_usd}`))
  const rows = [...plans].flatMap(([plan, { monthlyCreditNanoUsd: amount }]) =>
    amount === 0n || known.has(`${plan} ${amount}`) ? [] : [{ plan, amount_nano_usd: amount, first_seen_at: now }],
  )
  if (rows.length === 0) return
  const insert = db.insertInto('plan_allowance').values(rows)
  await insert.onConflict((conflict) => conflict.doNothing()).execute()
}

function readAllowances(db: Kysely<Database>) {
  return db.selectFrom('plan_allowance').select(['plan', 'amount_nano_usd']).execute()
}

/** Reads the allowances that any plan grants or has granted. */
export async function knownAllowances(db: Kysely<Database>): Promise<ReadonlySet<bigint>> {
  return new Set((await readAllowances(db)).map(({ amount_nano_usd }) => amount_nano_usd))
}

const FRESH_MS = 15_000

/**
 * Returns the cached last audit of all accounts; undefined if none has ended. A stale cache is refreshed in the
 * background: a scrape never waits for the database.
 * @param clock Monotonic milliseconds.
 */
export function auditStatus(db: Kysely<Database>, clock: () => number): () => LastAudit | undefined {
  let known: LastAudit | undefined
  let readAt = Number.NEGATIVE_INFINITY
  const read = async (): Promise<void> => {
    const row = await db
      .selectFrom('ledger_audit')
      .select(['findings', 'ended_at'])
      .where(({ and }) => and({ account_id: null, since: null }))
      .where('ended_at', 'is not', null)
      .orderBy('started_at', 'desc')
      .limit(1)
      .executeTakeFirst()
    if (row?.ended_at != null) known = { findings: row.findings, endedAt: row.ended_at }
  }
  return () => {
    if (clock() - readAt >= FRESH_MS) {
      readAt = clock()
      read().catch(() => undefined) // the database is unavailable: the cached one stays
    }
    return known
  }
}
