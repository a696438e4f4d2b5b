/** An account statement: opening balance, movements, closing balance, and the usage of the period. */
import { type Kysely, sql } from 'kysely'
import { type Static, Type } from 'typebox'
import type { Database, LedgerKind } from '../../db/schema/schema.ts'
import { GatewayError } from '../../domain/errors.ts'
import type { AccountId } from '../../domain/ids.ts'
import { type NanoUsd, usdNumber } from '../../domain/money.ts'
import { type Period, parsePeriod, timeParameter } from '../../http/period.ts'
import { isoTime, usd } from '../../http/wire-fields.ts'
import { monthNumber, monthStart } from '../../lib/time.ts'
import { numbersOf } from './entries.ts'

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
