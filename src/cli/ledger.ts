/** The ledger for commands: the same rules and the same store as the service's, without its queue. */
import type { Config } from '../config/schema.ts'
import type { OpenedDatabase } from '../db/open.ts'
import { type CreditDesk, createAccountCredit } from '../features/credit/account-credit.ts'
import { createLedgerStore } from '../features/credit/ledger-store.ts'
import { planTerms } from '../features/credit/plan-terms.ts'
import type { Outcome, PlanTerms, Unit } from '../features/credit/unit.ts'

export interface Ledger {
  readonly credit: CreditDesk
  /** In one transaction; an outcome for each. */
  readonly commit: (units: readonly Unit[]) => Promise<readonly Outcome[]>
  readonly termsOf: (plan: string) => PlanTerms
}

export function openLedger(database: OpenedDatabase, { plans }: Pick<Config, 'plans'>): Ledger {
  const store = createLedgerStore(database)
  const commit = (units: readonly Unit[]) => store.commit({ units })
  const termsOf = (plan: string) => planTerms(plans[plan])
  const submit = async (unit: Unit): Promise<Outcome> => {
    const [outcome] = await commit([unit])
    if (outcome === undefined) throw new Error('The ledger gave no outcome.')
    return outcome
  }
  return { commit, termsOf, credit: createAccountCredit({ db: database.db, now: Date.now, submit, termsOf }) }
}
