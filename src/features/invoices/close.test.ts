import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import fc from 'fast-check'
import { sql } from 'kysely'
import { currentLocation, openLocation, temporaryDatabase, testIds } from '../../../test/support/database.ts'
import { ensureAccounts } from '../../../test/support/ledger/completions.ts'
import { type LedgerDays, ledgerDays } from '../../../test/support/ledger/ledger-days.ts'
import type { OpenedDatabase } from '../../db/database.ts'
import { DatabaseError } from '../../db/failure.ts'
import type { CompletionRecord } from '../../domain/completion.ts'
import { type AccountId, type KeyId, ledgerId, type TeamId } from '../../domain/ids.ts'
import { chargeNanoUsd } from '../../domain/price/price.ts'
import { markUp, type Price } from '../../domain/price/tariff.ts'
import { sumDimensions } from '../usage/dimensions.ts'
import { closeInvoices, invoiceJobs } from './close.ts'
import type { InvoiceDocument } from './document.ts'
import { listInvoices } from './routes.ts'

const HOUR_MS = 3_600_000
const MINUTE_MS = 60_000
const day = (month: number, date: number, hour = 12) => Date.UTC(2026, month - 1, date, hour)
/** The first moment of a month at which the month before may be closed. */
const closingTime = (month: number) => Date.UTC(2026, month - 1, 1) + HOUR_MS
const ada = 'acc_ada' as AccountId
const bob = 'acc_bob' as AccountId

const close = ({ db }: OpenedDatabase, now: number) => closeInvoices({ db, ids: testIds, now: () => now })
const invoicesOf = ({ db }: OpenedDatabase, accountId: AccountId) =>
  listInvoices(db, { accountId, order: 'asc', limit: 1_000, after: undefined })
const ledgerOf = ({ db }: OpenedDatabase, accountId: AccountId) =>
  db.selectFrom('ledger').selectAll().where('account_id', '=', accountId).orderBy('number').execute()

test('a month becomes an invoice: charges by model, corrections, credits, and balances that join', async (t) => {
  const database = await temporaryDatabase(t)
  const ledger = await ledgerDays(database, ada)
  await ledger.enter(day(1, 1), { kind: 'grant', nanoUsd: 5_000n })
  const before = await ledger.charge(day(1, 2), { model: 'm1', costNanoUsd: 1_000n })
  await ledger.enter(day(2, 2), { kind: 'purchase', nanoUsd: 90_000n, note: 'by bank' })
  await ledger.charge(day(2, 3), { model: 'm1', promptTokens: 10, completionTokens: 1, costNanoUsd: 300n })
  await ledger.charge(day(2, 4), { model: 'm2', promptTokens: 7, completionTokens: 2, costNanoUsd: 900n })
  await ledger.charge(day(2, 5), { model: 'm1', promptTokens: 5, completionTokens: 3, costNanoUsd: 200n })
  await ledger.charge(day(2, 5), { model: 'free', costNanoUsd: 0n })
  const adjusts = { number: 2, completionId: before.id, keyId: before.keyId, priceVersion: 'v2' }
  const refund = await ledger.enter(day(2, 6), { kind: 'refund', nanoUsd: 40n, note: 'price corrected', adjusts })
  assert.equal(await close(database, closingTime(3)), 2)
  const [january, february] = await invoicesOf(database, ada)
  assert.ok(january && february)
  assert.deepEqual(february, {
    version: 1,
    id: february.id,
    number: 2,
    account: { id: ada, name: ada },
    period_start: Date.UTC(2026, 1, 1),
    period_end: Date.UTC(2026, 2, 1),
    closed_at: closingTime(3),
    entries: { first: 3, last: 7 },
    lines: [
      { model: 'm2', requests: 1, prompt_tokens: 7, completion_tokens: 2, cost_nano_usd: 900n },
      { model: 'm1', requests: 2, prompt_tokens: 15, completion_tokens: 4, cost_nano_usd: 500n },
    ],
    adjustments: {
      listed: [
        {
          id: ledgerId(ada, refund.number, day(2, 6)),
          kind: 'refund',
          amount_nano_usd: -40n,
          adjusts: ledgerId(ada, 2, day(1, 2)),
          completion_id: before.id,
          note: 'price corrected',
          created_at: day(2, 6),
        },
      ],
      unlisted: { entries: 0, amount_nano_usd: 0n },
      total_nano_usd: -40n,
    },
    credits: {
      listed: [
        {
          id: ledgerId(ada, 3, day(2, 2)),
          kind: 'purchase',
          amount_nano_usd: 90_000n,
          adjusts: null,
          completion_id: null,
          note: 'by bank',
          created_at: day(2, 2),
        },
      ],
      unlisted: { entries: 0, amount_nano_usd: 0n },
      total_nano_usd: 90_000n,
    },
    opening_balance_nano_usd: 4_000n,
    closing_balance_nano_usd: 92_640n,
    total_nano_usd: 1_360n,
    billing: { subtotal_nano_usd: 0n, taxes: [], payable_nano_usd: 0n },
  } satisfies InvoiceDocument)
  assert.deepEqual([january.number, january.opening_balance_nano_usd, january.total_nano_usd], [1, 0n, 1_000n])
  const row = await database.db.selectFrom('invoice').selectAll().where('number', '=', 2).executeTakeFirstOrThrow()
  assert.deepEqual([row.total_nano_usd, row.id, row.closed_at], [1_360n, february.id, closingTime(3)])
})

