/** The tables of the ledger's audits, as queries see them; conventions as in `schema.ts`. */
import type { AccountId } from '../domain/ids.ts'
import type { NanoUsd } from '../domain/money.ts'

export interface LedgerAuditTable {
  id: string
  /** Null: of all accounts. */
  account_id: AccountId | null
  /** Only what was made since then. */
  since: number | null
  started_at: number
  updated_at: number
  ended_at: number | null
  /** How many, those included that are not kept. */
  findings: number
  /** How far it has come, as JSON. */
  state: string
  /** Rises with every change. */
  version: number
}

export interface LedgerAuditFindingTable {
  audit_id: string
  id: string
  account_id: AccountId
  kind: string
  subject: string
  expected: string
  actual: string
}

/** SHA-256 of a page of the ledger, as the last audit read it. */
export interface LedgerSealTable {
  account_id: AccountId
  page: number
  last_number: number
  hash: string
  sealed_at: number
}

/** Amounts that plans grant for a month, or have granted. */
export interface PlanAllowanceTable {
  plan: string
  amount_nano_usd: NanoUsd
  first_seen_at: number
}
