/** The rules of the ledger: the result of each unit, computed from the rows before it. They are the same on every database. */
import type { CompletionRecord } from '../../../domain/completion.ts'
import { defaultOverrunNanoUsd } from '../../../domain/credit.ts'
import type { NanoUsd } from '../../../domain/money.ts'
import { monthNumber } from '../../../lib/time.ts'
import { applyExtend, applyHold, budgetAlertsOfCharge, chargedBudgets } from './hold-rules.ts'
import {
  alertsOfCharge,
  alertsOfSettings,
  atLeastZero,
  keyInMonth,
  LATE_SETTLEMENT,
  moveCredit,
  rollOverMonth,
} from './movements.ts'
import {
  type AccountState,
  ALREADY,
  type Applied,
  type BudgetWindowRef,
  changed,
  type HoldState,
  type KeyState,
  type LedgerRow,
  NOTHING,
  type PriorCharge,
  type Snapshot,
} from './state.ts'
import type {
  CreditView,
  EntryUnit,
  LedgerEntry,
  Outcome,
  PlanTerms,
  SettingsUnit,
  SettleUnit,
  TouchUnit,
  Unit,
} from './unit.ts'

/** @param now Unix milliseconds. */
export function applyUnit(unit: Exclude<Unit, { kind: 'estimates' }>, snapshot: Snapshot, now: number): Applied {
  switch (unit.kind) {
    case 'hold':
      return applyHold(unit, snapshot, now)
    case 'settle':
      return applySettle(unit, snapshot, now)
    case 'release':
      return applyRelease(snapshot)
    case 'extend':
      return applyExtend(unit, snapshot, now)
    case 'entry':
      return applyEntry(unit, snapshot, now)
    case 'touch':
    case 'settings':
      return applySettings(unit, snapshot, now)
  }
}

/** A correction counts in the month in which it is made, for the account and for its key. */
function applyEntry({ accountId, terms, entry }: EntryUnit, snapshot: Snapshot, now: number): Applied {
  const { kind, nanoUsd: amount, note, adjusts } = entry
  if (amount <= 0n)
    return { ...NOTHING, outcome: { kind: 'failed', message: 'The amount of an entry must be greater than 0.' } }
  const current = rollOverMonth(snapshot.account, terms, now)
  const movement = {
    kind,
    amount,
    completionId: adjusts?.completionId,
    keyId: adjusts?.keyId,
    priceVersion: adjusts?.priceVersion,
    adjusts: adjusts?.number,
    note,
  }
  const { account, row } = moveCredit(current.account, movement, now)
  const isOfKey = kind === 'charge' && adjusts?.keyId !== undefined
  const charge = { cost: amount, month: account.month }
  return {
    ...NOTHING,
    account,
    key: isOfKey && snapshot.key ? chargedKey(snapshot.key, { ...charge, hold: undefined }) : undefined,
    ancestors: isOfKey ? chargedAncestors(snapshot, charge) : undefined,
    rows: [...current.rows, row],
    alerts: alertsOfCharge(current.account, { account, terms }, now),
    outcome: { kind: 'entered', entry: entryOf(row, accountId) },
  }
}

/** A `touch` changes no setting and returns the account's state in this month. */
function applySettings(unit: SettingsUnit | TouchUnit, snapshot: Snapshot, now: number): Applied {
  const current = rollOverMonth(snapshot.account, unit.terms, now)
  const account = unit.kind === 'touch' ? current.account : withSettings(current.account, unit)
  return {
    ...NOTHING,
    account: changed(account, snapshot),
    rows: current.rows,
    alerts: unit.kind === 'touch' ? NOTHING.alerts : alertsOfSettings(account, unit.terms, now),
    outcome: { kind: 'touched', view: viewOf(account) },
  }
}

function withSettings(
  account: AccountState,
  { monthlyBudgetNanoUsd: budget, maxOverrunNanoUsd: overrun, alertThresholds }: SettingsUnit,
): AccountState {
  return {
    ...account,
    monthlyBudget: budget === undefined ? account.monthlyBudget : (budget ?? undefined),
    maxOverrun: overrun === undefined ? account.maxOverrun : (overrun ?? undefined),
    thresholds: alertThresholds ?? account.thresholds,
  }
}

function entryOf(
  { amount, balance, debit: _debit, credit: _credit, ...row }: LedgerRow,
  accountId: EntryUnit['accountId'],
): LedgerEntry {
  return { ...row, accountId, nanoUsd: amount, balanceNanoUsd: balance }
}

function viewOf({ balance, held, spent, monthlyBudget, thresholds }: AccountState): CreditView {
  return {
    balanceNanoUsd: balance,
    heldNanoUsd: held,
    spentNanoUsd: spent,
    monthlyBudgetNanoUsd: monthlyBudget,
    alertThresholds: thresholds,
  }
}

/* A hold ends with the charge of the request's cost, or without a charge. */

