/** API keys in the dashboard, from the sign-in link to a refused request. Runs on one database: tests have an account each, or look at what they made alone. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { after, before, test } from 'node:test'
import { promisify } from 'node:util'
import OpenAI from 'openai'
import type { Browser, Page } from 'playwright-core'
import { createSignInLink, signInUrl } from '../../src/features/accounts/bootstrap.ts'
import { axeFindings, openWindow, startBrowser } from '../support/browser/browser.ts'
import { type Dashboard, startDashboard } from '../support/browser/dashboard.ts'
import { HOSTILE_MARKUP } from '../support/http/hostile-markup.ts'

const MODEL = 'turnpike-simulator'
const run = promisify(execFile)
const endings: (() => unknown)[] = []
let browser: Browser
let dashboard: Dashboard

before(async () => {
  ;[browser, dashboard] = await Promise.all([
    startBrowser(),
    startDashboard({ after: (end: () => unknown) => void endings.push(end) }),
  ])
})
after(async () => {
  await browser?.close()
  for (const end of endings) await end()
})

const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name, exact: true })
const dialog = (page: Page, name: string | RegExp) => page.getByRole('dialog', { name })
const question = (page: Page) => page.getByRole('alertdialog')
const focus = (page: Page, text: string) => page.locator(':focus', { hasText: text })

test('J1: a user signs in by link, creates a key, uses it, and revokes it while another window is open', async (t) => {
  const { url, database, firstAccount } = dashboard
  const page = await openWindow(t, browser)
  await page.goto(signInUrl(url, await createSignInLink(database.db, firstAccount, Date.now())))
  await page.waitForURL(`${url}/app/`)
  await page.goto(`${url}/app/settings/keys`)
  await page.getByText('No API keys yet').waitFor()
  const secret = await makeKey(page)
  const other = await dashboard.open(t, browser, '/settings/keys')
  await other.getByRole('link', { name: /CI <b>runner/ }).waitFor()

  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: secret, maxRetries: 0 })
  const ask = () => client.chat.completions.create({ model: MODEL, messages: [{ role: 'user', content: 'Hello' }] })
  assert.notEqual((await ask()).choices[0]?.message.content, '')

  await page.getByRole('link', { name: /CI <b>runner/ }).click()
  await dialog(page, 'CI <b>runner').getByText('chat', { exact: true }).waitFor()
  await button(page, 'Revoke').click()
  await question(page)
    .getByText(/(will fail|is rejected) within a second/)
    .waitFor()
  await button(page, 'Revoke key').click()
  await page.getByText('“CI <b>runner” is revoked').first().waitFor()
  assert.equal(await refusedAfter(secret), 401)
  await other.getByText('No API keys yet').waitFor()
  await other.getByRole('tab', { name: 'Revoked' }).click()
  await other.getByRole('link', { name: /CI <b>runner/ }).waitFor()
  assert.match(other.url(), /\?status=revoked$/)
})

/** With one mistake on the way, and one try to close the secret without having saved it. */
async function makeKey(page: Page): Promise<string> {
  await button(page, 'Create key').first().click()
  const form = dialog(page, 'Create an API key')
  await form.getByLabel('Name').fill('CI <b>runner')
  await form.getByLabel('Selected scopes').check()
  await form.getByLabel('Monthly budget').fill('5 dollars')
  await form.getByText('Enter a number.').waitFor()
  assert.equal(await form.getByRole('button', { name: 'Create key' }).isDisabled(), true)
  await form.getByLabel('Monthly budget').fill('5')
  await form.getByLabel('Selected models').check()
  await form.getByPlaceholder('Add a model').fill('simul')
  await page.getByRole('option', { name: MODEL }).first().click()
  await form.getByLabel('Allowed IP addresses').fill('127.0.0.1\n300.1.2.3')
  await form.getByRole('button', { name: 'Create key' }).click()
  await form.getByRole('alert').getByText("'300.1.2.3' is not an IP address").waitFor()
  const addresses = form.getByLabel('Allowed IP addresses')
  assert.equal(await addresses.getAttribute('aria-invalid'), 'true')
  assert.equal(await form.getByLabel('Name').inputValue(), 'CI <b>runner')
  await addresses.fill('127.0.0.0/8\n::1')
  await form.getByRole('button', { name: 'Create key' }).click()

  const shown = dialog(page, 'Save your key now')
  const secret = await shown.locator('[data-secret]').innerText()
  assert.match(secret, /^tp_[0-9A-Za-z]{46}$/)
  const lines = `OPENAI_API_KEY=${secret}\nOPENAI_BASE_URL=${new URL(page.url()).origin}/v1`
  assert.equal(await shown.getByLabel('Lines for the .env of a client').innerText(), lines)
  await shown
    .getByText(/read this key as OPENAI_API_KEY, on their side only.* read it as TURNPIKE_API_KEY\.$/)
    .waitFor()
  const answer = await run('sh', ['-c', await shown.getByLabel('curl code').innerText()])
  assert.equal(JSON.parse(answer.stdout).object, 'chat.completion', answer.stdout)
  await page.keyboard.press('Escape')
  await question(page).getByText('Close without saving the key?').waitFor()
  await button(page, 'Cancel').click()
  assert.equal(await shown.locator('[data-secret]').innerText(), secret)
  await button(page, 'I have saved it').click()
  await shown.waitFor({ state: 'detached' })
  await focus(page, 'Create key').waitFor()
  assert.doesNotMatch(page.url(), /create|tp_/)
  assert.doesNotMatch(await page.locator('body').innerText(), new RegExp(secret))
  return secret
}

