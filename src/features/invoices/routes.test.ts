import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { temporaryDatabase, testIds } from '../../../test/support/database.ts'
import { keyCaller } from '../../../test/support/identity/caller.ts'
import { ensureAccounts } from '../../../test/support/ledger/completions.ts'
import { ledgerDays } from '../../../test/support/ledger/ledger-days.ts'
import type { OpenedDatabase } from '../../db/database.ts'
import type { AccountId } from '../../domain/ids.ts'
import { callerOf, requireCaller } from '../../http/caller.ts'
import { createHttpServer } from '../../http/server.ts'
import { closeInvoices } from './close.ts'
import { billingOf, type InvoiceTerms } from './document.ts'
import { invoicesRoutes } from './routes.ts'

const ada = 'acc_ada' as AccountId
const NOW = Date.UTC(2026, 11, 10)

/** The credential is the account's name; `acc_chat` alone may not see invoices. */
async function serve(t: TestContext, { db }: OpenedDatabase) {
  const app = await createHttpServer({
    newRequestId: () => 'req_fixed' as ReturnType<typeof testIds.request>,
    trustProxy: [],
    corsOrigins: [],
    onError: () => {},
    draining: () => false,
  })
  t.after(() => app.close())
  requireCaller(app, (account) =>
    keyCaller({
      accountId: account as AccountId,
      scopes: new Set(account === 'acc_chat' ? (['chat'] as const) : (['billing'] as const)),
    }),
  )
  await app.register(invoicesRoutes({ db, callerOf, cursorKey: Buffer.alloc(32, 1) }))
  return async (url: string, { account = 'acc_ada', accept }: { account?: string; accept?: string } = {}) => {
    const headers = { authorization: account, ...(accept === undefined ? {} : { accept }) }
    const answer = await app.inject({ url, headers })
    const isJson = String(answer.headers['content-type']).includes('json')
    const body = isJson ? JSON.parse(answer.body) : undefined
    return { status: answer.statusCode, headers: answer.headers, text: answer.body, body }
  }
}

async function withInvoices(t: TestContext, months: readonly number[], terms?: InvoiceTerms) {
  const database = await temporaryDatabase(t)
  await ensureAccounts(database, [ada])
  await database.db.updateTable('account').set({ name: 'Ada <b>&</b> "Co"' }).execute()
  const ledger = await ledgerDays(database, ada)
  for (const month of months) {
    await ledger.enter(Date.UTC(2026, month - 1, 2), { kind: 'purchase', nanoUsd: 12_345_678_500_000n, note: '=1+1' })
    const model = '<script>alert(1)</script>'
    await ledger.charge(Date.UTC(2026, month - 1, 3), {
      model,
      costNanoUsd: 1_234_000_000_001n,
      promptTokens: 1_234_567,
    })
    await ledger.charge(Date.UTC(2026, month - 1, 4), { model: 'm2', costNanoUsd: 500_000_000n })
  }
  await closeInvoices({ db: database.db, ids: testIds, now: () => NOW, terms: terms && (() => terms) })
  return { database, get: await serve(t, database) }
}

test('invoices are listed without their lines, the newest first, in pages', async (t) => {
  const { get } = await withInvoices(t, [1, 2, 4])
  const first = await get('/invoices?limit=2')
  assert.equal(first.status, 200)
  assert.deepEqual(
    first.body.data.map(({ number }: { number: number }) => number),
    [3, 2],
  )
  const { id, ...summary } = first.body.data[1]
  assert.match(id, /^inv_[0-9A-Za-z]{20,}$/)
  assert.deepEqual(summary, {
    object: 'invoice',
    number: 2,
    account: { id: ada, name: 'Ada <b>&</b> "Co"' },
    status: 'closed',
    currency: 'USD',
    period_start: '2026-02-01T00:00:00.000Z',
    period_end: '2026-03-01T00:00:00.000Z',
    opening_balance_usd: 11111.178499999,
    closing_balance_usd: 22222.356999998,
    total_usd: 1234.500000001,
    closed_at: '2026-12-10T00:00:00.000Z',
  })
  const rest = await get(`/invoices?limit=2&cursor=${first.body.next_cursor}`)
  assert.deepEqual([rest.body.data.length, rest.body.has_more, rest.body.next_cursor], [1, false, null])
  const ascending = await get('/invoices?order=asc')
  assert.deepEqual(
    ascending.body.data.map(({ number }: { number: number }) => number),
    [1, 2, 3],
  )
  assert.equal((await get(`/invoices?cursor=${first.body.next_cursor}`, { account: 'acc_bob' })).status, 400)
  assert.deepEqual((await get('/invoices', { account: 'acc_bob' })).body.data, [])
})

