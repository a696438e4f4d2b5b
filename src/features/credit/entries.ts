/** The ledger on the wire: its rows, and statements of a period. */
import { type Kysely, sql } from 'kysely'
import { type Static, Type } from 'typebox'
import type { Database, LedgerKind } from '../../db/schema/schema.ts'
import { given, within } from '../../db/shared-queries.ts'
import { GatewayError } from '../../domain/errors.ts'
import { type AccountId, ledgerId } from '../../domain/ids.ts'
import { type NanoUsd, usdNumber } from '../../domain/money.ts'
import type { PageRequest } from '../../http/page.ts'
import { ALL_TIME, type Period, parsePeriod, timeParameter } from '../../http/period.ts'
import { isoTime, nullable, oneOf, usd } from '../../http/wire-fields.ts'
import { monthNumber, monthStart } from '../../lib/time.ts'
import { toLedgerEntry } from './ledger/rows.ts'
import type { LedgerEntry } from './ledger/unit.ts'

/** A row, and when the row was made that it corrects. */
interface ListedEntry extends LedgerEntry {
  readonly adjustedAt: number | undefined
}

interface LedgerListInput extends Omit<PageRequest, 'after'> {
  readonly accountId: AccountId
  readonly filter: { readonly kind: LedgerKind | undefined; readonly period: Period }
  /** The number of the last one of the page before; undefined: from the start. */
  readonly after: number | undefined
}

/** At most `limit` rows by number, those with `after` and before it left out. */
export async function listLedger(db: Kysely<Database>, list: LedgerListInput): Promise<readonly ListedEntry[]> {
  const { accountId, filter, limit, order, after } = list
  const range = rest(await numbersOf(db, accountId, filter.period), order, after)
  const rows = ledgerRows(db).where('ledger.account_id', '=', accountId)
  const chosen = isRare(filter.kind) ? rareRows(rows, filter.kind, range) : commonRows(rows, filter.kind, range)
  const sorted = isRare(filter.kind) ? chosen.orderBy('ledger.kind', order) : chosen
  return (await sorted.orderBy('ledger.number', order).limit(limit).execute()).map((row) => ({
    ...toLedgerEntry(row),
    adjustedAt: row.adjusted_at ?? undefined,
  }))
}

function rest({ start, end }: Period, order: 'asc' | 'desc', after: number | undefined): Period {
  if (after === undefined) return { start, end }
  return order === 'asc' ? { start: Math.max(start, after + 1), end } : { start, end: Math.min(end, after) }
}

/** The rows of a period by number: later rows are never of an earlier time, so their ends are found by halving. */
export async function numbersOf(db: Kysely<Database>, accountId: AccountId, period: Period): Promise<Period> {
  if (period.start <= ALL_TIME.start && period.end >= ALL_TIME.end) return { start: 1, end: Number.MAX_SAFE_INTEGER }
  const { last } = await db
    .selectFrom('ledger')
    .select(({ fn }) => fn.max('number').as('last'))
    .where('account_id', '=', accountId)
    .executeTakeFirstOrThrow()
  const isBefore = async (number: number, time: number) => {
    const row = db.selectFrom('ledger').select('created_at').where('account_id', '=', accountId)
    return (await row.where('number', '=', number).executeTakeFirstOrThrow()).created_at < time
  }
  const firstFrom = async (time: number, least: number) => {
    let [low, high] = [least, (last ?? 0) + 1]
    while (low < high) {
      const middle = Math.floor((low + high) / 2)
      if (await isBefore(middle, time)) low = middle + 1
      else high = middle
    }
    return low
  }
  const start = await firstFrom(period.start, 1)
  return { start, end: await firstFrom(period.end, start) }
}

function ledgerRows(db: Kysely<Database>) {
  return db
    .selectFrom('ledger')
    .leftJoin('ledger as corrected', (join) =>
      join.onRef('corrected.account_id', '=', 'ledger.account_id').onRef('corrected.number', '=', 'ledger.adjusts'),
    )
    .selectAll('ledger')
    .select('corrected.created_at as adjusted_at')
}

type LedgerRows = ReturnType<typeof ledgerRows>

/** Nearly all rows are charges. */
function isRare(kind: LedgerKind | undefined): kind is Exclude<LedgerKind, 'charge'> {
  return kind !== undefined && kind !== 'charge'
}

function commonRows(query: LedgerRows, kind: LedgerKind | undefined, { start, end }: Period): LedgerRows {
  return query.where(within('ledger.number', { start, end })).where(({ and }) => and(given({ 'ledger.kind': kind })))
}

/**
 * Through the index of what is not a charge: its own condition must stand word for word, and bounds on kind and number
 * together are what the primary key cannot serve.
 */
function rareRows(query: LedgerRows, kind: LedgerKind, { start, end }: Period): LedgerRows {
  return query
    .where('ledger.kind', '<>', sql.lit<LedgerKind>('charge'))
    .where(({ eb, refTuple, tuple }) => eb(refTuple('ledger.kind', 'ledger.number'), '>=', tuple(kind, start)))
    .where(({ eb, refTuple, tuple }) => eb(refTuple('ledger.kind', 'ledger.number'), '<', tuple(kind, end)))
}

