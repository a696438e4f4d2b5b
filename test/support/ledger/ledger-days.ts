/** A ledger with rows of times that a test chooses, written by the ledger's own rules. */
import type { OpenedDatabase } from '../../../src/db/database.ts'
import type { CompletionRecord } from '../../../src/domain/completion.ts'
import type { AccountId } from '../../../src/domain/ids.ts'
import type { NanoUsd } from '../../../src/domain/money.ts'
import { createLedgerStore } from '../../../src/features/credit/ledger/store.ts'
import type { LedgerEntry, NewEntry, PlanTerms, Unit } from '../../../src/features/credit/ledger/unit.ts'
import { completionRecord, ensureAccounts } from './completions.ts'

const BILLED_AFTERWARDS: PlanTerms = { billing: 'postpaid', monthlyCreditNanoUsd: 0n }

export interface LedgerDays {
  /** @param at When it lands; the completion began then too, unless `over` says otherwise. */
  charge(at: number, over?: Partial<CompletionRecord>): Promise<CompletionRecord>
  enter(at: number, entry: Pick<NewEntry, 'kind' | 'nanoUsd'> & Partial<NewEntry>): Promise<LedgerEntry>
  /** Brings the account to the month of `at`, on a plan with a monthly allowance. */
  touch(at: number, monthlyCreditNanoUsd: NanoUsd): Promise<void>
}

export async function ledgerDays(database: OpenedDatabase, accountId: AccountId): Promise<LedgerDays> {
  const store = createLedgerStore(database)
  await ensureAccounts(database, [accountId])
  const commit = async (unit: Unit, now: number) => {
    const [outcome] = await store.commit({ units: [unit], now })
    if (outcome === undefined || outcome.kind === 'failed') throw new Error(`not written: ${JSON.stringify(outcome)}`)
    return outcome
  }
  return {
    async charge(at, over) {
      const record = completionRecord({ accountId, createdAt: at, ...over })
      const terms = BILLED_AFTERWARDS
      await commit({ kind: 'settle', record, terms, unrecorded: true, kept: undefined }, at)
      return record
    },
    async enter(at, entry) {
      const terms = BILLED_AFTERWARDS
      const whole = { note: undefined, adjusts: undefined, ...entry }
      const outcome = await commit({ kind: 'entry', accountId, terms, entry: whole }, at)
      if (outcome.kind !== 'entered') throw new Error(`not entered: ${outcome.kind}`)
      return outcome.entry
    },
    async touch(at, monthlyCreditNanoUsd) {
      await commit({ kind: 'touch', accountId, terms: { billing: 'prepaid', monthlyCreditNanoUsd } }, at)
    },
  }
}
