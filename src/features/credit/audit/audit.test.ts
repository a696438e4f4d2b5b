import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type AuditedLedger,
  auditedLedger,
  DAY_MS,
  named,
  seedMonths,
} from '../../../../test/support/ledger/audited-ledger.ts'
import { termsOf } from '../../../../test/support/ledger/credit-service.ts'
import type { AccountId, CompletionId } from '../../../domain/ids.ts'
import type { Account } from '../../accounts/queries.ts'
import { retireUsage } from '../../retention/jobs.ts'
import { sumCompletions } from '../../usage/dimension-sums.ts'
import type { FindingKind } from './finding.ts'
import { renderAudit, runAudit } from './run.ts'
import { createAudit, findAudit, listFindings, type StoredAudit } from './store.ts'

test('a ledger that nobody has touched has no findings: corrections, refunds, debits, months, holds, invoices', async (t) => {
  const ledger = await auditedLedger(t)
  await seedMonths(ledger)
  await ledger.use(await ledger.account('unlimited'), {}, {})
  await ledger.account('pro')
  const { ended, findings, stored } = await ledger.audit()
  assert.deepEqual([ended, findings], [true, []])
  assert.equal(stored.progress.accounts, 3)
  assert.ok(stored.progress.rows >= 80, `${stored.progress.rows} rows`)
  await ledger.use(await ledger.account('pro'), {})
  assert.deepEqual((await ledger.audit()).findings, [], 'nor against the seals of the audit before')
})

test('a ledger whose usage rows retention has deleted has no findings either', async (t) => {
  const ledger = await auditedLedger(t)
  const payer = await seedMonths(ledger)
  ledger.clock.now += 440 * DAY_MS
  const { db, now } = ledger
  assert.ok((await retireUsage({ db, now })) > 0)
  assert.deepEqual((await ledger.audit()).findings, [])
  await ledger.use(payer, {})
  await sumCompletions(db)
  await sumCompletions(db)
  assert.deepEqual((await ledger.audit()).findings, [], 'no sums by dimension are expected of what was deleted before')
  await ledger.break('update credit set retired_nano_usd = retired_nano_usd - 7')
  assert.deepEqual(named((await ledger.audit()).findings), ['retired: charges', 'retired: sums'])
})

interface Fault {
  readonly name: string
  /** Of the account and a completion of it that was charged once and not corrected. */
  readonly sql: (account: string, completion: string) => string
  readonly found: (completion: string) => readonly string[]
}

