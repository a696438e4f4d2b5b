import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { openCreditFixture, serveRoutes, termsOf } from '../../../test/support/ledger/credit-service.ts'
import { callerOf } from '../../http/caller.ts'
import { ledgerRoutes } from './routes.ts'

const DAY_MS = 24 * 3_600_000
const iso = (time: number) => new Date(time).toISOString()
const nano = (usd: number) => BigInt(Math.round(usd * 1e9))

async function setUp(t: TestContext) {
  const creditService = await openCreditFixture(t)
  return {
    ...creditService,
    ask: await serveRoutes(t, creditService, [
      ledgerRoutes({ ...creditService, callerOf, cursorKey: Buffer.alloc(32, 1) }),
    ]),
  }
}

test('a statement of the month has what was there, what moved it, what is there, and what was used', async (t) => {
  const { account, spend, credit, clock, ask } = await setUp(t)
  const free = await account('free')
  await credit.read(free)
  await spend(free, { costNanoUsd: 1_000_000_000n })
  clock.now = Date.UTC(2026, 5, 2)
  await credit.enter(free, { kind: 'purchase', nanoUsd: 20_000_000_001n, note: undefined, adjusts: undefined })
  await spend(
    free,
    { costNanoUsd: 2n },
    { costNanoUsd: 3n },
    { model: 'm2', costNanoUsd: 7n },
    { model: 'free', costNanoUsd: 0n },
  )
  await credit.enter(free, { kind: 'refund', nanoUsd: 5n, note: 'sorry', adjusts: undefined })
  const { status, body } = await ask('/ledger/statement', free.id)
  assert.equal(status, 200)
  assert.deepEqual(body, {
    object: 'statement',
    period_start: '2026-06-01T00:00:00.000Z',
    period_end: '2026-07-01T00:00:00.000Z',
    opening_usd: 4,
    grants_usd: 5,
    purchases_usd: 20.000000001,
    refunds_usd: 5e-9,
    debits_usd: 0,
    charges_usd: -12e-9,
    expiries_usd: -4,
    closing_usd: 24.999999994,
    by_model: [
      { model: 'm2', requests: 1, tokens: 15, cost_usd: 7e-9 },
      { model: 'm1', requests: 2, tokens: 30, cost_usd: 5e-9 },
      { model: 'free', requests: 1, tokens: 15, cost_usd: 0 },
    ],
  })
  const may = await ask('/ledger/statement?period_start=2026-05-01&period_end=2026-06-01', free.id)
  const { opening_usd, grants_usd, charges_usd, closing_usd } = may.body
  assert.deepEqual([opening_usd, grants_usd, charges_usd, closing_usd], [0, 5, -1, 4])
})

test('an account that nothing has moved yet has a statement of nothing', async (t) => {
  const { account, ask } = await setUp(t)
  const { body } = await ask('/ledger/statement', (await account('pro')).id)
  const { object, period_start, period_end, by_model, ...amounts } = body
  assert.deepEqual(Object.values(amounts), [0, 0, 0, 0, 0, 0, 0, 0])
  assert.deepEqual(by_model, [])
})

const FIRST = Date.UTC(2026, 4, 1)

