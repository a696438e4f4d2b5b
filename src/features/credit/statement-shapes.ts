/** Statements on the wire. */
import { type Static, Type } from 'typebox'
import { GatewayError } from '../../domain/errors.ts'
import { usdNumber } from '../../domain/money.ts'
import { type Period, parsePeriod } from '../../http/period.ts'
import { monthNumber, monthStart } from '../../lib/months.ts'
import { DAY_MS, type Statement } from './statement.ts'

const day = (description: string) => Type.Optional(Type.String({ description, examples: ['2026-01-01'] }))
const usd = (description: string) => Type.Number({ description: `USD, at most 9 decimals. ${description}` })

export const StatementQuery = Type.Object({
  period_start: day('ISO 8601 UTC, the beginning of a day; default: the first of this month.'),
  period_end: day('ISO 8601 UTC, the beginning of a day, not included; default: the first of the next month.'),
})

export const StatementView = Type.Object({
  object: Type.Literal('statement'),
  period_start: Type.String({ description: 'ISO 8601 UTC.' }),
  period_end: Type.String({ description: 'ISO 8601 UTC, not included.' }),
  opening_usd: usd('The balance before the period.'),
  grants_usd: usd('Given, monthly allowances too.'),
  purchases_usd: usd('Paid for.'),
  refunds_usd: usd('Given back.'),
  debits_usd: usd('Taken away by the operator; zero or below.'),
  charges_usd: usd('For completions, and corrections upwards; zero or below.'),
  expiries_usd: usd('What was left of allowances; zero or below.'),
  closing_usd: usd('The balance after the period, or now: the opening and all of the above, exactly.'),
  by_model: Type.Array(
    Type.Object({
      model: Type.String(),
      requests: Type.Integer(),
      tokens: Type.Integer({ description: 'Prompt and completion tokens.' }),
      cost_usd: usd('As `GET /v1/usage` reports it.'),
    }),
    {
      description:
        'Usage by when completions began, the most expensive first. A charge is made when a completion has ended, which ' +
        'may be after the period; corrections are in no model’s cost.',
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
    period_start: new Date(period.start).toISOString(),
    period_end: new Date(period.end).toISOString(),
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
