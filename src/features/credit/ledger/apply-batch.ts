/** Applies the units of a batch, in order and by the rules, on an open transaction of either database. */
import type { CompletionRecord } from '../../../domain/completion.ts'
import type { RunningEstimate, SavedResult } from '../../../domain/credit.ts'
import type { AccountId, CompletionId, KeyId } from '../../../domain/ids.ts'
import type { NanoUsd } from '../../../domain/money.ts'
import { monthNumber, monthStart } from '../../../lib/time.ts'
import {
  type BudgetReads,
  type BudgetWork,
  countedBy,
  currentBudgets,
  heldBudgets,
  type LoadedBudgets,
  moveBudgets,
  noBudgetsLoaded,
} from './batch-budgets.ts'
import { applyUnit } from './rules.ts'
import type {
  AccountState,
  AlertRow,
  Applied,
  BudgetAlertRow,
  BudgetState,
  HoldState,
  KeyState,
  LedgerRow,
  PriorCharge,
  Snapshot,
} from './state.ts'
import type {
  EntryKey,
  EntryUnit,
  ExtendUnit,
  HoldUnit,
  KeyedEntry,
  LedgerEntry,
  Outcome,
  ReleaseUnit,
  SettleUnit,
  Unit,
} from './unit.ts'

/** Another transaction changed the account or key between read and write. The batch must not be committed. */
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
  /** The available credit that the row must have had when it was read, so that all holds granted since are covered. */
  neededNanoUsd: NanoUsd
  readonly keys: Map<KeyId, LoadedKey>
  /** Undefined if no unit needs one. */
  budgets: LoadedBudgets | undefined
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

/** An open transaction of a database. Reads see the earlier writes of the same transaction. */
export interface LedgerTransaction {
  /** Unix milliseconds. */
  readonly now: number
  readAccount(id: AccountId): AccountState | undefined
  readKey(accountId: AccountId, keyId: KeyId): KeyState | undefined
  /** Returns the cost of the completions of a key and its descendants since a day, counted from 1970-01-01 UTC. */
  costSince(ref: KeyRef, day: number): NanoUsd
  /** Returns the ancestors of a key, the nearest first. Called only without a hold that lists them. */
  lineage(ref: KeyRef): readonly KeyId[]
  readHold(ref: HoldKey): HoldState | undefined
  /** Deletes the hold. Deleting its row resolves a hold exactly once (LED-6): a later unit finds none. */
  takeHold(ref: HoldKey): HoldState | undefined
  /** Returns false if a hold with this ID exists; that one stays unchanged. */
  insertHold(unit: HoldUnit, hold: Pick<HoldState, 'amount' | 'budgets'>): boolean
  raiseHold(ref: HoldKey, amount: NanoUsd): void
  /** No effect if the hold was resolved. */
  setEstimate(estimate: RunningEstimate): void
  /** Called only for settlements without a hold. */
  readCharged(ref: HoldKey): PriorCharge | undefined
  /** Inserts the row and adds it to the rollups. */
  insertCompletion(record: CompletionRecord): void
  /** Replaces the row of a completion, and adds the difference to the rollups. */
  correctCompletion(record: CompletionRecord, charged: PriorCharge): void
  /** Only for the request that was charged: a request that lost its idempotency key must not answer for it. */
  saveAnswer(kept: SavedResult, subjectId: CompletionId): void
  insertLedgerRow(accountId: AccountId, row: LedgerRow): void
  /** Returns the entry with an idempotency key. */
  readEntry(ref: EntryRef): KeyedEntry | undefined
  /** Returns whether an entry corrects the row: a row is corrected at most once. */
  isCorrected(ref: RowRef): boolean
  insertEntryKey(once: EntryKey, entry: LedgerEntry): void
  insertAlert(accountId: AccountId, alert: AlertRow): void
  readonly budgets: BudgetReads
  insertBudgetAlert(accountId: AccountId, alert: BudgetAlertRow): void
}

export interface BatchResult {
  readonly outcomes: readonly Outcome[]
  /** Rows to write before the commit, each on the condition that it is unchanged since it was read. */
  readonly accounts: ReadonlyMap<AccountId, LoadedAccount>
}