test('opening and movements are closing, each the sum of its rows, and statements join without a gap', async (t) => {
  const { account, spend, credit, submit, clock, db, ask } = await setUp(t)
  const amount = fc.bigInt(1n, 10n ** 10n)
  const step = fc.record({
    kind: fc.constantFrom('charge', 'charge', 'grant', 'purchase', 'refund', 'correction up', 'correction down'),
    nanoUsd: amount,
    laterMs: fc.constantFrom(0, 1, DAY_MS / 3, DAY_MS, 9 * DAY_MS),
  })
  const cut = fc.integer({ min: -2, max: 60 })
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 15 }), fc.tuple(cut, cut, cut), async (steps, cuts) => {
      clock.now = FIRST
      const plan = steps.length % 2 === 0 ? 'free' : 'pro'
      const payer = await account(plan)
      for (const { kind, nanoUsd, laterMs } of steps) {
        clock.now += laterMs
        if (kind === 'charge') await spend(payer, { costNanoUsd: nanoUsd })
        else if (kind === 'grant' || kind === 'purchase' || kind === 'refund')
          await credit.enter(payer, { kind, nanoUsd, note: undefined, adjusts: undefined })
        else {
          const charge = await db
            .selectFrom('ledger as old')
            .leftJoin('ledger as new', (join) =>
              join.onRef('new.account_id', '=', 'old.account_id').onRef('new.adjusts', '=', 'old.number'),
            )
            .select(['old.number', 'old.completion_id'])
            .where('old.account_id', '=', payer.id)
            .where('old.completion_id', 'is not', null)
            .where('new.number', 'is', null)
            .executeTakeFirst()
          if (charge?.completion_id == null) continue
          const adjusts = {
            number: charge.number,
            completionId: charge.completion_id,
            keyId: undefined,
            priceVersion: 'v2',
          }
          const entry = { kind: kind === 'correction up' ? 'charge' : 'refund', nanoUsd, note: 'x', adjusts } as const
          await submit({ kind: 'entry', accountId: payer.id, terms: termsOf(plan), entry })
        }
      }
      const rows = await db.selectFrom('ledger').selectAll().where('account_id', '=', payer.id).execute()
      const [from, middle, to] = cuts.toSorted((one, other) => one - other).map((day) => FIRST + day * DAY_MS)
      assert.ok(from !== undefined && middle !== undefined && to !== undefined)
      const statementOf = async (start: number, end: number) => {
        const { status, body, text } = await ask(
          `/ledger/statement?period_start=${iso(start)}&period_end=${iso(end)}`,
          payer.id,
        )
        assert.equal(status, 200, text)
        const inside = rows.filter(({ created_at: at }) => at >= start && at < end)
        const sumOf = (kind: string) =>
          inside.reduce((sum, row) => (row.kind === kind ? sum + row.amount_nano_usd : sum), 0n)
        const amounts = {
          opening: nano(body.opening_usd),
          grant: nano(body.grants_usd),
          purchase: nano(body.purchases_usd),
          refund: nano(body.refunds_usd),
          debit: nano(body.debits_usd),
          charge: nano(body.charges_usd),
          expiry: nano(body.expiries_usd),
          closing: nano(body.closing_usd),
        }
        const { opening, closing, ...movements } = amounts
        assert.deepEqual(movements, {
          grant: sumOf('grant'),
          purchase: sumOf('purchase'),
          refund: sumOf('refund'),
          debit: -sumOf('debit'),
          charge: -sumOf('charge'),
          expiry: -sumOf('expiry'),
        })
        assert.equal(
          Object.values(movements).reduce((sum, one) => sum + one, opening),
          closing,
        )
        return amounts
      }
      const [whole, early, late] = [
        await statementOf(from, to),
        await statementOf(from, middle),
        await statementOf(middle, to),
      ]
      assert.deepEqual([early.opening, early.closing, late.closing], [whole.opening, late.opening, whole.closing])
    }),
    { numRuns: 40 },
  )
})

test('a statement is of whole days, of one’s own account, and needs the scope billing', async (t) => {
  const { account, spend, ask } = await setUp(t)
  const [payer, other] = [await account('pro'), await account('pro')]
  await spend(payer, { costNanoUsd: 5n })
  for (const [query, param] of [
    ['period_start=2026-05-01T00:00:01Z', 'period_start'],
    ['period_end=2026-05-05T12:00:00Z', 'period_end'],
    ['period_start=soon', 'period_start'],
    ['period_start=2026-05-02&period_end=2026-05-01', 'period_end'],
  ] as const) {
    const { status, body } = await ask(`/ledger/statement?${query}`, payer.id)
    assert.deepEqual([status, body.error?.param], [400, param], query)
  }
  assert.equal((await ask('/ledger/statement', `${payer.id} usage:read`)).status, 403)
  assert.equal((await ask('/ledger/statement', `${payer.id} billing`)).body.charges_usd, -5e-9)
  assert.deepEqual((await ask('/ledger/statement', other.id)).body.by_model, [])
})