test('an invoice has its lines and movements', async (t) => {
  const { get } = await withInvoices(t, [1])
  const [{ id }] = (await get('/invoices')).body.data
  const { status, body } = await get(`/invoices/${id}`)
  assert.equal(status, 200)
  assert.deepEqual(body.lines, [
    {
      model: '<script>alert(1)</script>',
      requests: 1,
      prompt_tokens: 1_234_567,
      completion_tokens: 5,
      cost_usd: 1234.000000001,
    },
    { model: 'm2', requests: 1, prompt_tokens: 10, completion_tokens: 5, cost_usd: 0.5 },
  ])
  const [{ id: entry, ...credit }, ...others] = body.credits
  assert.match(entry, /^led_/)
  assert.deepEqual(credit, {
    kind: 'purchase',
    amount_usd: 12345.6785,
    note: '=1+1',
    created_at: '2026-01-02T00:00:00.000Z',
  })
  assert.deepEqual([others, body.adjustments, body.unlisted_credits], [[], [], { entries: 0, amount_usd: 0 }])
})

test('TEN-2: another account’s invoice answers exactly as one that never was', async (t) => {
  const { get } = await withInvoices(t, [1])
  const [{ id }] = (await get('/invoices')).body.data
  for (const format of ['json', 'html', 'csv']) {
    const others = await get(`/invoices/${id}?format=${format}`, { account: 'acc_bob' })
    const random = await get(`/invoices/${testIds.invoice()}?format=${format}`, { account: 'acc_bob' })
    assert.equal(others.status, 404)
    assert.equal(others.text, random.text)
    assert.equal(others.body.error.code, 'not_found')
  }
})

test('invoices need the scope billing', async (t) => {
  const { get } = await withInvoices(t, [])
  for (const url of ['/invoices', '/invoices/inv_1']) {
    assert.equal((await get(url, { account: 'acc_chat' })).body.error.code, 'insufficient_scope')
  }
})

