/** A batch's transaction in memory: what was read of the database before, and what is to be written to it afterwards. */
import type { CompletionRecord } from '../../domain/completion.ts'
import type { KeptResult, RunningEstimate } from '../../domain/credit.ts'
import type { AccountId, CompletionId } from '../../domain/ids.ts'
import type { NanoUsd } from '../../domain/money.ts'
import type { EntryPlace, HoldPlace, KeyPlace, LedgerTransaction } from './carry-out.ts'
import type { AccountState, AlertRow, HoldState, KeyState, LedgerRow, PriorCharge } from './rules.ts'
import type { EntryKey, HoldUnit, KeyedEntry } from './unit.ts'
import { addCorrection, addToHours, type UsageSums } from './usage-sums.ts'

/** All that the units of a batch will ask for. What is not in it is not in the database either. */
export interface Facts {
  readonly now: number
  readonly accounts: ReadonlyMap<AccountId, AccountState>
  /** By `nameOf` account and key. */
  readonly keys: ReadonlyMap<string, KeyState>
  /** What keys without a row have come to this month. */
  readonly keyCosts: ReadonlyMap<string, NanoUsd>
  /** By `nameOf` account and completion. */
  readonly holds: ReadonlyMap<string, OpenHold>
  /** Completions of the batch's settlements that have no hold. */
  readonly charged: ReadonlyMap<string, PriorCharge>
  /** By `nameOf` account and key, of entries that were made under one. */
  readonly entries: ReadonlyMap<string, KeyedEntry>
}

export interface OpenHold extends HoldState, HoldPlace {
  /** Undefined: its row is there. */
  readonly unit: HoldUnit | undefined
  readonly amount: NanoUsd
}

/** What is to be written, besides the accounts. */
export interface Written {
  /** Holds of this batch that are still open at its end. */
  readonly made: Map<string, OpenHold>
  /** Holds whose rows are to go. */
  readonly taken: HoldPlace[]
  readonly raised: Map<string, OpenHold>
  /** Of each hold the newest. */
  readonly estimates: Map<string, RunningEstimate>
  readonly completions: CompletionRecord[]
  readonly hours: UsageSums
  /** Completions whose rows make room for others among `completions`, and what that changes of the sums. */
  readonly replaced: HoldPlace[]
  readonly corrections: UsageSums
  readonly answers: { readonly kept: KeptResult; readonly subjectId: CompletionId }[]
  readonly rows: OfAccount<LedgerRow>[]
  readonly alerts: OfAccount<AlertRow>[]
  /** By `nameOf` account and key. */
  readonly entries: Map<string, KeyedEntry & EntryKey>
}

export interface OfAccount<Row> {
  readonly accountId: AccountId
  readonly row: Row
}

export interface MemoryTransaction extends LedgerTransaction {
  readonly written: Written
}

/** A completion, or a key of either sort, among all accounts. */
export function nameOf(accountId: AccountId, id: string): string {
  return `${accountId} ${id}`
}

const DAY_MS = 86_400_000

export function createMemoryTransaction(facts: Facts): MemoryTransaction {
  const written = nothingWritten()
  return {
    now: facts.now,
    written,
    readAccount: (id) => facts.accounts.get(id),
    readKey: (accountId, keyId) => facts.keys.get(nameOf(accountId, keyId)),
    costSince: (place, day) =>
      (facts.keyCosts.get(nameOf(place.accountId, place.keyId)) ?? 0n) + newCost(written, place, day),
    ...holdsOf(facts, written),
    readCharged: (place) => chargedHere(written, place) ?? facts.charged.get(nameOf(place.accountId, place.id)),
    insertCompletion(record) {
      written.completions.push(record)
      addToHours(written.hours, record)
    },
    correctCompletion: (record, charged) => correct(written, record, charged),
    keepAnswer: (kept, subjectId) => void written.answers.push({ kept, subjectId }),
    insertLedgerRow: (accountId, row) => void written.rows.push({ accountId, row }),
    readEntry: ({ accountId, key }: EntryPlace) => {
      const name = nameOf(accountId, key)
      return written.entries.get(name) ?? facts.entries.get(name)
    },
    insertEntryKey: (once, entry) => void written.entries.set(nameOf(entry.accountId, once.key), { ...once, entry }),
    insertAlert: (accountId, row) => void written.alerts.push({ accountId, row }),
  }
}

function nothingWritten(): Written {
  return {
    made: new Map(),
    taken: [],
    raised: new Map(),
    estimates: new Map(),
    completions: [],
    hours: new Map(),
    replaced: [],
    corrections: new Map(),
    answers: [],
    rows: [],
    alerts: [],
    entries: new Map(),
  }
}

/** What this batch itself has charged a completion. */
function chargedHere({ completions, rows }: Written, { accountId, id }: HoldPlace): PriorCharge | undefined {
  const record = completions.find((each) => each.id === id && each.accountId === accountId)
  if (record === undefined) return undefined
  const entries = rows.filter(({ accountId: whose, row }) => whose === accountId && row.completionId === id)
  const [charge, last] = [entries[0]?.row, entries.at(-1)?.row]
  return { ...record, entry: charge && last && { number: last.number, createdAt: charge.createdAt } }
}

function correct(written: Written, record: CompletionRecord, charged: PriorCharge): void {
  const { completions, replaced, corrections } = written
  const at = completions.findIndex(({ id, accountId }) => id === record.id && accountId === record.accountId)
  if (at >= 0) completions.splice(at, 1)
  else replaced.push(record)
  const corrected = { ...record, createdAt: charged.createdAt }
  completions.push(corrected)
  addCorrection(corrections, corrected, charged)
}

/** What this batch has charged a key since a day. */
function newCost({ completions }: Written, { accountId, keyId }: KeyPlace, day: number): NanoUsd {
  let cost = 0n
  for (const record of completions) {
    if (record.keyId !== keyId || record.accountId !== accountId || record.createdAt < day * DAY_MS) continue
    cost += record.costNanoUsd
  }
  return cost
}

type HoldMethods = 'readHold' | 'takeHold' | 'insertHold' | 'raiseHold' | 'noteEstimate'

function holdsOf(facts: Facts, { made, taken, raised, estimates }: Written): Pick<LedgerTransaction, HoldMethods> {
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
    insertHold(unit, amount) {
      const name = nameOf(unit.accountId, unit.id)
      if (find(name) !== undefined) return false
      estimates.delete(name) // of the one before
      const ofKeyBudget = unit.keyBudgetNanoUsd !== undefined
      made.set(name, { accountId: unit.accountId, id: unit.id, keyId: unit.keyId, amount, ofKeyBudget, unit })
      return true
    },
    raiseHold({ accountId, id }, amount) {
      const name = nameOf(accountId, id)
      const hold = find(name)
      if (hold !== undefined) (hold.unit === undefined ? raised : made).set(name, { ...hold, amount })
    },
    noteEstimate: (estimate) => void estimates.set(nameOf(estimate.accountId, estimate.id), estimate),
  }
}
