/** Entries that were made under a key: what makes a repeat the same, and how the entry is found again. */
import { createHash } from 'node:crypto'
import type { LedgerEntryKeyTable, LedgerTable } from '../../db/schema.ts'
import { canonicalJson } from '../../lib/canonical-json.ts'
import type { EntryKey, KeyedEntry, NewEntry } from './unit.ts'

/** The same for the same entry over HTTP and on the command line. */
export function entryKey(key: string, { kind, nanoUsd, note }: NewEntry): EntryKey {
  const text = canonicalJson({ kind, nanoUsd: String(nanoUsd), note })
  return { key, fingerprint: createHash('sha256').update(text).digest('hex') }
}

/** `where` or a further join follows. */
export const ENTRY_OF_KEY = `select asked.key, asked.fingerprint, ledger.account_id, ledger.number, ledger.kind,
  ledger.amount_nano_usd, ledger.balance_nano_usd, ledger.note, ledger.created_at
from ledger_entry_key as asked
join ledger on ledger.account_id = asked.account_id and ledger.number = asked.number`

export type EntryOfKeyRow = Pick<LedgerEntryKeyTable, 'key' | 'fingerprint'> &
  Pick<LedgerTable, 'account_id' | 'number' | 'kind' | 'amount_nano_usd' | 'balance_nano_usd' | 'note' | 'created_at'>

/** What operators enter is of no completion. */
export function keyedEntryOf(row: EntryOfKeyRow): KeyedEntry {
  return {
    fingerprint: row.fingerprint,
    entry: {
      accountId: row.account_id,
      number: row.number,
      kind: row.kind,
      nanoUsd: row.amount_nano_usd,
      balanceNanoUsd: row.balance_nano_usd,
      completionId: undefined,
      keyId: undefined,
      priceVersion: undefined,
      adjusts: undefined,
      note: row.note ?? undefined,
      createdAt: row.created_at,
    },
  }
}
