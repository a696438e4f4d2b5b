/** What a client is told whose request was not admitted: what it needed, what is left, what would help. */
import type { CreditScope } from '../../domain/credit.ts'
import { type ErrorCode, GatewayError } from '../../domain/errors.ts'
import { usdNumber, usdText } from '../../domain/money.ts'
import type { Refusal } from './unit.ts'

const CODES: Readonly<Record<CreditScope, ErrorCode>> = {
  credit: 'insufficient_credit',
  account_budget: 'account_budget_exceeded',
  key_budget: 'key_budget_exceeded',
}
const WHERE: Readonly<Record<CreditScope, string>> = {
  credit: "of the account's credit",
  account_budget: "of the account's monthly budget",
  key_budget: "of the API key's monthly budget",
}

export function paymentRequired(refusal: Refusal): GatewayError {
  const { scope, requiredNanoUsd: required, availableNanoUsd: available, affordableTokens: affordable } = refusal
  const resetsAt = refusal.resetsAt === undefined ? undefined : new Date(refusal.resetsAt).toISOString()
  const sentences = [
    `This request may cost up to $${usdText(required)}, and $${usdText(available > 0n ? available : 0n)} ${WHERE[scope]} is left.`,
    affordable > 0 ? `It would fit with max_tokens of at most ${affordable}.` : '',
    resetsAt === undefined ? 'Add credit to go on.' : `The budget starts anew at ${resetsAt}.`,
  ]
  return new GatewayError(CODES[scope], sentences.filter((sentence) => sentence !== '').join(' '), {
    details: {
      required_usd: usdNumber(required),
      available_usd: usdNumber(available),
      affordable_max_tokens: affordable,
      ...(resetsAt === undefined ? {} : { resets_at: resetsAt }),
    },
  })
}