/**
 * Charges the cost, even above the hold, up to the account's overrun cap (LED-7): only this takes a balance below zero.
 * Cost beyond the cap is recorded and not charged. A settlement without a hold corrects the charge that was made meanwhile,
 * or charges the completion if there is none.
 */
function applySettle(unit: SettleUnit, snapshot: Snapshot, now: number): Applied {
  const { terms, unrecorded, promisedNanoUsd } = unit
  const { hold, charged } = snapshot
  if (hold !== undefined && unit.uncharged) return applyRelease(snapshot)
  if (hold === undefined && charged !== undefined) return applyLateSettlement(unit, { ...snapshot, charged }, now)
  if (hold === undefined && !isToBeCharged(unit, now)) return ALREADY
  const current = rollOverMonth(snapshot.account, terms, now)
  const before = hold === undefined ? current.account : withoutHold(current.account, hold)
  const exposed = unrecorded ? (promisedNanoUsd ?? unit.record.costNanoUsd) : 0n
  const promised = hold === undefined ? exposed : hold.amount
  const record = withinCap(unit.record, 0n, chargeLimit(before, terms, promised))
  const cost = record.costNanoUsd
  const { month } = before
  const held = hold?.amount ?? 0n
  const budgets = chargedBudgets(snapshot.budgets, { cost, held })
  const settled: Applied = {
    ...NOTHING,
    budgets,
    key: snapshot.key && chargedKey(snapshot.key, { hold, cost, month }),
    ancestors: chargedAncestors(snapshot, { cost, month }),
    hold: hold && 'ended',
    completion: record,
    outcome: outcomeOf(record),
  }
  if (cost === 0n) return { ...settled, account: changed(before, snapshot), rows: current.rows }
  const { account, row } = moveCredit(before, { ...chargeOf(record), budgets: windowsOf(snapshot) }, now)
  const alerts = alertsOfCharge(before, { account, terms }, now)
  const budgetAlerts = budgetAlertsOfCharge(snapshot.budgets, budgets, { thresholds: account.thresholds, now })
  return { ...settled, account, rows: [...current.rows, row], alerts, budgetAlerts }
}

function outcomeOf({ unbilledNanoUsd }: CompletionRecord): Outcome {
  return unbilledNanoUsd === undefined ? NOTHING.outcome : { kind: 'done', unbilledNanoUsd }
}

/** Returns the whole hold. The next unit that has the plan's terms updates the month. */
function applyRelease({ account, key, ancestors, budgets, hold }: Snapshot): Applied {
  if (hold === undefined) return ALREADY
  return {
    ...NOTHING,
    account: account && withoutHold(account, hold),
    key: key && hold.ofKeyBudget ? { ...key, held: key.held - hold.amount } : undefined,
    ancestors: hold.ancestors?.map(({ ofBudget }, at) => {
      const state = ancestors?.[at]?.state
      return state && ofBudget ? { ...state, held: state.held - hold.amount } : undefined
    }),
    budgets: chargedBudgets(budgets, { cost: 0n, held: hold.amount }),
    hold: 'ended',
  }
}

function windowsOf({ budgets }: Snapshot): readonly BudgetWindowRef[] | undefined {
  return budgets?.map(({ budgetId, start }) => ({ budgetId, start }))
}

/** Adds the spending of a key to its ancestors. */
function chargedAncestors(
  { ancestors, hold }: Pick<Snapshot, 'ancestors' | 'hold'>,
  charge: { readonly cost: bigint; readonly month: number },
): Applied['ancestors'] {
  return ancestors?.map(({ state }, at) => {
    const ofKeyBudget = hold?.ancestors?.[at]?.ofBudget === true
    return state && chargedKey(state, { ...charge, hold: hold && { ...hold, ofKeyBudget } })
  })
}

/** Returns the state of a key with a budget after a charge and the end of its hold, if it had one. */
function chargedKey(
  known: KeyState,
  { hold, cost, month }: { readonly hold: HoldState | undefined; readonly cost: bigint; readonly month: number },
): KeyState {
  const key = keyInMonth(known, month)
  const held = hold?.ofKeyBudget === true ? key.held - hold.amount : key.held
  return { month: key.month, spent: key.spent + cost, held }
}

function chargeOf(record: CompletionRecord) {
  return {
    kind: 'charge',
    amount: record.costNanoUsd,
    completionId: record.id,
    keyId: record.keyId,
    priceVersion: record.priceVersion,
  } as const
}

function withoutHold(account: AccountState, { amount }: HoldState): AccountState {
  return { ...account, held: account.held - amount }
}

/*
 * Settlements without a hold: another process considered this one dead and charged an estimate, or the hold is lost. The
 * exact cost is still charged once: an entry that refers to the estimate's charge corrects it, and the exact row and sums
 * replace the completion's. A repeated settlement finds them equal.
 */

/** Usage rows are retained for longer, so a missing one was never written. */
const LATEST_MS = 365 * 86_400_000

