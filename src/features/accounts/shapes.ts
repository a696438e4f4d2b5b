/** Accounts and plans on the wire. */
import { type Static, Type } from 'typebox'
import type { BudgetStatus } from '../../domain/budget.ts'
import { type AccountCredit, type CreditSettings, defaultOverrunNanoUsd } from '../../domain/credit.ts'
import { GatewayError } from '../../domain/errors.ts'
import { type NanoUsd, parseNanoUsd, usdNumber } from '../../domain/money.ts'
import { BudgetsInput, BudgetView, renderBudget } from '../../http/fields/budgets.ts'
import { PAGE_QUERY } from '../../http/page.ts'
import { dataPolicySchema } from '../../http/wire-fields.ts'
import { didYouMean } from '../../lib/text.ts'
import { type Account, type AccountFigures, renderAccount } from './queries.ts'

const MAX_NAME_LENGTH = 100
const MAX_OVERRUN_USD = 1_000_000
const MAX_BUDGET_USD = 1_000_000_000
const MAX_THRESHOLD = 1_000
const MAX_THRESHOLDS = 10

const Name = Type.String({ minLength: 1, maxLength: MAX_NAME_LENGTH, pattern: '\\S' })
const PlanName = Type.String({ minLength: 1, maxLength: 100, description: 'Name of a plan in the configuration.' })
const closed = { additionalProperties: false }
const DataPolicy = dataPolicySchema('of the account')

/** @param maximum Of an input; undefined for an output. */
function usdOrNull(description: string, maximum?: number) {
  const range = maximum === undefined ? {} : { minimum: 0, maximum }
  return Type.Unsafe<number | null>({ type: ['number', 'null'], ...range, description })
}

export const AccountCreate = Type.Object(
  {
    name: Name,
    plan: Type.Optional({ ...PlanName, description: 'Default: the setting `accounts.default_plan`.' }),
    budgets: Type.Optional(BudgetsInput),
  },
  closed,
)
const OVERRUN = 'Overrun cap: how far the balance may fall below zero if a provider uses more than was reserved, in USD'

export const AccountPatch = Type.Object(
  {
    name: Type.Optional(Name),
    plan: Type.Optional(PlanName),
    data_policy: Type.Optional(DataPolicy),
    max_overrun_usd: Type.Optional(usdOrNull(`${OVERRUN}; at most 9 decimals. Null: as in the plan.`, MAX_OVERRUN_USD)),
    budgets: Type.Optional(BudgetsInput),
  },
  closed,
)

export const AccountsQuery = Type.Object({
  ...PAGE_QUERY,
  search: Type.Optional({
    ...Name,
    pattern: '^[^\\u0000]*[^\\u0000\\s][^\\u0000]*$',
    description: 'Part of the name, ignoring case, or a complete ID; 1 to 100 characters.',
  }),
})

const Thresholds = Type.Array(Type.Integer({ minimum: 1, maximum: MAX_THRESHOLD }), { maxItems: MAX_THRESHOLDS })

export const OwnAccountPatch = Type.Object(
  {
    name: Type.Optional(Name),
    monthly_budget_usd: Type.Optional(
      usdOrNull(
        'Spending limit of a calendar month, UTC, in USD with at most 9 decimals. Null: no limit.',
        MAX_BUDGET_USD,
      ),
    ),
    alert_thresholds: Type.Optional({
      ...Thresholds,
      description: 'Percentages of the budget, or of the monthly allowance, that trigger an alert; ascending.',
    }),
    data_policy: Type.Optional(DataPolicy),
    budgets: Type.Optional(BudgetsInput),
  },
  closed,
)

/** A plan of the configuration. */
interface PlanSettings {
  readonly monthly_credit_usd?: number
  readonly max_overrun_usd?: number
  /** Undefined: no limit. */
  readonly requests_per_minute?: number
  readonly markup_percent?: number
  readonly request_fee_usd?: number
  readonly tokens_per_minute?: number
  readonly max_in_flight?: number
  readonly billing?: 'prepaid' | 'postpaid'
}

