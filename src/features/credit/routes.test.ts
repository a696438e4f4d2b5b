import assert from 'node:assert/strict'
import { DatabaseSync, type SQLInputValue } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { type KyselyPlugin, sql } from 'kysely'
import { sqliteTest, testIds } from '../../../test/support/database.ts'
import { openCreditFixture, serveRoutes, termsOf } from '../../../test/support/ledger/credit-service.ts'
import type { LedgerKind } from '../../db/schema/schema.ts'
import type { KeyId } from '../../domain/ids.ts'
import { callerOf } from '../../http/caller.ts'
import { auditWriter } from '../audit/log.ts'
import { creditAdminRoutes, ledgerRoutes } from './routes.ts'

const cursorKey = Buffer.alloc(32, 1)

async function setUp(t: TestContext) {
  const creditService = await openCreditFixture(t)
  const writeAudit = auditWriter({ now: creditService.now, ids: testIds })
  const admin = creditAdminRoutes({ ...creditService, callerOf, writeAudit })
  const routes = [ledgerRoutes({ ...creditService, callerOf, cursorKey }), admin]
  return { ...creditService, ask: await serveRoutes(t, creditService, routes) }
}

/** The number of a ledger row, which is digits 9 to 15 of its ID, in base 62. */
function numberOf(id: string): number {
  const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
  return [...id.slice(12, 19)].reduce((sum, digit) => 62 * sum + digits.indexOf(digit), 0)
}

test('every movement of credit is in the ledger, signed, with what it is of, the newest first', async (t) => {
  const { account, spend, credit, clock, ask } = await setUp(t)
  const free = await account('free')
  await credit.read(free)
  clock.now += 1000
  const [charged] = await spend(free, { costNanoUsd: 1_234_567n, keyId: 'key_b' as KeyId })
  clock.now = Date.UTC(2026, 5, 2)
  await credit.read(free)
  const { status, body } = await ask('/ledger', free.id)
  assert.equal(status, 200)
  const blank = { object: 'ledger_entry', completion_id: null, key_id: null, price_version: null, adjusts: null }
  const charge = { completion_id: charged?.id, key_id: 'key_b', price_version: 'v1', note: null }
  const june = '2026-06-02T00:00:00.000Z'
  assert.deepEqual(
    body.data.map(({ id: _, ...row }: { id: string }) => row),
    [
      { ...blank, kind: 'grant', amount_usd: 5, balance_usd: 5, note: 'monthly allowance', created_at: june },
      {
        ...blank,
        kind: 'expiry',
        amount_usd: -4.998765433,
        balance_usd: 0,
        note: 'unused monthly allowance',
        created_at: june,
      },
      {
        ...blank,
        ...charge,
        kind: 'charge',
        amount_usd: -0.001234567,
        balance_usd: 4.998765433,
        created_at: '2026-05-05T12:00:01.000Z',
      },
      {
        ...blank,
        kind: 'grant',
        amount_usd: 5,
        balance_usd: 5,
        note: 'monthly allowance',
        created_at: '2026-05-05T12:00:00.000Z',
      },
    ],
  )
  const ids: string[] = body.data.map(({ id }: { id: string }) => id)
  for (const id of ids) assert.match(id, /^led_[0-9A-Za-z]{20,}$/)
  assert.deepEqual(ids, ids.toSorted().reverse())
  assert.deepEqual(ids.map(numberOf), [4, 3, 2, 1])
})

test('a row that corrects another names it by its id', async (t) => {
  const { account, spend, submit, ask } = await setUp(t)
  const payer = await account('pro')
  const [record] = await spend(payer, { costNanoUsd: 500n })
  assert.ok(record)
  const adjusts = { number: 1, completionId: record.id, keyId: record.keyId, priceVersion: 'v2' }
  const entry = { kind: 'refund', nanoUsd: 200n, note: 'price correction', adjusts } as const
  await submit({ kind: 'entry', accountId: payer.id, terms: termsOf('pro'), entry })
  const { body } = await ask('/ledger?order=asc', payer.id)
  const [charge, refund] = body.data
  assert.deepEqual([refund.adjusts, refund.completion_id, refund.price_version], [charge.id, record.id, 'v2'])
  assert.deepEqual([refund.amount_usd, refund.balance_usd, charge.adjusts], [2e-7, -3e-7, null])
  const again = await submit({ kind: 'entry', accountId: payer.id, terms: termsOf('pro'), entry })
  assert.equal(again.kind, 'already', 'a row is corrected once')
})

