/** Reads ledger rows with their completions, in pages of fixed numbers; one transaction wrote both. */

import { createHash } from 'node:crypto'
import { type Kysely, sql } from 'kysely'
import { readRows } from '../../../db/database.ts'
import type { Database, LedgerBook, LedgerKind } from '../../../db/schema/schema.ts'
import type { AccountId } from '../../../domain/ids.ts'
import type { Report } from './finding.ts'

/** Rows a page; the number of its first row is a multiple of this plus 1. */
export const PAGE_NUMBERS = 1_000

export interface AuditedRow {
  readonly number: number
  readonly kind: LedgerKind
  readonly debit: LedgerBook
  readonly credit: LedgerBook
  readonly amount_nano_usd: bigint
  readonly balance_nano_usd: bigint
  readonly completion_id: string | null
  readonly key_id: string | null
  readonly price_version: string | null
  readonly adjusts: number | null
  readonly note: string | null
  readonly created_at: number
  /** Windows of budgets in which it counts, see `windowsText`; null if there are none. */
  readonly budgets: string | null
  /** Of the completion; null without its row. */
  readonly row_model: string | null
  readonly row_key_id: string
  readonly row_price_version: string
  readonly row_cost_nano_usd: bigint
  readonly row_created_at: number
  readonly prompt_tokens: number
  readonly completion_tokens: number
  readonly cached_tokens: number
  readonly cache_write_tokens: number
  readonly reasoning_tokens: number
  readonly status: string
  readonly usage_source: string
  /** Rare classes of usage, as JSON. */
  readonly usage_detail: string | null
  /** The cost above the overrun cap, which is not charged. */
  readonly unbilled_nano_usd: bigint | null
  /** Null: the charge. */
  readonly provider_cost_nano_usd: bigint | null
}

/** The columns from which the cost of a completion is computed. */
export const USAGE_COLUMNS = sql.raw(`c.model as row_model, c.key_id as row_key_id,
  c.price_version as row_price_version, c.cost_nano_usd as row_cost_nano_usd, c.created_at as row_created_at,
  c.prompt_tokens, c.completion_tokens, c.cached_tokens, c.cache_write_tokens, c.reasoning_tokens, c.status,
  c.usage_source, c.usage_detail, c.unbilled_nano_usd, c.provider_cost_nano_usd`)

export async function readPage(
  db: Kysely<Database>,
  accountId: AccountId,
  { after, until }: { readonly after: number; readonly until: number },
): Promise<readonly AuditedRow[]> {
  const rows = await readRows(
    db,
    sql<AuditedRow>`
      select l.number, l.kind, l.debit, l.credit, l.amount_nano_usd, l.balance_nano_usd, l.completion_id, l.key_id,
        l.price_version, l.adjusts, l.note, l.created_at, l.budgets, ${USAGE_COLUMNS}
      from ledger as l
      left join completion as c on c.account_id = l.account_id and c.id = l.completion_id
      where l.account_id = ${accountId} and l.number > ${after} and l.number <= ${until}
      order by l.number`,
  )
  return rows.every((row, at) => at === 0 || row.number > (rows[at - 1]?.number ?? 0))
    ? rows
    : rows.toSorted((one, other) => one.number - other.number)
}

/** Returns the last number of the page that contains a number. */
export function pageEnd(after: number, last: number): number {
  return Math.min(last, (Math.floor(after / PAGE_NUMBERS) + 1) * PAGE_NUMBERS)
}

/*
 * Seals of the ledger: a SHA-256 of each page of rows, kept by the audit that read it. The next audit reads the same rows
 * and compares: it detects a changed amount even if all later balances were changed to match.
 */

export interface Seal {
  /** The page that begins with row `page * PAGE_NUMBERS + 1`. */
  readonly page: number
  /** The last sealed row. */
  readonly lastNumber: number
  readonly hash: string
}

const PAGES_A_QUERY = 200

/** Reads the seals of an account page by page. */
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

/** @returns The new seal of the page; undefined if the old one stays because it covers all rows or is broken. */
export function checkSeal(
  rows: readonly AuditedRow[],
  page: number,
  old: Seal | undefined,
  report: Report,
): Seal | undefined {
  const last = rows.at(-1)?.number ?? 0
  if (old !== undefined && last < old.lastNumber) return undefined // missing rows are reported as a gap
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
  const line = [number, kind, debit, credit, String(amount), String(balance), ...of, row.created_at]
  return `${JSON.stringify(row.budgets === null ? line : [...line, row.budgets])}\n` // older seals cover rows without budgets
}