const KINDS = ['grant', 'purchase', 'charge', 'refund', 'debit', 'expiry'] as const satisfies readonly LedgerKind[]

const kindOf = (description: string) => oneOf<LedgerKind>(KINDS, { description })

export const LedgerQuery = {
  kind: Type.Optional(kindOf('Only entries of this kind.')),
  period_start: timeParameter('ISO 8601 UTC: only entries created at or after this time.'),
  period_end: timeParameter('ISO 8601 UTC: only entries created before this time.'),
}

export const LedgerEntryView = Type.Object({
  id: Type.String(),
  object: Type.Literal('ledger_entry'),
  kind: kindOf(
    'grant: credit without payment, such as the monthly allowance. purchase: paid credit. charge: a completion. refund: returned credit. debit: credit that the operator deducted, such as for a chargeback. expiry: the unspent part of an allowance.',
  ),
  amount_usd: Type.Number({ description: 'USD, at most 9 decimals; negative for deductions.' }),
  balance_usd: Type.Number({ description: 'Balance after the entry, in USD.' }),
  completion_id: nullable<string>('string', 'For a charge: the completion.'),
  key_id: nullable<string>('string', 'For a charge: the API key of the request.'),
  price_version: nullable<string>('string', 'For a charge: the version of its price.'),
  adjusts: nullable<string>('string', 'The entry that this one corrects.'),
  note: nullable<string>('string', 'Reason of the entry.'),
  created_at: Type.String({ description: 'ISO 8601 UTC.' }),
})

export function renderEntry(entry: ListedEntry): Static<typeof LedgerEntryView> {
  const { accountId, number, createdAt, adjusts, adjustedAt } = entry
  const isFirst = adjusts === undefined || adjustedAt === undefined
  return {
    id: ledgerId(accountId, number, createdAt),
    object: 'ledger_entry',
    kind: entry.kind,
    amount_usd: usdNumber(signedNanoUsd(entry)),
    balance_usd: usdNumber(entry.balanceNanoUsd),
    completion_id: entry.completionId ?? null,
    key_id: entry.keyId ?? null,
    price_version: entry.priceVersion ?? null,
    adjusts: isFirst ? null : ledgerId(accountId, adjusts, adjustedAt),
    note: entry.note ?? null,
    created_at: isoTime(createdAt),
  }
}

/** As the customer's balance sees it. */
export function signedNanoUsd({ kind, nanoUsd }: Pick<ListedEntry, 'kind' | 'nanoUsd'>): NanoUsd {
  return kind === 'charge' || kind === 'debit' || kind === 'expiry' ? -nanoUsd : nanoUsd
}

/** An account statement: opening balance, movements, closing balance, and the usage of the period. */

export const DAY_MS = 24 * 3_600_000

export interface ModelUsage {
  readonly model: string
  readonly requests: number
  /** Prompt and completion tokens. */
  readonly tokens: number
  readonly costNanoUsd: NanoUsd
}

export interface Statement {
  readonly openingNanoUsd: NanoUsd
  /** Signed effects on the customer's balance; the opening balance and these add up to the closing balance. */
  readonly movements: Readonly<Record<LedgerKind, NanoUsd>>
  readonly closingNanoUsd: NanoUsd
  /** The most expensive first. */
  readonly models: readonly ModelUsage[]
}

/**
 * The ledger is append-only, so rows up to a number are a consistent snapshot. Charges, which are nearly all rows, are not
 * read: their sum is the difference between the balances and the other rows.
 * @param period Whole UTC days.
 */
export async function readStatement(db: Kysely<Database>, accountId: AccountId, period: Period): Promise<Statement> {
  const { start, end } = await numbersOf(db, accountId, period)
  const opening = await lastBefore(db, accountId, start)
  const closing = await lastBefore(db, accountId, end)
  const others = await sumsByKind(db, accountId, { start, end: closing.number + 1 })
  const of = (kind: LedgerKind): NanoUsd => others.get(kind) ?? 0n
  const [grant, purchase, refund] = [of('grant'), of('purchase'), of('refund')]
  const [debit, expiry] = [-of('debit'), -of('expiry')]
  const charge = closing.balance - opening.balance - grant - purchase - refund - debit - expiry
  return {
    openingNanoUsd: opening.balance,
    movements: { grant, purchase, refund, debit, expiry, charge },
    closingNanoUsd: closing.balance,
    models: await usageByModel(db, accountId, period),
  }
}

/** Reads the last row before a number, which has the balance at that time. */
async function lastBefore(db: Kysely<Database>, accountId: AccountId, number: number) {
  const row = await db
    .selectFrom('ledger')
    .select(['number', 'balance_nano_usd'])
    .where('account_id', '=', accountId)
    .where('number', '<', number)
    .orderBy('number', 'desc')
    .limit(1)
    .executeTakeFirst()
  return { number: row?.number ?? 0, balance: row?.balance_nano_usd ?? 0n }
}

const NOT_CHARGES = ['grant', 'purchase', 'refund', 'debit', 'expiry'] as const satisfies readonly LedgerKind[]

