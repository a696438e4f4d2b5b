/**
 * Closes finished months: an invoice is made of the ledger's rows alone, never of usage as it is now, and is not touched
 * again. An account's invoices are one after the other: each takes up the ledger where the one before ended, so every
 * row is on exactly one, also when a clock was set back.
 */
import type { Kysely } from 'kysely'
import type { Database, LedgerKind } from '../../db/schema/schema.ts'
import { GatewayError } from '../../domain/errors.ts'
import { type AccountId, type IdSource, ledgerId } from '../../domain/ids.ts'
import type { NanoUsd } from '../../domain/money.ts'
import { every, type JobKind } from '../../jobs/job.ts'
import type { FeatureDeps } from '../deps.ts'
import {
  billingOf,
  type InvoiceDocument,
  type InvoiceEntry,
  type InvoiceLine,
  type InvoiceSection,
  type InvoiceTerms,
  NO_TERMS,
  readDocument,
  writeDocument,
} from './document.ts'

/** A month is closed when it has been over for so long: clocks differ, and the last settlements are on their way. */
const QUIET_MS = 3_600_000
const ACCOUNTS_PER_QUERY = 200

export interface CloseInput extends Pick<FeatureDeps, 'db' | 'now'> {
  readonly ids: Pick<IdSource, 'invoice'>
  /** Of the configuration: taxes, and who bills whom. */
  readonly terms?: (() => InvoiceTerms) | undefined
  /** Ends it after the invoice at hand. */
  readonly signal?: AbortSignal | undefined
}

/**
 * Closes every finished month (UTC) in which an account's ledger has rows and that is not closed yet. Any number of
 * processes may do so at once. An account that cannot be closed does not keep the others waiting.
 * @returns How many invoices were made. Rejects at the end if an account could not be closed.
 */
export async function closeInvoices(input: CloseInput): Promise<number> {
  const finishedBefore = monthStart(input.now() - QUIET_MS, 0)
  const failures: string[] = []
  let closed = 0
  let after = ''
  for (;;) {
    const accounts = await accountsToClose(input.db, { finishedBefore, after })
    for (const account of accounts) {
      try {
        closed += await closeAccount(input, account, finishedBefore)
      } catch (error) {
        if (error instanceof GatewayError || input.signal?.aborted === true) throw error
        failures.push(`${account.id}: ${error instanceof Error ? error.message : String(error)}`)
      }
    }
    const last = accounts.at(-1)
    if (last === undefined) break
    after = last.id
  }
  if (failures.length > 0) {
    throw new Error(`Accounts that could not be invoiced: ${failures.length}. ${failures.slice(0, 3).join(' ')}`)
  }
  return closed
}

type AccountToClose = InvoiceDocument['account']

/** Those with rows after their last invoice, if that is not of the last finished month. The first page after an id. */
async function accountsToClose(
  db: Kysely<Database>,
  { finishedBefore, after }: { readonly finishedBefore: number; readonly after: string },
): Promise<readonly AccountToClose[]> {
  return db
    .selectFrom('credit')
    .innerJoin('account', 'account.id', 'credit.account_id')
    .select(['account.id', 'account.name'])
    .where('credit.account_id', '>', after as AccountId)
    .where('credit.entries', '>', 0)
    .where(({ eb, fn, selectFrom, val }) => {
      const lastEnd = selectFrom('invoice')
        .select('period_end')
        .whereRef('invoice.account_id', '=', 'credit.account_id')
        .orderBy('number', 'desc')
        .limit(1)
      const invoicedUntil = fn.coalesce(lastEnd, val(0))
      return eb.and([eb(invoicedUntil, '<', finishedBefore), eb('credit.entered_at', '>=', invoicedUntil)])
    })
    .orderBy('credit.account_id')
    .limit(ACCOUNTS_PER_QUERY)
    .execute()
}

async function closeAccount(input: CloseInput, account: AccountToClose, finishedBefore: number): Promise<number> {
  let closed = 0
  for (;;) {
    input.signal?.throwIfAborted()
    const month = await nextMonth(input.db, account.id)
    if (month === undefined || month.end > finishedBefore) return closed
    const document = await draw(input, account, month)
    if (await keep(input.db, document)) closed++
  }
}

/** A month to be closed, as the ledger and the invoice before it give it. */
interface Month {
  readonly start: number
  readonly end: number
  readonly number: number
  /** Of its first row. */
  readonly first: number
}

