/** Carries units out on a transaction: asks it for what each needs, asks the rules, and hands it what they say. No SQL. */
import type { CompletionRecord } from '../../domain/completion.ts'
import type { KeptResult, RunningEstimate } from '../../domain/credit.ts'
import type { AccountId, CompletionId, KeyId } from '../../domain/ids.ts'
import type { NanoUsd } from '../../domain/money.ts'
import { chargeNanoUsd } from '../../domain/price.ts'
import { monthNumber, monthStart } from '../../lib/months.ts'
import { type KnownAccount, type KnownKey, needCredit, newlyKnown } from './known-accounts.ts'
import {
  type AccountState,
  type AlertRow,
  type Applied,
  applyUnit,
  type HoldState,
  type KeyState,
  type LedgerRow,
  type PriorCharge,
  type World,
} from './rules.ts'
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

const DAY_MS = 86_400_000
const NO_CREDIT = 0n

export interface HoldPlace {
  readonly accountId: AccountId
  readonly id: CompletionId
}

export interface EntryPlace {
  readonly accountId: AccountId
  readonly key: string
}

export interface KeyPlace {
  readonly accountId: AccountId
  readonly keyId: KeyId
}

/** An open transaction of a database. What was written in it is seen by what is read later. */
export interface LedgerTransaction {
  /** Unix milliseconds. */
  readonly now: number
  readAccount(id: AccountId): AccountState | undefined
  readKey(accountId: AccountId, keyId: KeyId): KeyState | undefined
  /** What a key's completions since a day, counted from 1970-01-01 UTC, have cost. */
  costSince(place: KeyPlace, day: number): NanoUsd
  readHold(place: HoldPlace): HoldState | undefined
  /** Removes it. Taking the row is what resolves a hold, once (LED-6): whoever comes later finds none. */
  takeHold(place: HoldPlace): HoldState | undefined
  /** False: there is one of this id; it stays as it is. */
  insertHold(unit: HoldUnit, amount: NanoUsd): boolean
  raiseHold(place: HoldPlace, amount: NanoUsd): void
  /** Ignored where the hold is gone. */
  noteEstimate(estimate: RunningEstimate): void
  /** Asked only where a settlement finds no hold. */
  readCharged(place: HoldPlace): PriorCharge | undefined
  /** The row and what it adds to the sums. */
  insertCompletion(record: CompletionRecord): void
  /** Replaces the row of a completion that is there, and adds the difference to the sums. */
  correctCompletion(record: CompletionRecord, charged: PriorCharge): void
  /** Only for the request that was charged: one that lost its key to another must not answer for it. */
  keepAnswer(kept: KeptResult, subjectId: CompletionId): void
  insertLedgerRow(accountId: AccountId, row: LedgerRow): void
  /** The entry that was made under a key. */
  readEntry(place: EntryPlace): KeyedEntry | undefined
  insertEntryKey(once: EntryKey, entry: LedgerEntry): void
  insertAlert(accountId: AccountId, alert: AlertRow): void
}

export interface CarriedOut {
  readonly outcomes: readonly Outcome[]
  /** To be written before the commit, each on the condition that it still is as it was read. */
  readonly accounts: ReadonlyMap<AccountId, KnownAccount>
}

interface Work {
  readonly transaction: LedgerTransaction
  readonly accounts: Map<AccountId, KnownAccount>
}

const DONE: Outcome = { kind: 'done' }
const ALREADY: Outcome = { kind: 'already' }

export function carryOut(transaction: LedgerTransaction, units: readonly Unit[]): CarriedOut {
  const work: Work = { transaction, accounts: new Map() }
  const outcomes: Outcome[] = []
  for (const unit of units) outcomes.push(perform(work, unit))
  return { outcomes, accounts: work.accounts }
}

function perform(work: Work, unit: Unit): Outcome {
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
      for (const estimate of unit.estimates) work.transaction.noteEstimate(estimate)
      return DONE
    case 'entry':
      return performEntry(work, unit)
    case 'touch':
    case 'settings': {
      const account = knownAccount(work, unit.accountId)
      return take(work, { account }, applyUnit(unit, worldOf({ account }), work.transaction.now))
    }
  }
}

interface Known {
  readonly account: KnownAccount
  readonly key?: KnownKey | undefined
  readonly hold?: HoldState | undefined
  readonly charged?: PriorCharge | undefined
  readonly keySpentBefore?: NanoUsd
}

function worldOf({ account, key, hold, charged, keySpentBefore = NO_CREDIT }: Known): World {
  return { account: account.state, key: key?.state, hold, charged, keySpentBefore }
}

/** Makes what the rules said the state of things, and writes the rows that come of it. */
function take({ transaction }: Work, { account, key }: Known, applied: Applied): Outcome {
  if (applied.account !== undefined) account.state = applied.account
  if (applied.key !== undefined && key !== undefined) key.state = applied.key
  for (const row of applied.rows) transaction.insertLedgerRow(account.id, row)
  for (const alert of applied.alerts) transaction.insertAlert(account.id, alert)
  return applied.outcome
}

function knownAccount({ transaction, accounts }: Work, id: AccountId): KnownAccount {
  let account = accounts.get(id)
  if (account === undefined) {
    account = newlyKnown(id, transaction.readAccount(id))
    accounts.set(id, account)
  }
  return account
}