/** Reads through the partial index of rows that are no charges: see `listLedger`. */
async function sumsByKind(
  db: Kysely<Database>,
  accountId: AccountId,
  { start, end }: Period,
): Promise<ReadonlyMap<LedgerKind, NanoUsd>> {
  const sums = new Map<LedgerKind, NanoUsd>()
  for (const kind of NOT_CHARGES) {
    const row = await db
      .selectFrom('ledger')
      .select(({ fn }) => fn.sum<bigint | null>('amount_nano_usd').as('sum_nano_usd'))
      .where('account_id', '=', accountId)
      .where('kind', '<>', sql.lit<LedgerKind>('charge'))
      .where(({ eb, refTuple, tuple }) => eb(refTuple('kind', 'number'), '>=', tuple(kind, start)))
      .where(({ eb, refTuple, tuple }) => eb(refTuple('kind', 'number'), '<', tuple(kind, end)))
      .executeTakeFirstOrThrow()
    sums.set(kind, row.sum_nano_usd ?? 0n)
  }
  return sums
}

async function usageByModel(
  db: Kysely<Database>,
  accountId: AccountId,
  { start, end }: Period,
): Promise<readonly ModelUsage[]> {
  const rows = await db
    .selectFrom('usage_rollup')
    .select(['model', ({ fn }) => fn.sum<number>('requests').as('requests')])
    .select(sql<number>`sum(prompt_tokens + completion_tokens)`.as('tokens'))
    .select(({ fn }) => fn.sum<bigint>('cost_nano_usd').as('cost_nano_usd'))
    .where('account_id', '=', accountId)
    .where('day', '>=', start / DAY_MS)
    .where('day', '<', end / DAY_MS)
    .groupBy('model')
    .execute()
  return rows.map(({ cost_nano_usd: costNanoUsd, ...row }) => ({ ...row, costNanoUsd })).toSorted(byCost)
}

function byCost(one: ModelUsage, other: ModelUsage): number {
  if (one.costNanoUsd !== other.costNanoUsd) return one.costNanoUsd > other.costNanoUsd ? -1 : 1
  return one.model < other.model ? -1 : 1
}

export const StatementQuery = Type.Object({
  period_start: timeParameter('ISO 8601 UTC, the start of a day. Default: the first day of this month.'),
  period_end: timeParameter('ISO 8601 UTC, the start of a day, exclusive. Default: the first day of the next month.'),
})

export const StatementView = Type.Object({
  object: Type.Literal('statement'),
  period_start: Type.String({ description: 'ISO 8601 UTC.' }),
  period_end: Type.String({ description: 'ISO 8601 UTC, exclusive.' }),
  opening_usd: usd('Balance before the period.'),
  grants_usd: usd('Grants, including monthly allowances.'),
  purchases_usd: usd('Purchases.'),
  refunds_usd: usd('Refunds.'),
  debits_usd: usd('Debits of the operator; zero or negative.'),
  charges_usd: usd('Charges of completions, and upward corrections; zero or negative.'),
  expiries_usd: usd('Expired allowances; zero or negative.'),
  closing_usd: usd('Balance after the period, or now: exactly the sum of the opening balance and all of the above.'),
  by_model: Type.Array(
    Type.Object({
      model: Type.String(),
      requests: Type.Integer(),
      tokens: Type.Integer({ description: 'Prompt and completion tokens.' }),
      cost_usd: usd('Cost as in `GET /v1/usage`.'),
    }),
    {
      description:
        'Usage of the completions that started in the period, most expensive model first. A completion is charged when it ends, which may be after the period. Corrections are not part of a model’s cost.',
    },
  ),
})

/** Throws 400 with `param` for a time that is not the beginning of a UTC day: usage is summed by day. */
export function parseStatementPeriod(query: Static<typeof StatementQuery>, now: number): Period {
  const month = monthNumber(now)
  const period = parsePeriod(query, { start: monthStart(month), end: monthStart(month + 1) })
  for (const [param, at] of [
    ['period_start', period.start],
    ['period_end', period.end],
  ] as const) {
    if (at % DAY_MS === 0) continue
    const message = `'${param}' must be the beginning of a day in UTC, such as 2026-01-31.`
    throw new GatewayError('invalid_value', message, { param })
  }
  return period
}

export function renderStatement(statement: Statement, period: Period): Static<typeof StatementView> {
  const { movements } = statement
  return {
    object: 'statement',
    period_start: isoTime(period.start),
    period_end: isoTime(period.end),
    opening_usd: usdNumber(statement.openingNanoUsd),
    grants_usd: usdNumber(movements.grant),
    purchases_usd: usdNumber(movements.purchase),
    refunds_usd: usdNumber(movements.refund),
    debits_usd: usdNumber(movements.debit),
    charges_usd: usdNumber(movements.charge),
    expiries_usd: usdNumber(movements.expiry),
    closing_usd: usdNumber(statement.closingNanoUsd),
    by_model: statement.models.map(({ costNanoUsd, ...usage }) => ({ ...usage, cost_usd: usdNumber(costNanoUsd) })),
  }
}
