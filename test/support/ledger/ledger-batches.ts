/**
 * Batches of units at random, for any store of the ledger: what each must answer, and that the database then has what the
 * rules say, compared table by table.
 */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import { sql } from 'kysely'
import type { OpenedDatabase } from '../../../src/db/database.ts'
import type { AccountId, CompletionId, KeyId } from '../../../src/domain/ids.ts'
import type { NanoUsd } from '../../../src/domain/money.ts'
import { applyUnit } from '../../../src/features/credit/ledger/rules.ts'
import type { LedgerStore, Outcome, PlanTerms, Unit } from '../../../src/features/credit/ledger/unit.ts'
import { monthNumber, monthStart } from '../../../src/lib/time.ts'
import { completionRecord, ensureAccounts } from './completions.ts'
import { holdUnit, type MemoryLedger, memoryLedger, worldOf, write } from './credit-model.ts'

const START = Date.UTC(2026, 4, 20, 12)
const DAY_MS = 86_400_000
const DAYS_MS = 9 * DAY_MS

const TERMS: readonly PlanTerms[] = [
  { billing: 'prepaid', monthlyCreditNanoUsd: 5_000n },
  { billing: 'prepaid', monthlyCreditNanoUsd: 0n },
  { billing: 'postpaid', monthlyCreditNanoUsd: 0n },
]
const ACCOUNTS = 3
/** The last account is in no table: the database refuses everything about it. */
const UNKNOWN_ACCOUNT = ACCOUNTS - 1
const KEYS = 3
const REQUESTS = 8

/** A unit before it is known whose: numbers stand for accounts, keys and requests of the run. */
type Draft = typeof draftArbitrary extends fc.Arbitrary<infer Value> ? Value : never
const place = {
  account: fc.oneof(
    { weight: 12, arbitrary: fc.nat(UNKNOWN_ACCOUNT - 1) },
    { weight: 1, arbitrary: fc.constant(UNKNOWN_ACCOUNT) },
  ),
  key: fc.nat(KEYS - 1),
  request: fc.nat(REQUESTS - 1),
  terms: fc.constantFrom(...TERMS),
}
const amount = fc.bigInt(0n, 4_000n)
const keyBudget = fc.option(fc.bigInt(0n, 9_000n), { nil: undefined })
const draftArbitrary = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('hold'),
      ...place,
      tokens: fc.nat(3_000),
      flexible: fc.boolean(),
      keyBudget,
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('settle'),
      ...place,
      amount,
      unrecorded: fc.boolean(),
      isBroken: fc.integer({ min: 0, max: 14 }).map((n) => n === 0),
      ageDays: fc.nat(30),
      model: fc.constantFrom('m1', 'm2'),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('release'), ...place }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('extend'), ...place, amount, keyBudget }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('estimates'), ...place, amount }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('entry'),
      ...place,
      amount,
      of: fc.constantFrom('grant', 'purchase', 'refund', 'charge'),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('touch'), ...place }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('settings'),
      ...place,
      budget: fc.option(fc.bigInt(0n, 9_000n), { nil: null }),
      thresholds: fc.constantFrom([50, 80, 100], [100], [10, 90], []),
    }),
  },
)
const runArbitrary = fc.array(
  fc.record({ drafts: fc.array(draftArbitrary, { minLength: 1, maxLength: 12 }), stepMs: fc.nat(DAYS_MS) }),
  { minLength: 1, maxLength: 8 },
)

let runs = 0

function cast(draft: Draft, run: number, now: number): Unit {
  const accountId = `acc_${run}_${draft.account}` as AccountId
  const keyId = `key_${run}_${draft.account}_${draft.key}` as KeyId
  const id = `chatcmpl-${run}-${draft.account}-${draft.request}` as CompletionId
  const { terms } = draft
  switch (draft.kind) {
    case 'hold': {
      const { tokens: outputTokens, flexible, keyBudget: keyBudgetNanoUsd } = draft
      return holdUnit({
        accountId,
        keyId,
        id,
        terms,
        outputTokens,
        flexible,
        keyBudgetNanoUsd,
        promptTokens: 7,
        inputPrice: 300,
      })
    }
    case 'settle': {
      const createdAt = now - draft.ageDays * DAY_MS
      const promptTokens = draft.isBroken ? -1 : 3
      const record = completionRecord({
        id,
        accountId,
        keyId,
        createdAt,
        promptTokens,
        model: draft.model,
        costNanoUsd: draft.amount,
      })
      return { kind: 'settle', record, terms, unrecorded: draft.unrecorded, kept: undefined }
    }
    case 'release':
      return { kind: 'release', accountId, id }
    case 'extend':
      return { kind: 'extend', accountId, id, terms, keyBudgetNanoUsd: draft.keyBudget, nanoUsd: draft.amount }
    case 'estimates': {
      const costNanoUsd = draft.amount
      const fallback = costNanoUsd % 2n === 0n ? { model: 'm2', priceVersion: 'v2' } : undefined
      return {
        kind: 'estimates',
        estimates: [{ accountId, id, provider: 'other', promptTokens: 1, completionTokens: 2, costNanoUsd, fallback }],
      }
    }
    case 'entry': {
      const adjusts = { number: 0, completionId: id, keyId, priceVersion: 'v2' }
      const entry = {
        kind: draft.of,
        nanoUsd: draft.amount,
        note: undefined,
        adjusts: draft.of === 'charge' ? adjusts : undefined,
      }
      return { kind: 'entry', accountId, terms, entry }
    }
    case 'touch':
      return { kind: 'touch', accountId, terms }
    case 'settings':
      return {
        kind: 'settings',
        accountId,
        terms,
        monthlyBudgetNanoUsd: draft.budget,
        alertThresholds: draft.thresholds,
      }
  }
}

