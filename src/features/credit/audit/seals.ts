/**
 * Seals of the ledger: a SHA-256 of each page of rows, kept by the audit that read it. The next audit reads the same rows
 * and compares: an amount that was changed together with all balances after it is found although everything adds up.
 */
import { createHash } from 'node:crypto'
import type { Kysely } from 'kysely'
import type { Database } from '../../../db/schema.ts'
import type { AccountId } from '../../../domain/ids.ts'
import type { Report } from './finding.ts'
import { type AuditedRow, PAGE_NUMBERS } from './ledger-page.ts'

export interface Seal {
  /** Rows from `page * PAGE_NUMBERS + 1` on. */
  readonly page: number
  /** The last of them. */
  readonly lastNumber: number
  readonly hash: string
}

const PAGES_A_QUERY = 200

/** Seals of an account as they are needed, page by page. */
export function createSealReader(db: Kysely<Database>, accountId: AccountId) {
  let seals = new Map<number, Seal>()
  let readUntil = -1
  return async (page: number): Promise<Seal | undefined> => {
    if (page > readUntil || page <= readUntil - PAGES_A_QUERY) {
      const rows = await db
        .selectFrom('ledger_seal')
        .select(['page', 'last_number', 'hash'])
        .where('account_id', '=', accountId)
        .where('page', '>=', page)
        .where('page', '<', page + PAGES_A_QUERY)
        .execute()
      seals = new Map(rows.map((row) => [row.page, { page: row.page, lastNumber: row.last_number, hash: row.hash }]))
      readUntil = page + PAGES_A_QUERY - 1
    }
    return seals.get(page)
  }
}

/** @returns The new seal of the page; undefined where the old one stays: it has all rows, or was broken. */
export function checkSeal(
  rows: readonly AuditedRow[],
  page: number,
  old: Seal | undefined,
  report: Report,
): Seal | undefined {
  const last = rows.at(-1)?.number ?? 0
  if (old !== undefined && last < old.lastNumber) return undefined // that rows are missing is reported as a gap
  const hash = createHash('sha256')
  for (const row of rows) {
    hash.update(lineOf(row))
    if (row.number !== old?.lastNumber || hash.copy().digest('hex') === old.hash) continue
    report(
      'ledger_altered',
      `rows ${page * PAGE_NUMBERS + 1} to ${old.lastNumber}`,
      old.hash,
      hash.copy().digest('hex'),
    )
    return undefined
  }
  return last === 0 || last === old?.lastNumber ? undefined : { page, lastNumber: last, hash: hash.digest('hex') }
}

function lineOf(row: AuditedRow): string {
  const { number, kind, debit, credit, amount_nano_usd: amount, balance_nano_usd: balance } = row
  const of = [row.completion_id, row.key_id, row.price_version, row.adjusts, row.note]
  return `${JSON.stringify([number, kind, debit, credit, String(amount), String(balance), ...of, row.created_at])}\n`
}