/** The plans that accounts can have. */
export interface Plans {
  /** By name. */
  readonly all: Readonly<Record<string, PlanSettings>>
  /** Name of the plan of accounts that are created without one. */
  readonly standard: string
}

/** Of plans without this setting, and of plans that are no longer configured. */
const DEFAULT_MAX_IN_FLIGHT = 500

const limit = (description: string) =>
  Type.Unsafe<number | null>({ type: ['integer', 'null'], description: `${description} Null: no limit.` })

const PlanLimits = Type.Object({
  requests_per_minute: limit('Requests per minute.'),
  tokens_per_minute: limit('Tokens per minute.'),
  max_in_flight: Type.Integer({ description: 'Maximum number of concurrent requests.' }),
})

export const PlanView = Type.Object({
  id: Type.String({ description: 'Name.' }),
  object: Type.Literal('plan'),
  default: Type.Boolean({ description: 'Whether new accounts have this plan by default.' }),
  monthly_credit_usd: Type.Number({ description: 'Monthly allowance. The unspent part expires with the month.' }),
  max_overrun_usd: Type.Number({
    description: 'Overrun cap: how far a balance may fall below zero if a provider uses more than was reserved.',
  }),
  markup_percent: Type.Number({ description: 'Percent that is added to the prices of models.' }),
  request_fee_usd: Type.Number({ description: 'USD that is charged for each call of a provider, besides the price.' }),
  prepaid: Type.Boolean({ description: 'Whether requests require credit. False: the plan is postpaid.' }),
  ...PlanLimits.properties,
})

const ACCOUNT_FIELDS = {
  id: Type.String(),
  object: Type.Literal('account'),
  name: Type.String(),
  plan: Type.String(),
  data_policy: DataPolicy,
  created_at: Type.String({ description: 'ISO 8601 UTC.' }),
}

export const AccountView = Type.Object({
  ...ACCOUNT_FIELDS,
  balance_usd: Type.Number({ description: 'Balance as of the last request, or the last time it was read.' }),
  held_usd: Type.Number({ description: 'Part of the balance that requests in flight have reserved.' }),
  spent_this_month_usd: Type.Number({ description: 'Spending in this calendar month, UTC.' }),
  margin_this_month_usd: Type.Number({
    description: 'Of the costs of this month’s completions, what is left when the providers are paid.',
  }),
  members: Type.Integer({ description: 'Number of members.' }),
  max_overrun_usd: usdOrNull(`${OVERRUN}. Null: as in the plan.`),
})

/** Of one account. */
export const AccountDetailView = Type.Object({
  ...AccountView.properties,
  budgets: Type.Array(BudgetView, { description: 'Its budgets besides its monthly budget.' }),
})

export const OwnAccountView = Type.Object({
  ...ACCOUNT_FIELDS,
  monthly_budget_usd: usdOrNull('Null: no limit.'),
  alert_thresholds: Type.Array(Type.Integer()),
  allowance_usd: Type.Number({
    description: 'Unspent part of the monthly allowance, which expires with the month.',
  }),
  limits: { ...PlanLimits, description: 'Limits of the plan.' },
  budgets: Type.Array(BudgetView, { description: 'Its budgets besides `monthly_budget_usd`.' }),
})

export function renderAdminAccount(account: Account, figures: AccountFigures): Static<typeof AccountView> {
  return {
    ...renderAccount(account),
    balance_usd: usdNumber(figures.balanceNanoUsd),
    held_usd: usdNumber(figures.heldNanoUsd),
    spent_this_month_usd: usdNumber(figures.spentNanoUsd),
    margin_this_month_usd: usdNumber(figures.marginNanoUsd),
    members: figures.members,
    max_overrun_usd: figures.maxOverrunNanoUsd === undefined ? null : usdNumber(figures.maxOverrunNanoUsd),
  }
}

