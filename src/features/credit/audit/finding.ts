/** The kinds of findings of an audit, as the command line, the API and the webhook name them. */
import type { AccountId } from '../../../domain/ids.ts'

export const FINDING_KINDS = {
  ledger_gap: 'Numbers of the ledger are missing, or there are more rows than the account says.',
  ledger_sides: 'A row debits or credits a book that does not match its kind.',
  ledger_time: 'A row is earlier than the one before it.',
  ledger_balance: 'The balance of a row is not the one before it and its amount.',
  ledger_altered: 'Rows are not what they were at the last audit.',
  balance: 'The balance is not the sum of the ledger.',
  held: 'What is held is not the sum of the open holds.',
  spent: 'What is spent this month is not the sum of its charges.',
  key_spent: 'What a key has spent is not the sum of its charges.',
  key_held: 'What a key holds is not the sum of its open holds.',
  budget_spent: 'What is spent in a window of a budget is not the sum of its charges.',
  budget_held: 'What a window of a budget holds is not the sum of its open holds.',
  allowance: 'What is left of the allowance is not what the ledger leaves of it.',
  allowance_grant: 'An allowance was granted twice for a month, or is not an amount that a plan grants.',
  cost: 'The cost of a completion is not its tokens at its price.',
  price_version: 'The price of a completion is unknown, another model’s, or not the one that it was charged at.',
  charge: 'The charge of a completion is not its cost, or another key’s.',
  charge_missing: 'A completion that costs something was not charged.',
  charge_repeated: 'A completion was charged more than once.',
  completion_missing: 'A charge names a completion that does not exist.',
  correction: 'A price correction does not come to the price that it names.',
  retired: 'The cost of usage rows that retention deleted is not what the ledger and the sums have of them.',
  rollup_hour: 'A sum by hour is not the sum of its completions.',
  rollup_day: 'A sum by day is not the sum of its hours.',
  rollup_dimension: 'The sums by a dimension are not those of the day.',
  invoice: 'An invoice is not what its rows of the ledger come to.',
} as const

export type FindingKind = keyof typeof FINDING_KINDS

export interface Finding {
  readonly accountId: AccountId
  readonly kind: FindingKind
  /** The subject: a row, a completion, a key, an hour, an invoice. */
  readonly subject: string
  /** The expected value; `''` if there is nothing to compare. */
  readonly expected: string
  readonly actual: string
}

/** Records findings of one account. */
export type Report = (kind: FindingKind, subject: string, expected?: unknown, actual?: unknown) => void
