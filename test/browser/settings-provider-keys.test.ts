/** Provider keys in the dashboard, with a provider on loopback. Runs on one database: what is sent and shown is the same on every one. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { axeFindings, overflow, startBrowser } from '../support/browser/browser.ts'
import { type Dashboard, startDashboard } from '../support/browser/dashboard.ts'
import { model } from '../support/gateway.ts'
import { type FakeProvider, startFakeProvider } from '../support/providers/fake-provider.ts'

const PATH = '/settings/provider-keys'
const GOOD_KEY = 'sk-good-key-of-an-account'
const endings: (() => unknown)[] = []
let browser: Browser
let provider: FakeProvider
let dashboard: Dashboard

before(async () => {
  provider = await startFakeProvider((call, reply) => {
    const isGood = call.headers.authorization === `Bearer ${GOOD_KEY}`
    reply.head(isGood ? 200 : 401, { 'content-type': 'application/json' })
    reply.end('{}')
  })
  browser = await startBrowser()
  const up = { protocol: 'openai', base_url: `${provider.url}/v1`, api_key: 'sk-operator' }
  const over = { providers: { up }, models: [model('m1', 'up', 'up-model')] }
  dashboard = await startDashboard({ after: (end) => void endings.push(end as () => unknown) }, { over })
})
after(async () => {
  await browser?.close()
  for (const end of endings) await end()
  await provider?.close()
})

const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name, exact: true })
const dialog = (page: Page, name: string) => page.getByRole('dialog', { name, exact: true })
const press = (page: Page, title: string, name: string) => dialog(page, title).getByRole('button', { name }).click()
const act = async (page: Page, last4: string, name: string) => {
  await button(page, `Actions for up …${last4}`).click()
  await page.getByRole('menuitem', { name, exact: true }).click()
}

test('a key is added after its test, changed, rotated and deleted, and never shown', async (t) => {
  const page = await dashboard.open(t, browser, PATH)
  await page.getByText('No provider keys yet').waitFor()
  await button(page, 'Add provider key').first().click()
  const form = dialog(page, 'Add provider key')
  await form.getByRole('combobox', { name: 'Provider' }).click()
  await page.getByRole('option', { name: 'up', exact: true }).click()
  await form.locator('input[type=password]').fill('sk-wrong-key-of-an-account')
  await form.getByLabel('Name').fill('Ours')
  await press(page, 'Add provider key', 'Test and add')
  await form.locator('[aria-invalid="true"]').waitFor()
  await form.getByText("The provider 'up' rejected 'api_key' (status 401).").first().waitFor()
  await form.locator('input[type=password]').fill(GOOD_KEY)
  await press(page, 'Add provider key', 'Test and add')
  await page.getByText('up accepted the key').first().waitFor()
  await page.getByText('Verified').waitFor()
  assert.ok(!(await page.content()).includes(GOOD_KEY))

  await act(page, 'ount', 'Edit')
  await dialog(page, 'Edit provider key').getByRole('switch', { name: 'Fall back to the operator’s key' }).click()
  await press(page, 'Edit provider key', 'Save')
  await page.getByText('Operator’s key', { exact: true }).waitFor()

  await act(page, 'ount', 'Rotate')
  await dialog(page, 'Rotate provider key').locator('input[type=password]').fill('sk-wrong-key-of-an-account')
  await press(page, 'Rotate provider key', 'Test and rotate')
  await dialog(page, 'Rotate provider key').locator('[aria-invalid="true"]').waitFor()
  await page.keyboard.press('Escape')
  await dialog(page, 'Rotate provider key').waitFor({ state: 'detached' })

  await act(page, 'ount', 'Delete')
  await page.getByRole('alertdialog').getByRole('button', { name: 'Delete key' }).click()
  await page.getByText('No provider keys yet').waitFor()
  const { db } = dashboard.database
  assert.deepEqual(await db.selectFrom('provider_credential').selectAll().execute(), [])
})

test('users who may not manage keys learn who may; a failure is shown and can be retried', async (t) => {
  const page = await dashboard.open(t, browser, PATH, { as: await dashboard.member('billing') })
  await page.getByText('You cannot see provider keys').waitFor()
  assert.equal(await page.getByRole('navigation', { name: 'Settings' }).getByText('Provider keys').count(), 0)

  const broken = await dashboard.open(t, browser, '/settings/appearance')
  const error = { message: 'Broken for a moment.', type: 'invalid_request_error', request_id: 'req_1' }
  await broken.route('**/v1/provider-credentials?*', (route) => route.fulfill({ status: 400, json: { error } }))
  await broken.getByRole('link', { name: 'Provider keys' }).click()
  await broken.getByText('Broken for a moment.').waitFor()
  await broken.unroute('**/v1/provider-credentials?*')
  await button(broken, 'Try again').click()
  await broken.getByText('Broken for a moment.').waitFor({ state: 'detached' })
})

/** Colors go over into each other, and are measured when they are there. */
const SETTLED = `new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(go)))
  .then(() => Promise.allSettled(document.getAnimations().map(({ finished }) => finished)))`

test('axe reports no issues in either theme, and nothing scrolls sideways at 320 px', async (t) => {
  const body = { provider: 'up', api_key: GOOD_KEY, name: `A name that goes on ${'and on '.repeat(10)}` }
  const { secret: token } = await dashboard.newKey('Axe')
  assert.equal((await dashboard.ask('POST', '/v1/provider-credentials', { token, body })).statusCode, 201)
  const page = await dashboard.open(t, browser, PATH, { bypassCSP: true })
  await page.getByText('Verified').waitFor()
  const look = async (name: string) => {
    for (const [colorScheme, width] of [
      ['light', 1280],
      ['dark', 320],
    ] as const) {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
      await page.setViewportSize({ width, height: 800 })
      await page.evaluate(SETTLED)
      assert.deepEqual(await axeFindings(page), [], `${name}, ${colorScheme}`)
      assert.ok((await overflow(page)) <= 0, `${name} at ${width} px`)
    }
    await page.setViewportSize({ width: 1280, height: 800 })
  }
  await look('list')
  await button(page, 'Add provider key').click()
  await dialog(page, 'Add provider key').waitFor()
  await look('add')
})