/** What the database refuses is `failed` and changes nothing. */
function expected(model: MemoryLedger, unit: Unit, now: number): Outcome {
  if (unit.kind === 'estimates') return { kind: 'done' }
  if (unit.kind === 'entry' && unit.entry.adjusts !== undefined && isCorrected(model, unit.accountId)) {
    return { kind: 'already' }
  }
  const world = { ...worldOf(model, unit, now), keySpentBefore: spentBefore(model, unit, now) }
  const applied = applyUnit(unit, world, now)
  const failed: Outcome = { kind: 'failed', message: 'refused' }
  if (applied.completion && unit.kind === 'settle' && unit.record.promptTokens < 0) return failed
  const accountId = unit.kind === 'settle' ? unit.record.accountId : unit.accountId
  if (applied.account !== undefined && accountId.endsWith(`_${UNKNOWN_ACCOUNT}`)) return failed
  return write(model, unit, applied)
}

/** A row is corrected once, and all corrections of these runs are of the same. */
function isCorrected({ rows }: MemoryLedger, accountId: AccountId): boolean {
  return rows.get(accountId)?.some(({ adjusts }) => adjusts === 0) ?? false
}

/** From the day on which the month began, by when the completions were asked for. */
function spentBefore({ completions }: MemoryLedger, unit: Unit, now: number): NanoUsd {
  if (unit.kind !== 'hold') return 0n
  const firstDay = monthStart(monthNumber(now))
  let sum = 0n
  for (const { keyId, createdAt, costNanoUsd } of completions.values())
    if (keyId === unit.keyId && createdAt >= firstDay) sum += costNanoUsd
  return sum
}

const plain = (outcome: Outcome) => (outcome.kind === 'failed' ? { kind: 'failed' } : outcome)

