/** Rows of the ledger on the wire. */
import { type Kysely, sql } from 'kysely'
import { type Static, Type } from 'typebox'
import type { Database, LedgerKind } from '../../db/schema/schema.ts'
import { given, within } from '../../db/shared-queries.ts'
import { type AccountId, ledgerId } from '../../domain/ids.ts'
import { type NanoUsd, usdNumber } from '../../domain/money.ts'
import type { PageRequest } from '../../http/page.ts'
import { ALL_TIME, type Period, timeParameter } from '../../http/period.ts'
import { isoTime, nullable, oneOf } from '../../http/wire-fields.ts'
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
