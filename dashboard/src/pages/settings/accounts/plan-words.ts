/** Plans in words, and what another one changes. */
import { formatCount, formatUsd } from '../../../lib/format.ts'
import type { Plan } from './queries.ts'

/** `$5.00 of credit a month, prepaid; 20 requests and 40,000 tokens a minute, 8 requests at once` */
export function planText(plan: Plan): string {
  const credit = plan.monthly_credit_usd === 0 ? '' : `${formatUsd(plan.monthly_credit_usd)} of credit a month, `
  return `${credit}${billingText(plan)}; ${rateText(plan)}, ${formatCount(plan.max_in_flight)} requests at once`
}

function billingText({ prepaid }: Plan): string {
  return prepaid ? 'prepaid' : 'billed after the fact'
}

function rateText({ requests_per_minute: requests, tokens_per_minute: tokens }: Plan): string {
  if (requests === null && tokens === null) return 'no limit a minute'
  const parts = [
    ...(requests === null ? [] : [`${formatCount(requests)} requests`]),
    ...(tokens === null ? [] : [`${formatCount(tokens)} tokens`]),
  ]
  return `${parts.join(' and ')} a minute`
}

/**
 * What somebody notices of it.
 * @param before Undefined: a plan that is no longer in the configuration.
 */
export function effectOf(before: Plan | undefined, after: Plan): readonly string[] {
  const effects = ['It is in force in every process within a second.']
  if (before?.prepaid !== after.prepaid) {
    effects.push(
      after.prepaid
        ? 'Requests need credit from then on: without any they are refused with 402.'
        : 'Requests need no credit any more: they are billed after the fact.',
    )
  }
  effects.push(`Limits: ${rateText(after)}, ${formatCount(after.max_in_flight)} requests at once.`)
  if ((before?.monthly_credit_usd ?? 0) !== after.monthly_credit_usd) effects.push(creditEffect(after))
  return effects
}

function creditEffect({ monthly_credit_usd: credit }: Plan): string {
  if (credit === 0) return 'There is no monthly credit any more; what is left of this month’s expires with the month.'
  return `Its credit of ${formatUsd(credit)} a month is granted at once, unless this month’s was granted already.`
}