/** Returns whether a settlement without a hold and a row is charged. An estimate needs its hold. */
function isToBeCharged({ record, unrecorded, provisional, uncharged }: SettleUnit, now: number): boolean {
  if (unrecorded) return true
  return !provisional && !uncharged && now - record.createdAt < LATEST_MS
}

interface ChargedSnapshot extends Snapshot {
  readonly charged: PriorCharge
}

function applyLateSettlement(unit: SettleUnit, snapshot: ChargedSnapshot, now: number): Applied {
  const { terms, provisional } = unit
  const { charged } = snapshot
  if (provisional || !isEstimate(charged) || isSame(charged, unit.record)) return ALREADY
  const current = rollOverMonth(snapshot.account, terms, now)
  const { account: before } = current
  const record = withinCap(unit.record, charged.costNanoUsd, chargeLimit(before, terms, 0n))
  const more = record.costNanoUsd - charged.costNanoUsd
  const outcome = { kind: 'corrected', nanoUsd: more } as const
  if (more === 0n) {
    const account = changed(before, snapshot)
    return { ...NOTHING, account, rows: current.rows, completion: record, corrects: charged, outcome }
  }
  const unspent = more < 0n && charged.entry !== undefined && monthNumber(charged.entry.createdAt) === before.month
  const { account, row } = moveCredit(
    before,
    { ...movementOf(record, charged), unspent, budgets: windowsOf(snapshot) },
    now,
  )
  const correction = { month: before.month, more: unspent || more > 0n ? more : 0n }
  const budgets = chargedBudgets(snapshot.budgets, { cost: more, held: 0n })
  return {
    ...NOTHING,
    account,
    key: snapshot.key && correctedKey(snapshot.key, correction),
    ancestors: snapshot.ancestors?.map(({ state }) => state && correctedKey(state, correction)),
    budgets,
    budgetAlerts: budgetAlertsOfCharge(snapshot.budgets, budgets, { thresholds: account.thresholds, now }),
    rows: [...current.rows, row],
    alerts: alertsOfCharge(before, { account, terms }, now),
    completion: record,
    corrects: charged,
    outcome,
  }
}

/** As `sweptRecord` and intents mark their records. An exact row is never changed. */
function isEstimate({ status, usageSource }: PriorCharge): boolean {
  return status === 'incomplete' && usageSource === 'estimated'
}

function isSame(charged: PriorCharge, record: CompletionRecord): boolean {
  return (
    charged.costNanoUsd + (charged.unbilledNanoUsd ?? 0n) === record.costNanoUsd &&
    charged.promptTokens === record.promptTokens &&
    charged.completionTokens === record.completionTokens &&
    charged.status === record.status &&
    charged.usageSource === record.usageSource
  )
}

/** An estimate of 0 has no entry to correct: the settlement is then an ordinary charge. */
function movementOf(record: CompletionRecord, { costNanoUsd, entry }: PriorCharge) {
  const { id: completionId, keyId, priceVersion } = record
  const more = record.costNanoUsd - costNanoUsd
  const kind = more > 0n ? 'charge' : 'refund'
  const amount = more > 0n ? more : -more
  const whose = { kind, amount, completionId, keyId, priceVersion } as const
  return entry === undefined ? whose : { ...whose, adjusts: entry.number, note: LATE_SETTLEMENT }
}

function correctedKey(known: KeyState, { month, more }: { readonly month: number; readonly more: NanoUsd }): KeyState {
  const key = keyInMonth(known, month)
  return { ...key, spent: atLeastZero(key.spent + more) }
}

/**
 * The maximum of one charge. The balance after it, plus the overrun cap, covers all other holds, so all requests in flight
 * together take the balance at most that far below zero.
 * @param account Without the hold of the request itself.
 * @param promised The amount held for the request, which may be charged whatever happened to the account meanwhile.
 * @returns Undefined: no limit, because the plan is postpaid.
 */
function chargeLimit(account: AccountState, terms: PlanTerms, promised: NanoUsd): NanoUsd | undefined {
  if (terms.billing === 'postpaid') return undefined
  const most = account.balance - account.held + overrunCap(account, terms)
  return most > promised ? most : promised
}

/** How far the account's balance may fall below zero: its own cap, else its plan's, else the larger of $0.05 and 1 % of the allowance. */
function overrunCap({ maxOverrun }: Pick<AccountState, 'maxOverrun'>, terms: PlanTerms): NanoUsd {
  return maxOverrun ?? terms.maxOverrunNanoUsd ?? defaultOverrunNanoUsd(terms.monthlyCreditNanoUsd)
}

/** @param charged What the completion was charged before: the limit applies to the excess. */
function withinCap(record: CompletionRecord, charged: NanoUsd, limit: NanoUsd | undefined): CompletionRecord {
  const { costNanoUsd } = record
  if (limit === undefined) return record
  const most = charged + (limit > 0n ? limit : 0n)
  return costNanoUsd <= most ? record : { ...record, costNanoUsd: most, unbilledNanoUsd: costNanoUsd - most }
}
