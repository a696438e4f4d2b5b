/** Plans of the configuration: what they give, on the wire, and how one is chosen. */
import { type Static, Type } from 'typebox'
import { defaultOverrunNanoUsd } from '../../domain/account-credit.ts'
import { GatewayError } from '../../domain/errors.ts'
import { type NanoUsd, parseNanoUsd, usdNumber } from '../../domain/money.ts'
import { didYouMean } from '../../lib/nearest.ts'

/** A plan as the configuration has it. */
export interface PlanSettings {
  readonly monthly_credit_usd?: number
  readonly max_overrun_usd?: number
  /** Undefined: no limit. */
  readonly requests_per_minute?: number
  readonly tokens_per_minute?: number
  readonly max_in_flight?: number
  readonly billing?: 'prepaid' | 'postpaid'
}

/** What an account may be given. */
export interface Plans {
  /** By name. */
  readonly all: Readonly<Record<string, PlanSettings>>
  /** The name of that of accounts that are made without one. */
  readonly standard: string
}

/** Of a plan that does not say, and of one that is no longer in the configuration. */
const DEFAULT_MAX_IN_FLIGHT = 500

const limit = (description: string) =>
  Type.Unsafe<number | null>({ type: ['integer', 'null'], description: `${description} Null: no limit.` })

export const PlanLimits = Type.Object({
  requests_per_minute: limit('Requests a minute.'),
  tokens_per_minute: limit('Tokens a minute.'),
  max_in_flight: Type.Integer({ description: 'Requests at once.' }),
})

export const PlanView = Type.Object({
  id: Type.String({ description: 'Its name.' }),
  object: Type.Literal('plan'),
  default: Type.Boolean({ description: 'Whether accounts have it that are made without one.' }),
  monthly_credit_usd: Type.Number({ description: 'Granted each month; what is left of it expires with the month.' }),
  max_overrun_usd: Type.Number({
    description: 'How far a balance may fall below zero where a provider used more than was reserved.',
  }),
  prepaid: Type.Boolean({ description: 'Whether requests need credit. False: billed after the fact.' }),
  ...PlanLimits.properties,
})

/** In the order of the configuration, the built-in ones first. */
export function renderPlans({ all, standard }: Plans): Static<typeof PlanView>[] {
  return Object.entries(all).map(([id, plan]) => ({
    id,
    object: 'plan' as const,
    default: id === standard,
    monthly_credit_usd: plan.monthly_credit_usd ?? 0,
    max_overrun_usd: plan.max_overrun_usd ?? usdNumber(defaultOverrunNanoUsd(creditOf(plan))),
    prepaid: plan.billing !== 'postpaid',
    ...renderLimits(plan),
  }))
}

/** The configuration lets only amounts through that are exact. */
function creditOf({ monthly_credit_usd: usd = 0 }: PlanSettings): NanoUsd {
  return parseNanoUsd(usd) ?? 0n
}

/** @param plan Undefined: it is no longer in the configuration. */
export function renderLimits(plan: PlanSettings | undefined): Static<typeof PlanLimits> {
  return {
    requests_per_minute: plan?.requests_per_minute ?? null,
    tokens_per_minute: plan?.tokens_per_minute ?? null,
    max_in_flight: plan?.max_in_flight ?? DEFAULT_MAX_IN_FLIGHT,
  }
}

export function findPlan({ all }: Plans, name: string): PlanSettings | undefined {
  return Object.hasOwn(all, name) ? all[name] : undefined
}

/** Gives the plan that a body names, or the standard one. Throws 400 for one that is not in the configuration. */
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
  return `'${name}' is no plan${meant === undefined ? '' : ` (did you mean '${meant}'?)`}; there are ${names.join(', ')}.`
}
