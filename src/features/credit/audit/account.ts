/**
 * The audit of one account, in steps that each read a page: its ledger up to a snapshot with every completion that was
 * charged, then the sums by hour and day, then what did not go together. Between two steps it is only its state, which is
 * plain data: an audit is stopped and continued anywhere.
 */
import type { Kysely } from 'kysely'
import type { Database } from '../../../db/schema/schema.ts'
import { type AccountId, completionIdFloor } from '../../../domain/ids.ts'
import { retiredCost } from '../reconcile.ts'
import { type ChainState, compareEnd, LATE_NOTE, newChain, replayRow, type Snapshot, takeSnapshot } from './chain.ts'
import {
  checkCharge,
  checkCorrection,
  checkCost,
  checkProviderCost,
  lateCorrections,
  linksOf,
  type PriceBook,
} from './charges.ts'
import type { Finding, Report } from './finding.ts'
import {
  type AuditedRow,
  checkSeal,
  createSealReader,
  PAGE_NUMBERS,
  pageEnd,
  readPage,
  type Seal,
} from './ledger-page.ts'
import {
  compareDays,
  compareDimensions,
  compareHours,
  findUnmatched,
  firstSince,
  HOUR_MS,
  type Hours,
  hoursOf,
  lastNumber,
  nextWindow,
  unchargedRows,
} from './usage-sums.ts'

/** The shortest retention of usage rows. */
const KEPT_MS = 400 * 86_400_000
/** Margin for rows that retention deletes during the audit. */
const KEPT_MARGIN_MS = 3 * HOUR_MS
const DAYS_A_STEP = 62

export interface AccountAudit {
  readonly accountId: AccountId
  readonly snapshot: Snapshot
  /** Unix milliseconds; undefined: from the beginning. */
  readonly since: number | undefined
  /** Every completion since then must have a row. */
  readonly keptFrom: number
  phase: 'ledger' | 'hours' | 'days' | 'unmatched' | 'done'
  readonly chain: ChainState
  readonly invoices: InvoiceState
  /** By hour: number and cost of charged completions that have a row. */
  readonly charged: Record<string, [count: number, cost: bigint]>
  /** Charged completions that retention has deleted. */
  goneNanoUsd: bigint
  /** The same figures from the rollups. */
  goneOfSumsNanoUsd: bigint
  hours: Hours | undefined
  days: Hours | undefined
  readonly unmatched: number[]
  /** Rows read so far. */
  rows: number
}

export interface AccountDeps {
  readonly db: Kysely<Database>
  readonly prices: PriceBook
  /** Allowances that plans grant, or have granted; undefined if unknown. */
  readonly allowances: ReadonlySet<bigint> | undefined
  readonly report: (finding: Finding) => void
  readonly seal: (accountId: AccountId, seal: Seal) => void
}

export async function beginAccount(
  { db, report }: AccountDeps,
  {
    accountId,
    since,
    now,
  }: { readonly accountId: AccountId; readonly since: number | undefined; readonly now: number },
): Promise<AccountAudit> {
  const first =
    since === undefined ? 1 : await firstSince(db, accountId, { since, last: await lastNumber(db, accountId) })
  const snapshot = await takeSnapshot(db, accountId, reporterOf(report, accountId))
  const before = { number: first - 1, balance: await balanceAfter(db, accountId, first - 1) }
  return {
    accountId,
    snapshot,
    since,
    keptFrom: now - KEPT_MS + KEPT_MARGIN_MS,
    phase: 'ledger',
    chain: newChain(snapshot, before),
    invoices: newInvoices(before),
    charged: {},
    goneNanoUsd: 0n,
    goneOfSumsNanoUsd: 0n,
    hours: undefined,
    days: undefined,
    unmatched: [],
    rows: 0,
  }
}

async function balanceAfter(db: Kysely<Database>, accountId: AccountId, number: number): Promise<bigint> {
  if (number === 0) return 0n
  const row = db.selectFrom('ledger').select('balance_nano_usd').where('account_id', '=', accountId)
  return (await row.where('number', '=', number).executeTakeFirst())?.balance_nano_usd ?? 0n
}

