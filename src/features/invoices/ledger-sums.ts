/** What a stretch of an account's ledger comes to, as an invoice tells it. */
import type { Kysely } from 'kysely'
import type { Database, LedgerKind } from '../../db/schema.ts'
import { type AccountId, ledgerId } from '../../domain/ids.ts'
import type { NanoUsd } from '../../domain/money.ts'
import type { InvoiceEntry, InvoiceLine, InvoiceSection } from './document.ts'

/** Rows of the ledger read in one query: the database has other things to do meanwhile. */
const ROWS_PER_QUERY = 2_000
/** Entries of a section that are listed one by one. */
const MAX_LISTED = 1_000

export interface Stretch {
  readonly accountId: AccountId
  /** Numbers of the first and the last row. */
  readonly first: number
  readonly last: number
}

export interface LedgerSums {
  /** The most expensive first. */
  readonly lines: readonly InvoiceLine[]
  readonly adjustments: InvoiceSection
  readonly credits: InvoiceSection
}

/** Rows of the ledger never change, so the stretch may be read in pieces and outside of any transaction. */
export async function sumLedger(db: Kysely<Database>, { accountId, first, last }: Stretch): Promise<LedgerSums> {
  const lines = new Map<string, InvoiceLine>()
  const adjustments = createSection()
  const credits = createSection()
  for (let from = first; from <= last; from += ROWS_PER_QUERY) {
    const piece = { accountId, first: from, last: Math.min(last, from + ROWS_PER_QUERY - 1) }
    for (const line of await chargesByModel(db, piece)) lines.set(line.model, addLines(lines.get(line.model), line))
    for (const { isAdjustment, entry } of await otherEntries(db, piece)) {
      const section = isAdjustment ? adjustments : credits
      section.add(entry)
    }
  }
  return { lines: [...lines.values()].sort(byCost), adjustments: adjustments.result(), credits: credits.result() }
}

function rowsOf(db: Kysely<Database>, { accountId, first, last }: Stretch) {
  return db
    .selectFrom('ledger')
    .where('ledger.account_id', '=', accountId)
    .where('ledger.number', '>=', first)
    .where('ledger.number', '<=', last)
}

async function chargesByModel(db: Kysely<Database>, stretch: Stretch): Promise<readonly InvoiceLine[]> {
  const rows = await rowsOf(db, stretch)
    .where('ledger.kind', '=', 'charge')
    .where('ledger.adjusts', 'is', null)
    .leftJoin('completion', (join) =>
      join.onRef('completion.account_id', '=', 'ledger.account_id').onRef('completion.id', '=', 'ledger.completion_id'),
    )
    .select(({ fn }) => [
      'completion.model',
      fn.countAll<number>().as('requests'),
      fn.sum<number>('completion.prompt_tokens').as('prompt_tokens'),
      fn.sum<number>('completion.completion_tokens').as('completion_tokens'),
      fn.sum<bigint>('ledger.amount_nano_usd').as('cost_nano_usd'),
    ])
    .groupBy('completion.model')
    .execute()
  // Money that was charged is on the invoice whatever became of the usage row.
  return rows.map((row) => ({ ...row, model: row.model ?? 'unknown' }))
}

interface OtherEntry {
  readonly isAdjustment: boolean
  readonly entry: InvoiceEntry
}

async function otherEntries(db: Kysely<Database>, stretch: Stretch): Promise<readonly OtherEntry[]> {
  const rows = await rowsOf(db, stretch)
    .where((row) => row.or([row('ledger.kind', '<>', 'charge'), row('ledger.adjusts', 'is not', null)]))
    .leftJoin('ledger as corrected', (join) =>
      join.onRef('corrected.account_id', '=', 'ledger.account_id').onRef('corrected.number', '=', 'ledger.adjusts'),
    )
    .selectAll('ledger')
    .select('corrected.created_at as corrected_at')
    .orderBy('ledger.number')
    .execute()
  return rows.map((row) => {
    const { account_id: account, adjusts, corrected_at: correctedAt, number, kind, created_at } = row
    const isAdjustment = adjusts !== null
    const entry: InvoiceEntry = {
      id: ledgerId(account, number, created_at),
      kind,
      amount_nano_usd: isAdjustment === takesCredit(kind) ? row.amount_nano_usd : -row.amount_nano_usd,
      adjusts: adjusts === null ? null : ledgerId(account, adjusts, correctedAt ?? 0),
      completion_id: row.completion_id,
      note: row.note,
      created_at,
    }
    return { isAdjustment, entry }
  })
}

function takesCredit(kind: LedgerKind): boolean {
  return kind === 'charge' || kind === 'debit' || kind === 'expiry'
}

function createSection() {
  const listed: InvoiceEntry[] = []
  let entries = 0
  let unlistedNanoUsd: NanoUsd = 0n
  let totalNanoUsd: NanoUsd = 0n
  return {
    add(entry: InvoiceEntry): void {
      totalNanoUsd += entry.amount_nano_usd
      if (listed.length < MAX_LISTED) {
        listed.push(entry)
        return
      }
      entries++
      unlistedNanoUsd += entry.amount_nano_usd
    },
    result: (): InvoiceSection => ({
      listed,
      unlisted: { entries, amount_nano_usd: unlistedNanoUsd },
      total_nano_usd: totalNanoUsd,
    }),
  }
}

function addLines(one: InvoiceLine | undefined, other: InvoiceLine): InvoiceLine {
  return {
    model: other.model,
    requests: (one?.requests ?? 0) + other.requests,
    prompt_tokens: (one?.prompt_tokens ?? 0) + (other.prompt_tokens ?? 0),
    completion_tokens: (one?.completion_tokens ?? 0) + (other.completion_tokens ?? 0),
    cost_nano_usd: (one?.cost_nano_usd ?? 0n) + other.cost_nano_usd,
  }
}

function byCost(one: InvoiceLine, other: InvoiceLine): number {
  if (one.cost_nano_usd !== other.cost_nano_usd) return one.cost_nano_usd > other.cost_nano_usd ? -1 : 1
  return one.model < other.model ? -1 : 1
}
