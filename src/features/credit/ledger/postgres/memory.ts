/** Applies a batch in memory: to the rows read before it, collecting the rows to write after it. */
import type { CompletionRecord } from '../../../../domain/completion.ts'
import type { RunningEstimate, SavedResult } from '../../../../domain/credit.ts'
import type { AccountId, CompletionId, KeyId } from '../../../../domain/ids.ts'
import type { NanoUsd } from '../../../../domain/money.ts'
import type { EntryRef, HoldKey, KeyRef, LedgerTransaction, RowRef } from '../apply-batch.ts'
import type { BudgetReads } from '../batch-budgets.ts'
import { addCorrection, addToHours, type UsageSum } from '../rollups.ts'
import type { NewHold, OfAccount } from '../rows.ts'
import {
  type AccountState,
  type AlertRow,
  type BudgetAlertRow,
  type HoldState,
  heldAncestors,
  type KeyState,
  type LedgerRow,
  type PriorCharge,
} from '../state.ts'
import type { EntryKey, HoldUnit, KeyedEntry } from '../unit.ts'

/** All rows that the units of a batch need. Rows that are not in it do not exist in the database. */
export interface BatchData {
  readonly now: number
  readonly accounts: ReadonlyMap<AccountId, AccountState>
  /** By `nameOf` account and key. */
  readonly keys: ReadonlyMap<string, KeyState>
  /** The month's cost of keys that have no row, including the keys below them, and the IDs of those. */
  readonly keyCosts: ReadonlyMap<string, KeyCost>
  /** The ancestors of keys, for units without a hold that lists them. */
  readonly lineages: ReadonlyMap<string, readonly KeyId[]>
  /** By `nameOf` account and completion. */
  readonly holds: ReadonlyMap<string, OpenHold>
  /** Completions of the batch's settlements that have no hold. */
  readonly charged: ReadonlyMap<string, PriorCharge>
  /** By `nameOf` account and key, of entries that were made under one. */
  readonly entries: ReadonlyMap<string, KeyedEntry>
  /** By `nameOf` account and number: rows that entries of the batch correct, and that were corrected before. */
  readonly correctedRows: ReadonlySet<string>
  readonly budgets: BudgetReads
}

export interface KeyCost {
  readonly nanoUsd: NanoUsd
  /** The key, and the keys below it. */
  readonly family: ReadonlySet<KeyId>
}

export interface OpenHold extends HoldState, HoldKey {
  /** Of a hold of this batch; undefined: its row exists. */
  readonly unit?: HoldUnit | undefined
}

/** The rows to write, besides the accounts. */
export type BatchWrites = ReturnType<typeof emptyWrites>

function emptyWrites() {
  return {
    /** Holds created by this batch that are open at its end. */
    made: new Map<string, OpenHold & NewHold>(),
    /** Holds whose rows are deleted. */
    taken: [] as HoldKey[],
    raised: new Map<string, OpenHold>(),
    /** The newest of each hold. */
    estimates: new Map<string, RunningEstimate>(),
    completions: [] as CompletionRecord[],
    hours: new Map<string, UsageSum>(),
    /** Completions whose rows are replaced by rows of `completions`, and how that changes the sums. */
    replaced: [] as HoldKey[],
    corrections: new Map<string, UsageSum>(),
    answers: [] as { readonly kept: SavedResult; readonly subjectId: CompletionId }[],
    rows: [] as OfAccount<LedgerRow>[],
    alerts: [] as OfAccount<AlertRow>[],
    budgetAlerts: [] as OfAccount<BudgetAlertRow>[],
    /** By `nameOf` account and key. */
    entries: new Map<string, KeyedEntry & EntryKey>(),
  }
}

export interface MemoryTransaction extends LedgerTransaction {
  readonly written: BatchWrites
}

/** A completion, or a key of either sort, among all accounts. */
export function nameOf(accountId: AccountId, id: string): string {
  return `${accountId} ${id}`
}

export function rowKey({ accountId, number }: RowRef): string {
  return nameOf(accountId, String(number))
}

const DAY_MS = 86_400_000
const NO_COST: KeyCost = { nanoUsd: 0n, family: new Set() }