const DAY_MS = 86_400_000
const NO_CREDIT = 0n
const NOTHING_NEEDED = -(2n ** 62n)
const DONE: Outcome = { kind: 'done' }
const ALREADY: Outcome = { kind: 'already' }

export function applyBatch(transaction: LedgerTransaction, units: readonly Unit[]): BatchResult {
  const work: BatchState = { transaction, accounts: new Map() }
  const outcomes: Outcome[] = []
  for (const unit of units) outcomes.push(perform(work, unit))
  return { outcomes, accounts: work.accounts }
}

function perform(work: BatchState, unit: Unit): Outcome {
  switch (unit.kind) {
    case 'hold':
      return performHold(work, unit)
    case 'settle':
      return performSettle(work, unit)
    case 'release':
      return performRelease(work, unit)
    case 'extend':
      return performExtend(work, unit)
    case 'estimates':
      for (const estimate of unit.estimates) work.transaction.setEstimate(estimate)
      return DONE
    case 'entry':
      return performEntry(work, unit)
    case 'touch':
    case 'settings': {
      const account = loadAccount(work, unit.accountId)
      return applyResult(work, { account }, applyUnit(unit, snapshotOf({ account }), work.transaction.now))
    }
  }
}

interface Known {
  readonly account: LoadedAccount
  readonly key?: LoadedKey | undefined
  readonly ancestors?: readonly LoadedAncestor[] | undefined
  readonly budgets?: readonly BudgetState[] | undefined
  readonly hold?: HoldState | undefined
  readonly charged?: PriorCharge | undefined
  readonly keySpentBefore?: NanoUsd
}

function snapshotOf({ account, key, ancestors, budgets, hold, charged, keySpentBefore = NO_CREDIT }: Known): Snapshot {
  const snapshot = { account: account.state, key: key?.state, budgets, hold, charged, keySpentBefore }
  if (ancestors === undefined) return snapshot
  const above = ancestors.map(({ key: one, spentBefore }) => ({ state: one?.state, spentBefore }))
  return { ...snapshot, ancestors: above }
}

/** Applies the result of the rules to the state, and writes the resulting rows. */
function applyResult({ transaction }: BatchState, { account, key, ancestors }: Known, applied: Applied): Outcome {
  if (applied.account !== undefined) account.state = applied.account
  if (applied.key !== undefined && key !== undefined) key.state = applied.key
  applied.ancestors?.forEach((state, at) => {
    const above = ancestors?.[at]?.key
    if (state !== undefined && above !== undefined) above.state = state
  })
  if (applied.budgets !== undefined && account.budgets !== undefined) moveBudgets(account.budgets, applied.budgets)
  for (const row of applied.rows) transaction.insertLedgerRow(account.id, row)
  for (const alert of applied.alerts) transaction.insertAlert(account.id, alert)
  for (const alert of applied.budgetAlerts ?? []) transaction.insertBudgetAlert(account.id, alert)
  return applied.outcome
}

/** Limits the time of a request to that of its row: the clock of the process may have been wrong at admission. */
function withCreatedAtUpTo<Dated extends { readonly createdAt: number }>(dated: Dated, now: number): Dated {
  return dated.createdAt > now ? { ...dated, createdAt: now } : dated
}

function performHold(work: BatchState, asked: HoldUnit): Outcome {
  const { transaction } = work
  const unit = withCreatedAtUpTo(asked, transaction.now)
  const account = loadAccount(work, unit.accountId)
  const key = unit.keyBudgetNanoUsd === undefined ? undefined : loadKey(work, account, unit.keyId)
  const keySpentBefore = key !== undefined && key.state === undefined ? spentBefore(transaction, unit) : NO_CREDIT
  const ancestors = budgetsAbove(work, account, unit)
  const budgets = hasBudgets(account)
    ? currentBudgets(budgetWork(work, account), countedBy(unit, idsAbove(unit)))
    : undefined
  const known = { account, key, ancestors, budgets }
  const applied = applyUnit(unit, snapshotOf({ ...known, keySpentBefore }), transaction.now)
  const { hold } = applied
  if (hold === undefined || hold === 'ended') {
    return transaction.readHold(unit) === undefined ? applyResult(work, known, applied) : ALREADY
  }
  if (!transaction.insertHold(unit, hold)) return ALREADY
  applyResult(work, known, applied)
  if (unit.terms.billing === 'prepaid' && hold.amount > 0n) requireCredit(account)
  return applied.outcome
}

