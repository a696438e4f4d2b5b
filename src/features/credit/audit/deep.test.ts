import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { auditedLedger, seedMonths } from '../../../../test/support/ledger/audited-ledger.ts'
import { serveRoutes } from '../../../../test/support/ledger/credit-service.ts'
import { callerOf } from '../../../http/caller.ts'
import { ledgerRoutes } from '../routes.ts'

async function setUp(t: TestContext, deepBudgetMs: number) {
  const ledger = await auditedLedger(t)
  const payer = await seedMonths(ledger)
  const routes = ledgerRoutes({ ...ledger, callerOf, cursorKey: Buffer.alloc(32, 1), deepBudgetMs })
  const ask = await serveRoutes(t, ledger, [routes])
  return { ...ledger, payer, get: (query: string, id: string = payer.id) => ask(`/usage/reconcile${query}`, id) }
}

test('reconcile with deep=true audits the account of the caller, and is ok only if nothing is found', async (t) => {
  const { get, payer, ...ledger } = await setUp(t, 60_000)
  const plain = (await get('')).body
  assert.deepEqual([plain.ok, plain.audit], [true, undefined])
  const { audit, ...sums } = (await get('?deep=true')).body
  assert.deepEqual(sums, plain)
  assert.deepEqual([audit.status, audit.cursor, audit.findings_count, audit.findings], ['complete', null, 0, []])
  await ledger.break('update credit set spent_nano_usd = 7')
  const wrong = (await get('?deep=true')).body
  assert.deepEqual([wrong.ok, wrong.audit.findings_count], [false, 1])
  assert.deepEqual(wrong.audit.findings, [
    { account_id: payer.id, kind: 'spent', subject: 'credit', expected: '611405', actual: '7' },
  ])
})

test('what does not fit the time of a request is partial, and its cursor goes on, for its account alone', async (t) => {
  const { get, account, db } = await setUp(t, 0)
  let { audit } = (await get('?deep=true')).body
  let requests = 1
  for (; audit.status === 'partial'; requests++) {
    const { rows, cursor } = audit
    audit = (await get(`?deep=true&cursor=${cursor}`)).body.audit
    assert.ok(audit.rows >= rows)
  }
  assert.ok(requests > 3, `${requests} requests`)
  assert.deepEqual([audit.status, audit.findings], ['complete', []])

  const { cursor } = (await get('?deep=true')).body.audit
  const outsider = await account('pro')
  const refused = await get(`?deep=true&cursor=${cursor}`, outsider.id)
  assert.deepEqual([refused.status, refused.body.error.param], [400, 'cursor'])
  await get('?deep=true')
  assert.equal((await get(`?deep=true&cursor=${cursor}`)).status, 400, 'a new one takes its place')
  const open = await db.selectFrom('ledger_audit').select('id').where('ended_at', 'is', null).execute()
  assert.equal(open.length, 1)
})