test('an invoice is the sum of its teams’ statements and of what has no team, to the nano-dollar', async (t) => {
  const database = await temporaryDatabase(t)
  const { db } = database
  const ledger = await ledgerDays(database, ada)
  const listed: Price = { inputMicroUsd: 270_001, outputMicroUsd: 1_100_003 }
  const sold = markUp(listed, { ppm: 125_000, requestFeeNanoUsd: 7 })
  const teams = [undefined, 'team_a', 'team_b', 'team_c'] as (TeamId | undefined)[]
  await ledger.charge(day(1, 31), { teamId: 'team_a' as TeamId, costNanoUsd: 1n })
  const records: CompletionRecord[] = []
  for (let at = 0; at < 24; at++) {
    const tokens = { prompt: 1_001 + at * 37, completion: 13 + at }
    const record = await ledger.charge(day(2, 1 + at), {
      model: `m${at % 3}`,
      keyId: `key_${at % 5}` as KeyId,
      teamId: teams[at % 4],
      promptTokens: tokens.prompt,
      completionTokens: tokens.completion,
      costNanoUsd: chargeNanoUsd(tokens, sold),
      providerCostNanoUsd: chargeNanoUsd(tokens, listed),
    })
    records.push(record)
  }
  await (await ledgerDays(database, bob)).charge(day(2, 3), { teamId: 'team_a' as TeamId, costNanoUsd: 1n })
  const [first] = records
  assert.ok(first)
  const adjusts = { number: 2, completionId: first.id, keyId: first.keyId, priceVersion: 'v2' }
  await ledger.enter(day(2, 26), { kind: 'refund', nanoUsd: 5n, note: 'price corrected', adjusts })
  await ledger.charge(day(3, 1), { teamId: 'team_b' as TeamId, costNanoUsd: 1n })
  await close(database, closingTime(3))
  const invoice = (await invoicesOf(database, ada)).find(({ period_start: start }) => start === Date.UTC(2026, 1, 1))
  assert.ok(invoice)
  assert.deepEqual(invoice.billing?.taxes, [])
  const period = { start: invoice.period_start, end: invoice.period_end }
  const none = { model: undefined, keyId: undefined, provider: undefined, clientRequestId: undefined }
  const statementOf = async (teamId: TeamId | undefined) => {
    const filter = { ...none, teamId }
    const choice = { period, filter, dimensions: ['team'] as const, kindOf: () => 'chat' as const }
    const { sums } = await sumDimensions(db, ada, choice)
    const own = teamId === undefined ? sums.filter(({ values }) => values?.[0] === null) : sums
    return own.reduce((sum, { costNanoUsd }) => sum + costNanoUsd, 0n)
  }
  const statements = await Promise.all(teams.map(statementOf))
  assert.ok(statements.every((cost) => cost > 0n))
  const sum = statements.reduce((total, cost) => total + cost, 0n)
  assert.equal(
    sum,
    invoice.lines.reduce((total, line) => total + line.cost_nano_usd, 0n),
  )
  assert.deepEqual([invoice.adjustments.total_nano_usd, invoice.total_nano_usd], [-5n, sum - 5n])
  const costs = records.map(({ providerCostNanoUsd = 0n }) => providerCostNanoUsd)
  assert.ok(sum > costs.reduce((total, cost) => total + cost, 0n), 'the markup is on the invoice')
})

