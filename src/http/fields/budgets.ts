/** Budgets on the wire: `budgets` in the bodies and answers of accounts, teams, members and keys. */
import { type Static, Type } from 'typebox'
import {
  BUDGET_ACTIONS,
  BUDGET_LEVELS,
  BUDGET_WINDOWS,
  type BudgetStatus,
  type BudgetTerms,
  MAX_BUDGETS,
} from '../../domain/budget.ts'
import { GatewayError } from '../../domain/errors.ts'
import { parseNanoUsd, usdNumber } from '../../domain/money.ts'
import { isTimeZone, startOfDate } from '../../lib/calendar-window.ts'
import { ISO_TIME_SINCE_1970_PATTERN, isoTime, isoTimeOrNull, parseIsoTime } from '../../lib/time.ts'
import { nullable, oneOf, usd } from '../wire-fields.ts'

export const MAX_BUDGET_USD = 1_000_000_000
const MAX_TIMEZONE_LENGTH = 64
const DATE_LENGTH = 'YYYY-MM-DD'.length

const Budget = Type.Object(
  {
    usd: Type.Number({ minimum: 0, maximum: MAX_BUDGET_USD, description: 'USD, at most 9 decimals.' }),
    window: oneOf(BUDGET_WINDOWS, { description: 'total: it never resets.' }),
    starts: Type.Optional(
      Type.Unsafe<string | null>({
        type: ['string', 'null'],
        maxLength: 64,
        pattern: ISO_TIME_SINCE_1970_PATTERN,
        description:
          'Start of the first window, from which the others are counted: a date in the time zone, or an ISO 8601 time. Null: windows of the calendar.',
        examples: ['2030-01-01'],
      }),
    ),
    timezone: Type.Optional(
      Type.String({ minLength: 1, maxLength: MAX_TIMEZONE_LENGTH, description: 'IANA name. Default: UTC.' }),
    ),
    action: Type.Optional(
      oneOf(BUDGET_ACTIONS, {
        description: 'block (default): rejects requests beyond it with 402. warn: alerts only.',
      }),
    ),
  },
  { additionalProperties: false },
)

/** The field of bodies that create or change a subject. */
export const BudgetsInput = Type.Array(Budget, {
  maxItems: MAX_BUDGETS,
  description: 'Replaces all budgets. Those with the same window, time zone and start keep what is spent.',
})

const Raise = Type.Object({
  id: Type.String(),
  usd: usd('Added to the limit.'),
  reason: Type.String(),
  created_at: Type.String(),
  ends_at: Type.String(),
})

export const BudgetView = Type.Object({
  id: Type.String(),
  object: Type.Literal('budget'),
  level: oneOf(BUDGET_LEVELS),
  subject: Type.String({ description: 'ID of the account, team, user or key; of a tag `key=value`.' }),
  usd: usd('The limit without raises.'),
  window: oneOf(BUDGET_WINDOWS),
  starts: nullable<string>('string', 'Start of the first window, ISO 8601. Null: windows of the calendar.'),
  timezone: Type.String(),
  action: oneOf(BUDGET_ACTIONS),
  limit_usd: usd('The limit with the raises in force.'),
  spent_usd: usd('Charged in the current window.'),
  held_usd: usd('Reserved by requests in flight.'),
  remaining_usd: usd('`limit_usd` less `spent_usd` and `held_usd`, at least 0.'),
  window_start: Type.String({ description: 'Start of the current window, ISO 8601.' }),
  resets_at: nullable<string>('string', 'End of the current window, ISO 8601. Null: it never resets.'),
  forecast_exhausted_at: nullable<string>(
    'string',
    'Time at which the budget is spent at the pace of this window, ISO 8601. Null: not within the window.',
  ),
  raises: Type.Array(Raise, { description: 'Raises in force.' }),
})

/** Throws 400 with the path of the invalid field. */
export function parseBudgets(budgets: Static<typeof BudgetsInput>): readonly BudgetTerms[] {
  const seen = new Set<string>()
  return budgets.map((budget, at) => {
    const terms = parseBudget(budget, `budgets[${at}]`)
    const name = budgetName(terms)
    if (seen.has(name)) {
      const message = 'Two budgets have the same window, time zone and start; keep the lower one.'
      throw new GatewayError('invalid_value', message, { param: `budgets[${at}].window` })
    }
    seen.add(name)
    return terms
  })
}

/** Budgets of a subject with the same name are the same budget. */
export function budgetName({ window, timezone, startsAt }: Omit<BudgetTerms, 'limitNanoUsd' | 'action'>): string {
  return `${window} ${timezone} ${startsAt}`
}

function parseBudget(
  { usd: amount, window, starts = null, timezone = 'UTC', action = 'block' }: Static<typeof Budget>,
  path: string,
): BudgetTerms {
  const limitNanoUsd = parseAmount(amount, `${path}.usd`)
  if (!isTimeZone(timezone)) {
    const message = `'${timezone}' is not an IANA time zone such as Europe/Berlin.`
    throw new GatewayError('invalid_value', message, { param: `${path}.timezone` })
  }
  return { limitNanoUsd, window, timezone, startsAt: parseStart(starts, timezone, `${path}.starts`), action }
}

/** Throws 400 for more than 9 decimals. */
export function parseAmount(amount: number, param: string): bigint {
  const nanoUsd = parseNanoUsd(amount)
  if (nanoUsd !== undefined) return nanoUsd
  throw new GatewayError('invalid_value', `'${param}' has more than 9 decimals.`, { param })
}

/** A date begins in the budget's time zone. */
function parseStart(text: string | null, timezone: string, param: string): number | undefined {
  if (text === null) return undefined
  const time = text.length === DATE_LENGTH ? startOfDate(text, timezone) : parseIsoTime(text)
  if (time !== undefined) return Math.max(0, time)
  throw new GatewayError('invalid_value', `'${param}' must be an ISO 8601 date or time since 1970.`, { param })
}

export function renderBudget(status: BudgetStatus): Static<typeof BudgetView> {
  const { raisedLimitNanoUsd: limit, spentNanoUsd: spent, heldNanoUsd: held } = status
  const left = limit - spent - held
  return {
    id: status.budgetId,
    object: 'budget',
    level: status.level,
    subject: status.id,
    usd: usdNumber(status.limitNanoUsd),
    window: status.window,
    starts: isoTimeOrNull(status.startsAt ?? null),
    timezone: status.timezone,
    action: status.action,
    limit_usd: usdNumber(limit),
    spent_usd: usdNumber(spent),
    held_usd: usdNumber(held),
    remaining_usd: usdNumber(left > 0n ? left : 0n),
    window_start: isoTime(status.windowStart),
    resets_at: isoTimeOrNull(status.resetsAt ?? null),
    forecast_exhausted_at: isoTimeOrNull(status.exhaustedAt ?? null),
    raises: status.raises.map((raise) => ({
      id: raise.id,
      usd: usdNumber(raise.nanoUsd),
      reason: raise.reason,
      created_at: isoTime(raise.createdAt),
      ends_at: isoTime(raise.endsAt),
    })),
  }
}

/** Undefined if the body has no budgets, which then stay as they are. */
export function parseOptionalBudgets(
  budgets: Static<typeof BudgetsInput> | undefined,
): readonly BudgetTerms[] | undefined {
  return budgets === undefined ? undefined : parseBudgets(budgets)
}
