import { alertsOfCharge } from './alert-rules.ts'
import { applyExtend, applyHold } from './hold-rules.ts'
import { rollOverMonth } from './month-rollover.ts'
import { moveCredit } from './movements.ts'
import { applyRelease, applySettle, chargedAncestors, chargedKey, withRow } from './settle-rules.ts'
import { type AccountState, type Applied, changed, type LedgerRow, NOTHING, type Snapshot } from './state.ts'
import type { CreditView, EntryUnit, LedgerEntry, SettingsUnit, TouchUnit, Unit } from './unit.ts'

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

/** A charge that corrects an older one counts in the month in which it is made, for the account and for its key. */
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
    rows: withRow(current.rows, row),
    alerts: alertsOfCharge(current.account, { account, terms }, now),
    outcome: { kind: 'entered', entry: entryOf(row, accountId) },
  }
}

/** Of a `touch`, which sets nothing, the answer is what counts: the account as it is in this month. */
function applySettings(unit: SettingsUnit | TouchUnit, snapshot: Snapshot, now: number): Applied {
  const current = rollOverMonth(snapshot.account, unit.terms, now)
  const account = unit.kind === 'touch' ? current.account : withSettings(current.account, unit)
  return {
    ...NOTHING,
    account: changed(account, snapshot),
    rows: current.rows,
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
