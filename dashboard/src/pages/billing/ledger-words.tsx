/** Kinds of movements in words, and amounts with their sign. */
import { Ban, CircleMinus, CreditCard, Gift, type LucideIcon, Minus, Undo2 } from 'lucide-react'
import { formatUsd } from '../../lib/format.ts'
import type { LedgerKind } from './search.ts'

interface KindWords {
  readonly one: string
  readonly several: string
  readonly icon: LucideIcon
  readonly meaning: string
}

export const KIND_WORDS: Readonly<Record<LedgerKind, KindWords>> = {
  grant: { one: 'Grant', several: 'Grants', icon: Gift, meaning: 'Credit that was given, monthly allowances too' },
  purchase: { one: 'Purchase', several: 'Purchases', icon: CreditCard, meaning: 'Credit that was paid for' },
  charge: { one: 'Charge', several: 'Charges', icon: Minus, meaning: 'Requests, and corrections upwards' },
  refund: { one: 'Refund', several: 'Refunds', icon: Undo2, meaning: 'What was given back, and corrections downwards' },
  debit: { one: 'Debit', several: 'Debits', icon: CircleMinus, meaning: 'Chargebacks, and what was taken away' },
  expiry: { one: 'Expiry', several: 'Expiries', icon: Ban, meaning: 'What was left of a monthly allowance' },
}

export function KindLabel({ kind }: { readonly kind: LedgerKind }) {
  const { one, icon: Icon } = KIND_WORDS[kind]
  return (
    <span className="inline-flex items-center gap-1.5 whitespace-nowrap">
      <Icon aria-hidden className="size-3.5 text-faint" />
      {one}
    </span>
  )
}

/** `+$25.00`, `−$0.0012`: to the last digit. */
export function SignedUsd({ value }: { readonly value: number }) {
  return (
    <span className="whitespace-nowrap tabular-nums">
      {value > 0 && '+'}
      {formatUsd(value)}
    </span>
  )
}
