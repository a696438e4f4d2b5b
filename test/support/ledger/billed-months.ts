/** An account with two closed months and an open one: allowances, a purchase, charges of several models, a correction. */
import { setTimeout } from 'node:timers/promises'
import type { OpenedDatabase } from '../../../src/db/database.ts'
import type { AccountId, KeyId } from '../../../src/domain/ids.ts'
import { closeInvoices } from '../../../src/features/invoices/close.ts'
import { monthNumber, monthStart } from '../../../src/lib/time.ts'
import { testIds } from '../database.ts'
import { ledgerDays } from './ledger-days.ts'

export interface BilledMonths {
  /** `2026-09`, `2026-10`, `2026-11`: the last is the present one. */
  readonly months: readonly [string, string, string]
}

const MODELS = [
  ['gpt-5.4-mini', 'openai'],
  ['claude-sonnet-4-6', 'anthropic'],
  ['gemini-2.5-flash', 'google'],
] as const
const DAY_MS = 86_400_000
const CHARGES = 9

/** @param allowanceNanoUsd What the account's plan gives each month. */
export async function billMonths(
  database: OpenedDatabase,
  { accountId, keyId, allowanceNanoUsd }: { accountId: AccountId; keyId: KeyId; allowanceNanoUsd: bigint },
): Promise<BilledMonths> {
  const now = Date.now()
  const starts = [-2, -1, 0].map((months) => monthStart(monthNumber(now) + months))
  const [first = 0, second = 0, third = 0] = starts
  await database.db.updateTable('account').set({ created_at: first }).where('id', '=', accountId).execute()
  await closedOnce(database)
  const ledger = await ledgerDays(database, accountId)
  for (const start of [first, second]) {
    await ledger.touch(start + 1, allowanceNanoUsd)
    await ledger.enter(start + DAY_MS, { kind: 'purchase', nanoUsd: 250_000_000_000n, note: `Order ${start / DAY_MS}` })
    for (let at = 0; at < CHARGES; at++) await ledger.charge(start + (2 + at) * DAY_MS, charge(at, keyId))
  }
  const before = await ledger.charge(second + 20 * DAY_MS, charge(4, keyId))
  const { number } = await lastRow(database, accountId)
  const adjusts = { number, completionId: before.id, keyId, priceVersion: 'v2' }
  const note = 'Price corrected to that of the contract'
  await ledger.enter(second + 21 * DAY_MS, { kind: 'refund', nanoUsd: 1_000_000_007n, note, adjusts })
  await ledger.touch(third + 1, allowanceNanoUsd)
  const share = (now - third - 2) / (CHARGES + 1)
  for (let at = 0; at < CHARGES; at++) await ledger.charge(Math.round(third + 2 + share * at), charge(at, keyId))
  await closeInvoices({ db: database.db, ids: testIds, now: () => now })
  const [one = '', two = '', three = ''] = starts.map((start) => new Date(start).toISOString().slice(0, 7))
  return { months: [one, two, three] }
}

/** The service closes months when it starts: one that is half written would be closed as it is. */
async function closedOnce({ db }: OpenedDatabase): Promise<void> {
  for (let attempt = 0; attempt < 200; attempt++) {
    const jobs = await db.selectFrom('job').select('run_at').where('kind', '=', 'invoices.close').execute()
    if (jobs.length > 0 && jobs.every(({ run_at }) => run_at > Date.now() + 60_000)) return
    await setTimeout(50)
  }
  throw new Error('The service did not close invoices.')
}

/** The last digits differ, so that sums of floating-point numbers would not be right. */
function charge(at: number, keyId: KeyId) {
  const [model, provider] = MODELS[at % MODELS.length] ?? MODELS[0]
  const promptTokens = 120_000 + 7_919 * at
  const costNanoUsd = 3_141_592_653n + 1_010_101_011n * BigInt(at)
  return { model, provider, keyId, costNanoUsd, promptTokens, completionTokens: 4_321 + 17 * at }
}

function lastRow({ db }: OpenedDatabase, accountId: AccountId) {
  return db
    .selectFrom('ledger')
    .select('number')
    .where('account_id', '=', accountId)
    .orderBy('number', 'desc')
    .limit(1)
    .executeTakeFirstOrThrow()
}