const FIRST = Date.UTC(2026, 4, 1)
const HOUR_MS = 3_600_000
const KINDS = ['grant', 'purchase', 'charge', 'refund'] as const satisfies readonly LedgerKind[]

test('INV-9: pages put together are exactly what the filter describes, in order, whatever comes meanwhile', async (t) => {
  const { account, spend, credit, clock, ask } = await setUp(t)
  const payer = await account('pro')
  const outsider = await account('pro')
  const made: { kind: LedgerKind; at: number }[] = []
  const add = async (kind: (typeof KINDS)[number]) => {
    if (kind === 'charge') await spend(payer, { costNanoUsd: 5n })
    else await credit.enter(payer, { kind, nanoUsd: 7n, note: undefined, adjusts: undefined })
    await spend(outsider, { costNanoUsd: 1n })
    made.push({ kind, at: clock.now })
  }
  clock.now = FIRST
  for (let index = 0; index < 60; index++) {
    await add(KINDS[index % 5 === 0 ? index % 4 : 2] ?? 'charge')
    if (index % 3 > 0) clock.now += HOUR_MS
  }
  const before = made.length
  const hours = fc.option(fc.integer({ min: -2, max: 45 }), { nil: undefined })
  const filter = fc.record({
    kind: fc.constantFrom(...KINDS, 'expiry', undefined, undefined),
    from: hours,
    to: hours,
    order: fc.constantFrom('asc', 'desc'),
    limit: fc.integer({ min: 1, max: 20 }),
  })
  const iso = (hour: number) => new Date(FIRST + hour * HOUR_MS).toISOString()
  await fc.assert(
    fc.asyncProperty(filter, async ({ kind, from, to, order, limit }) => {
      fc.pre(from === undefined || to === undefined || from <= to)
      const numbers: number[] = []
      for (let cursor = ''; ; ) {
        const parameters = new URLSearchParams({
          order,
          limit: String(limit),
          ...(kind === undefined ? {} : { kind }),
          ...(from === undefined ? {} : { period_start: iso(from) }),
          ...(to === undefined ? {} : { period_end: iso(to) }),
          ...(cursor === '' ? {} : { cursor }),
        })
        const { status, body, text } = await ask(`/ledger?${parameters}`, payer.id)
        assert.equal(status, 200, text)
        for (const { id } of body.data) numbers.push(numberOf(id))
        if (body.next_cursor === null) break
        assert.equal(body.data.length, limit)
        cursor = body.next_cursor
        if (made.length < before + 10) await add('grant')
      }
      const expected = made
        .map((row, index) => ({ ...row, number: index + 1 }))
        .filter((row) => kind === undefined || row.kind === kind)
        .filter(({ at }) => from === undefined || at >= FIRST + from * HOUR_MS)
        .filter(({ at }) => to === undefined || at < FIRST + to * HOUR_MS)
        .map(({ number }) => number)
      const old = (each: readonly number[]) => each.filter((number) => number <= before)
      assert.deepEqual(old(numbers), old(order === 'asc' ? expected : expected.toReversed()))
      assert.equal(new Set(numbers).size, numbers.length)
    }),
    { numRuns: 60 },
  )
})

test('what cannot be read in a query is 400 with its parameter, and the ledger needs the scope billing', async (t) => {
  const { account, spend, ask } = await setUp(t)
  const payer = await account('pro')
  await spend(payer, {}, {}, {})
  for (const [url, param] of [
    ['/ledger?kind=gift', 'kind'],
    ['/ledger?period_start=soon', 'period_start'],
    ['/ledger?period_start=2026-05-02&period_end=2026-05-01', 'period_end'],
    ['/ledger?limit=0', 'limit'],
    ['/ledger?cursor=AAAA', 'cursor'],
  ] as const) {
    const { status, body } = await ask(url, payer.id)
    assert.deepEqual([status, body.error?.param], [400, param], url)
  }
  assert.equal((await ask('/ledger', `${payer.id} usage:read`)).status, 403)
  assert.equal((await ask('/usage/reconcile', `${payer.id} billing`)).status, 403)
  const page = await ask('/ledger?limit=1', payer.id)
  const other = await account('pro')
  const stolen = await ask(`/ledger?limit=1&cursor=${page.body.next_cursor}`, other.id)
  assert.deepEqual([stolen.status, stolen.body.error.param], [400, 'cursor'])
  assert.deepEqual((await ask('/ledger', other.id)).body, { data: [], has_more: false, next_cursor: null })
})

