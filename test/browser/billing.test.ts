/** Credit, ledger and invoices in the dashboard, to the last digit. Runs on one database: months of one account are looked at by all, and only one test changes a setting. */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { after, before, test } from 'node:test'
import type { Browser, Download, Locator, Page } from 'playwright-core'
import { decimalText, toNano } from '../../dashboard/src/lib/money.ts'
import { axeFindings, axeFindingsInBothThemes, overflow, startBrowser } from '../support/browser/browser.ts'
import { type Dashboard, startDashboard } from '../support/browser/dashboard.ts'
import { type BilledMonths, billMonths } from '../support/ledger/billed-months.ts'
import { startStripe, WEBHOOK_SECRET } from '../support/payments/stripe-double.ts'

const PLANS = { team: { monthly_credit_usd: 20, requests_per_minute: 600, billing: 'prepaid' } }
const endings: (() => unknown)[] = []
let browser: Browser
let dashboard: Dashboard
let billed: BilledMonths
let ask: (path: string) => Promise<{ readonly body: string; json<T>(): T }>

before(async () => {
  const t = { after: (end: () => unknown) => void endings.push(end) }
  browser = await startBrowser()
  const { url } = await startStripe(t)
  const stripe = { secret_key: 'sk_test_double', webhook_secret: WEBHOOK_SECRET, api_url: url }
  dashboard = await startDashboard(t, { plan: 'team', over: { plans: PLANS, stripe } })
  const { database, firstAccount } = dashboard
  const { id: keyId } = await dashboard.newKey('ci-runner')
  billed = await billMonths(database, { accountId: firstAccount, keyId, allowanceNanoUsd: 20_000_000_000n })
  ask = async (path) => dashboard.ask('GET', path, { token: await dashboard.ownerToken() })
})
after(async () => {
  await browser?.close()
  for (const end of endings) await end()
})

const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name, exact: true })
const line = (page: Page, name: string) =>
  page.locator('dl > div').filter({ has: page.locator('dt', { hasText: name }) })

/** The amount that a text ends with, in nano-dollars. */
function amountIn(text: string): bigint {
  const [, minus = '', digits = ''] = /(−?)\+?\$([\d,.]+)\s*$/.exec(text) ?? []
  const [whole = '', fraction = ''] = digits.replaceAll(',', '').split('.')
  return BigInt(`${minus === '' ? '' : '-'}${whole}${fraction.padEnd(9, '0')}`)
}

/** The last amount in an element, with all its digits: those are in its title. */
async function exactIn(within: Locator): Promise<bigint> {
  return amountIn((await within.locator('[title*="$"]').last().getAttribute('title')) ?? '')
}

interface LedgerRow {
  readonly kind: string
  readonly amount_usd: number
}

const sumOf = (amounts: readonly number[]) => amounts.reduce((sum, usd) => sum + toNano(usd), 0n)

test('J4: a statement, the ledger and usage are the same to the last digit, and lead to each other', async (t) => {
  const [, month, next] = billed.months
  const period = `period_start=${month}-01&period_end=${next}-01`
  const { data: rows } = (await ask(`/v1/ledger?limit=100&${period}`)).json<{ data: LedgerRow[] }>()
  const usage = (await ask(`/v1/usage?${period}`)).json<{ total_cost_usd: number }>()
  const page = await dashboard.open(t, browser, `/billing?month=${month}`)
  const shown = async (name: string) => exactIn(line(page, name))
  const kinds = { Grants: 'grant', Purchases: 'purchase', Refunds: 'refund', Charges: 'charge', Expiries: 'expiry' }
  let balance = await shown('Opening balance')
  for (const [name, kind] of Object.entries(kinds)) {
    const ofLedger = sumOf(rows.filter((row) => row.kind === kind).map(({ amount_usd }) => amount_usd))
    assert.equal(await shown(name), ofLedger, name)
    balance += ofLedger
  }
  assert.equal(await shown('Closing balance'), balance)
  assert.equal(await exactIn(page.getByRole('row', { name: /^Total/ })), toNano(usage.total_cost_usd))
  const lastDay = new Date(Date.parse(next) - 1).toISOString().slice(0, 10)
  const model = await page.getByRole('link', { name: 'gpt-5.4-mini' }).getAttribute('href')
  assert.match(String(model), new RegExp(`^/app/requests\\?range=custom&from=${month}-01&to=${lastDay}&model=gpt-5`))

  await page.getByRole('link', { name: 'Charges' }).click()
  await page.waitForURL(`**/billing?tab=ledger&kind=charge&month=${month}`)
  const charges = page.getByRole('group', { name: 'Ledger' }).locator('tbody tr')
  await page.getByRole('cell', { name: 'Charge', exact: true }).first().waitFor()
  assert.equal(await charges.count(), rows.filter(({ kind }) => kind === 'charge').length)
  const cause = await charges.first().getByRole('link').getAttribute('href')
  assert.match(String(cause), /^\/app\/requests\?request=chatcmpl-/)
  await page.getByText('Refunds', { exact: true }).click()
  await page.getByText('Corrects an earlier charge').waitFor()
  assert.equal(await charges.count(), 1)
  await page.goBack()
  await page.waitForURL(/kind=charge/)
  await page.goBack()
  await page.getByRole('heading', { name: 'Usage by model' }).waitFor()
})