export function createMemoryTransaction(facts: BatchData): MemoryTransaction {
  const written = emptyWrites()
  return {
    now: facts.now,
    written,
    readAccount: (id) => facts.accounts.get(id),
    readKey: (accountId, keyId) => facts.keys.get(nameOf(accountId, keyId)),
    costSince(ref, day) {
      const { nanoUsd, family } = facts.keyCosts.get(nameOf(ref.accountId, ref.keyId)) ?? NO_COST
      return nanoUsd + newCost(written, { ...ref, family }, day)
    },
    lineage: ({ accountId, keyId }) => facts.lineages.get(nameOf(accountId, keyId)) ?? [],
    ...holdsOf(facts, written),
    readCharged: (ref) => chargedInBatch(written, ref) ?? facts.charged.get(nameOf(ref.accountId, ref.id)),
    insertCompletion(record) {
      written.completions.push(record)
      addToHours(written.hours, record)
    },
    correctCompletion: (record, charged) => correct(written, record, charged),
    saveAnswer: (kept, subjectId) => void written.answers.push({ kept, subjectId }),
    insertLedgerRow: (accountId, row) => void written.rows.push({ accountId, row }),
    readEntry: ({ accountId, key }: EntryRef) => {
      const name = nameOf(accountId, key)
      return written.entries.get(name) ?? facts.entries.get(name)
    },
    isCorrected: (ref) => facts.correctedRows.has(rowKey(ref)) || isCorrectedInBatch(written, ref),
    insertEntryKey: (once, entry) => void written.entries.set(nameOf(entry.accountId, once.key), { ...once, entry }),
    insertAlert: (accountId, row) => void written.alerts.push({ accountId, row }),
    budgets: facts.budgets,
    insertBudgetAlert: (accountId, row) => void written.budgetAlerts.push({ accountId, row }),
  }
}

/** The charge of a completion made by this batch. */
function chargedInBatch({ completions, rows }: BatchWrites, { accountId, id }: HoldKey): PriorCharge | undefined {
  const record = completions.find((each) => each.id === id && each.accountId === accountId)
  if (record === undefined) return undefined
  const entries = rows.filter(({ accountId: whose, row }) => whose === accountId && row.completionId === id)
  const [charge, last] = [entries[0]?.row, entries.at(-1)?.row]
  const { budgets } = charge ?? {}
  return { ...record, entry: charge && last && { number: last.number, createdAt: charge.createdAt, budgets } }
}

function isCorrectedInBatch({ rows }: BatchWrites, { accountId, number }: RowRef): boolean {
  return rows.some(({ accountId: whose, row }) => row.adjusts === number && whose === accountId)
}

function correct(written: BatchWrites, record: CompletionRecord, charged: PriorCharge): void {
  const { completions, replaced, corrections } = written
  const at = completions.findIndex(({ id, accountId }) => id === record.id && accountId === record.accountId)
  if (at >= 0) completions.splice(at, 1)
  else replaced.push(record)
  const corrected = { ...record, createdAt: charged.createdAt }
  completions.push(corrected)
  addCorrection(corrections, corrected, charged)
}

/** The cost that this batch charged to a key and the keys below it, since a day. */
function newCost(
  { completions }: BatchWrites,
  { accountId, keyId, family }: KeyRef & Pick<KeyCost, 'family'>,
  day: number,
): NanoUsd {
  let cost = 0n
  for (const record of completions) {
    if (
      (record.keyId !== keyId && !family.has(record.keyId)) ||
      record.accountId !== accountId ||
      record.createdAt < day * DAY_MS
    )
      continue
    cost += record.costNanoUsd
  }
  return cost
}

type HoldMethods = 'readHold' | 'takeHold' | 'insertHold' | 'raiseHold' | 'setEstimate'

function holdsOf(
  facts: BatchData,
  { made, taken, raised, estimates }: BatchWrites,
): Pick<LedgerTransaction, HoldMethods> {
  const gone = new Set<string>()
  const find = (name: string) =>
    made.get(name) ?? (gone.has(name) ? undefined : (raised.get(name) ?? facts.holds.get(name)))
  return {
    readHold: ({ accountId, id }) => find(nameOf(accountId, id)),
    takeHold({ accountId, id }) {
      const name = nameOf(accountId, id)
      const hold = find(name)
      if (hold === undefined || made.delete(name)) return hold
      gone.add(name)
      raised.delete(name)
      taken.push(hold)
      return hold
    },
    insertHold(unit, { amount, budgets }) {
      const name = nameOf(unit.accountId, unit.id)
      if (find(name) !== undefined) return false
      estimates.delete(name) // belongs to an earlier hold
      const ofKeyBudget = unit.keyBudgetNanoUsd !== undefined
      const { accountId, id, keyId } = unit
      const ancestors = heldAncestors(unit.ancestors)
      made.set(name, { accountId, id, keyId, amount, ofKeyBudget, ancestors, budgets, unit })
      return true
    },
    raiseHold({ accountId, id }, amount) {
      const name = nameOf(accountId, id)
      const hold = find(name)
      if (hold?.unit !== undefined) made.set(name, { ...hold, unit: hold.unit, amount })
      else if (hold !== undefined) raised.set(name, { ...hold, amount })
    },
    setEstimate: (estimate) => void estimates.set(nameOf(estimate.accountId, estimate.id), estimate),
  }
}
