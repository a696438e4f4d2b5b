/** Plans in words, and what another one changes. */
import { formatCount, formatExactUsd } from '../../../lib/format.ts'
import { decimalText, toNano } from '../../../lib/money.ts'
import type { Plan } from './queries.ts'

/** `$5.00 of credit a month, prepaid; 20 requests and 40,000 tokens a minute, 8 concurrent requests` */
export function planText(plan: Plan): string {
  const credit = plan.monthly_credit_usd === 0 ? '' : `${formatExactUsd(plan.monthly_credit_usd)} of credit a month, `
  return `${credit}${billingText(plan)}${priceText(plan)}; ${rateText(plan)}, ${formatCount(plan.max_in_flight)} concurrent requests`
}

/** ` at prices plus 25% and $0.001 a call`; empty: the prices of providers. */
function priceText({ markup_percent: percent, request_fee_usd: fee }: Plan): string {
  const parts = [...(percent === 0 ? [] : [`${percent}%`]), ...(fee === 0 ? [] : [`${formatExactUsd(fee)} a call`])]
  return parts.length === 0 ? '' : ` at prices plus ${parts.join(' and ')}`
}

function billingText({ prepaid }: Plan): string {
  return prepaid ? 'prepaid' : 'postpaid'
}

function rateText({ requests_per_minute: requests, tokens_per_minute: tokens }: Plan): string {
  if (requests === null && tokens === null) return 'no rate limit'
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
  const effects = ['The change applies within a second.']
  if (before?.prepaid !== after.prepaid) {
    effects.push(
      after.prepaid
        ? 'Requests need credit: without credit they are rejected with 402.'
        : 'Requests no longer need credit: they are postpaid.',
    )
  }
  if ((before === undefined ? '' : priceText(before)) !== priceText(after))
    effects.push(`Requests are charged${priceText(after) || ' at prices without a markup'}.`)
  effects.push(`Limits: ${rateText(after)}, ${formatCount(after.max_in_flight)} concurrent requests.`)
  if ((before?.monthly_credit_usd ?? 0) !== after.monthly_credit_usd) effects.push(creditEffect(after))
  return effects
}

function creditEffect({ monthly_credit_usd: credit }: Plan): string {
  if (credit === 0) return 'Monthly credit ends; the rest of this month’s expires at its end.'
  return `The credit of ${formatExactUsd(credit)} a month is granted at once, unless it was granted for this month.`
}

interface ReadUsd {
  /** Undefined: nothing was typed, or there is a problem. */
  readonly usd: number | undefined
  readonly problem: string | undefined
}

const MAX_USD = 100_000_000

/** Above zero, at most 9 decimals; separators of thousands and a leading `$` do not matter. Never throws. */
export function readUsd(text: string): ReadUsd {
  const plain = text.replaceAll(/[\s,]/g, '').replace(/^\$/, '')
  if (plain === '') return { usd: undefined, problem: undefined }
  if (!/^(\d+\.?\d*|\.\d+)$/.test(plain)) return refuse('Enter an amount, such as 25 or 0.50.')
  const [whole = '', fraction = ''] = plain.split('.')
  if (fraction.replace(/0+$/, '').length > 9) return refuse('Enter at most 9 decimals.')
  const usd = Number(plain)
  if (usd === 0) return refuse('Enter more than 0.')
  if (usd > MAX_USD) return refuse('Enter $100,000,000 or less.')
  // JSON carries 15 digits for sure: what it would round is not sent.
  const typed = `${whole.replace(/^0+(?=\d)/, '') || '0'}.${fraction.slice(0, 9).padEnd(9, '0')}`
  return decimalText(toNano(usd)) === typed ? { usd, problem: undefined } : refuse('Enter fewer digits.')
}

function refuse(problem: string): ReadUsd {
  return { usd: undefined, problem }
}