async function assertEqualTo({ db }: OpenedDatabase, model: MemoryLedger, run: number): Promise<void> {
  const ours = `acc_${run}\\_%`
  const like = sql<boolean>`account_id like ${ours} escape '\\'`
  const [credit, keys, holds, rows, completions, alerts] = await Promise.all([
    db.selectFrom('credit').selectAll().where(like).orderBy('account_id').execute(),
    db.selectFrom('key_spending').selectAll().where(like).orderBy('key_id').execute(),
    db.selectFrom('hold').selectAll().where(like).orderBy('id').execute(),
    db.selectFrom('ledger').selectAll().where(like).orderBy('account_id').orderBy('number').execute(),
    db.selectFrom('completion').select('id').where(like).orderBy('id').execute(),
    db.selectFrom('usage_alert').selectAll().where(like).execute(),
  ])
  const byName = <Value>(map: Map<string, Value>) => [...map].sort(([a], [b]) => (a < b ? -1 : 1))
  assert.deepEqual(
    credit.map((row) => [
      row.account_id,
      row.balance_nano_usd,
      row.held_nano_usd,
      row.allowance_nano_usd,
      row.month,
      row.granted_month,
      row.spent_nano_usd,
      row.entries,
      row.entered_at,
      row.monthly_budget_nano_usd,
      row.alert_thresholds,
    ]),
    byName(model.accounts).map(([id, state]) => [
      id,
      state.balance,
      state.held,
      state.allowance,
      state.month,
      state.grantedMonth,
      state.spent,
      state.entries,
      state.enteredAt,
      state.monthlyBudget ?? null,
      JSON.stringify(state.thresholds),
    ]),
  )
  assert.deepEqual(
    keys.map((row) => [row.key_id, row.month, row.spent_nano_usd, row.held_nano_usd]),
    byName(model.keys).map(([id, state]) => [id, state.month, state.spent, state.held]),
  )
  assert.deepEqual(
    holds.map((row) => [row.id, row.account_id, row.key_id, row.amount_nano_usd, row.of_key_budget === 1]),
    byName(model.holds).map(([id, hold]) => [id, hold.accountId, hold.keyId, hold.amount, hold.ofKeyBudget]),
  )
  assert.deepEqual(
    rows.map((row) => [
      row.account_id,
      row.number,
      row.kind,
      row.debit,
      row.credit,
      row.amount_nano_usd,
      row.balance_nano_usd,
      row.completion_id,
      row.key_id,
      row.price_version,
      row.adjusts,
      row.note,
      row.created_at,
    ]),
    byName(model.rows).flatMap(([id, entries]) =>
      entries.map((row) => [
        id,
        row.number,
        row.kind,
        row.debit,
        row.credit,
        row.amount,
        row.balance,
        row.completionId ?? null,
        row.keyId ?? null,
        row.priceVersion ?? null,
        row.adjusts ?? null,
        row.note ?? null,
        row.createdAt,
      ]),
    ),
  )
  assert.deepEqual(
    completions.map(({ id }) => id),
    [...model.completions.keys()].sort(),
  )
  const told = alerts.map((row): [string, readonly unknown[]] => [
    [row.account_id, row.month, row.event, row.basis, row.threshold].join(' '),
    [row.spent_nano_usd, row.limit_nano_usd, row.created_at, row.told],
  ])
  assert.deepEqual(
    new Map(told),
    new Map(byName(model.alerts).map(([name, { spent, limit, createdAt }]) => [name, [spent, limit, createdAt, 0]])),
  )
  await assertSums(db, ours)
}

/** What is summed somewhere is the sum of its rows. @param ours A pattern of account ids. */
export async function assertSums(db: OpenedDatabase['db'], ours: string): Promise<void> {
  const { rows } = await sql<{ account_id: string }>`
    with asked as (select account_id, key_id, model, count(*) n, sum(prompt_tokens) p, sum(completion_tokens) c, sum(cost_nano_usd) x
        from completion where account_id like ${ours} escape '\\' group by 1, 2, 3),
      days as (select account_id, key_id, model, sum(requests), sum(prompt_tokens), sum(completion_tokens), sum(cost_nano_usd)
        from usage_rollup where account_id like ${ours} escape '\\' group by 1, 2, 3),
      hours as (select account_id, key_id, model, sum(requests), sum(prompt_tokens), sum(completion_tokens), sum(cost_nano_usd)
        from usage_hour where account_id like ${ours} escape '\\' group by 1, 2, 3)
    select account_id from (select * from asked except select * from days) as a
    union all select account_id from (select * from days except select * from hours) as b
    union all select account_id from (select * from hours except select * from asked) as c
    union all select account_id from credit where account_id like ${ours} escape '\\' and
      (balance_nano_usd <> (select coalesce(sum(case when credit = 'credit' then amount_nano_usd else -amount_nano_usd end), 0) from ledger where ledger.account_id = credit.account_id)
        or held_nano_usd <> (select coalesce(sum(amount_nano_usd), 0) from hold where hold.account_id = credit.account_id))
    union all select account_id from key_spending where account_id like ${ours} escape '\\' and held_nano_usd <>
      (select coalesce(sum(amount_nano_usd), 0) from hold where hold.account_id = key_spending.account_id and hold.key_id = key_spending.key_id and of_key_budget = 1)`.execute(
    db,
  )
  assert.deepEqual(rows, [])
}

/** Throws with the first run of batches after which the database is not as the model. */
export async function assertAsRuled(
  { database, store }: { readonly database: OpenedDatabase; readonly store: LedgerStore },
  { numRuns }: { readonly numRuns: number },
): Promise<void> {
  await fc.assert(
    fc.asyncProperty(runArbitrary, async (batches) => {
      const run = ++runs
      const known = Array.from({ length: UNKNOWN_ACCOUNT }, (_, index) => `acc_${run}_${index}` as AccountId)
      await ensureAccounts(database, known)
      const model = memoryLedger()
      let now = START
      for (const { drafts, stepMs } of batches) {
        now += stepMs
        const units = drafts.map((draft) => cast(draft, run, now))
        const outcomes = await store.commit({ units, now })
        assert.deepEqual(
          outcomes.map(plain),
          units.map((unit) => plain(expected(model, unit, now))),
        )
        await assertEqualTo(database, model, run)
      }
    }),
    { numRuns },
  )
}