const ofCompletion = (account: string, id: string) => `where account_id = '${account}' and id = '${id}'`
const FAULTS: readonly Fault[] = [
  {
    name: 'tokens zeroed',
    sql: (account, id) => `update completion set prompt_tokens = 0, completion_tokens = 0 ${ofCompletion(account, id)}`,
    found: (id) => [`cost: ${id}`, 'rollup_hour: 2026-06-04T12 m1 key_b'],
  },
  {
    name: 'tokens and cost zeroed',
    sql: (account, id) =>
      `update completion set prompt_tokens = 0, completion_tokens = 0, cost_nano_usd = 0 ${ofCompletion(account, id)}`,
    found: (id) => [`charge: ${id}`, 'rollup_hour: 2026-06-04T12 m1 key_b'],
  },
  {
    name: 'the price of another model',
    sql: (account, id) => `update completion set price_version = 'pv_other' ${ofCompletion(account, id)}`,
    found: (id) => [`cost: ${id}`, `price_version: ${id}`, `price_version: ${id}`],
  },
  {
    name: 'an older price of the model',
    sql: (account, id) => `update completion set price_version = 'pv_old' ${ofCompletion(account, id)}`,
    found: (id) => [`cost: ${id}`, `price_version: ${id}`],
  },
  {
    name: 'spent reset',
    sql: (account) => `update credit set spent_nano_usd = 0 where account_id = '${account}'`,
    found: () => ['spent: credit'],
  },
  {
    name: 'spent of a key reset',
    sql: (account) => `update key_spending set spent_nano_usd = 0 where account_id = '${account}'`,
    found: () => ['key_spent: key_b'],
  },
  {
    name: 'allowance raised',
    sql: (account) => `update credit set allowance_nano_usd = allowance_nano_usd + 1 where account_id = '${account}'`,
    found: () => ['allowance: credit'],
  },
  {
    name: 'allowance to be granted again',
    sql: (account) => `update credit set granted_month = granted_month - 1 where account_id = '${account}'`,
    found: () => ['allowance: granted month'],
  },
  {
    name: 'held lowered',
    sql: (account) => `update credit set held_nano_usd = 0 where account_id = '${account}'`,
    found: () => ['held: credit'],
  },
  {
    name: 'sums by hour halved',
    sql: (account) =>
      `update usage_hour set cost_nano_usd = cost_nano_usd / 2 where account_id = '${account}' and hour >= ${
        Date.UTC(2026, 5, 1) / 3_600_000
      }`,
    found: () => ['rollup_day: 2026-06-04 m1 key_b', 'rollup_hour: 2026-06-04T12 m1 key_b'],
  },
  {
    name: 'sums by day halved',
    sql: (account) =>
      `update usage_rollup set cost_nano_usd = cost_nano_usd / 2 where account_id = '${account}' and day >= ${
        Date.UTC(2026, 5, 1) / 86_400_000
      }`,
    found: () => ['rollup_day: 2026-06-04 m1 key_b'],
  },
  {
    name: 'a usage row deleted',
    sql: (account, id) => `delete from completion ${ofCompletion(account, id)}`,
    found: (id) => [`completion_missing: ${id}`, 'retired: charges', 'rollup_hour: 2026-06-04T12 m1 key_b'],
  },
  {
    name: 'the amount of a ledger row altered',
    sql: (account, id) =>
      `update ledger set amount_nano_usd = amount_nano_usd - 1 where account_id = '${account}' and completion_id = '${id}'`,
    found: (id) => [
      'allowance: credit',
      `charge: ${id}`,
      'key_spent: key_b',
      'ledger_balance: row 49',
      'spent: credit',
    ],
  },
  {
    name: 'the books of a ledger row altered',
    sql: (account) => `update ledger set debit = 'refunds' where account_id = '${account}' and kind = 'purchase'`,
    found: () => ['ledger_sides: row 4'],
  },
  {
    name: 'an invoice altered',
    sql: (account) =>
      `update invoice set total_nano_usd = total_nano_usd + 1 where account_id = '${account}' and number = 1`,
    found: () => ['invoice'],
  },
]

/** A completion of the last month. */
async function lastCharged({ db }: AuditedLedger, { id }: Account): Promise<CompletionId> {
  const row = await db
    .selectFrom('completion')
    .select('id')
    .where('account_id', '=', id)
    .where('cost_nano_usd', '>', 0n)
    .orderBy('id', 'desc')
    .executeTakeFirstOrThrow()
  return row.id
}

for (const fault of FAULTS) {
  test(`planted: ${fault.name}`, async (t) => {
    const ledger = await auditedLedger(t)
    const payer = await seedMonths(ledger)
    const neighbour = await ledger.account('pro')
    await ledger.use(neighbour, {})
    const completion = await lastCharged(ledger, payer)
    await ledger.break(fault.sql(payer.id, completion))
    const { findings, stored } = await ledger.audit()
    assert.ok(findings.every(({ accountId }) => accountId === payer.id))
    const expected = fault.found(completion).toSorted()
    const short = named(findings).map((text) => (text.startsWith('invoice:') ? 'invoice' : text))
    assert.deepEqual([...new Set(short)].toSorted(), [...new Set(expected)], JSON.stringify(findings, undefined, 1))
    const kinds = new Set(findings.map(({ kind }) => kind))
    assert.deepEqual(new Set(Object.keys(stored.progress.counts) as FindingKind[]), kinds)
  })
}

test('planted: a sum by provider lowered', async (t) => {
  const ledger = await auditedLedger(t)
  await seedMonths(ledger)
  await sumCompletions(ledger.db)
  await sumCompletions(ledger.db)
  assert.deepEqual((await ledger.audit()).findings, [])
  await ledger.break(
    `update usage_dimension set cost_nano_usd = cost_nano_usd - 1 where dimension = 'provider' and day = ${
      Date.UTC(2026, 3, 30) / DAY_MS
    }`,
  )
  assert.deepEqual(named((await ledger.audit()).findings), ['rollup_dimension: 2026-04-30 m1 provider'])
})

test('planted: a charge deleted with its number, and one made twice', async (t) => {
  const ledger = await auditedLedger(t)
  const payer = await seedMonths(ledger)
  const id = await lastCharged(ledger, payer)
  await ledger.break(`delete from ledger where account_id = '${payer.id}' and completion_id = '${id}'`)
  const short = named((await ledger.audit()).findings)
  assert.ok(short.includes(`charge_missing: ${id}`), short.join('\n'))
  assert.ok(
    short.some((text) => text.startsWith('ledger_gap: ')),
    short.join('\n'),
  )
})