test('as a page it is complete in itself, and nothing of an account or a model is markup', async (t) => {
  const { get } = await withInvoices(t, [1])
  const [{ id }] = (await get('/invoices')).body.data
  const { headers, text } = await get(`/invoices/${id}?format=html`)
  assert.equal(headers['content-type'], 'text/html; charset=utf-8')
  assert.match(String(headers['content-security-policy']), /default-src 'none'/)
  assert.equal(headers['cache-control'], 'no-store')
  assert.match(text, /2026-01 · No\. 1/)
  assert.match(text, /Ada &lt;b&gt;&amp;&lt;\/b&gt; &quot;Co&quot;/)
  assert.match(text, /&lt;script&gt;alert\(1\)&lt;\/script&gt;/)
  assert.doesNotMatch(text, /<script|<b>|https?:|src=|url\(|@import/)
  assert.match(text, /Total payable for January 2026<\/span><strong>USD <span title="1234\.5">1,234\.50<\/span>/)
  assert.match(text, /<td><span title="1234\.000000001">1,234\.00<\/span><\/td>/)
  assert.match(text, />0\.50<\/span><\/td>/)
  assert.match(text, /<span title="-1234\.500000001">−1,234\.50<\/span>/)
  assert.doesNotMatch(text, /Subtotal|From<|To</)
})

test('subtotal, taxes and what is payable are to the cent, with who bills whom; they stay as they were closed', async (t) => {
  const { get } = await withInvoices(t, [1], {
    seller: { name: 'Seller <i>Inc</i>', address: ['1 Main Street', 'Springfield'], tax_id: 'US-1' },
    taxes: [
      { name: 'VAT', percent: 19 },
      { name: 'City', percent: 0.375 },
    ],
    buyers: { [ada]: { address: ['Harbour <b>'] } },
  })
  const [{ id }] = (await get('/invoices')).body.data
  const { body } = await get(`/invoices/${id}`)
  assert.deepEqual(body.seller, {
    name: 'Seller <i>Inc</i>',
    address: ['1 Main Street', 'Springfield'],
    tax_id: 'US-1',
  })
  assert.deepEqual(body.buyer, { name: 'Ada <b>&</b> "Co"', address: ['Harbour <b>'], tax_id: null })
  assert.equal(body.subtotal_usd, 1234.5)
  assert.deepEqual(body.taxes, [
    { name: 'VAT', percent: 19, amount_usd: 234.56 }, // 234.555: halves away from zero
    { name: 'City', percent: 0.375, amount_usd: 4.63 },
  ])
  assert.equal(body.payable_usd, 1473.69)
  const page = (await get(`/invoices/${id}?format=html`)).text
  assert.match(
    page,
    /Seller &lt;i&gt;Inc&lt;\/i&gt;<small>1 Main Street<\/small><small>Springfield<\/small><small>Tax number US-1/,
  )
  assert.match(page, /VAT 19 %<\/th><td><span title="234\.56">234\.56/)
  assert.match(page, /Total payable for January 2026<\/span><strong>USD <span title="1473\.69">1,473\.69/)
  const file = (await get(`/invoices/${id}?format=csv`)).text
  assert.match(
    file,
    /subtotal,,,,,1234\.5,,,,,\r\ntax,VAT 19 %,,,,234\.56,,,,,\r\ntax,City 0\.375 %,,,,4\.63,,,,,\r\npayable,,,,,1473\.69/,
  )
})

test('a buyer can have taxes of their own, or none', () => {
  const owed = { account: { id: ada, name: 'Ada' }, total_nano_usd: -10_004_999_999n }
  const terms = { taxes: [{ name: 'VAT', percent: 20 }], buyers: { [ada]: { taxes: [] } } }
  assert.deepEqual(billingOf(owed, terms), {
    subtotal_nano_usd: -10_000_000_000n,
    taxes: [],
    payable_nano_usd: -10_000_000_000n,
  })
  const [tax] = billingOf(owed, { ...terms, buyers: {} }).taxes
  assert.equal(tax?.amount_nano_usd, -2_000_000_000n)
})

test('as a file it is exact decimal text, and no cell is a formula', async (t) => {
  const { get } = await withInvoices(t, [1])
  const [{ id }] = (await get('/invoices')).body.data
  const { headers, text } = await get(`/invoices/${id}?format=csv`)
  assert.equal(headers['content-type'], 'text/csv; charset=utf-8')
  assert.equal(headers['content-disposition'], 'attachment; filename="invoice-2026-01-1.csv"')
  const [head, ...rows] = text.trimEnd().split('\r\n')
  assert.equal(
    head,
    'type,item,requests,prompt_tokens,completion_tokens,amount_usd,created_at,entry,adjusts,completion_id,note',
  )
  const entry = rows.find((row) => row.startsWith('credit,'))
  assert.match(entry ?? '', /^credit,purchase,,,,12345\.6785,2026-01-02T00:00:00\.000Z,led_\w+,,,'=1\+1$/)
  assert.deepEqual(
    rows.filter((row) => row !== entry),
    [
      'opening_balance,,,,,0,,,,,',
      'line,<script>alert(1)</script>,1,1234567,5,1234.000000001,,,,,',
      'line,m2,1,10,5,0.5,,,,,',
      'total,,,,,1234.500000001,,,,,',
      'subtotal,,,,,1234.5,,,,,',
      'payable,,,,,1234.5,,,,,',
      'closing_balance,,,,,11111.178499999,,,,,',
    ],
  )
})

test('the format is asked for by name, or else by Accept', async (t) => {
  const { get } = await withInvoices(t, [1])
  const [{ id }] = (await get('/invoices')).body.data
  const typeOf = async (url: string, accept?: string) =>
    String((await get(url, accept === undefined ? {} : { accept })).headers['content-type']).split(';')[0]
  assert.equal(await typeOf(`/invoices/${id}`), 'application/json')
  assert.equal(await typeOf(`/invoices/${id}`, 'text/html'), 'text/html')
  assert.equal(await typeOf(`/invoices/${id}`, 'text/csv'), 'text/csv')
  assert.equal(await typeOf(`/invoices/${id}?format=json`, 'text/html'), 'application/json')
  assert.equal((await get(`/invoices/${id}?format=pdf`)).status, 400)
})