/** The status of requests, asked for until it is a refusal; that is within a second, where the machine has time for it. */
async function refusedAfter(secret: string): Promise<number> {
  const until = performance.now() + 60_000
  for (;;) {
    const { status } = await fetch(`${dashboard.url}/v1/models`, { headers: { authorization: `Bearer ${secret}` } })
    if (status === 401 || performance.now() > until) return status
  }
}

test('a key is edited in its sheet, which is an address, and its users are named before it is revoked', async (t) => {
  const { id } = await dashboard.newKey('Seeded')
  await dashboard.seed([id], { count: 12, days: 0.5 })
  const page = await dashboard.open(t, browser, '/settings/keys')
  await page.getByRole('link', { name: /Seeded/ }).click()
  const sheet = dialog(page, 'Seeded')
  await sheet.getByLabel('Name').fill('Renamed')
  await sheet.getByLabel('Monthly budget').fill('20')
  await sheet.getByLabel('Selected models').check()
  await sheet.getByPlaceholder('Add a model').fill('simul')
  await page.getByRole('option', { name: MODEL }).first().click()
  await button(page, 'Save changes').click()
  const row = page.getByRole('row', { name: /Renamed/ })
  await row.getByText(/of \$20\.00/).waitFor()
  await row.getByText(MODEL).waitFor()
  await sheet.waitFor({ state: 'detached' })
  await focus(page, 'Renamed').waitFor()
  await page.goBack()
  await dialog(page, /^Renamed$/).waitFor()
  await page.goBack()
  await dialog(page, /^Renamed$/).waitFor({ state: 'detached' })

  await button(page, 'Actions for Renamed').click()
  assert.match((await page.getByRole('menuitem', { name: 'Usage' }).getAttribute('href')) ?? '', new RegExp(id))
  await page.getByRole('menuitem', { name: 'Revoke' }).click()
  await question(page)
    .getByText(/^12 requests in the last 24 h used it/)
    .waitFor()
  await page.keyboard.press('Escape')
  await question(page).waitFor({ state: 'detached' })
  assert.equal(await row.getByText('Active').count(), 1)
})

test('users who may not manage keys learn who may; a failure shows its request ID and can be retried', async (t) => {
  const page = await dashboard.open(t, browser, '/settings/keys', { as: await dashboard.member('billing') })
  await page.getByText('You cannot see API keys').waitFor()
  await page.getByText('Owners, admins and developers of the account can.').waitFor()
  assert.equal(await page.getByRole('navigation', { name: 'Settings' }).getByText('API keys').count(), 0)

  const broken = await dashboard.open(t, browser, '/settings/appearance')
  const error = { message: 'Broken for a moment.', type: 'invalid_request_error', request_id: 'req_1' }
  await broken.route('**/v1/keys?*', (route) => route.fulfill({ status: 400, json: { error } }))
  await broken.getByRole('link', { name: 'API keys' }).click()
  await broken.getByText('Broken for a moment.').waitFor()
  await broken.getByText('req_1').waitFor()
  await broken.unroute('**/v1/keys?*')
  await button(broken, 'Try again').click()
  await broken.getByRole('tab', { name: 'Active' }).waitFor()
  await broken.getByText('Broken for a moment.').waitFor({ state: 'detached' })
})