test('planted: a purchase altered with all balances after it, which only the seals of an audit before can tell', async (t) => {
  for (const isSealed of [true, false]) {
    const ledger = await auditedLedger(t)
    const payer = await seedMonths(ledger)
    const purchase = { kind: 'purchase', nanoUsd: 100n, note: undefined, adjusts: undefined } as const
    const { entry } = await ledger.credit.enter(payer, purchase)
    await ledger.use(payer, {})
    if (isSealed) assert.deepEqual((await ledger.audit()).findings, [])
    const of = `where account_id = '${payer.id}'`
    await ledger.break(`update ledger set amount_nano_usd = 1000 ${of} and number = ${entry.number}`)
    await ledger.break(
      `update ledger set balance_nano_usd = balance_nano_usd + 900 ${of} and number >= ${entry.number}`,
    )
    await ledger.break(`update credit set balance_nano_usd = balance_nano_usd + 900 ${of}`)
    const found = named((await ledger.audit()).findings)
    assert.deepEqual(found, isSealed ? [`ledger_altered: rows 1 to ${entry.number + 1}`] : [])
    assert.deepEqual(named((await ledger.audit()).findings), found, 'the seal of before stays')
  }
})

test('an amount that no plan grants, and an allowance granted twice for a month', async (t) => {
  const ledger = await auditedLedger(t)
  const payer = await seedMonths(ledger)
  const of = `where account_id = '${payer.id}'`
  const { findings } = await ledger.audit({ allowances: new Set([7n]) })
  assert.deepEqual(new Set(findings.map(({ kind }) => kind)), new Set(['allowance_grant']))
  assert.equal(findings.length, 3)
  await ledger.break(`update credit set granted_month = granted_month - 1 ${of}`)
  await ledger.submit({ kind: 'touch', accountId: payer.id, terms: termsOf('free') })
  const twice = named((await ledger.audit()).findings)
  assert.ok(
    twice.some((text) => text.startsWith('allowance_grant: row ')),
    twice.join('\n'),
  )
})

test('an audit that is killed goes on where it was kept, and finds each thing once', async (t) => {
  const ledger = await auditedLedger(t)
  const payer = await seedMonths(ledger)
  for (let account = 0; account < 4; account++) await ledger.use(await ledger.account('pro'), {}, {})
  await ledger.break(`update credit set spent_nano_usd = 1 where account_id <> '${payer.id}'`)
  const whole = await ledger.audit()
  const stored = await createAudit(ledger.db, { accountId: undefined, since: undefined }, ledger.clock.now)
  let current: StoredAudit | undefined = stored
  for (let calls = 1; ; calls++) {
    const input = { db: ledger.db, now: ledger.now, allowances: undefined, budgetMs: 0 }
    if (await runAudit(input, current)) {
      assert.ok(calls > 10, `${calls} calls`)
      break
    }
    current = await findAudit(ledger.db, stored.id) // as another process reads it
    assert.ok(current)
  }
  assert.deepEqual(await listFindings(ledger.db, stored.id, 100), whole.findings)
  await assert.rejects(runAudit({ db: ledger.db, now: ledger.now, allowances: undefined, budgetMs: 0 }, stored), {
    code: 'conflict',
  })
})

test('of one kind and account 100 findings are kept, and all are counted [limit: audit-kept]', async (t) => {
  const ledger = await auditedLedger(t)
  const payer = await ledger.account('pro')
  await ledger.use(payer, ...Array.from({ length: 120 }, () => ({})))
  await ledger.break(`update completion set reasoning_tokens = 1, price_version = 'pv_none'`)
  const { findings, stored } = await ledger.audit()
  assert.deepEqual(stored.progress.counts, { price_version: 240 })
  assert.equal(findings.length, 100)
})

test('of findings 1 000 are listed [limit: audit-listed]', async (t) => {
  const ledger = await auditedLedger(t)
  const { stored } = await ledger.audit()
  const rows = Array.from({ length: 1_001 }, (_, at) => ({
    audit_id: stored.id,
    id: String(at),
    account_id: 'acc_a' as AccountId,
    kind: 'cost',
    subject: '',
    expected: '',
    actual: '',
  }))
  for (const part of [rows.slice(0, 500), rows.slice(500)]) {
    await ledger.db.insertInto('ledger_audit_finding').values(part).execute()
  }
  assert.equal((await renderAudit(ledger.db, stored)).findings.length, 1_000)
})
