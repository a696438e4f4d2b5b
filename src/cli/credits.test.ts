import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { environmentOf, locationFor } from '../../test/support/database.ts'
import { openCreditFixture } from '../../test/support/ledger/credit-service.ts'
import { runCommandHere } from '../../test/support/process/command-in-process.ts'
import type { AccountId } from '../domain/ids.ts'
import { findAccount } from '../features/accounts/queries.ts'

const CONFIG = `
accounts: { default_plan: free }
plans: { tiny: { monthly_credit_usd: 0.25 } }
models:
  - { id: our-coder, aliases: [coder], pricing: { input_per_million: 1, output_per_million: 3 }, deployments: [ { provider: openai, model: c } ] }
  - { id: priceless, pricing: null, deployments: [ { provider: openai, model: p } ] }
`

/** The command line with a data directory of the test's own, which does not exist yet. */
async function installation(t: TestContext) {
  const folder = await mkdtemp(join(tmpdir(), 'turnpike-cli-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  await writeFile(join(folder, 'turnpike.yaml'), CONFIG)
  const place = await locationFor(t, join(folder, 'data'))
  const env = { PATH: '', TURNPIKE_DATA_DIR: join(folder, 'data'), NO_COLOR: '1', ...environmentOf(place) }
  const turnpike = (...words: string[]) => runCommandHere(words, { cwd: folder, env })
  const json = async (...words: string[]) => {
    const { code, out, error } = await turnpike(...words, '--json')
    assert.equal(code, 0, error)
    return JSON.parse(out)
  }
  const create = async (plan: string) =>
    (await turnpike('accounts', 'create', '--name', plan, '--plan', plan)).out.trim()
  return { path: place, turnpike, json, create }
}

test('credit is granted and shown, by default for the first account, which has its allowance', async (t) => {
  const { turnpike, json } = await installation(t)
  const first = await json('credits', 'show')
  assert.match(first.account, /^acc_[0-9A-Za-z]{22}$/)
  assert.deepEqual(first, { account: first.account, balance_usd: 5, held_usd: 0, available_usd: 5 })
  const { code, out, error } = await turnpike('credits', 'grant', '--usd', '0.000000001')
  assert.deepEqual([code, out, error], [0, 'Account Default has a balance of 5.000000001 USD.\n', ''])
  const { id, created_at, ...row } = await json('credits', 'grant', '--usd', '12.50', '--note', 'welcome')
  assert.match(id, /^led_[0-9A-Za-z]{22}$/)
  assert.match(created_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  assert.deepEqual(row, {
    object: 'ledger_entry',
    kind: 'grant',
    amount_usd: 12.5,
    balance_usd: 17.500000001,
    completion_id: null,
    key_id: null,
    price_version: null,
    adjusts: null,
    note: 'welcome',
  })
  const shown = await turnpike('credits', 'show', '--account', first.account)
  const amounts = '17.500000001 USD, 0 USD of it held, 17.500000001 USD available'
  assert.equal(shown.out, `Account Default has a balance of ${amounts}.\n`)
})

test('purchases, refunds and debits are created once per idempotency key, and a debit requires a note', async (t) => {
  const { turnpike, json } = await installation(t)
  const bought = await json('credits', 'purchase', '--usd', '20', '--note', 'order 1', '--idempotency-key', 'o1')
  assert.deepEqual([bought.kind, bought.amount_usd, bought.balance_usd], ['purchase', 20, 25])
  assert.deepEqual(
    await json('credits', 'purchase', '--usd', '20.0', '--note', 'order 1', '--idempotency-key', 'o1'),
    bought,
  )
  const other = await turnpike('credits', 'purchase', '--usd', '21', '--idempotency-key', 'o1')
  assert.notEqual(other.code, 0)
  assert.match(other.error, /was used for another entry/)
  assert.equal((await json('credits', 'refund', '--usd', '1')).balance_usd, 26)
  const debit = await json('credits', 'debit', '--usd', '30', '--note', 'chargeback of order 1')
  assert.deepEqual([debit.kind, debit.amount_usd, debit.balance_usd], ['debit', -30, -4])
  for (const note of [[], ['--note', ' ']]) {
    assert.equal((await turnpike('credits', 'debit', '--usd', '1', ...note)).code, 2)
  }
  assert.equal((await json('credits', 'show')).balance_usd, -4)
})

test('an account receives the allowance of its plan at creation, and of a new plan at the change', async (t) => {
  const { json, turnpike, create, path } = await installation(t)
  const account = await create('tiny')
  assert.match(account, /^acc_[0-9A-Za-z]{22}$/)
  const { db } = await openCreditFixture(t, path)
  const balance = async () => {
    const row = await db.selectFrom('credit').select('balance_nano_usd').executeTakeFirst()
    return row?.balance_nano_usd
  }
  assert.equal(await balance(), 250_000_000n, 'without being asked for')
  const bare = await create('pro')
  assert.equal((await json('credits', 'show', '--account', bare)).balance_usd, 0)
  assert.equal((await turnpike('accounts', 'set-plan', bare, 'tiny')).code, 0)
  assert.equal((await json('credits', 'show', '--account', bare)).balance_usd, 0.25)
  const unlimited = await create('unlimited')
  assert.match((await turnpike('credits', 'show', '--account', unlimited)).out, /postpaid and has no credit limit/)
})

test('held credit is not available, and commands work while another process has the database open', async (t) => {
  const { json, create, path } = await installation(t)
  const id = (await create('pro')) as AccountId
  const creditService = await openCreditFixture(t, path)
  const account = await findAccount(creditService.db, id)
  assert.ok(account)
  const grants = ['1', '2', '3', '4'].map((usd) => json('credits', 'grant', '--account', id, '--usd', usd))
  await Promise.all([...grants, ...Array.from({ length: 20 }, () => creditService.spend(account, { costNanoUsd: 1n }))])
  assert.equal((await creditService.reserve(account, 500)).kind, 'held')
  const shown = await json('credits', 'show', '--account', id)
  assert.deepEqual(shown, { account: id, balance_usd: 9.99999998, held_usd: 5e-7, available_usd: 9.99999948 })
})

test('rerate reprices past charges of a model, for one or all accounts, and only once', async (t) => {
  const { json, turnpike, create, path } = await installation(t)
  const ids = [await create('pro'), await create('pro')]
  const creditService = await openCreditFixture(t, path)
  for (const id of ids) {
    const account = await findAccount(creditService.db, id as AccountId)
    assert.ok(account)
    await creditService.spend(account, { model: 'our-coder', costNanoUsd: 50_000n, createdAt: creditService.clock.now })
    await creditService.spend(account, { model: 'other', costNanoUsd: 50_000n })
  }
  const rerate = ['credits', 'rerate', '--model', 'coder', '--from', '2026-05-01']
  const dry = await turnpike(...rerate, '--all-accounts', '--dry-run')
  assert.equal(dry.out, '2 of 2 charges of our-coder would be corrected: 0.00005 USD refunded, 0 USD charged.\n')
  const one = await turnpike(...rerate, '--account', ids[0] ?? '')
  assert.equal(one.out, '1 of 1 charges of our-coder corrected: 0.000025 USD refunded, 0 USD charged.\n')
  const all = await json(...rerate, '--all-accounts')
  assert.match(all.price_version, /^pv_/)
  const { price_version: _, ...counts } = all
  assert.deepEqual(counts, {
    model: 'our-coder',
    dry_run: false,
    charges: 2,
    corrected: 1,
    without_usage: 0,
    refused: 0,
    charged_usd: 0,
    refunded_usd: 0.000025,
  })
  assert.equal((await json(...rerate, '--all-accounts')).corrected, 0)
  assert.equal((await json(...rerate, '--until', '2026-05-02', '--all-accounts')).charges, 0)
  const versions = creditService.db.selectFrom('price_version').select('id').where('model', '=', 'our-coder')
  assert.deepEqual(await versions.execute(), [{ id: all.price_version }])
})

test('unknown objects exit with 1, wrong usage with 2, each with one line that states the reason', async (t) => {
  const { turnpike } = await installation(t)
  const since = ['--since', '2026-01-01']
  const cases: readonly [number, RegExp, ...string[]][] = [
    [1, /Account acc_x does not exist/, 'credits', 'show', '--account', 'acc_x'],
    [1, /Account acc_x does not exist/, 'credits', 'grant', '--account', 'acc_x', '--usd', '1'],
    [1, /'our-coda' does not exist. Similar names: our-coder/, 'credits', 'rerate', '--model', 'our-coda', ...since],
    [1, /'priceless' has no price/, 'credits', 'rerate', '--model', 'priceless', ...since],
    [2, /--usd/, 'credits', 'grant'],
    [2, /above 0/, 'credits', 'grant', '--usd', '0'],
    [2, /above 0/, 'credits', 'grant', '--usd', '-5'],
    [2, /at most 9 decimals/, 'credits', 'grant', '--usd', '0.0000000001'],
    [2, /100000000/, 'credits', 'grant', '--usd', '100000000.1'],
    [2, /at most 500/, 'credits', 'grant', '--usd', '1', '--note', 'x'.repeat(501)],
    [2, /--from <time>/, 'credits', 'rerate', '--model', 'our-coder'],
    [2, /ISO 8601/, 'credits', 'rerate', '--model', 'our-coder', '--since', 'yesterday'],
    [2, /--to must be after --from/, 'credits', 'rerate', '--model', 'our-coder', ...since, '--until', '2026-01-01'],
    [
      2,
      /exclude each other/,
      'credits',
      'rerate',
      '--model',
      'coder',
      ...since,
      '--all-accounts',
      '--account',
      'acc_x',
    ],
    [2, /did you mean 'tiny'/, 'accounts', 'create', '--name', 'x', '--plan', 'tinny'],
  ]
  for (const [expected, message, ...words] of cases) {
    const { code, out, error } = await turnpike(...words)
    assert.deepEqual([code, out], [expected, ''], `${words.join(' ')}: ${error}`)
    assert.match(error, message)
    assert.equal(error.trimEnd().split('\n').length, 1, error)
  }
})