function reporterOf(report: AccountDeps['report'], accountId: AccountId): Report {
  return (kind, subject, expected = '', actual = '') =>
    report({ accountId, kind, subject, expected: String(expected), actual: String(actual) })
}

/** Runs steps until the phase is `done`. Owns the page that is read ahead; the state has everything else. */
export function accountStepper(deps: AccountDeps, audit: AccountAudit): () => Promise<void> {
  const report = reporterOf(deps.report, audit.accountId)
  const context: Context = { ...deps, audit, report, sealOf: createSealReader(deps.db, audit.accountId) }
  const nextPage = pageReader(deps.db, audit)
  return async () => {
    if (audit.phase === 'ledger') return stepLedger(context, nextPage)
    if (audit.phase === 'hours') return stepHours(context)
    if (audit.phase === 'days') return stepDays(context)
    if (audit.phase === 'unmatched') return stepUnmatched(context)
  }
}

interface Context extends Omit<AccountDeps, 'report'> {
  readonly audit: AccountAudit
  readonly report: Report
  readonly sealOf: ReturnType<typeof createSealReader>
  invoicesAhead?: readonly AuditedInvoice[]
}

interface Page {
  readonly after: number
  readonly until: number
  readonly rows: readonly AuditedRow[]
}

/** Returns pages, and reads the next one while the current one is audited. */
function pageReader(
  db: Kysely<Database>,
  { accountId, snapshot, chain }: AccountAudit,
): () => Promise<Page | undefined> {
  const read = async (after: number): Promise<Page | undefined> => {
    if (after >= snapshot.entries) return undefined
    const until = pageEnd(after, snapshot.entries)
    return { after, until, rows: await readPage(db, accountId, { after, until }) }
  }
  let ahead: Promise<Page | undefined> | undefined
  let position = chain.number
  return async () => {
    const page = await (ahead ?? read(position))
    ahead = undefined
    if (page === undefined) return undefined
    position = page.until
    ahead = read(position)
    ahead.catch(() => undefined) // the next call gets the error
    return page
  }
}

async function stepLedger(context: Context, nextPage: () => Promise<Page | undefined>): Promise<void> {
  const { db, audit, report } = context
  const page = await nextPage()
  if (page === undefined) return endLedger(context)
  const { rows } = page
  await checkPageSeal(context, page)
  await context.prices.learn(db, versionsOf(rows))
  const links = await linksOf(db, audit.accountId, rows)
  const doubtful = rows.filter(
    (row) => isFirstCharge(row) && row.row_model !== null && row.amount_nano_usd !== row.row_cost_nano_usd,
  )
  const later = await lateCorrections(
    db,
    audit.accountId,
    doubtful.map(({ number }) => number),
  )
  for (const row of rows) {
    const correctedAt = row.adjusts === null ? undefined : links.get(row.adjusts)?.created_at
    replayRow(audit.chain, row, { correctedAt, allowances: context.allowances }, report)
    if (row.adjusts !== null) checkCorrection(row, links, context.prices, report)
    if (row.completion_id !== null) auditCharge(context, row, later.get(row.number) ?? 0n)
    await passInvoice(context, row)
  }
  audit.rows += rows.length
}

function isFirstCharge({ kind, adjusts }: AuditedRow): boolean {
  return kind === 'charge' && adjusts === null
}

function* versionsOf(rows: readonly AuditedRow[]): Iterable<string> {
  for (const row of rows) {
    if (row.row_model !== null) yield row.row_price_version
    if (row.adjusts !== null && row.price_version !== null) yield row.price_version
  }
}

async function checkPageSeal({ audit, sealOf, seal, report }: Context, { after, rows }: Page): Promise<void> {
  if (after % PAGE_NUMBERS !== 0) return
  const page = after / PAGE_NUMBERS
  const made = checkSeal(rows, page, await sealOf(page), report)
  if (made !== undefined) seal(audit.accountId, made)
}