test('the month is chosen in the address; usage is a file of the gateway', async (t) => {
  const [first, second] = billed.months
  const page = await dashboard.open(t, browser, `/billing?month=${second}`)
  await button(page, 'Previous month').click()
  await page.waitForURL(`**/billing?month=${first}`)
  await page.getByText('The sum equals the charges above exactly.').waitFor()
  assert.equal(await button(page, 'Previous month').isDisabled(), true)
  const [file] = await Promise.all([page.waitForEvent('download'), button(page, 'Usage as CSV').click()])
  const { body } = await ask(`/v1/usage?format=csv&group_by=model&period_start=${first}-01&period_end=${second}-01`)
  assert.equal(await textOf(file), body)
})

test('credit is bought on a page of Stripe; a saved method and automatic recharge are changed and removed', async (t) => {
  const page = await dashboard.open(t, browser, '/billing?tab=payments')
  await page.getByText('None is saved.').waitFor()
  assert.equal(await button(page, 'Save').isDisabled(), true)
  await page.getByLabel('When the balance is below').fill('5')
  await page.getByLabel('Add', { exact: true }).fill('20.001')
  await page.getByLabel('At most in a month').fill('100')
  await button(page, 'Save').click()
  await page.getByRole('alert').getByText('whole cents').waitFor()
  await page.getByLabel('Add', { exact: true }).fill('20')
  await button(page, 'Save').click()
  await page.getByText('It waits for a saved payment method.').waitFor()
  const { db } = dashboard.database
  const card = { payment_method_id: 'pm_card', card_brand: 'visa', card_last4: '4242' }
  await db.updateTable('payment_account').set(card).where('account_id', '=', dashboard.firstAccount).execute()
  await page.reload()
  await page.getByText('visa ending in 4242').waitFor()
  await page.getByText('It is on.').waitFor()
  assert.deepEqual(await axeFindings(page), [])
  await button(page, 'Remove').click()
  await button(page, 'Remove payment method').click()
  await page.getByText('None is saved.').waitFor()
  await page.getByText('It is off.').waitFor()

  await page.route('https://checkout.stripe.example/**', (route) => route.fulfill({ body: 'Pay here' }))
  await page.getByLabel('Amount').fill('12.5')
  await button(page, 'Continue to payment').click()
  await page.waitForURL('https://checkout.stripe.example/pay')
  const { id } = await db.selectFrom('payment').select('id').executeTakeFirstOrThrow()
  await page.goto(`${dashboard.url}/app/billing?payment=${id}`)
  const row = page.getByRole('row', { name: /Purchase/ })
  await row.getByText('Pending').waitFor()
  assert.match(await row.innerText(), /\$12\.50/)
  await db.updateTable('payment').set({ status: 'succeeded' }).execute()
  await row.getByText('Succeeded').waitFor()
})

test('a budget and its alerts are saved; a rejection is shown beside the field', async (t) => {
  const page = await dashboard.open(t, browser, '/billing?tab=budget')
  const budget = page.getByLabel('Monthly budget')
  await budget.fill('100.1234567891')
  await button(page, 'Save').click()
  await page.getByRole('alert').getByText('more than 9 decimals').waitFor()
  assert.match(await describedBy(page, 'Monthly budget'), /more than 9 decimals/)
  assert.equal(await budget.inputValue(), '100.1234567891')
  await budget.fill('250.5')
  const threshold = page.getByLabel('Alert at')
  for (const percent of ['90', '10', '20', '30', '40', '60', '70', '95']) {
    await threshold.fill(percent)
    await threshold.press('Enter')
  }
  await button(page, 'Save').click()
  await page.getByRole('alert').getByText('more than 10 items').waitFor()
  assert.match(await describedBy(page, 'Alert at'), /more than 10 items/)
  for (const percent of [10, 20, 30, 40, 50, 60, 70]) await button(page, `Remove ${percent}%`).click()
  await threshold.fill('1001')
  await page.getByText('Enter 1000 or less.').waitFor()
  assert.equal(await button(page, 'Add').isDisabled(), true)
  await threshold.fill('')
  await button(page, 'Save').click()
  await page.getByText('Budget and alerts saved').first().waitFor()
  await page.getByText('of the budget of $250.50').waitFor()
  const { monthly_budget_usd, alert_thresholds } = (await ask('/v1/account')).json<Record<string, unknown>>()
  assert.deepEqual([monthly_budget_usd, alert_thresholds], [250.5, [80, 90, 95, 100]])
})

