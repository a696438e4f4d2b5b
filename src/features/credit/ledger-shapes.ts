/** Rows of the ledger on the wire. */
import { type Static, Type } from 'typebox'
import type { LedgerKind } from '../../db/schema.ts'
import { ledgerId } from '../../domain/ids.ts'
import { type NanoUsd, usdNumber } from '../../domain/money.ts'
import type { ListedEntry } from './ledger-queries.ts'

const KINDS = ['grant', 'purchase', 'charge', 'refund', 'debit', 'expiry'] as const satisfies readonly LedgerKind[]

const nullableText = (description: string) => Type.Unsafe<string | null>({ type: ['string', 'null'], description })
const time = (description: string) => Type.Optional(Type.String({ description, examples: ['2026-01-01T00:00:00Z'] }))
const kindOf = (description: string) => Type.Unsafe<LedgerKind>({ type: 'string', enum: [...KINDS], description })

export const LedgerQuery = {
  kind: Type.Optional(kindOf('Only rows of this kind.')),
  period_start: time('ISO 8601 UTC: only rows made at or after it.'),
  period_end: time('ISO 8601 UTC: only rows made before it.'),
}

export const LedgerEntryView = Type.Object({
  id: Type.String(),
  object: Type.Literal('ledger_entry'),
  kind: kindOf(
    'grant: given, the monthly allowance too. purchase: paid for. charge: a completion. refund: given back. ' +
      'debit: taken away by the operator, such as a chargeback. expiry: what was left of an allowance.',
  ),
  amount_usd: Type.Number({ description: 'USD, at most 9 decimals; below zero for what is taken away.' }),
  balance_usd: Type.Number({ description: 'USD after it.' }),
  completion_id: nullableText('Of a charge: the completion.'),
  key_id: nullableText('Of a charge: the API key that asked.'),
  price_version: nullableText('Of a charge: the price it was made at.'),
  adjusts: nullableText('The row that this one corrects.'),
  note: nullableText('Why.'),
  created_at: Type.String({ description: 'ISO 8601 UTC.' }),
})

export function renderEntry(entry: ListedEntry): Static<typeof LedgerEntryView> {
  const { accountId, number, createdAt, adjusts, adjustedAt } = entry
  const isFirst = adjusts === undefined || adjustedAt === undefined
  return {
    id: ledgerId(accountId, number, createdAt),
    object: 'ledger_entry',
    kind: entry.kind,
    amount_usd: usdNumber(signedNanoUsd(entry)),
    balance_usd: usdNumber(entry.balanceNanoUsd),
    completion_id: entry.completionId ?? null,
    key_id: entry.keyId ?? null,
    price_version: entry.priceVersion ?? null,
    adjusts: isFirst ? null : ledgerId(accountId, adjusts, adjustedAt),
    note: entry.note ?? null,
    created_at: new Date(createdAt).toISOString(),
  }
}

/** As the customer's balance sees it. */
export function signedNanoUsd({ kind, nanoUsd }: Pick<ListedEntry, 'kind' | 'nanoUsd'>): NanoUsd {
  return kind === 'charge' || kind === 'debit' || kind === 'expiry' ? -nanoUsd : nanoUsd
}