export interface OwnFigures extends Pick<AccountFigures, 'allowanceNanoUsd'> {
  readonly credit: AccountCredit
  /** Undefined: the plan is no longer configured. */
  readonly plan: PlanSettings | undefined
  readonly budgets: readonly BudgetStatus[]
}

export function renderOwnAccount(
  account: Account,
  { credit, allowanceNanoUsd, plan, budgets }: OwnFigures,
): Static<typeof OwnAccountView> {
  const { monthlyBudgetNanoUsd: budget, alertThresholds } = credit
  return {
    ...renderAccount(account),
    monthly_budget_usd: budget === undefined ? null : usdNumber(budget),
    alert_thresholds: [...alertThresholds],
    allowance_usd: usdNumber(allowanceNanoUsd),
    limits: renderLimits(plan),
    budgets: budgets.map(renderBudget),
  }
}

/** Undefined if the body has no settings. Throws 400 for more than 9 decimals, and for thresholds out of order. */
export function parseSettings(body: Static<typeof OwnAccountPatch>): CreditSettings | undefined {
  const { monthly_budget_usd: usd, alert_thresholds: thresholds } = body
  if (usd === undefined && thresholds === undefined) return undefined
  if (thresholds !== undefined) assertAscending(thresholds)
  return {
    ...(usd === undefined ? {} : { monthlyBudgetNanoUsd: parseAmount(usd, 'monthly_budget_usd') }),
    ...(thresholds === undefined ? {} : { alertThresholds: thresholds }),
  }
}

/** Undefined if the body has no overrun cap. Throws 400 for more than 9 decimals. */
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

/** Renders the plans in the order of the configuration, built-in ones first. */
export function renderPlans({ all, standard }: Plans): Static<typeof PlanView>[] {
  return Object.entries(all).map(([id, plan]) => ({
    id,
    object: 'plan' as const,
    default: id === standard,
    monthly_credit_usd: plan.monthly_credit_usd ?? 0,
    max_overrun_usd: plan.max_overrun_usd ?? usdNumber(defaultOverrunNanoUsd(creditOf(plan))),
    markup_percent: plan.markup_percent ?? 0,
    request_fee_usd: plan.request_fee_usd ?? 0,
    prepaid: plan.billing !== 'postpaid',
    ...renderLimits(plan),
  }))
}

/** The configuration accepts only exact amounts. */
function creditOf({ monthly_credit_usd: usd = 0 }: PlanSettings): NanoUsd {
  return parseNanoUsd(usd) ?? 0n
}

/** @param plan Undefined: the plan is no longer configured. */
function renderLimits(plan: PlanSettings | undefined): Static<typeof PlanLimits> {
  return {
    requests_per_minute: plan?.requests_per_minute ?? null,
    tokens_per_minute: plan?.tokens_per_minute ?? null,
    max_in_flight: plan?.max_in_flight ?? DEFAULT_MAX_IN_FLIGHT,
  }
}

export function findPlan({ all }: Plans, name: string): PlanSettings | undefined {
  return Object.hasOwn(all, name) ? all[name] : undefined
}

/** Returns the plan that a body names, or the standard one. Throws 400 for one that is not in the configuration. */
export function planFinder(plans: () => Plans): (name: string | undefined) => string {
  return (name) => {
    const { all, standard } = plans()
    const names = Object.keys(all)
    if (name === undefined || names.includes(name)) return name ?? standard
    throw new GatewayError('invalid_value', noSuchPlan(name, names), { param: 'plan' })
  }
}

export function noSuchPlan(name: string, names: readonly string[]): string {
  const meant = didYouMean(name, names)
  return `Plan '${name}' does not exist${meant === undefined ? '' : ` (did you mean '${meant}'?)`}. Plans: ${names.join(', ')}.`
}
