/** How credit moves: the one place where a ledger row is made and a balance changes with it. */
import type { LedgerBook, LedgerKind } from '../../../db/schema/schema.ts'
import type { CompletionId, KeyId } from '../../../domain/ids.ts'
import type { NanoUsd } from '../../../domain/money.ts'
import type { AccountState, LedgerRow } from './state.ts'

export interface Movement {
  readonly kind: LedgerKind
  /** Above zero: the database refuses rows that move nothing. */
  readonly amount: NanoUsd
  readonly completionId?: CompletionId | undefined
  readonly keyId?: KeyId | undefined
  readonly priceVersion?: string | undefined
  readonly adjusts?: number | undefined
  readonly note?: string | undefined
  /** A refund of what counts as spent this month: it does not any more. */
  readonly unspent?: boolean
}

/** The note of entries that correct the charge of an estimate to what the request came to. */
export const LATE_SETTLEMENT = 'late settlement'

export interface Moved {
  readonly account: AccountState
  readonly row: LedgerRow
}

/** Where each kind takes from and gives to. */
const BOOKS: Readonly<Record<LedgerKind, readonly [debit: LedgerBook, credit: LedgerBook]>> = {
  grant: ['grants', 'credit'],
  purchase: ['payments', 'credit'],
  charge: ['credit', 'revenue'],
  refund: ['refunds', 'credit'],
  debit: ['credit', 'debits'],
  expiry: ['credit', 'grants'],
}

/**
 * A charge also counts as spent this month, and uses the allowance before anything else. A debit takes credit that was
 * bought or given first: the allowance is only lowered where the balance no longer covers it.
 */
export function moveCredit(account: AccountState, movement: Movement, now: number): Moved {
  const { kind, amount } = movement
  const [debit, credit] = BOOKS[kind]
  const balance = credit === 'credit' ? account.balance + amount : account.balance - amount
  const createdAt = Math.max(now, account.enteredAt)
  const row: LedgerRow = {
    number: account.entries + 1,
    kind,
    debit,
    credit,
    amount,
    balance,
    completionId: movement.completionId,
    keyId: movement.keyId,
    priceVersion: movement.priceVersion,
    adjusts: movement.adjusts,
    note: movement.note,
    createdAt,
  }
  const moved: AccountState = {
    ...account,
    balance,
    allowance: allowanceAfter(account, movement, balance),
    spent: spentAfter(account, movement),
    entries: row.number,
    enteredAt: createdAt,
  }
  return { account: moved, row }
}

function allowanceAfter({ allowance }: AccountState, { kind, amount }: Movement, balance: NanoUsd): NanoUsd {
  if (kind === 'charge') return atLeastZero(allowance - amount)
  return kind === 'debit' && balance < allowance ? atLeastZero(balance) : allowance
}

function spentAfter({ spent }: AccountState, { kind, amount, unspent = false }: Movement): NanoUsd {
  if (kind === 'charge') return spent + amount
  return unspent ? atLeastZero(spent - amount) : spent
}

export function atLeastZero(amount: NanoUsd): NanoUsd {
  return amount > 0n ? amount : 0n
}