/** The month of the first row that is on no invoice; undefined: there is no such row. */
async function nextMonth(db: Kysely<Database>, accountId: AccountId): Promise<Month | undefined> {
  const last = await db
    .selectFrom('invoice')
    .select(['number', 'period_end', 'document'])
    .where('account_id', '=', accountId)
    .orderBy('number', 'desc')
    .limit(1)
    .executeTakeFirst()
  const first = last === undefined ? 1 : readDocument(last.document).entries.last + 1
  const row = await findRow(db, accountId, first)
  if (row === undefined) return undefined
  const start = Math.max(monthStart(row.created_at, 0), last?.period_end ?? 0)
  return { start, end: monthStart(start, 1), number: (last?.number ?? 0) + 1, first }
}

async function draw(input: CloseInput, account: AccountToClose, month: Month): Promise<InvoiceDocument> {
  const { db, ids, now, terms } = input
  const last = await lastRowBefore(db, account.id, month)
  const sums = await sumLedger(db, { accountId: account.id, first: month.first, last })
  const opening = (await findRow(db, account.id, month.first - 1))?.balance_nano_usd ?? 0n
  const closing = (await findRow(db, account.id, last))?.balance_nano_usd ?? 0n
  const total = totalOf(sums)
  if (opening + sums.credits.total_nano_usd - total !== closing) {
    throw new Error(`Rows ${month.first} to ${last} of the ledger do not add up to its balance.`)
  }
  const owed = { account: { id: account.id, name: account.name }, total_nano_usd: total }
  return {
    version: 1,
    id: ids.invoice(),
    number: month.number,
    account: owed.account,
    period_start: month.start,
    period_end: month.end,
    closed_at: now(),
    entries: { first: month.first, last },
    ...sums,
    opening_balance_nano_usd: opening,
    closing_balance_nano_usd: closing,
    total_nano_usd: total,
    billing: billingOf(owed, terms?.() ?? NO_TERMS),
  }
}

function totalOf({ lines, adjustments }: LedgerSums): NanoUsd {
  return lines.reduce((sum, { cost_nano_usd }) => sum + cost_nano_usd, adjustments.total_nano_usd)
}

/** Later rows are never of an earlier time, so the end of a month is found by halving. */
async function lastRowBefore(db: Kysely<Database>, accountId: AccountId, { first, end }: Month): Promise<number> {
  const credit = db.selectFrom('credit').select('entries').where('account_id', '=', accountId)
  let low = first // is before the end
  let high = (await credit.executeTakeFirstOrThrow()).entries + 1 // is not, or does not exist
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    const row = await findRow(db, accountId, middle)
    if (row !== undefined && row.created_at < end) low = middle
    else high = middle
  }
  return low
}

/**
 * The number follows the invoice that the month was found by, and is its key: of several that close the same month one is
 * first, and a number is never left out. @returns False when another was first: nothing was written.
 */
async function keep(db: Kysely<Database>, document: InvoiceDocument): Promise<boolean> {
  const { id, number, account, period_start, period_end, closed_at, total_nano_usd } = document
  const result = await db
    .insertInto('invoice')
    .values({
      account_id: account.id,
      number,
      id,
      period_start,
      period_end,
      total_nano_usd,
      document: writeDocument(document),
      closed_at,
    })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst()
  return (result.numInsertedOrUpdatedRows ?? 0n) > 0n
}

function findRow(db: Kysely<Database>, accountId: AccountId, number: number) {
  return db
    .selectFrom('ledger')
    .select(['created_at', 'balance_nano_usd'])
    .where(({ and }) => and({ account_id: accountId, number }))
    .executeTakeFirst()
}

/** The first moment of the month of a time, UTC, or of a later month. */
function monthStart(time: number, monthsLater: number): number {
  const date = new Date(time)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + monthsLater, 1)
}

/** Rows of the ledger read in one query: the database has other things to do meanwhile. */
const ROWS_PER_QUERY = 2_000
/** Entries of a section that are listed one by one. */
const MAX_LISTED = 1_000

interface Stretch {
  readonly accountId: AccountId
  /** Numbers of the first and the last row. */
  readonly first: number
  readonly last: number
}

interface LedgerSums {
  /** The most expensive first. */
  readonly lines: readonly InvoiceLine[]
  readonly adjustments: InvoiceSection
  readonly credits: InvoiceSection
}

/** Rows of the ledger never change, so the stretch may be read in pieces and outside of any transaction. */
async function sumLedger(db: Kysely<Database>, { accountId, first, last }: Stretch): Promise<LedgerSums> {
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
    .where(({ and }) => and({ 'ledger.kind': 'charge', 'ledger.adjusts': null }))
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

const CLOSE_EVERY_MS = 3_600_000

/** Background work of invoices, by the names of its kinds. */
export function invoiceJobs(input: Omit<CloseInput, 'signal'>): Readonly<Record<string, JobKind>> {
  return { 'invoices.close': every(CLOSE_EVERY_MS, (_job, { signal }) => closeInvoices({ ...input, signal })) }
}
