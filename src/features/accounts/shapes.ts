/** Accounts on the wire. */
import { type Static, Type } from 'typebox'
import type { AccountCredit, CreditSettings } from '../../domain/account-credit.ts'
import { GatewayError } from '../../domain/errors.ts'
import { parseNanoUsd, usdNumber } from '../../domain/money.ts'
import { PAGE_QUERY } from '../../http/page.ts'
import type { AccountFigures } from './figures.ts'
import { PlanLimits, type PlanSettings, renderLimits } from './plans.ts'
import { type Account, renderAccount } from './queries.ts'

const MAX_NAME_LENGTH = 100
const MAX_OVERRUN_USD = 1_000_000
const MAX_BUDGET_USD = 1_000_000_000
const MAX_THRESHOLD = 1_000
const MAX_THRESHOLDS = 10

const Name = Type.String({ minLength: 1, maxLength: MAX_NAME_LENGTH, pattern: '\\S' })
const PlanName = Type.String({ minLength: 1, maxLength: 100, description: 'A plan of the configuration.' })
const closed = { additionalProperties: false }

export const AccountCreate = Type.Object(
  { name: Name, plan: Type.Optional({ ...PlanName, description: 'Default: `accounts.default_plan`.' }) },
  closed,
)
const OVERRUN = 'How far the balance may fall below zero where a provider used more than was reserved, in USD'
export const AccountPatch = Type.Object(
  {
    name: Type.Optional(Name),
    plan: Type.Optional(PlanName),
    max_overrun_usd: Type.Optional(
      Type.Unsafe<number | null>({
        type: ['number', 'null'],
        minimum: 0,
        maximum: MAX_OVERRUN_USD,
        description: `${OVERRUN}; at most 9 decimals. Null: as its plan says.`,
      }),
    ),
  },
  closed,
)

export const AccountsQuery = Type.Object({
  ...PAGE_QUERY,
  search: Type.Optional({
    ...Name,
    pattern: '^[^\\u0000]*[^\\u0000\\s][^\\u0000]*$',
    description: 'Part of the name, whether in capitals or not, or a whole id; 1 to 100 characters.',
  }),
})

const Thresholds = Type.Array(Type.Integer({ minimum: 1, maximum: MAX_THRESHOLD }), { maxItems: MAX_THRESHOLDS })

export const OwnAccountPatch = Type.Object(
  {
    name: Type.Optional(Name),
    monthly_budget_usd: Type.Optional(
      Type.Unsafe<number | null>({
        type: ['number', 'null'],
        minimum: 0,
        maximum: MAX_BUDGET_USD,
        description:
          'The most that the account may spend in a calendar month, UTC; at most 9 decimals. Null: no limit.',
      }),
    ),
    alert_thresholds: Type.Optional({
      ...Thresholds,
      description: 'Percentages of the budget, or of the month’s credit, at which to be alerted; ascending.',
    }),
  },
  closed,
)

const ACCOUNT_FIELDS = {
  id: Type.String(),
  object: Type.Literal('account'),
  name: Type.String(),
  plan: Type.String(),
  created_at: Type.String({ description: 'ISO 8601 UTC.' }),
}
export const AccountView = Type.Object({
  ...ACCOUNT_FIELDS,
  balance_usd: Type.Number({ description: 'As of its last request, or the last time that somebody looked at it.' }),
  held_usd: Type.Number({ description: 'Of it, reserved by requests in flight.' }),
  spent_this_month_usd: Type.Number({ description: 'In this calendar month, UTC.' }),
  members: Type.Integer({ description: 'People who belong to it.' }),
  max_overrun_usd: Type.Unsafe<number | null>({
    type: ['number', 'null'],
    description: `${OVERRUN}. Null: as its plan says.`,
  }),
})
export const OwnAccountView = Type.Object({
  ...ACCOUNT_FIELDS,
  monthly_budget_usd: Type.Unsafe<number | null>({ type: ['number', 'null'], description: 'Null: no limit.' }),
  alert_thresholds: Type.Array(Type.Integer()),
  allowance_usd: Type.Number({
    description: 'What of the balance is left of the month’s credit, and expires with it.',
  }),
  limits: { ...PlanLimits, description: 'Those of its plan.' },
})

export function renderAdminAccount(account: Account, figures: AccountFigures): Static<typeof AccountView> {
  return {
    ...renderAccount(account),
    balance_usd: usdNumber(figures.balanceNanoUsd),
    held_usd: usdNumber(figures.heldNanoUsd),
    spent_this_month_usd: usdNumber(figures.spentNanoUsd),
    members: figures.members,
    max_overrun_usd: figures.maxOverrunNanoUsd === undefined ? null : usdNumber(figures.maxOverrunNanoUsd),
  }
}

export interface OwnFigures extends Pick<AccountFigures, 'allowanceNanoUsd'> {
  readonly credit: AccountCredit
  /** Undefined: it is no longer in the configuration. */
  readonly plan: PlanSettings | undefined
}

export function renderOwnAccount(
  account: Account,
  { credit, allowanceNanoUsd, plan }: OwnFigures,
): Static<typeof OwnAccountView> {
  const { monthlyBudgetNanoUsd: budget, alertThresholds } = credit
  return {
    ...renderAccount(account),
    monthly_budget_usd: budget === undefined ? null : usdNumber(budget),
    alert_thresholds: [...alertThresholds],
    allowance_usd: usdNumber(allowanceNanoUsd),
    limits: renderLimits(plan),
  }
}

/** Undefined when the body sets nothing of it. Throws 400 for more than 9 decimals, and for thresholds out of order. */
export function parseSettings(body: Static<typeof OwnAccountPatch>): CreditSettings | undefined {
  const { monthly_budget_usd: usd, alert_thresholds: thresholds } = body
  if (usd === undefined && thresholds === undefined) return undefined
  if (thresholds !== undefined) assertAscending(thresholds)
  return {
    ...(usd === undefined ? {} : { monthlyBudgetNanoUsd: parseAmount(usd, 'monthly_budget_usd') }),
    ...(thresholds === undefined ? {} : { alertThresholds: thresholds }),
  }
}

/** Undefined when the body does not set it. Throws 400 for more than 9 decimals. */
export function parseOverrun({ max_overrun_usd: usd }: Static<typeof AccountPatch>): CreditSettings | undefined {
  return usd === undefined ? undefined : { maxOverrunNanoUsd: parseAmount(usd, 'max_overrun_usd') }
}

function parseAmount(usd: number | null, param: string): bigint | null {
  if (usd === null) return null
  const amount = parseNanoUsd(usd)
  if (amount !== undefined) return amount
  throw new GatewayError('invalid_value', `'${param}' has more than 9 decimals.`, { param })
}

function assertAscending(thresholds: readonly number[]): void {
  if (thresholds.every((threshold, at) => at === 0 || threshold > Number(thresholds[at - 1]))) return
  const param = 'alert_thresholds'
  throw new GatewayError('invalid_value', `'${param}' must be ascending, each value once.`, { param })
}
