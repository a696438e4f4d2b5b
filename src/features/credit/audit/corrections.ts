/** Rows that correct others: each names the one before, back to the charge. */
import { type Kysely, sql } from 'kysely'
import { readRows } from '../../../db/read-rows.ts'
import type { Database, LedgerKind } from '../../../db/schema.ts'
import type { AccountId } from '../../../domain/ids.ts'
import { LATE_NOTE } from './chain.ts'
import { type PriceBook, usageOf } from './charges.ts'
import type { Report } from './finding.ts'
import type { AuditedRow } from './ledger-page.ts'
import { costOf } from './tariff.ts'

const RERATE_NOTE = 'price correction'
const NUMBERS_A_QUERY = 200

interface ChainLink {
  readonly number: number
  readonly kind: LedgerKind
  readonly amount_nano_usd: bigint
  readonly adjusts: number | null
  readonly note: string | null
  readonly completion_id: string | null
  readonly created_at: number
}

export type Links = ReadonlyMap<number, ChainLink>

/** The rows that the corrections among `rows` go back to, by number. */
export async function linksOf(db: Kysely<Database>, id: AccountId, rows: readonly AuditedRow[]): Promise<Links> {
  const links = new Map<number, ChainLink>()
  let wanted = rows.flatMap(({ adjusts }) => adjusts ?? [])
  while (wanted.length > 0) {
    const next: number[] = []
    for (let at = 0; at < wanted.length; at += NUMBERS_A_QUERY) {
      for (const link of await linksBy(db, id, 'number', wanted.slice(at, at + NUMBERS_A_QUERY))) {
        links.set(link.number, link)
        if (link.adjusts !== null && !links.has(link.adjusts)) next.push(link.adjusts)
      }
    }
    wanted = next
  }
  return links
}

/** By row, what late settlements have corrected it by. Through the index of corrections. */
export async function lateCorrections(
  db: Kysely<Database>,
  id: AccountId,
  numbers: readonly number[],
): Promise<ReadonlyMap<number, bigint>> {
  const later = new Map<number, bigint>()
  for (let at = 0; at < numbers.length; at += NUMBERS_A_QUERY) {
    for (const link of await linksBy(db, id, 'adjusts', numbers.slice(at, at + NUMBERS_A_QUERY))) {
      if (link.note === LATE_NOTE && link.adjusts !== null) later.set(link.adjusts, chargedBy(link))
    }
  }
  return later
}

function linksBy(db: Kysely<Database>, id: AccountId, column: 'number' | 'adjusts', numbers: readonly number[]) {
  return readRows(
    db,
    sql<ChainLink>`select number, kind, amount_nano_usd, adjusts, note, completion_id, created_at from ledger
      where account_id = ${id} and ${sql.ref(column)} in (${sql.join(numbers)})
        ${column === 'adjusts' ? sql`and adjusts is not null` : sql``}`,
  )
}

function chargedBy({ kind, amount_nano_usd: amount }: Pick<ChainLink, 'kind' | 'amount_nano_usd'>): bigint {
  return kind === 'charge' ? amount : -amount
}

/** A price correction leaves the completion charged at the price that it names. */
export function checkCorrection(row: AuditedRow, links: Links, prices: PriceBook, report: Report): void {
  const corrected = row.adjusts === null ? undefined : links.get(row.adjusts)
  const subject = `row ${row.number}`
  if (corrected === undefined || corrected.completion_id !== row.completion_id) {
    report('correction', subject, `a row of ${row.completion_id}`, `row ${row.adjusts}`)
    return
  }
  if (row.note !== RERATE_NOTE || row.row_model === null || row.price_version === null) return
  const price = prices.find(row.price_version)
  if (price === undefined) {
    report('price_version', subject, 'a known price', row.price_version)
    return
  }
  let standing = chargedBy(row)
  for (let link: ChainLink | undefined = corrected; link !== undefined; ) {
    standing += chargedBy(link)
    link = link.adjusts === null ? undefined : links.get(link.adjusts)
  }
  const expected = costOf(usageOf(row), price.tariff)
  if (standing !== expected) report('correction', subject, expected, standing)
}
