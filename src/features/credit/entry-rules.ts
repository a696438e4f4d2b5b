/** What moves an account without a request: entries of operators, its own settings, and the mere turn of the month. */
import { alertsOfCharge } from './alert-rules.ts'
import { changed, NOTHING } from './applied.ts'
import { moveCredit } from './ledger-rows.ts'
import { turnMonth } from './month-turn.ts'
import type { AccountState, Applied, LedgerRow, World } from './rules.ts'
import { chargedKey, withRow } from './settle-rules.ts'
import type { CreditView, EntryUnit, LedgerEntry, SettingsUnit, TouchUnit } from './unit.ts'

/** A charge that corrects an older one counts in the month in which it is made, for the account and for its key. */
export function applyEntry({ accountId, terms, entry }: EntryUnit, world: World, now: number): Applied {
  const { kind, nanoUsd: amount, note, adjusts } = entry
  if (amount <= 0n) return { ...NOTHING, outcome: { kind: 'failed', message: 'An entry must move more than nothing.' } }
  const turned = turnMonth(world.account, terms, now)
  const movement = {
    kind,
    amount,
    completionId: adjusts?.completionId,
    keyId: adjusts?.keyId,
    priceVersion: adjusts?.priceVersion,
    adjusts: adjusts?.number,
    note,
  }
  const { account, row } = moveCredit(turned.account, movement, now)
  const isOfKey = kind === 'charge' && adjusts?.keyId !== undefined
  return {
    ...NOTHING,
    account,
    key:
      isOfKey && world.key ? chargedKey(world.key, { hold: undefined, cost: amount, month: account.month }) : undefined,
    rows: withRow(turned.rows, row),
    alerts: alertsOfCharge(turned.account, { account, terms }, now),
    outcome: { kind: 'entered', entry: entryOf(row, accountId) },
  }
}

/** Of a `touch`, which sets nothing, the answer is what counts: the account as it is in this month. */
export function applySettings(unit: SettingsUnit | TouchUnit, world: World, now: number): Applied {
  const turned = turnMonth(world.account, unit.terms, now)
  const account = unit.kind === 'touch' ? turned.account : withSettings(turned.account, unit)
  return {
    ...NOTHING,
    account: changed(account, world),
    rows: turned.rows,
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
