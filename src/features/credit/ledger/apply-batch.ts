import type { AccountId } from '../../../domain/ids.ts'
import type { NanoUsd } from '../../../domain/money.ts'
import { chargeNanoUsd } from '../../../domain/price/price.ts'
import { applyUnit } from './rules.ts'
import type { Applied, HoldState, PriorCharge, Snapshot } from './state.ts'
import {
  type BatchState,
  budgetsAbove,
  idsAbove,
  keysAbove,
  type LedgerTransaction,
  type LoadedAccount,
  type LoadedAncestor,
  type LoadedKey,
  loadAccount,
  loadKey,
  NO_CREDIT,
  requireCredit,
  spentBefore,
} from './transaction.ts'
import type { EntryUnit, ExtendUnit, HoldUnit, Outcome, ReleaseUnit, SettleUnit, Unit } from './unit.ts'

export interface BatchResult {
  readonly outcomes: readonly Outcome[]
  /** To be written before the commit, each on the condition that it still is as it was read. */
  readonly accounts: ReadonlyMap<AccountId, LoadedAccount>
}

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
  readonly hold?: HoldState | undefined
  readonly charged?: PriorCharge | undefined
  readonly keySpentBefore?: NanoUsd
}

function snapshotOf({ account, key, ancestors, hold, charged, keySpentBefore = NO_CREDIT }: Known): Snapshot {
  const snapshot = { account: account.state, key: key?.state, hold, charged, keySpentBefore }
  if (ancestors === undefined) return snapshot
  const above = ancestors.map(({ key: one, spentBefore }) => ({ state: one?.state, spentBefore }))
  return { ...snapshot, ancestors: above }
}

/** Makes what the rules said the state of things, and writes the rows that come of it. */
function applyResult({ transaction }: BatchState, { account, key, ancestors }: Known, applied: Applied): Outcome {
  if (applied.account !== undefined) account.state = applied.account
  if (applied.key !== undefined && key !== undefined) key.state = applied.key
  applied.ancestors?.forEach((state, at) => {
    const above = ancestors?.[at]?.key
    if (state !== undefined && above !== undefined) above.state = state
  })
  for (const row of applied.rows) transaction.insertLedgerRow(account.id, row)
  for (const alert of applied.alerts) transaction.insertAlert(account.id, alert)
  return applied.outcome
}

/** No request is of a time after its row: the clock of the process that took it may have been wrong for a moment. */
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
  const applied = applyUnit(unit, snapshotOf({ account, key, ancestors, keySpentBefore }), transaction.now)
  const { hold } = applied
  if (hold === undefined || hold === 'ended') {
    return transaction.readHold(unit) === undefined ? applyResult(work, { account, key, ancestors }, applied) : ALREADY
  }
  if (!transaction.insertHold(unit, hold.amount)) return ALREADY
  applyResult(work, { account, key, ancestors }, applied)
  if (unit.terms.billing === 'prepaid' && hold.amount > 0n) requireCredit(account)
  return applied.outcome
}

/** The first estimate is that the provider reads the prompt and is not heard of again. */
export function firstEstimate({ promptTokens, inputPrice, outputPrice }: HoldUnit): NanoUsd {
  return chargeNanoUsd(
    { prompt: promptTokens, completion: 0 },
    { inputMicroUsd: inputPrice, outputMicroUsd: outputPrice },
  )
}

function performSettle(work: BatchState, unit: SettleUnit): Outcome {
  const { transaction } = work
  const { record, kept } = unit
  const account = loadAccount(work, record.accountId)
  const hold = transaction.takeHold(record)
  const charged = hold === undefined ? transaction.readCharged(record) : undefined
  const key = loadKey(work, account, hold?.keyId ?? record.keyId)
  const ancestors = keysAbove(work, account, hold === undefined ? transaction.lineage(record) : idsAbove(hold))
  const applied = applyUnit(unit, snapshotOf({ account, key, ancestors, hold, charged }), transaction.now)
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
  const { transaction } = work
  const hold = transaction.takeHold(unit)
  if (hold === undefined) return ALREADY
  const account = loadAccount(work, unit.accountId)
  const key = hold.ofKeyBudget ? loadKey(work, account, hold.keyId) : undefined
  const ancestors = keysAbove(work, account, idsAbove(hold))
  const applied = applyUnit(unit, snapshotOf({ account, key, ancestors, hold }), transaction.now)
  assertEnded(hold, applied)
  return applyResult(work, { account, key, ancestors }, applied)
}

function performExtend(work: BatchState, unit: ExtendUnit): Outcome {
  const { transaction } = work
  const hold = transaction.readHold(unit)
  if (hold === undefined) return ALREADY
  const account = loadAccount(work, unit.accountId)
  const key = hold.ofKeyBudget ? loadKey(work, account, hold.keyId) : undefined
  const ancestors = keysAbove(work, account, idsAbove(hold))
  const applied = applyUnit(unit, snapshotOf({ account, key, ancestors, hold }), transaction.now)
  const outcome = applyResult(work, { account, key, ancestors }, applied)
  const raised = applied.hold
  if (raised === undefined || raised === 'ended' || raised.amount === hold.amount) return outcome
  transaction.raiseHold(unit, raised.amount)
  if (unit.terms.billing === 'prepaid') requireCredit(account)
  return outcome
}

/**
 * Under a key, what was made before is the outcome of every repeat. What corrects a row that others have corrected meanwhile
 * is not left for the unique index to refuse: a batch of such units would be carried out one by one, under the account's lock.
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

/** The row of the hold is gone by now: rules that left it open would lose what it holds. */
function assertEnded(hold: HoldState | undefined, applied: Applied): void {
  if (hold !== undefined && applied.hold !== 'ended') throw new Error('A hold was taken and not resolved.')
}
