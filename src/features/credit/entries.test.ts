import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { temporaryLocation, testIds } from '../../../test/support/database.ts'
import { openCreditFixture, serveRoutes, termsOf } from '../../../test/support/ledger/credit-service.ts'
import type { AccountId } from '../../domain/ids.ts'
import { callerOf } from '../../http/caller.ts'
import { auditWriter } from '../audit/log.ts'
import type { EntryUnit } from './ledger/unit.ts'
import { creditAdminRoutes, ledgerRoutes } from './routes.ts'

async function setUp(t: TestContext, path?: string) {
  const creditService = await openCreditFixture(t, path)
  const writeAudit = auditWriter({ now: creditService.now, ids: testIds })
  const routes = [
    ledgerRoutes({ ...creditService, callerOf, cursorKey: Buffer.alloc(32, 1) }),
    creditAdminRoutes({ ...creditService, callerOf, writeAudit }),
  ]
  const ask = await serveRoutes(t, creditService, routes)
  const post = (id: AccountId, body: object, key?: string) =>
    ask(`/admin/accounts/${id}/credits`, `${id} operator`, {
      method: 'POST',
      body,
      headers: key === undefined ? {} : { 'idempotency-key': key },
    })
  const rows = async (id: AccountId) => (await ask('/ledger?order=asc', id)).body.data
  return { ...creditService, ask, post, rows }
}

test('under an idempotency key one entry is made, and every repeat gets the same answer', async (t) => {
  const { account, post, rows, db } = await setUp(t)
  const payer = await account('pro')
  const body = { kind: 'purchase', usd: 20, note: 'order 1' }
  const first = await post(payer.id, body, 'order-1')
  assert.deepEqual([first.status, first.headers['idempotent-replayed']], [201, undefined])
  await post(payer.id, { kind: 'grant', usd: 1 })
  const again = await post(payer.id, { note: 'order 1', usd: 20, kind: 'purchase' }, 'order-1')
  assert.deepEqual([again.status, again.headers['idempotent-replayed']], [201, 'true'])
  assert.equal(again.text, first.text)
  assert.equal((await rows(payer.id)).length, 2)
  const audited = await db.selectFrom('audit').select('action').where('action', '=', 'credit.given').execute()
  assert.equal(audited.length, 2, 'a repeat is not audited as an entry')

  for (const other of [
    { ...body, usd: 21 },
    { ...body, kind: 'grant' },
    { kind: 'purchase', usd: 20 },
  ]) {
    const refused = await post(payer.id, other, 'order-1')
    assert.deepEqual([refused.status, refused.body.error.code], [409, 'idempotency_key_reused'])
  }
  const malformed = await post(payer.id, body, 'ä')
  assert.deepEqual([malformed.status, malformed.body.error.code], [400, 'invalid_header'])
  const neighbour = await account('pro')
  const elsewhere = await post(neighbour.id, body, 'order-1')
  assert.equal(elsewhere.headers['idempotent-replayed'], undefined, 'keys belong to the account that is credited')
  assert.equal((await rows(payer.id)).length, 2)
})

test('of 40 at once with one key, in one process and in two, one makes the entry and all get it', async (t) => {
  const path = await temporaryLocation(t)
  const processes = [await setUp(t, path), await setUp(t, path)] as const
  const [one] = processes
  const payer = await one.account('pro')
  const body = { kind: 'refund', usd: 0.5, note: 'sorry' }
  const answers = await Promise.all(
    Array.from({ length: 40 }, (_, index) => processes[index % 2 === 0 ? 0 : 1].post(payer.id, body, 'k')),
  )
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([201]))
  assert.equal(new Set(answers.map(({ text }) => text)).size, 1)
  assert.equal(answers.filter(({ headers }) => headers['idempotent-replayed'] === undefined).length, 1)
  assert.equal((await one.rows(payer.id)).length, 1)
})

test('in one batch a key makes one entry as well, and another entry under it is refused', async (t) => {
  const { account, commit } = await setUp(t)
  const payer = await account('pro')
  const unit = (nanoUsd: bigint, fingerprint: string): EntryUnit => ({
    kind: 'entry',
    accountId: payer.id,
    terms: termsOf('pro'),
    entry: { kind: 'grant', nanoUsd, note: undefined, adjusts: undefined },
    once: { key: 'k', fingerprint: fingerprint.repeat(64) },
  })
  const outcomes = await commit([unit(5n, 'a'), unit(5n, 'a'), unit(6n, 'b')])
  assert.deepEqual(
    outcomes.map((outcome) => [outcome.kind, outcome.kind === 'entered' ? outcome.entry.number : undefined]),
    [
      ['entered', 1],
      ['entered', 1],
      ['key_reused', undefined],
    ],
  )
})

test('a debit needs a note, takes credit away, also below zero, and is neither spent nor an alert', async (t) => {
  const { account, ask, post, rows, db, credit, spend } = await setUp(t)
  const payer = await account('pro')
  for (const note of [undefined, '', '  ']) {
    const refused = await post(payer.id, { kind: 'debit', usd: 1, ...(note !== undefined && { note }) })
    assert.deepEqual([refused.status, refused.body.error.param], [400, 'note'])
  }
  await post(payer.id, { kind: 'purchase', usd: 10 })
  const debit = await post(payer.id, { kind: 'debit', usd: 12.5, note: 'chargeback' })
  assert.equal(debit.status, 201)
  assert.deepEqual([debit.body.kind, debit.body.amount_usd, debit.body.balance_usd], ['debit', -12.5, -2.5])
  const row = await db.selectFrom('ledger').select(['debit', 'credit']).where('kind', '=', 'debit').executeTakeFirst()
  assert.deepEqual(row, { debit: 'credit', credit: 'debits' })
  assert.equal((await rows(payer.id)).length, 2)
  assert.equal((await ask('/ledger?kind=debit', payer.id)).body.data.length, 1)
  const statement = (await ask('/ledger/statement?period_start=2026-05-01', payer.id)).body
  assert.deepEqual([statement.debits_usd, statement.charges_usd, statement.closing_usd], [-12.5, 0, -2.5])
  assert.equal((await ask('/usage/reconcile', payer.id)).body.ok, true)
  const state = await db.selectFrom('credit').select(['spent_nano_usd']).executeTakeFirst()
  assert.equal(state?.spent_nano_usd, 0n)
  assert.deepEqual(await db.selectFrom('usage_alert').selectAll().execute(), [])

  const free = await account('free')
  await credit.read(free)
  const allowance = async () => {
    const found = db.selectFrom('credit').select('allowance_nano_usd').where('account_id', '=', free.id)
    return (await found.executeTakeFirst())?.allowance_nano_usd
  }
  await post(free.id, { kind: 'grant', usd: 2 })
  await post(free.id, { kind: 'debit', usd: 1.5, note: 'correction' })
  assert.equal(await allowance(), 5_000_000_000n, 'what was given goes first')
  await post(free.id, { kind: 'debit', usd: 1.5, note: 'correction' })
  assert.equal(await allowance(), 4_000_000_000n)
  await post(free.id, { kind: 'debit', usd: 9, note: 'correction' })
  assert.equal(await allowance(), 0n)
  await spend(free, { costNanoUsd: 1n })
  assert.equal((await ask('/usage/reconcile', free.id)).body.ok, true)
})