/** Of an account's key; its state is undefined when nothing is kept of it. */
function knownKey({ transaction }: Work, account: KnownAccount, id: KeyId): KnownKey {
  const known = account.keys.get(id)
  if (known !== undefined) return known
  const read = transaction.readKey(account.id, id)
  const key: KnownKey = { id, read, state: read }
  account.keys.set(id, key)
  return key
}

/** No request is of a time after its row: the clock of the process that took it may have been wrong for a moment. */
function notAfter<Dated extends { readonly createdAt: number }>(dated: Dated, now: number): Dated {
  return dated.createdAt > now ? { ...dated, createdAt: now } : dated
}

function performHold(work: Work, asked: HoldUnit): Outcome {
  const { transaction } = work
  const unit = notAfter(asked, transaction.now)
  const account = knownAccount(work, unit.accountId)
  const key = unit.keyBudgetNanoUsd === undefined ? undefined : knownKey(work, account, unit.keyId)
  const keySpentBefore = key !== undefined && key.state === undefined ? spentBefore(transaction, unit) : NO_CREDIT
  const applied = applyUnit(unit, worldOf({ account, key, keySpentBefore }), transaction.now)
  const { hold } = applied
  if (hold === undefined || hold === 'ended') {
    return transaction.readHold(unit) === undefined ? take(work, { account, key }, applied) : ALREADY
  }
  if (!transaction.insertHold(unit, hold.amount)) return ALREADY
  take(work, { account, key }, applied)
  if (unit.terms.billing === 'prepaid' && hold.amount > 0n) needCredit(account)
  return applied.outcome
}

/** The first estimate is that the provider reads the prompt and is not heard of again. */
export function firstEstimate({ promptTokens, inputPrice, outputPrice }: HoldUnit): NanoUsd {
  return chargeNanoUsd(
    { prompt: promptTokens, completion: 0 },
    { inputMicroUsd: inputPrice, outputMicroUsd: outputPrice },
  )
}

/** Of a key whose budget is new: what it has come to this month, this batch included. */
function spentBefore(transaction: LedgerTransaction, unit: HoldUnit): NanoUsd {
  return transaction.costSince(unit, firstDayOfMonth(transaction.now))
}

/** Counted from 1970-01-01 UTC. */
export function firstDayOfMonth(now: number): number {
  return Math.floor(monthStart(monthNumber(now)) / DAY_MS)
}

function performSettle(work: Work, unit: SettleUnit): Outcome {
  const { transaction } = work
  const { record, kept } = unit
  const account = knownAccount(work, record.accountId)
  const hold = transaction.takeHold(record)
  const charged = hold === undefined ? transaction.readCharged(record) : undefined
  const key = knownKey(work, account, hold?.keyId ?? record.keyId)
  const applied = applyUnit(unit, worldOf({ account, key, hold, charged }), transaction.now)
  assertEnded(hold, applied)
  const { completion, corrects } = applied
  if (completion !== undefined && corrects !== undefined) transaction.correctCompletion(completion, corrects)
  else if (completion !== undefined) {
    transaction.insertCompletion(notAfter(completion, transaction.now))
    if (kept !== undefined) transaction.keepAnswer(kept, record.id)
  }
  return take(work, { account, key }, applied)
}

function performRelease(work: Work, unit: ReleaseUnit): Outcome {
  const { transaction } = work
  const hold = transaction.takeHold(unit)
  if (hold === undefined) return ALREADY
  const account = knownAccount(work, unit.accountId)
  const key = hold.ofKeyBudget ? knownKey(work, account, hold.keyId) : undefined
  const applied = applyUnit(unit, worldOf({ account, key, hold }), transaction.now)
  assertEnded(hold, applied)
  return take(work, { account, key }, applied)
}

function performExtend(work: Work, unit: ExtendUnit): Outcome {
  const { transaction } = work
  const hold = transaction.readHold(unit)
  if (hold === undefined) return ALREADY
  const account = knownAccount(work, unit.accountId)
  const key = hold.ofKeyBudget ? knownKey(work, account, hold.keyId) : undefined
  const applied = applyUnit(unit, worldOf({ account, key, hold }), transaction.now)
  const outcome = take(work, { account, key }, applied)
  const raised = applied.hold
  if (raised === undefined || raised === 'ended' || raised.amount === hold.amount) return outcome
  transaction.raiseHold(unit, raised.amount)
  if (unit.terms.billing === 'prepaid') needCredit(account)
  return outcome
}

/** Under a key, what was made before is the outcome of every repeat. */
function performEntry(work: Work, unit: EntryUnit): Outcome {
  const { transaction } = work
  const { accountId, once } = unit
  const made = once && transaction.readEntry({ accountId, key: once.key })
  if (made !== undefined) {
    if (made.fingerprint !== once?.fingerprint) return { kind: 'key_reused' }
    return { kind: 'entered', entry: made.entry, isReplay: true }
  }
  const account = knownAccount(work, accountId)
  const keyId = unit.entry.adjusts?.keyId
  const key = keyId && knownKey(work, account, keyId)
  const outcome = take(work, { account, key }, applyUnit(unit, worldOf({ account, key }), transaction.now))
  if (once !== undefined && outcome.kind === 'entered') transaction.insertEntryKey(once, outcome.entry)
  return outcome
}

/** The row of the hold is gone by now: rules that left it open would lose what it holds. */
function assertEnded(hold: HoldState | undefined, applied: Applied): void {
  if (hold !== undefined && applied.hold !== 'ended') throw new Error('A hold was taken and not resolved.')
}