test('what expires of an allowance is on the invoice of the month in which it does', async (t) => {
  const database = await temporaryDatabase(t)
  const ledger = await ledgerDays(database, ada)
  await ledger.touch(day(1, 1), 5_000n)
  await ledger.touch(day(2, 1), 5_000n)
  await close(database, closingTime(3))
  const [, february] = await invoicesOf(database, ada)
  const credits = february?.credits.listed.map(({ kind, amount_nano_usd }) => [kind, amount_nano_usd])
  assert.deepEqual(credits, [
    ['expiry', -5_000n],
    ['grant', 5_000n],
  ])
  assert.deepEqual([february?.total_nano_usd, february?.closing_balance_nano_usd], [0n, 5_000n])
})

test('a month is the rows of its ledger: what lands a moment later is the next month’s, whenever it began', async (t) => {
  const database = await temporaryDatabase(t)
  const ledger = await ledgerDays(database, ada)
  const end = Date.UTC(2026, 1, 1)
  await ledger.charge(end - 1, { costNanoUsd: 1n })
  await ledger.charge(end, { costNanoUsd: 2n, createdAt: end - MINUTE_MS })
  await ledger.charge(end + 1, { costNanoUsd: 4n })
  await close(database, closingTime(3))
  assert.deepEqual(
    (await invoicesOf(database, ada)).map(({ total_nano_usd }) => total_nano_usd),
    [1n, 6n],
  )
})

test('a month is closed when it has been over for an hour; months without rows have no invoice and no number', async (t) => {
  const database = await temporaryDatabase(t)
  const ledger = await ledgerDays(database, ada)
  await ledger.charge(day(1, 5))
  assert.equal(await close(database, closingTime(2) - 1), 0)
  assert.equal(await close(database, closingTime(2)), 1)
  assert.equal(await close(database, closingTime(2)), 0)
  assert.equal(await close(database, closingTime(3)), 0)
  await ledger.charge(day(4, 5))
  await ledger.charge(day(7, 5))
  await (await ledgerDays(database, bob)).charge(day(4, 5))
  assert.equal(await close(database, closingTime(9)), 3)
  const periods = (await invoicesOf(database, ada)).map(({ number, period_start }) => [number, period_start])
  assert.deepEqual(periods, [
    [1, Date.UTC(2026, 0, 1)],
    [2, Date.UTC(2026, 3, 1)],
    [3, Date.UTC(2026, 6, 1)],
  ])
  assert.equal((await invoicesOf(database, bob))[0]?.number, 1)
})

test('INV-9: a closed invoice stays as it is, whatever becomes of usage, names and later corrections', async (t) => {
  const database = await temporaryDatabase(t)
  const { db } = database
  const ledger = await ledgerDays(database, ada)
  const charged = await ledger.charge(day(1, 5), { costNanoUsd: 500n })
  await close(database, closingTime(2))
  const before = await db.selectFrom('invoice').selectAll().execute()
  await db.deleteFrom('completion').execute()
  await db.updateTable('account').set({ name: 'another' }).execute()
  const adjusts = { number: 1, completionId: charged.id, keyId: charged.keyId, priceVersion: 'v2' }
  await ledger.enter(day(2, 5), { kind: 'refund', nanoUsd: 100n, adjusts })
  await close(database, closingTime(3))
  assert.deepEqual(await db.selectFrom('invoice').selectAll().where('number', '=', 1).execute(), before)
  const refused = (error: unknown) => error instanceof DatabaseError && /append-only/.test(error.message)
  await assert.rejects(db.updateTable('invoice').set({ total_nano_usd: 0n }).execute(), refused)
  await assert.rejects(db.deleteFrom('invoice').execute(), refused)
})

test('a row that a clock put into a closed month is on the next invoice', async (t) => {
  const database = await temporaryDatabase(t)
  const ledger = await ledgerDays(database, ada)
  await ledger.charge(day(1, 5), { costNanoUsd: 1n })
  await close(database, closingTime(2))
  await ledger.charge(day(1, 20), { costNanoUsd: 2n })
  await ledger.charge(day(2, 20), { costNanoUsd: 4n })
  await close(database, closingTime(3))
  const invoices = await invoicesOf(database, ada)
  assert.deepEqual(
    invoices.map(({ total_nano_usd }) => total_nano_usd),
    [1n, 6n],
  )
  assert.deepEqual(
    invoices.map(({ period_start }) => period_start),
    [Date.UTC(2026, 0, 1), Date.UTC(2026, 1, 1)],
  )
})