interface Credential {
  readonly id: string
  readonly secret: string
}

/** A key or webhook created with a key. */
async function create(path: string, { secret }: Pick<Credential, 'secret'>, body: object): Promise<Credential> {
  const answer = await dashboard.ask('POST', path, { token: secret, body })
  assert.equal(answer.statusCode, 201, answer.body)
  const { id, key } = answer.json<{ id: string; key?: string }>()
  return { id, secret: key ?? '' }
}

const statusOf = async ({ secret }: Credential) =>
  (await dashboard.ask('GET', '/v1/models', { token: secret })).statusCode

/** From its row to the dialog; the box is checked each time it opens. */
async function askToRevoke(page: Page, name: string, label: string) {
  await button(page, `Actions for ${name}`).click()
  await page.getByRole('menuitem', { name: 'Revoke' }).click()
  await question(page)
    .getByRole('heading', { name: `Revoke “${name}”?` })
    .waitFor()
  const box = question(page).getByLabel(label, { exact: true })
  await box.waitFor()
  assert.equal(await box.isChecked(), true)
  return box
}

test('the revoke dialog counts the keys that a key created, revokes them by default, and keeps them when unchecked', async (t) => {
  const top = await dashboard.newKey('Top')
  const middle = await create('/v1/keys', top, { name: 'Middle' })
  const side = await create('/v1/keys', top, { name: 'Side' })
  const bottom = await create('/v1/keys', middle, { name: 'Bottom' })
  const { id: webhook } = await create('/v1/webhooks', middle, { url: 'https://example.com/hook' })
  const webhookStatus = async () =>
    (await dashboard.ask('GET', `/v1/webhooks/${webhook}`, { token: side.secret })).json<{ status: string }>().status
  const page = await dashboard.open(t, browser, '/settings/keys')
  const all = 'Also revoke 3 keys and disable 1 webhook created with this key'
  await (await askToRevoke(page, 'Top', all)).uncheck()
  await page.keyboard.press('Escape')
  await question(page).waitFor({ state: 'detached' })
  await (await askToRevoke(page, 'Top', all)).uncheck()
  await button(page, 'Revoke key').click()
  await page.getByText('“Top” is revoked').first().waitFor()
  assert.equal(await refusedAfter(top.secret), 401)
  assert.deepEqual(await Promise.all([middle, side, bottom].map(statusOf)), [200, 200, 200])
  assert.equal(await webhookStatus(), 'enabled')

  await askToRevoke(page, 'Middle', 'Also revoke 1 key and disable 1 webhook created with this key')
  await button(page, 'Revoke key').click()
  await page.getByText('“Middle” is revoked').first().waitFor()
  assert.deepEqual([await refusedAfter(middle.secret), await refusedAfter(bottom.secret)], [401, 401])
  assert.equal(await statusOf(side), 200)
  assert.equal(await webhookStatus(), 'disabled')
  await page.getByRole('link', { name: /^Bottom/ }).waitFor({ state: 'detached' })
  await page.getByRole('link', { name: /^Side/ }).waitFor()
})

test('a developer grants no more rights than they have', async (t) => {
  const page = await dashboard.open(t, browser, '/settings/keys', { as: await dashboard.member('developer') })
  await button(page, 'Create key').first().click()
  const form = dialog(page, 'Create an API key')
  await form.getByText('All my rights').waitFor()
  await form.getByLabel('Selected scopes').check()
  assert.equal(await form.getByLabel('Webhooks').count(), 1)
  assert.equal(await form.getByLabel('Billing').count(), 0)
})

