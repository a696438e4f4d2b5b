import { createHash } from 'node:crypto'
import type { CompletionTable, CreditTable, LedgerEntryKeyTable, LedgerTable } from '../../../db/schema/schema.ts'
import type { CompletionRecord } from '../../../domain/completion.ts'
import { DEFAULT_ALERT_THRESHOLDS } from '../../../domain/credit.ts'
import type { KeyId } from '../../../domain/ids.ts'
import { canonicalJson } from '../../../lib/json.ts'
import type { AccountState, HeldAncestor, PriorCharge } from './state.ts'
import type { EntryKey, KeyedEntry, NewEntry } from './unit.ts'

/** The columns of `credit` that the rules know. */
export const ACCOUNT_COLUMNS = `balance_nano_usd, held_nano_usd, allowance_nano_usd, month, granted_month,
  spent_nano_usd, entries, entered_at, monthly_budget_nano_usd, max_overrun_nano_usd, alert_thresholds`

export type AccountRow = Omit<CreditTable, 'account_id' | 'retired_nano_usd'>

export function accountState(row: AccountRow): AccountState {
  return {
    balance: row.balance_nano_usd,
    held: row.held_nano_usd,
    allowance: row.allowance_nano_usd,
    month: row.month,
    grantedMonth: row.granted_month,
    spent: row.spent_nano_usd,
    entries: row.entries,
    enteredAt: row.entered_at,
    monthlyBudget: row.monthly_budget_nano_usd ?? undefined,
    maxOverrun: row.max_overrun_nano_usd ?? undefined,
    thresholds: parseThresholds(row.alert_thresholds),
  }
}

export const DEFAULT_THRESHOLDS_TEXT = JSON.stringify(DEFAULT_ALERT_THRESHOLDS)

function parseThresholds(text: string): readonly number[] {
  if (text === DEFAULT_THRESHOLDS_TEXT) return DEFAULT_ALERT_THRESHOLDS
  return JSON.parse(text) as number[] // written from `thresholdsText` alone
}

export function thresholdsText(thresholds: readonly number[]): string {
  return thresholds === DEFAULT_ALERT_THRESHOLDS ? DEFAULT_THRESHOLDS_TEXT : JSON.stringify(thresholds)
}

/** What a row of `credit` is made with, to be moved at once. */
export const CREATED: AccountState = {
  balance: 0n,
  held: 0n,
  allowance: 0n,
  month: 0,
  grantedMonth: 0,
  spent: 0n,
  entries: 0,
  enteredAt: 0,
  monthlyBudget: undefined,
  maxOverrun: undefined,
  thresholds: DEFAULT_ALERT_THRESHOLDS,
}

/** The provider counted also where its figures were bounded, which a flag says. */
export function storedSource({ usageSource }: CompletionRecord): 'provider' | 'estimated' {
  return usageSource === 'bounded' ? 'provider' : usageSource
}

export function boundedFlag({ usageSource }: CompletionRecord): 1 | undefined {
  return usageSource === 'bounded' ? 1 : undefined
}

export type ChargedRow = Pick<
  CompletionTable,
  | 'key_id'
  | 'model'
  | 'created_at'
  | 'prompt_tokens'
  | 'completion_tokens'
  | 'cost_nano_usd'
  | 'unbilled_nano_usd'
  | 'status'
  | 'usage_source'
>

export type ChargeEntry = Pick<LedgerTable, 'number' | 'created_at'>

/** Only the entry of an estimate is asked for. */
export function mayBeCorrected({ status, usage_source: source, cost_nano_usd: cost }: ChargedRow): boolean {
  return status === 'incomplete' && source === 'estimated' && cost > 0n
}

export function priorCharge(row: ChargedRow, entry: PriorCharge['entry']): PriorCharge {
  return {
    keyId: row.key_id,
    model: row.model,
    createdAt: row.created_at,
    promptTokens: row.prompt_tokens,
    completionTokens: row.completion_tokens,
    costNanoUsd: row.cost_nano_usd,
    unbilledNanoUsd: row.unbilled_nano_usd ?? undefined,
    status: row.status,
    usageSource: row.usage_source,
    entry,
  }
}

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

export function ancestorsText(ancestors: readonly HeldAncestor[] | undefined): string | undefined {
  return ancestors?.map(({ keyId, ofBudget }) => (ofBudget ? `+${keyId}` : keyId)).join(' ')
}

/** @param text A column that an earlier release may not have filled. */
export function parseAncestors(text: string | null): readonly HeldAncestor[] | undefined {
  if (text === null || text === '') return undefined
  return text.split(' ').map((name) => {
    const ofBudget = name.startsWith('+')
    return { keyId: (ofBudget ? name.slice(1) : name) as KeyId, ofBudget } // as `ancestorsText` wrote it
  })
}