test('an invoice is opened, adds up, is downloaded unchanged, and is printed alone', async (t) => {
  const [, month] = billed.months
  const page = await dashboard.open(t, browser, '/billing?tab=invoices')
  const { data } = (await ask('/v1/invoices')).json<{ data: { id: string; total_usd: number }[] }>()
  const [invoice] = data
  assert.ok(invoice)
  const row = page.getByRole('group', { name: 'Invoices' }).locator('tbody tr').first()
  assert.equal(await exactIn(row.getByRole('cell').nth(2)), toNano(invoice.total_usd))
  await row.getByRole('button', { name: 'Download invoice 2' }).click()
  const [json] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('menuitem', { name: 'JSON' }).click(),
  ])
  assert.deepEqual(JSON.parse(await textOf(json)), (await ask(`/v1/invoices/${invoice.id}`)).json())
  await row.getByRole('link').click()
  await page.waitForURL(`**/billing/invoices/${invoice.id}`)
  await page.getByText('Price corrected to that of the contract').waitFor()
  const cents = Math.round(invoice.total_usd * 100) / 100
  assert.equal(await exactIn(page.locator('p', { hasText: 'Total payable for' })), toNano(cents))
  assert.equal(await addedUp(page), decimalText(toNano(invoice.total_usd)))
  await button(page, 'Download').click()
  const [csv] = await Promise.all([page.waitForEvent('download'), page.getByRole('menuitem', { name: 'CSV' }).click()])
  assert.equal(csv.suggestedFilename(), `invoice-${month}-2.csv`)
  assert.equal(await textOf(csv), (await ask(`/v1/invoices/${invoice.id}?format=csv`)).body)
  await page.emulateMedia({ media: 'print' })
  assert.equal(await page.getByRole('navigation').first().isVisible(), false)
  assert.equal(await button(page, 'Print').isVisible(), false)
  assert.equal(await page.getByRole('heading', { level: 1, name: /^Invoice for/ }).isVisible(), true)
})

test('no data, no credit, rejections and failures: each is explained with what to do', async (t) => {
  const page = await dashboard.open(t, browser, '/billing?tab=ledger', {
    as: await dashboard.person(await poorAccount(), 'owner', 'poor@example.com'),
  })
  await page.getByText('No ledger entries yet').waitFor()
  await page.getByText('Out of credit', { exact: true }).waitFor()
  await page.getByText('Ask the operator of this installation').waitFor()
  await page.getByRole('tab', { name: 'Invoices' }).click()
  await page.getByText('No invoices yet').waitFor()
  const error = { message: 'Broken for a moment.', type: 'invalid_request_error', request_id: 'req_1' }
  await page.route('**/v1/ledger/statement?*', (route) => route.fulfill({ status: 400, json: { error } }))
  await page.getByRole('tab', { name: 'Statement' }).click()
  await page.getByRole('alert').getByText('Broken for a moment.').waitFor()
  await page.unroute('**/v1/ledger/statement?*')
  await button(page, 'Try again').click()
  await page.getByText('Balance now').waitFor()
  await page.goto(`${dashboard.url}/app/billing/invoices/inv_none`)
  await page.getByText('No invoice has this ID').waitFor()
  const other = await dashboard.open(t, browser, '/billing', { as: await dashboard.member('developer') })
  await other.getByText('You cannot see credit and invoices').waitFor()
  await other.getByText('Owners, admins and billing members of the account can.').waitFor()
})

test('axe reports no issues in either theme, and nothing scrolls sideways on phones', async (t) => {
  const { data } = (await ask('/v1/invoices')).json<{ data: { id: string }[] }>()
  const tabs = ['', '?tab=ledger', '?tab=invoices', '?tab=budget', `/invoices/${data[0]?.id}`]
  const page = await dashboard.open(t, browser, '/billing', { bypassCSP: true, reducedMotion: 'reduce' })
  for (const path of tabs) {
    await page.goto(`${dashboard.url}/app/billing${path}`)
    await page
      .getByText(/^(Balance after|Usage by model|Closing balance|Alert at)$/)
      .first()
      .waitFor()
    assert.deepEqual(await axeFindingsInBothThemes(page), [], path)
    for (const width of [390, 320]) {
      await page.setViewportSize({ width, height: 800 })
      assert.ok((await overflow(page)) <= 0, `${path}, ${width} px`)
    }
    await page.setViewportSize({ width: 1280, height: 800 })
  }
})

/** Its plan needs credit and gives none. */
async function poorAccount() {
  const account = await dashboard.account('Poor')
  await dashboard.database.db.updateTable('account').set({ plan: 'pro' }).where('id', '=', account).execute()
  return account
}

async function textOf(file: Download): Promise<string> {
  return readFile(await file.path(), 'utf8')
}

async function describedBy(page: Page, label: string): Promise<string> {
  const ids = String(await page.getByLabel(label).getAttribute('aria-describedby')).split(' ')
  const texts = await Promise.all(ids.map((id) => page.locator(`[id="${id}"]`).innerText()))
  return texts.join('\n')
}

/** What lines and adjustments of the invoice that is shown come to. */
async function addedUp(page: Page): Promise<string> {
  const rows = page.locator('table:has(caption:text-matches("^(Usage|Adjustments)$")) tbody tr')
  const amounts = await Promise.all((await rows.locator('td:last-child').all()).map(exactIn))
  assert.ok(amounts.length >= 4)
  return decimalText(amounts.reduce((sum, amount) => sum + amount, 0n))
}
