/** A ledger with everything that an audit looks at, written by the gateway's own rules; and an audit of it. */
import type { TestContext } from 'node:test'
import { sql } from 'kysely'
import { dialectOf } from '../../../src/db/database.ts'
import type { CompletionRecord } from '../../../src/domain/completion.ts'
import type { CompletionId, KeyId } from '../../../src/domain/ids.ts'
import { chargeNanoUsd } from '../../../src/domain/price/price.ts'
import type { Price } from '../../../src/domain/price/tariff.ts'
import type { Account } from '../../../src/features/accounts/queries.ts'
import type { Finding } from '../../../src/features/credit/audit/finding.ts'
import { type RunInput, runAudit } from '../../../src/features/credit/audit/run.ts'
import { createAudit, listFindings, type StoredAudit } from '../../../src/features/credit/audit/store.ts'
import { rerate } from '../../../src/features/credit/rerate.ts'
import { closeInvoices } from '../../../src/features/invoices/close.ts'
import { ALL_TIME } from '../../../src/http/period.ts'
import { testIds } from '../database.ts'
import { openCreditFixture, termsOf } from './credit-service.ts'

export const DAY_MS = 86_400_000
export const PRICE: Price = { inputMicroUsd: 1_000_003, outputMicroUsd: 3_000_000, cachedInputMicroUsd: 100_000 }
const OLD_PRICE: Price = { inputMicroUsd: 2_000_000, outputMicroUsd: 6_000_000 }
const FREE_PRICE: Price = { inputMicroUsd: 0, outputMicroUsd: 0 }
const ALLOWANCES = new Set([5_000_000_000n])

export type AuditedLedger = Awaited<ReturnType<typeof auditedLedger>>

export async function auditedLedger(t: TestContext, path?: string) {
  const fixture = await openCreditFixture(t, path)
  const { db, clock } = fixture
  await addPrice(fixture, 'pv_now', 'm1', PRICE)
  await addPrice(fixture, 'pv_old', 'm1', OLD_PRICE)
  await addPrice(fixture, 'pv_other', 'm2', OLD_PRICE)
  await addPrice(fixture, 'pv_free', 'free', FREE_PRICE)
  await db
    .insertInto('plan_allowance')
    .values({ plan: 'free', amount_nano_usd: 5_000_000_000n, first_seen_at: 0 })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
  /** Charged at its price by default. */
  const use = async (account: Account, ...overs: Partial<CompletionRecord>[]) => {
    const records = overs.map((over, index) => {
      const tokens = { promptTokens: 100 + index, completionTokens: 7, cachedTokens: index % 3, ...over }
      const { promptTokens: prompt, completionTokens: completion, cachedTokens: cached } = tokens
      const costNanoUsd = chargeNanoUsd(
        { prompt, completion, cached },
        over.priceVersion === 'pv_old' ? OLD_PRICE : PRICE,
      )
      return { priceVersion: 'pv_now', costNanoUsd, ...tokens }
    })
    return fixture.spend(account, ...records)
  }
  const audit = async (over: Partial<RunInput> = {}, scope: Partial<StoredAudit['scope']> = {}) => {
    const stored = await createAudit(db, { accountId: undefined, since: undefined, ...scope }, clock.now)
    const ended = await runAudit({ db, now: fixture.now, allowances: ALLOWANCES, ...over }, stored)
    return { ended, stored, findings: await listFindings(db, stored.id, 1_000) }
  }
  return { ...fixture, use, audit, break: (text: string) => breakLedger(fixture, text) }
}

type Fixture = Awaited<ReturnType<typeof openCreditFixture>>

async function addPrice({ db }: Fixture, id: string, model: string, price: Price): Promise<void> {
  const rates = { input_micro_usd: price.inputMicroUsd, output_micro_usd: price.outputMicroUsd }
  const cached = { cached_input_micro_usd: price.cachedInputMicroUsd ?? null, cache_write_micro_usd: null }
  await db
    .insertInto('price_version')
    .values({ id, model, ...rates, ...cached, first_seen_at: 0 })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

/** What a hand at the database can do: nothing is refused. */
async function breakLedger({ db }: Fixture, text: string): Promise<void> {
  const triggers =
    dialectOf(db) === 'postgres'
      ? ['ledger_refuses_changes on ledger', 'invoice_refuses_changes on invoice']
      : ['ledger_refuses_update', 'ledger_refuses_delete', 'invoice_refuses_update']
  for (const trigger of triggers) await sql.raw(`drop trigger if exists ${trigger}`).execute(db)
  await sql.raw(text).execute(db)
}

/** Three months of an account: allowances, purchases, debits, corrections, keys with budgets, open holds, invoices. */
export async function seedMonths(ledger: AuditedLedger): Promise<Account> {
  const { account, credit, use, clock, submit, commit, db, now, reserve } = ledger
  clock.now = Date.UTC(2026, 3, 10, 12)
  const payer = await account('free')
  await credit.read(payer)
  const budgeted = { keyId: 'key_b' as KeyId }
  await use(payer, {}, { priceVersion: 'pv_old' }, { ...FREE_USE }, { status: 'failed', costNanoUsd: 0n })
  await hold(ledger, payer, budgeted.keyId)
  clock.now += 20 * DAY_MS
  await credit.enter(payer, { kind: 'purchase', nanoUsd: 10_000_000_000n, note: 'order 1', adjusts: undefined })
  await use(payer, ...Array.from({ length: 30 }, (_, index) => (index % 2 === 0 ? {} : budgeted)))
  clock.now += 5 * DAY_MS
  await credit.read(payer)
  await use(payer, {}, budgeted, { keyId: 'key_b' as KeyId, createdAt: clock.now - 10 * DAY_MS })
  await credit.enter(payer, { kind: 'debit', nanoUsd: 12_000_000_000n, note: 'chargeback', adjusts: undefined })
  await credit.enter(payer, { kind: 'refund', nanoUsd: 500n, note: 'sorry', adjusts: undefined }, 'key 1')
  const rated = { price: PRICE, priceVersion: 'pv_now', model: 'm1', period: ALL_TIME, dryRun: false }
  await rerate({ db, commit }, { accountId: payer.id, terms: termsOf('free'), ...rated })
  clock.now += 30 * DAY_MS
  await closeInvoices({ db, ids: testIds, now })
  await use(payer, ...Array.from({ length: 5 }, () => budgeted))
  await reserve(payer, 500)
  await submit({ kind: 'touch', accountId: payer.id, terms: termsOf('free') })
  return payer
}

const FREE_USE = { model: 'free', priceVersion: 'pv_free', costNanoUsd: 0n }

/** And lets go of it: what is left is a key whose spending is counted. */
async function hold({ submit, clock }: AuditedLedger, { id: accountId }: Account, keyId: KeyId): Promise<void> {
  const id = `${testIds.completion()}` as CompletionId
  await submit({
    kind: 'hold',
    accountId,
    keyId,
    id,
    terms: termsOf('free'),
    keyBudgetNanoUsd: 10n ** 12n,
    instanceId: 'ins_test',
    promptTokens: 10,
    outputTokens: 0,
    choices: 1,
    flexible: false,
    tentative: false,
    inputPrice: 1000,
    outputPrice: 0,
    fixedNanoUsd: 0,
    model: 'm1',
    provider: 'p',
    stream: false,
    priceVersion: 'pv_now',
    createdAt: clock.now,
    clientRequestId: undefined,
  })
  await submit({ kind: 'release', accountId, id })
}

/** Kinds and what they are about. */
export function named(findings: readonly Finding[]): string[] {
  return findings.map(({ kind, subject }) => `${kind}: ${subject}`)
}
