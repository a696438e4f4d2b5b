import type { CompletionRecord } from '../../../domain/completion.ts'
import type { RunningEstimate, SavedResult } from '../../../domain/credit.ts'
import type { AccountId, CompletionId, KeyId } from '../../../domain/ids.ts'
import type { NanoUsd } from '../../../domain/money.ts'
import { monthNumber, monthStart } from '../../../lib/time.ts'
import type { AccountState, AlertRow, HoldState, KeyState, LedgerRow, PriorCharge } from './state.ts'
import type { EntryKey, HoldUnit, KeyedEntry, LedgerEntry } from './unit.ts'

/** Somebody else moved the account or key between reading and writing. Nothing may be committed. */
export class WriteConflict extends Error {
  override readonly name = 'WriteConflict'
}

export interface LoadedKey {
  readonly id: KeyId
  readonly read: KeyState | undefined
  state: KeyState | undefined
}

export interface LoadedAccount {
  readonly id: AccountId
  readonly read: AccountState | undefined
  state: AccountState | undefined
  /** What must have been available when the account was read, for all holds that were granted since to be covered. */
  neededNanoUsd: NanoUsd
  readonly keys: Map<KeyId, LoadedKey>
}

const NOTHING_NEEDED = -(2n ** 62n)

function loadedAccount(id: AccountId, read: AccountState | undefined): LoadedAccount {
  return { id, read, state: read, neededNanoUsd: NOTHING_NEEDED, keys: new Map() }
}

/** A hold of prepaid credit was granted, and is in the account's state: it must be covered in the database as well. */
export function requireCredit(account: LoadedAccount): void {
  const { read, state } = account
  if (state === undefined) return
  const availableThen = read === undefined ? 0n : read.balance - read.held
  const needed = availableThen - (state.balance - state.held)
  if (needed > account.neededNanoUsd) account.neededNanoUsd = needed
}

export interface HoldKey {
  readonly accountId: AccountId
  readonly id: CompletionId
}

export interface EntryRef {
  readonly accountId: AccountId
  readonly key: string
}

/** A row of the ledger. */
export interface RowRef {
  readonly accountId: AccountId
  readonly number: number
}

export interface KeyRef {
  readonly accountId: AccountId
  readonly keyId: KeyId
}

/** An open transaction of a database. What was written in it is seen by what is read later. */
export interface LedgerTransaction {
  /** Unix milliseconds. */
  readonly now: number
  readAccount(id: AccountId): AccountState | undefined
  readKey(accountId: AccountId, keyId: KeyId): KeyState | undefined
  /** What completions of a key and the keys below it since a day, counted from 1970-01-01 UTC, have cost. */
  costSince(ref: KeyRef, day: number): NanoUsd
  /** The keys above a key, the nearest first. Asked only where there is no hold that names them. */
  lineage(ref: KeyRef): readonly KeyId[]
  readHold(ref: HoldKey): HoldState | undefined
  /** Removes it. Taking the row is what resolves a hold, once (LED-6): whoever comes later finds none. */
  takeHold(ref: HoldKey): HoldState | undefined
  /** False: there is one of this id; it stays as it is. */
  insertHold(unit: HoldUnit, amount: NanoUsd): boolean
  raiseHold(ref: HoldKey, amount: NanoUsd): void
  /** Ignored where the hold is gone. */
  setEstimate(estimate: RunningEstimate): void
  /** Asked only where a settlement finds no hold. */
  readCharged(ref: HoldKey): PriorCharge | undefined
  /** The row and what it adds to the sums. */
  insertCompletion(record: CompletionRecord): void
  /** Replaces the row of a completion that is there, and adds the difference to the sums. */
  correctCompletion(record: CompletionRecord, charged: PriorCharge): void
  /** Only for the request that was charged: one that lost its key to another must not answer for it. */
  saveAnswer(kept: SavedResult, subjectId: CompletionId): void
  insertLedgerRow(accountId: AccountId, row: LedgerRow): void
  /** The entry that was made under a key. */
  readEntry(ref: EntryRef): KeyedEntry | undefined
  /** Whether an entry names the row as the one that it corrects: a row is corrected once. Asked only for entries that do. */
  isCorrected(ref: RowRef): boolean
  insertEntryKey(once: EntryKey, entry: LedgerEntry): void
  insertAlert(accountId: AccountId, alert: AlertRow): void
}

const DAY_MS = 86_400_000
export const NO_CREDIT = 0n

export interface BatchState {
  readonly transaction: LedgerTransaction
  readonly accounts: Map<AccountId, LoadedAccount>
}

/** A key above the unit's key; undefined: its state is not needed. */
export interface LoadedAncestor {
  readonly key: LoadedKey | undefined
  readonly spentBefore: NanoUsd
}

/** Counted from 1970-01-01 UTC. */
export function firstDayOfMonth(now: number): number {
  return Math.floor(monthStart(monthNumber(now)) / DAY_MS)
}

/** Of a key whose budget is new: what it has come to this month, this batch included. */
export function spentBefore(transaction: LedgerTransaction, ref: KeyRef): NanoUsd {
  return transaction.costSince(ref, firstDayOfMonth(transaction.now))
}

export function loadAccount({ transaction, accounts }: BatchState, id: AccountId): LoadedAccount {
  let account = accounts.get(id)
  if (account === undefined) {
    account = loadedAccount(id, transaction.readAccount(id))
    accounts.set(id, account)
  }
  return account
}

/** Of an account's key; its state is undefined when nothing is kept of it. */
export function loadKey({ transaction }: BatchState, account: LoadedAccount, id: KeyId): LoadedKey {
  const known = account.keys.get(id)
  if (known !== undefined) return known
  const read = transaction.readKey(account.id, id)
  const key: LoadedKey = { id, read, state: read }
  account.keys.set(id, key)
  return key
}

/** With what those have spent whose budget is new: it counts from the first of the month. */
export function budgetsAbove(
  work: BatchState,
  account: LoadedAccount,
  unit: HoldUnit,
): readonly LoadedAncestor[] | undefined {
  return unit.ancestors?.map(({ keyId, nanoUsd }) => {
    if (nanoUsd === undefined) return { key: undefined, spentBefore: NO_CREDIT }
    const key = loadKey(work, account, keyId)
    const { accountId } = unit
    return {
      key,
      spentBefore: key.state === undefined ? spentBefore(work.transaction, { accountId, keyId }) : NO_CREDIT,
    }
  })
}

export function keysAbove(
  work: BatchState,
  account: LoadedAccount,
  ids: readonly KeyId[] | undefined,
): readonly LoadedAncestor[] | undefined {
  if (ids === undefined || ids.length === 0) return undefined
  return ids.map((id) => ({ key: loadKey(work, account, id), spentBefore: NO_CREDIT }))
}

export function idsAbove({ ancestors }: HoldState): readonly KeyId[] | undefined {
  return ancestors?.map(({ keyId }) => keyId)
}