test('many that close at once, in several processes, make each invoice once and leave no gap', async (t) => {
  const path = await currentLocation(t)
  const database = await temporaryDatabase(t, path)
  const accounts = Array.from({ length: 4 }, (_, index) => `acc_${index}` as AccountId)
  for (const account of accounts) {
    const ledger = await ledgerDays(database, account)
    for (const month of [1, 2, 3, 5, 6]) await ledger.charge(day(month, 3))
  }
  const url = (file: string) => JSON.stringify(new URL(file, import.meta.url).href)
  const code = `
    import { randomBytes } from 'node:crypto'
    import { openLocation } from ${url('../../../test/support/database.ts')}
    import { createIdSource } from ${url('../../domain/ids.ts')}
    import { closeInvoices } from ${url('./close.ts')}
    const database = await openLocation(${JSON.stringify(path)})
    const ids = createIdSource(Date.now, randomBytes)
    process.stdout.write('ready\\n')
    process.stdin.once('data', async () => {
      const closed = await closeInvoices({ db: database.db, ids, now: () => ${closingTime(7)} })
      await database.close()
      process.stdout.write(String(closed))
      process.stdin.destroy()
    })`
  const other = spawn(process.execPath, ['--input-type=module', '-e', code], { stdio: ['pipe', 'pipe', 'inherit'] })
  t.after(() => other.kill('SIGKILL'))
  const chunks: string[] = []
  other.stdout.setEncoding('utf8').on('data', (chunk: string) => chunks.push(chunk))
  await once(other.stdout, 'data')
  const another = await openLocation(path)
  t.after(() => another.close())
  const ended = once(other, 'close')
  other.stdin.write('go\n')
  const closed = await Promise.all([database, another, database].map((each) => close(each, closingTime(7))))
  await ended
  const there = Number(chunks.join('').replace('ready\n', ''))
  assert.equal(
    closed.reduce((sum, count) => sum + count, there),
    accounts.length * 5,
  )
  for (const account of accounts) {
    assert.deepEqual(
      (await invoicesOf(database, account)).map(({ number }) => number),
      [1, 2, 3, 4, 5],
    )
  }
})

test('an account whose ledger does not add up is left, with its name, and keeps nobody waiting', async (t) => {
  const database = await temporaryDatabase(t)
  await (await ledgerDays(database, ada)).charge(day(1, 5))
  const [row] = await ledgerOf(database, ada)
  assert.ok(row)
  await database.db
    .insertInto('ledger')
    .values({ ...row, number: 2, completion_id: null, kind: 'grant' })
    .execute()
  await database.db.updateTable('credit').set({ entries: 2 }).execute()
  await (await ledgerDays(database, bob)).charge(day(1, 5))
  await assert.rejects(
    close(database, closingTime(2)),
    /Accounts that could not be invoiced: 1\. acc_ada: Rows 1 to 2 /,
  )
  assert.deepEqual([(await invoicesOf(database, ada)).length, (await invoicesOf(database, bob)).length], [0, 1])
})

test('a long ledger is read in pieces; of very many corrections the first are listed, the others summed [limit: invoice-lists] [limit: invoice-rows]', async (t) => {
  const database = await temporaryDatabase(t)
  const { db } = database
  const ledger = await ledgerDays(database, ada)
  await ledger.charge(day(1, 5), { costNanoUsd: 10n })
  // Charges and corrections of them by turns: 6 000 of each.
  await sql`insert into ledger
    (account_id, number, kind, debit, credit, amount_nano_usd, balance_nano_usd, completion_id, adjusts, created_at)
    with recursive n (i) as (select 2 union all select i + 1 from n where i < 12001)
    select ${ada}, i, case i % 2 when 0 then 'charge' else 'refund' end,
      case i % 2 when 0 then 'credit' else 'refunds' end, case i % 2 when 0 then 'revenue' else 'credit' end,
      case i % 2 when 0 then 5 else 3 end, -10 - 2 * ((i - 1) / 2) - case i % 2 when 0 then 5 else 0 end,
      'chatcmpl-' || i, case i % 2 when 0 then null else i - 1 end, ${day(1, 6)} from n`.execute(db)
  await db
    .updateTable('credit')
    .set({ entries: 12_001, entered_at: day(1, 6) })
    .execute()
  assert.equal(await close(database, closingTime(2)), 1)
  const [invoice] = await invoicesOf(database, ada)
  assert.deepEqual(
    invoice?.lines.map(({ model, requests, cost_nano_usd }) => [model, requests, cost_nano_usd]),
    [
      ['unknown', 6_000, 30_000n],
      ['m1', 1, 10n],
    ],
  )
  assert.equal(invoice?.adjustments.listed.length, 1_000)
  assert.deepEqual(invoice?.adjustments.unlisted, { entries: 5_000, amount_nano_usd: -15_000n })
  assert.deepEqual([invoice?.total_nano_usd, invoice?.closing_balance_nano_usd], [12_010n, -12_010n])
})