sqliteTest('no page of the ledger reads all of it', async (t) => {
  const creditService = await setUp(t)
  const payer = await creditService.account('pro')
  await creditService.spend(payer, {}, {}, {})
  const statements: { readonly sql: string; readonly parameters: readonly unknown[] }[] = []
  const noting: KyselyPlugin = {
    transformQuery({ node, queryId }) {
      statements.push(creditService.db.getExecutor().compileQuery(node, queryId))
      return node
    },
    transformResult: async ({ result }) => result,
  }
  const db = creditService.db.withPlugin(noting)
  const ask = await serveRoutes(t, creditService, [ledgerRoutes({ ...creditService, db, callerOf, cursorKey })])
  for (const kind of ['', '&kind=charge', '&kind=grant'])
    for (const order of ['asc', 'desc'])
      for (const period of ['', '&period_start=2026-05-01'])
        assert.equal((await ask(`/ledger?limit=2&order=${order}${kind}${period}`, payer.id)).status, 200)
  const judge = new DatabaseSync(creditService.path, { readOnly: true })
  t.after(() => judge.close())
  for (const statement of statements) {
    const plan = judge.prepare(`explain query plan ${statement.sql}`).all(...(statement.parameters as SQLInputValue[]))
    const steps = plan.map(({ detail }) => String(detail)).join('\n')
    assert.doesNotMatch(steps, /SCAN ledger|TEMP B-TREE/, statement.sql)
    assert.match(steps, /SEARCH ledger USING .*\(account_id=\?/, statement.sql)
    if (statement.sql.includes('<>')) assert.match(steps, /ledger_not_charges \(account_id=\? AND \(kind,number\)>/)
  }
})

test('INV-2: usage, reports, ledger, balance and holds are compared, to the last nano-dollar', async (t) => {
  const { account, spend, credit, reserve, submit, ask, db, database } = await setUp(t)
  const payer = await account('free')
  const empty = (await ask('/usage/reconcile', payer.id)).body
  assert.deepEqual([empty.ok, empty.rows_usd, empty.held_usd], [true, 0, 0])
  await credit.read(payer)
  await credit.enter(payer, { kind: 'purchase', nanoUsd: 1n, note: undefined, adjusts: undefined })
  const [record] = await spend(payer, { costNanoUsd: 1n }, { costNanoUsd: 2_000_000_000n }, { costNanoUsd: 0n })
  assert.ok(record)
  const adjusts = { number: 3, completionId: record.id, keyId: record.keyId, priceVersion: 'v2' }
  const correction = { kind: 'charge', nanoUsd: 3n, note: undefined, adjusts } as const
  await submit({ kind: 'entry', accountId: payer.id, terms: termsOf('free'), entry: correction })
  assert.equal((await reserve(payer, 500)).kind, 'held')
  await spend(await account('free'), { costNanoUsd: 9n })
  const whole = (await ask('/usage/reconcile', payer.id)).body
  assert.deepEqual(whole, {
    ok: true,
    rows_usd: 2.000000001,
    rollups_usd: 2.000000001,
    ledger_usd: 2.000000001,
    balance_usd: 2.999999997,
    expected_balance_usd: 2.999999997,
    held_usd: 5e-7,
    open_holds_usd: 5e-7,
  })
  const breakages = [
    ['balance_usd', 'update credit set balance_nano_usd = balance_nano_usd + 1', 'balance_nano_usd - 1'],
    ['held_usd', 'update credit set held_nano_usd = held_nano_usd + 1', 'held_nano_usd - 1'],
    ['rows_usd', 'update credit set retired_nano_usd = retired_nano_usd + 1', 'retired_nano_usd - 1'],
  ] as const
  for (const [field, breaking, mending] of breakages) {
    await sql.raw(`${breaking} where account_id = '${payer.id}'`).execute(db)
    const { ok, ...sums } = (await ask('/usage/reconcile', payer.id)).body
    assert.equal(ok, false, field)
    assert.notEqual(sums[field], whole[field])
    const [column] = mending.split(' ')
    await sql.raw(`update credit set ${column} = ${mending} where account_id = '${payer.id}'`).execute(db)
    assert.equal((await ask('/usage/reconcile', payer.id)).body.ok, true, field)
  }
  await db.deleteFrom('usage_rollup').where('account_id', '=', payer.id).execute()
  assert.deepEqual((await ask('/usage/reconcile', payer.id)).body, { ...whole, ok: false, rollups_usd: 0 })
  await database.ping()
})

test('the operator gives credit of three kinds, and gets the row of the ledger', async (t) => {
  const { account, ask } = await setUp(t)
  const payer = await account('pro')
  const operator = `${payer.id} operator`
  const url = `/admin/accounts/${payer.id}/credits`
  const give = (body: object, credential = operator) => ask(url, credential, { method: 'POST', body })
  let balance = 0
  for (const [kind, usd] of [
    ['grant', 1e-9],
    ['purchase', 100_000_000],
    ['refund', 2.5],
  ] as const) {
    const { status, body } = await give({ kind, usd, note: `a ${kind}` })
    balance += usd
    assert.equal(status, 201)
    assert.deepEqual([body.kind, body.amount_usd, body.balance_usd, body.note], [kind, usd, balance, `a ${kind}`])
    assert.deepEqual((await ask('/ledger?limit=1', payer.id)).body.data[0], body)
  }
  assert.equal((await give({ kind: 'grant', usd: 1 })).body.note, null)
  assert.equal((await give({ kind: 'grant', usd: 1, note: '' })).body.note, null)
  assert.equal((await ask('/ledger', payer.id)).body.data.length, 5)
})

test('R-D10: an amount that is not above zero, not exact or too large is refused, and moves nothing [limit: ledger-entry]', async (t) => {
  const { account, ask } = await setUp(t)
  const payer = await account('pro')
  const url = `/admin/accounts/${payer.id}/credits`
  const cases: readonly [object, number, string | undefined, string?][] = [
    [{ kind: 'grant', usd: 0 }, 400, 'usd', 'out_of_range'],
    [{ kind: 'grant', usd: -1 }, 400, 'usd', 'out_of_range'],
    [{ kind: 'grant', usd: 100_000_000.1 }, 400, 'usd', 'out_of_range'],
    [{ kind: 'grant', usd: 1e-10 }, 400, 'usd', 'out_of_range'],
    [{ kind: 'grant', usd: 0.1234567891 }, 400, 'usd', 'invalid_value'],
    [{ kind: 'grant', usd: '1' }, 400, 'usd', 'invalid_type'],
    [{ kind: 'grant' }, 400, 'usd', 'missing_field'],
    [{ usd: 1 }, 400, 'kind', 'missing_field'],
    [{ kind: 'charge', usd: 1 }, 400, 'kind', 'invalid_value'],
    [{ kind: 'expiry', usd: 1 }, 400, 'kind', 'invalid_value'],
    [{ kind: 'grant', usd: 1, note: 'x'.repeat(501) }, 400, 'note', 'out_of_range'],
    [{ kind: 'grant', usd: 1, note: 'a\u0000b' }, 400, 'note', 'invalid_value'],
    [{ kind: 'grant', usd: 1, account: 'acc_b' }, 400, 'account', 'unknown_field'],
  ]
  for (const [body, status, param, code] of cases) {
    const answer = await ask(url, `${payer.id} operator`, { method: 'POST', body })
    const { error } = answer.body
    assert.deepEqual([answer.status, error.param, error.code], [status, param, code], JSON.stringify(body))
  }
  const body = { kind: 'grant', usd: 1 }
  assert.equal((await ask(url, `${payer.id} billing,keys`, { method: 'POST', body })).status, 403)
  const nobody = await ask('/admin/accounts/acc_none/credits', `${payer.id} operator`, { method: 'POST', body })
  assert.deepEqual([nobody.status, nobody.body.error.code], [404, 'not_found'])
  assert.deepEqual((await ask('/ledger', payer.id)).body.data, [])
})