function performSettle(work: BatchState, unit: SettleUnit): Outcome {
  const { transaction } = work
  const { record, kept } = unit
  const account = loadAccount(work, record.accountId)
  const hold = transaction.takeHold(record)
  const charged = hold === undefined ? transaction.readCharged(record) : undefined
  const key = loadKey(work, account, hold?.keyId ?? record.keyId)
  const ancestors = keysAbove(work, account, hold === undefined ? transaction.lineage(record) : idsAbove(hold))
  const budgets = budgetsOfSettlement(work, account, { unit, hold, charged })
  const applied = applyUnit(unit, snapshotOf({ account, key, ancestors, budgets, hold, charged }), transaction.now)
  assertEnded(hold, applied)
  const { completion, corrects } = applied
  if (completion !== undefined && corrects !== undefined) transaction.correctCompletion(completion, corrects)
  else if (completion !== undefined) {
    transaction.insertCompletion(withCreatedAtUpTo(completion, transaction.now))
    if (kept !== undefined) transaction.saveAnswer(kept, record.id)
  }
  return applyResult(work, { account, key, ancestors }, applied)
}

function performRelease(work: BatchState, unit: ReleaseUnit): Outcome {
  const hold = work.transaction.takeHold(unit)
  if (hold === undefined) return ALREADY
  const { known, applied } = applyToHold(work, unit, hold)
  assertEnded(hold, applied)
  return applyResult(work, known, applied)
}

function performExtend(work: BatchState, unit: ExtendUnit): Outcome {
  const { transaction } = work
  const hold = transaction.readHold(unit)
  if (hold === undefined) return ALREADY
  const { known, applied } = applyToHold(work, unit, hold)
  const outcome = applyResult(work, known, applied)
  const raised = applied.hold
  if (raised === undefined || raised === 'ended' || raised.amount === hold.amount) return outcome
  transaction.raiseHold(unit, raised.amount)
  if (unit.terms.billing === 'prepaid') requireCredit(known.account)
  return outcome
}

/** Applies the rules to an open hold, its account and the keys whose budgets it counts against. */
function applyToHold(work: BatchState, unit: ReleaseUnit | ExtendUnit, hold: HoldState) {
  const account = loadAccount(work, unit.accountId)
  const key = hold.ofKeyBudget ? loadKey(work, account, hold.keyId) : undefined
  const budgets = hold.budgets && heldBudgets(budgetWork(work, account), hold.budgets)
  const known = { account, key, ancestors: keysAbove(work, account, idsAbove(hold)), budgets }
  return { known, applied: applyUnit(unit, snapshotOf({ ...known, hold }), work.transaction.now) }
}

/**
 * A repeated idempotency key returns the first outcome. A correction of a row that was corrected before is detected
 * here and not by the unique index: otherwise the whole batch would be retried unit by unit, under the account's lock.
 */
function performEntry(work: BatchState, unit: EntryUnit): Outcome {
  const { transaction } = work
  const { accountId, once } = unit
  const made = once && transaction.readEntry({ accountId, key: once.key })
  if (made !== undefined) {
    if (made.fingerprint !== once?.fingerprint) return { kind: 'key_reused' }
    return { kind: 'entered', entry: made.entry, isReplay: true }
  }
  const { adjusts } = unit.entry
  if (adjusts !== undefined && transaction.isCorrected({ accountId, number: adjusts.number })) return ALREADY
  const account = loadAccount(work, accountId)
  const keyId = adjusts?.keyId
  const key = keyId && loadKey(work, account, keyId)
  const ancestors = keyId && keysAbove(work, account, transaction.lineage({ accountId, keyId }))
  const known = { account, key, ancestors }
  const outcome = applyResult(work, known, applyUnit(unit, snapshotOf(known), transaction.now))
  if (once !== undefined && outcome.kind === 'entered') transaction.insertEntryKey(once, outcome.entry)
  return outcome
}

