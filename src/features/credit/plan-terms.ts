import { type NanoUsd, parseNanoUsd } from '../../domain/money.ts'
import type { PlanTerms } from './unit.ts'

/** What a plan of the configuration says of money. */
export interface PlanMoney {
  readonly billing: 'prepaid' | 'postpaid'
  readonly monthly_credit_usd?: number
  readonly max_overrun_usd?: number
}

/** Of an account whose plan is no longer in the configuration: it may spend what it has. */
const NO_PLAN: PlanTerms = { billing: 'prepaid', monthlyCreditNanoUsd: 0n }

/** Throws for an amount that nano-dollars cannot say, which the configuration does not let through. */
export function planTerms(plan: PlanMoney | undefined): PlanTerms {
  if (plan === undefined) return NO_PLAN
  const { billing, monthly_credit_usd: usd = 0, max_overrun_usd: overrun } = plan
  const terms = { billing, monthlyCreditNanoUsd: exactly(usd) }
  return overrun === undefined ? terms : { ...terms, maxOverrunNanoUsd: exactly(overrun) }
}

function exactly(usd: number): NanoUsd {
  const amount = parseNanoUsd(usd)
  if (amount === undefined) throw new Error(`A plan has an amount that is not exact: ${usd} USD.`)
  return amount
}
