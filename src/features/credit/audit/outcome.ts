/** Renders an audit for the command line, the API and the webhook event. */
import type { Kysely } from 'kysely'
import { type Static, Type } from 'typebox'
import type { Database } from '../../../db/schema/schema.ts'
import type { AccountId } from '../../../domain/ids.ts'
import type { LedgerAuditData } from '../../../domain/webhook-event.ts'
import { isoTime, nullable, oneOf } from '../../../http/wire-fields.ts'
import type { RecordEvent } from '../../deps.ts'
import { FINDING_KINDS, type Finding, type FindingKind } from './finding.ts'
import { countFindings, listFindings, type StoredAudit } from './store.ts'

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
export async function tellFindings(
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