function hasBudgets({ state }: LoadedAccount): boolean {
  return state?.hasBudgets === true
}

function budgetWork({ transaction }: BatchState, account: LoadedAccount): BudgetWork {
  account.budgets ??= noBudgetsLoaded()
  return { reads: transaction.budgets, now: transaction.now, accountId: account.id, loaded: account.budgets }
}

interface Settlement {
  readonly unit: SettleUnit
  readonly hold: HoldState | undefined
  readonly charged: PriorCharge | undefined
}

/** Returns the windows in which it is held or was charged; without either, the current windows of its key. */
function budgetsOfSettlement(
  work: BatchState,
  account: LoadedAccount,
  { unit, hold, charged }: Settlement,
): readonly BudgetState[] | undefined {
  const refs = hold === undefined ? charged?.entry?.budgets : hold.budgets
  if (refs !== undefined) return heldBudgets(budgetWork(work, account), refs)
  if (hold !== undefined || charged?.entry !== undefined || !hasBudgets(account)) return undefined
  const { record } = unit
  return currentBudgets(budgetWork(work, account), countedBy(record, work.transaction.lineage(record)))
}

/** Asserts that the rules resolved the hold: its row is deleted, so its amount would be lost otherwise. */
function assertEnded(hold: HoldState | undefined, applied: Applied): void {
  if (hold !== undefined && applied.hold !== 'ended') throw new Error('A hold was taken and not resolved.')
}

interface BatchState {
  readonly transaction: LedgerTransaction
  readonly accounts: Map<AccountId, LoadedAccount>
}

/** Returns the state of an ancestor of the unit's key; undefined if it is not needed. */
interface LoadedAncestor {
  readonly key: LoadedKey | undefined
  readonly spentBefore: NanoUsd
}

/** Counted from 1970-01-01 UTC. */
export function firstDayOfMonth(now: number): number {
  return Math.floor(monthStart(monthNumber(now)) / DAY_MS)
}

/** Returns the month's cost of a key with a new budget, including this batch. */
function spentBefore(transaction: LedgerTransaction, ref: KeyRef): NanoUsd {
  return transaction.costSince(ref, firstDayOfMonth(transaction.now))
}

function loadAccount({ transaction, accounts }: BatchState, id: AccountId): LoadedAccount {
  let account = accounts.get(id)
  if (account === undefined) {
    const read = transaction.readAccount(id)
    account = { id, read, state: read, neededNanoUsd: NOTHING_NEEDED, keys: new Map(), budgets: undefined }
    accounts.set(id, account)
  }
  return account
}

/** Returns the state of an account's key; undefined if the key has no row. */
function loadKey({ transaction }: BatchState, account: LoadedAccount, id: KeyId): LoadedKey {
  const known = account.keys.get(id)
  if (known !== undefined) return known
  const read = transaction.readKey(account.id, id)
  const key: LoadedKey = { id, read, state: read }
  account.keys.set(id, key)
  return key
}

/** Adds the month's cost of keys with a new budget, which counts from the first of the month. */
function budgetsAbove(work: BatchState, account: LoadedAccount, unit: HoldUnit): readonly LoadedAncestor[] | undefined {
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

function keysAbove(
  work: BatchState,
  account: LoadedAccount,
  ids: readonly KeyId[] | undefined,
): readonly LoadedAncestor[] | undefined {
  if (ids === undefined || ids.length === 0) return undefined
  return ids.map((id) => ({ key: loadKey(work, account, id), spentBefore: NO_CREDIT }))
}

function idsAbove({ ancestors }: Pick<HoldState | HoldUnit, 'ancestors'>): readonly KeyId[] | undefined {
  return ancestors?.map(({ keyId }) => keyId)
}

/** Requires the database to cover a hold of prepaid credit that was granted on the account's state in memory. */
function requireCredit(account: LoadedAccount): void {
  const { read, state } = account
  if (state === undefined) return
  const availableThen = read === undefined ? 0n : read.balance - read.held
  const needed = availableThen - (state.balance - state.held)
  if (needed > account.neededNanoUsd) account.neededNanoUsd = needed
}