const eventArbitrary = fc.record({
  afterMs: fc.oneof(fc.integer({ min: 0, max: 40 * 24 * HOUR_MS }), fc.constant(0)),
  kind: fc.constantFrom('charge', 'charge', 'charge', 'purchase', 'grant', 'refund', 'correct', 'touch', 'close'),
  amount: fc.bigInt({ min: 1n, max: 10n ** 13n }),
  model: fc.constantFrom('m1', 'm2', 'm3'),
})

test('INV-1, INV-2: every row is on one invoice, totals are the charges, and balances join without a gap', async (t) => {
  const database = await temporaryDatabase(t)
  let serial = 0
  await fc.assert(
    fc.asyncProperty(fc.array(eventArbitrary, { minLength: 1, maxLength: 25 }), async (events) => {
      const account = `acc_p${serial++}` as AccountId
      const ledger = await ledgerDays(database, account)
      let at = day(1, 1)
      for (const { afterMs, kind, amount, model } of events) {
        at += afterMs
        if (kind === 'close') await close(database, at)
        else if (kind === 'charge') await ledger.charge(at, { model, costNanoUsd: amount })
        else if (kind === 'touch') await ledger.touch(at, amount)
        else if (kind === 'correct') await correctSome(database, { account, ledger, at, amount })
        else await ledger.enter(at, { kind, nanoUsd: amount })
      }
      await close(database, at + 62 * 24 * HOUR_MS)
      checkInvoices(await invoicesOf(database, account), await ledgerOf(database, account))
    }),
    { numRuns: 40 },
  )
})

async function correctSome(
  database: OpenedDatabase,
  { account, ledger, at, amount }: { account: AccountId; ledger: LedgerDays; at: number; amount: bigint },
): Promise<void> {
  const rows = await ledgerOf(database, account)
  const corrected = new Set(rows.map(({ adjusts }) => adjusts))
  const row = rows.find(({ kind, number, adjusts }) => kind === 'charge' && adjusts === null && !corrected.has(number))
  if (row?.completion_id === undefined || row.completion_id === null) return
  const { number, completion_id: completionId } = row
  const adjusts = { number, completionId, keyId: row.key_id ?? undefined, priceVersion: 'v2' }
  await ledger.enter(at, { kind: amount % 2n === 0n ? 'charge' : 'refund', nanoUsd: amount, adjusts })
}

function checkInvoices(invoices: readonly InvoiceDocument[], rows: Awaited<ReturnType<typeof ledgerOf>>): void {
  let next = 1
  let balance = 0n
  for (const [index, invoice] of invoices.entries()) {
    assert.equal(invoice.number, index + 1)
    assert.equal(invoice.entries.first, next)
    assert.equal(invoice.opening_balance_nano_usd, balance)
    const own = rows.slice(invoice.entries.first - 1, invoice.entries.last)
    for (const { created_at } of own) {
      assert.ok(created_at >= invoice.period_start && created_at < invoice.period_end)
    }
    const charged = own.reduce((sum, { kind, adjusts, amount_nano_usd }) => {
      if (kind === 'charge') return sum + amount_nano_usd
      return kind === 'refund' && adjusts !== null ? sum - amount_nano_usd : sum
    }, 0n)
    assert.equal(invoice.total_nano_usd, charged)
    next = invoice.entries.last + 1
    balance = invoice.closing_balance_nano_usd
    assert.equal(balance, own.at(-1)?.balance_nano_usd)
  }
  assert.equal(next, rows.length + 1)
}

test('closing is a job that runs every hour, and stops when asked to', async (t) => {
  const database = await temporaryDatabase(t)
  await (await ledgerDays(database, ada)).charge(day(1, 5))
  const kind = invoiceJobs({ db: database.db, ids: testIds, now: () => closingTime(2) })['invoices.close']
  assert.equal(kind?.everyMs, HOUR_MS)
  const job = { id: 'job_1', kind: 'invoices.close', name: 'schedule', payload: null, attempt: 1, createdAt: 1 }
  const stopped = { signal: AbortSignal.abort(new Error('stopped')), stillMine: async () => true }
  await assert.rejects(async () => kind?.handler(job, stopped), /stopped/)
  assert.equal((await invoicesOf(database, ada)).length, 0)
  await kind?.handler(job, { signal: new AbortController().signal, stillMine: async () => true })
  assert.equal((await invoicesOf(database, ada)).length, 1)
})

test('an account without a ledger has no invoice', async (t) => {
  const database = await temporaryDatabase(t)
  await ensureAccounts(database, [ada])
  assert.equal(await close(database, closingTime(6)), 0)
})