function auditCharge({ audit, prices, report }: Context, row: AuditedRow, laterNanoUsd: bigint): void {
  const id = String(row.completion_id)
  if (row.row_model === null) {
    if (!isFirstCharge(row) && row.note !== LATE_NOTE) return
    audit.goneNanoUsd += row.kind === 'charge' ? row.amount_nano_usd : -row.amount_nano_usd
    if (isFirstCharge(row) && id >= completionIdFloor(audit.keptFrom))
      report('completion_missing', id, row.amount_nano_usd)
    return
  }
  if (!isFirstCharge(row)) return
  checkCost(row, id, prices, report)
  checkProviderCost(row, id, prices, report)
  checkCharge(row, laterNanoUsd, report)
  const hour = String(Math.floor(row.row_created_at / HOUR_MS))
  const sum = audit.charged[hour]
  if (sum === undefined) audit.charged[hour] = [1, row.row_cost_nano_usd]
  else {
    sum[0]++
    sum[1] += row.row_cost_nano_usd
  }
}

async function passInvoice(context: Context, row: AuditedRow): Promise<void> {
  const { audit, db, report } = context
  const { invoices: state } = audit
  addToInvoice(state, row)
  context.invoicesAhead ??= await readInvoices(db, audit.accountId, state.number)
  for (let next = context.invoicesAhead[0]; next !== undefined && next.document.entries.last <= row.number; ) {
    if (next.document.entries.last === row.number || state.isWhole) checkInvoice(state, next, report)
    else state.number = next.number
    const left: readonly AuditedInvoice[] = context.invoicesAhead.slice(1)
    context.invoicesAhead = left.length > 0 ? left : await readInvoices(db, audit.accountId, state.number)
    next = context.invoicesAhead[0]
  }
}

async function endLedger(context: Context): Promise<void> {
  const { audit, db, report } = context
  const { accountId, chain, snapshot, since } = audit
  compareEnd(chain, snapshot, report)
  const hours = await hoursOf(db, accountId)
  const start = since === undefined ? undefined : Math.floor(since / HOUR_MS) + 1
  audit.hours = hours && { start: Math.max(hours.start, start ?? hours.start), end: hours.end }
  audit.days = hours && {
    start: Math.floor(Math.max(hours.start, start ?? 0) / 24),
    end: Math.floor(hours.end / 24) + 1,
  }
  audit.phase = 'hours'
}

async function stepHours(context: Context): Promise<void> {
  const { audit, db, report, prices } = context
  const { accountId: id, hours, charged } = audit
  if (hours === undefined || hours.start >= hours.end) {
    audit.phase = 'days'
    return
  }
  const window = await nextWindow(db, id, hours)
  const keptFrom = Math.ceil(audit.keptFrom / HOUR_MS)
  const { counts, goneNanoUsd } = await compareHours(db, { id, window, keptFrom }, report)
  audit.goneOfSumsNanoUsd += goneNanoUsd
  for (const [hour, { count, cost }] of counts) {
    const [chargedCount, chargedCost] = charged[String(hour)] ?? [0, 0n]
    if (hour >= keptFrom && audit.chain.isWhole && (count !== chargedCount || cost !== chargedCost))
      audit.unmatched.push(hour)
    audit.rows += count
  }
  const free = await unchargedRows(db, id, window)
  await prices.learn(
    db,
    free.map((row) => row.row_price_version),
  )
  for (const row of free) {
    checkCost(row, row.id, prices, report)
    checkProviderCost(row, row.id, prices, report)
  }
  audit.hours = { start: window.end, end: hours.end }
}

async function stepDays({ audit, db, report }: Context): Promise<void> {
  const { days } = audit
  if (days === undefined || days.start >= days.end) {
    audit.phase = 'unmatched'
    return
  }
  const step = { start: days.start, end: Math.min(days.end, days.start + DAYS_A_STEP) }
  await compareDays(db, audit.accountId, step, report)
  const keptFrom = Math.ceil(audit.keptFrom / (24 * HOUR_MS))
  await compareDimensions(db, audit.accountId, { start: Math.max(step.start, keptFrom), end: step.end }, report)
  audit.days = { start: step.end, end: days.end }
}

async function stepUnmatched({ audit, db, report }: Context): Promise<void> {
  const { accountId, snapshot, chain, goneNanoUsd, goneOfSumsNanoUsd } = audit
  await findUnmatched(db, accountId, audit.unmatched, report)
  const sum = db.selectNoFrom(retiredCost(accountId).as('retired_nano_usd'))
  const { retired_nano_usd: retired } = await sum.executeTakeFirstOrThrow()
  // Rows that were deleted meanwhile are in some of the sums: the next audit compares them.
  if (retired === snapshot.retired && chain.isWhole) {
    if (goneNanoUsd !== retired) report('retired', 'charges', goneNanoUsd, retired)
    if (goneOfSumsNanoUsd !== retired) report('retired', 'sums', goneOfSumsNanoUsd, retired)
  }
  audit.phase = 'done'
}

