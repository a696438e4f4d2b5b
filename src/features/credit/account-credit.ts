/** An account's credit outside of requests: current state, budget and alert settings, manual entries. */

import type { Selectable } from 'kysely'
import { isDatabaseUnavailable } from '../../db/failure.ts'
import type { CreditTable } from '../../db/schema/schema.ts'
import {
  type AccountCredit,
  type AccountCreditPort,
  type CreditedAccount,
  DEFAULT_ALERT_THRESHOLDS,
} from '../../domain/credit.ts'
import { GatewayError } from '../../domain/errors.ts'
import { monthNumber } from '../../lib/time.ts'
import type { FeatureDeps } from '../deps.ts'
import { entryKey } from './ledger/rows.ts'
import type { CreditView, LedgerEntry, NewEntry, Outcome, PlanTerms, Unit } from './ledger/unit.ts'

export interface AccountCreditDeps extends Pick<FeatureDeps, 'db' | 'now'> {
  /** Executes a unit of work. Rejects with `database_unavailable`. */
  readonly submit: (unit: Unit) => Promise<Outcome>
  /** Returns the current credit terms of a plan, by name. */
  readonly termsOf: (plan: string) => PlanTerms
}

export interface Entered {
  readonly entry: LedgerEntry
  /** Whether an entry with the same key existed. */
  readonly isReplay: boolean
}

export interface CreditService extends AccountCreditPort {
  /**
   * Adds an entry to the account's ledger. An idempotency key, which never expires, makes at most one entry:
   * repeats return the same. Rejects with `idempotency_key_reused` if the key belongs to a different entry, and
   * with `database_unavailable`.
   */
  enter(account: CreditedAccount, entry: NewEntry, key?: string): Promise<Entered>
}

export function createAccountCredit({ db, now, submit, termsOf }: AccountCreditDeps): CreditService {
  return {
    async read({ id, plan }) {
      const terms = termsOf(plan)
      const row = await db.selectFrom('credit').selectAll().where('account_id', '=', id).executeTakeFirst()
      if (row !== undefined && !isDue(row, terms, monthNumber(now()))) return toCredit(viewOf(row), terms)
      try {
        return toCredit(viewIn(await submit({ kind: 'touch', accountId: id, terms })), terms)
      } catch (error) {
        if (!isDatabaseUnavailable(error)) throw error
        return toCredit(row === undefined ? UNTOUCHED : viewOf(row), terms)
      }
    },
    async configure({ id, plan }, settings) {
      const terms = termsOf(plan)
      return toCredit(viewIn(await submit({ kind: 'settings', accountId: id, terms, ...settings })), terms)
    },
    async enter({ id, plan }, entry, key) {
      const once = key === undefined ? undefined : entryKey(key, entry)
      const outcome = await submit({ kind: 'entry', accountId: id, terms: termsOf(plan), entry, once })
      if (outcome.kind === 'entered') return { entry: outcome.entry, isReplay: outcome.isReplay === true }
      if (outcome.kind === 'key_reused') throw keyReused()
      throw unexpected(outcome)
    },
  }
}

/** Returns whether a touch would change the row, so that reads do not write. */
function isDue(row: Selectable<CreditTable>, terms: PlanTerms, month: number): boolean {
  const hasAllowance = terms.monthlyCreditNanoUsd > 0n || row.allowance_nano_usd > 0n
  return row.month < month || (row.granted_month < month && hasAllowance)
}

const UNTOUCHED: CreditView = {
  balanceNanoUsd: 0n,
  heldNanoUsd: 0n,
  spentNanoUsd: 0n,
  monthlyBudgetNanoUsd: undefined,
  alertThresholds: DEFAULT_ALERT_THRESHOLDS,
}

function viewOf(row: Selectable<CreditTable>): CreditView {
  return {
    balanceNanoUsd: row.balance_nano_usd,
    heldNanoUsd: row.held_nano_usd,
    spentNanoUsd: row.spent_nano_usd,
    monthlyBudgetNanoUsd: row.monthly_budget_nano_usd ?? undefined,
    alertThresholds: JSON.parse(row.alert_thresholds) as number[], // only the ledger's store writes it
  }
}

function toCredit(view: CreditView, terms: PlanTerms): AccountCredit {
  return {
    remainingNanoUsd: terms.billing === 'postpaid' ? undefined : view.balanceNanoUsd,
    balanceNanoUsd: view.balanceNanoUsd,
    heldNanoUsd: view.heldNanoUsd,
    monthlyBudgetNanoUsd: view.monthlyBudgetNanoUsd,
    alertThresholds: view.alertThresholds,
  }
}

function viewIn(outcome: Outcome): CreditView {
  if (outcome.kind === 'touched') return outcome.view
  throw unexpected(outcome)
}

function unexpected(outcome: Outcome): Error {
  const reason = outcome.kind === 'failed' ? outcome.message : `it answered '${outcome.kind}'`
  return new Error(`The ledger rejected a unit of work: ${reason}`)
}

function keyReused(): GatewayError {
  const message = 'This Idempotency-Key was used for another entry of this account. Use a new key for a new entry.'
  return new GatewayError('idempotency_key_reused', message)
}