/** Several in each name, so that they fit into one page; without what no database keeps as text. */
function hostileNames(): readonly string[] {
  const names: string[] = []
  for (let index = 0; index < HOSTILE_MARKUP.length; index += 5) {
    names.push(
      HOSTILE_MARKUP.slice(index, index + 5)
        .join(' ')
        .replaceAll('\0', '')
        .toWellFormed(),
    )
  }
  return names
}

test('names of keys and people are text, whatever is in them', async (t) => {
  const names = hostileNames()
  for (const name of names) await dashboard.newKey(name)
  const { db } = dashboard.database
  await db
    .updateTable('person')
    .set({ name: names.join(' ').slice(0, 4000) })
    .execute()
  const page = await dashboard.open(t, browser, '/settings/appearance')
  await page.evaluate('globalThis.__hacked = (n) => { globalThis.__ran = n }')
  const go = (label: string) => page.getByRole('navigation', { name: 'Settings' }).getByText(label).click()
  await go('API keys')
  await page
    .getByRole('link', { name: /<script>/ })
    .first()
    .waitFor()
  await button(page, /^Actions for/)
    .first()
    .click()
  await page.getByRole('menuitem', { name: 'Revoke' }).click()
  await question(page)
    .getByRole('heading', { name: /__hacked/ })
    .waitFor()
  await page.keyboard.press('Escape')
  await go('Members')
  await page
    .getByRole('group', { name: 'Members' })
    .getByText(/__hacked/)
    .first()
    .waitFor()
  await button(page, /^Remove/)
    .first()
    .click()
  await question(page)
    .getByRole('heading', { name: /__hacked/ })
    .waitFor()
  await page.keyboard.press('Escape')
  await go('Audit log')
  await page
    .getByRole('link', { name: /__hacked/ })
    .first()
    .waitFor()
  assert.equal(await page.evaluate('globalThis.__ran ?? null'), null)
})

test('a key is rotated with an overlap, disabled and enabled; an expiring one is marked', async (t) => {
  const { secret: first } = await dashboard.newKey('Rotated')
  const statusOf = async (secret: string) =>
    (await fetch(`${dashboard.url}/v1/models`, { headers: { authorization: `Bearer ${secret}` } })).status
  const page = await dashboard.open(t, browser, '/settings/keys', { bypassCSP: true, reducedMotion: 'reduce' })
  const choose = async (name: string) => {
    await page.getByRole('button', { name: 'Actions for Rotated' }).click()
    await page.getByRole('menuitem', { name }).click()
  }
  await choose('Rotate')
  await question(page).getByRole('combobox').click()
  await page.getByRole('option', { name: 'Valid for 1 hour' }).click()
  assert.deepEqual(await axeFindings(page), [])
  await question(page).getByRole('button', { name: 'Rotate key' }).click()
  const second = await dialog(page, 'Save your key now').locator('[data-secret]').innerText()
  await button(page, 'I have saved it').click()
  assert.deepEqual([await statusOf(first), await statusOf(second)], [200, 200])
  await page.getByRole('link', { name: /Rotated/ }).click()
  await dialog(page, 'Rotated')
    .getByText(`…${first.slice(-4)}, valid until`)
    .waitFor()
  await page.keyboard.press('Escape')

  await choose('Disable')
  await question(page).getByRole('button', { name: 'Disable key' }).click()
  await page.getByRole('tab', { name: 'Disabled' }).click()
  await page
    .getByRole('row', { name: /Rotated/ })
    .getByText('Disabled')
    .waitFor()
  assert.equal(await refusedAfter(second), 401)
  await choose('Enable')
  await page.getByText('“Rotated” is enabled').first().waitFor()
  assert.deepEqual([await statusOf(first), await statusOf(second)], [200, 200])

  const soon = new Date(Date.now() + 3.5 * 86_400_000).toISOString()
  const token = await dashboard.token(await dashboard.browser(dashboard.owner))
  await dashboard.ask('POST', '/v1/keys', { token, body: { name: 'Ending', expires_at: soon } })
  await page.getByRole('tab', { name: 'Active' }).click()
  await page
    .getByRole('row', { name: /Ending/ })
    .getByText('Expires in 3 days')
    .waitFor()
})