// Compares invoices with the ledger rows that they cover.

/** The running sums of the current invoice. */
interface InvoiceState {
  /** Of the previous invoice. */
  number: number
  /** The last row of the previous invoice. */
  before: number
  opening: bigint
  balance: bigint
  requests: number
  charges: bigint
  adjustments: bigint
  credits: bigint
  /** False if the audit began within it. */
  isWhole: boolean
}

function newInvoices(before: { readonly number: number; readonly balance: bigint }): InvoiceState {
  const sums = { requests: 0, charges: 0n, adjustments: 0n, credits: 0n }
  return {
    number: 0,
    before: 0,
    opening: before.balance,
    balance: before.balance,
    ...sums,
    isWhole: before.number === 0,
  }
}

/** The audited part of the document. */
interface Document {
  readonly entries: { readonly first: number; readonly last: number }
  readonly lines: readonly { readonly requests: number; readonly cost_nano_usd: string }[]
  readonly adjustments: { readonly total_nano_usd: string }
  readonly credits: { readonly total_nano_usd: string }
  readonly opening_balance_nano_usd: string
  readonly closing_balance_nano_usd: string
  readonly total_nano_usd: string
}

interface AuditedInvoice {
  readonly id: string
  readonly number: number
  readonly totalNanoUsd: bigint
  readonly document: Document
}

/** Reads the next invoices of an account, by number. */
async function readInvoices(
  db: Kysely<Database>,
  accountId: AccountId,
  after: number,
): Promise<readonly AuditedInvoice[]> {
  const rows = await db
    .selectFrom('invoice')
    .select(['id', 'number', 'total_nano_usd', 'document'])
    .where('account_id', '=', accountId)
    .where('number', '>', after)
    .orderBy('number')
    .limit(20)
    .execute()
  return rows.map(({ id, number, total_nano_usd: totalNanoUsd, document }) => ({
    id,
    number,
    totalNanoUsd,
    document: JSON.parse(document) as Document, // only the gateway writes it; anything else is a finding
  }))
}

function addToInvoice(state: InvoiceState, row: AuditedRow): void {
  const { kind, adjusts, amount_nano_usd: amount } = row
  const takes = row.debit === 'credit'
  if (adjusts !== null) state.adjustments += takes ? amount : -amount
  else if (kind === 'charge') {
    state.charges += amount
    state.requests++
  } else state.credits += takes ? -amount : amount
  state.balance = row.balance_nano_usd
}

/** Compares the sums with the invoice after its last row. */
function checkInvoice(state: InvoiceState, invoice: AuditedInvoice, report: Report): void {
  const { document, id } = invoice
  if (state.isWhole) {
    const lines = document.lines.reduce((sum, line) => sum + BigInt(line.cost_nano_usd), 0n)
    const requests = document.lines.reduce((sum, line) => sum + line.requests, 0)
    const compare = (what: string, expected: unknown, actual: unknown) => {
      if (String(expected) !== String(actual)) report('invoice', `${id} ${what}`, expected, actual)
    }
    compare('number', state.number + 1, invoice.number)
    compare('first row', state.before + 1, document.entries.first)
    compare('opening balance', state.opening, document.opening_balance_nano_usd)
    compare('closing balance', state.balance, document.closing_balance_nano_usd)
    compare('lines', state.charges, lines)
    compare('requests', state.requests, requests)
    compare('adjustments', state.adjustments, document.adjustments.total_nano_usd)
    compare('credits', state.credits, document.credits.total_nano_usd)
    compare('total', state.charges + state.adjustments, document.total_nano_usd)
    compare('total', document.total_nano_usd, invoice.totalNanoUsd)
  }
  state.number = invoice.number
  state.before = document.entries.last
  state.opening = state.balance
  Object.assign(state, { requests: 0, charges: 0n, adjustments: 0n, credits: 0n, isWhole: true })
}
