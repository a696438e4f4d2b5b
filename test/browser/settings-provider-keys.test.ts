/**
 * Provider keys, guardrails, telemetry destinations and captured content in the dashboard, with a provider on loopback that
 * also receives traces. Runs on one database: what is sent and shown is the same on every one.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { axeFindings, comesTrue, overflow, startBrowser } from '../support/browser/browser.ts'
import { type Dashboard, startDashboard } from '../support/browser/dashboard.ts'
import { eventually } from '../support/client.ts'
import { model } from '../support/gateway.ts'
import { completion } from '../support/providers/answers.ts'
import { type FakeProvider, startFakeProvider } from '../support/providers/fake-provider.ts'

const PATH = '/settings/provider-keys'
const GOOD_KEY = 'sk-good-key-of-an-account'
const endings: (() => unknown)[] = []
let browser: Browser
let provider: FakeProvider
let dashboard: Dashboard

before(async () => {
  provider = await startFakeProvider((call, reply) => {
    const isChat = call.path.endsWith('/chat/completions')
    const isGood = isChat || call.headers.authorization === `Bearer ${GOOD_KEY}`
    reply.head(isGood ? 200 : 401, { 'content-type': 'application/json' })
    reply.end(isChat ? JSON.stringify(completion({ content: 'An answer.' })) : '{}')
  })
  browser = await startBrowser()
  const up = { protocol: 'openai', base_url: `${provider.url}/v1`, api_key: 'sk-operator' }
  const over = {
    providers: { up },
    models: [model('m1', 'up', 'up-model')],
    content_capture: { allow: true },
    telemetry: { allow_private_networks: true },
  }
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

test('a guardrail is created, disabled and deleted', async (t) => {
  const page = await dashboard.open(t, browser, '/settings/guardrails')
  await page.getByText('No guardrails yet').waitFor()
  await button(page, 'Create guardrail').first().click()
  const form = dialog(page, 'Create guardrail')
  await form.getByLabel('Name').fill('House rules')
  await form.getByRole('combobox', { name: 'Finds' }).click()
  await page.getByRole('option', { name: 'Words or pattern' }).click()
  await form.getByRole('textbox', { name: 'Words' }).fill('project titan\natlas')
  await button(page, 'Add rule').click()
  await press(page, 'Create guardrail', 'Create guardrail')
  await page.getByText('Words or pattern, Secrets').waitFor()
  const rules = async () => {
    const row = await dashboard.database.db.selectFrom('guardrail').selectAll().executeTakeFirst()
    return row && { rules: JSON.parse(row.rules), enabled: row.enabled, keys: row.keys }
  }
  const words = { kind: 'regex', action: 'block', words: ['project titan', 'atlas'] }
  assert.deepEqual(await rules(), { rules: [words, { kind: 'secrets', action: 'mask' }], enabled: 1, keys: null })
  const choose = async (name: string) => {
    await button(page, 'Actions for House rules').click()
    await page.getByRole('menuitem', { name, exact: true }).click()
  }
  await choose('Disable')
  await page.getByText('Disabled', { exact: true }).waitFor()
  assert.equal((await rules())?.enabled, 0)
  await choose('Edit')
  await dialog(page, 'Edit guardrail').getByRole('textbox', { name: 'Words' }).fill('atlas')
  await press(page, 'Edit guardrail', 'Save')
  await dialog(page, 'Edit guardrail').waitFor({ state: 'detached' })
  assert.deepEqual((await rules())?.rules[0].words, ['atlas'])
  await choose('Delete')
  await page.getByRole('alertdialog').getByRole('button', { name: 'Delete guardrail' }).click()
  await page.getByText('No guardrails yet').waitFor()
})

test('a telemetry destination is tested when it is added, and on request', async (t) => {
  const token = await dashboard.ownerToken()
  await dashboard.ask('POST', '/v1/teams', { token, body: { name: 'Research' } })
  const page = await dashboard.open(t, browser, '/settings/telemetry')
  await page.getByText('No telemetry destinations yet').waitFor()
  await button(page, 'Add destination').first().click()
  const form = dialog(page, 'Add telemetry destination')
  await form.getByLabel('Name').fill('Collector')
  await form.getByLabel('Address').fill(`${provider.url}/v1/traces`)
  await form.getByLabel('Headers').fill(`Authorization: Bearer ${GOOD_KEY}`)
  await form.getByLabel('Team').fill('Resea')
  await page.getByRole('option', { name: 'Research' }).click()
  await form.getByLabel('Send prompts and answers').check()
  await press(page, 'Add telemetry destination', 'Add and test')
  await page.getByText('Collector accepted a test span').first().waitFor()
  assert.ok(!(await page.content()).includes(GOOD_KEY))
  const row = page.getByRole('row').filter({ hasText: 'Collector' })
  await row.getByText('Research').waitFor()
  await row.getByText('Sent', { exact: true }).waitFor()
  const choose = async (name: string) => {
    await button(page, 'Actions for Collector').click()
    await page.getByRole('menuitem', { name, exact: true }).click()
  }
  await choose('Disable')
  await page.getByText('Disabled', { exact: true }).waitFor()
  await dashboard.database.db
    .updateTable('telemetry_destination')
    .set({ url: `${provider.url}/none` })
    .execute()
  await choose('Delete')
  await page.getByRole('alertdialog').getByRole('button', { name: 'Delete destination' }).click()
  await page.getByText('No telemetry destinations yet').waitFor()
})

test('a stored prompt is shown on request, compared, replayed and deleted; each view is audited', async (t) => {
  const page = await dashboard.open(t, browser, '/settings/content')
  await page.getByLabel('Store prompts and answers').check()
  await button(page, 'Save').click()
  await page.getByText('Content capture saved').first().waitFor()
  const { secret: token } = await dashboard.newKey('Captured')
  const ids: string[] = []
  for (const content of ['First question', 'Second question']) {
    const messages = [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content },
    ]
    const answer = await dashboard.ask('POST', '/v1/chat/completions', { token, body: { model: 'm1', messages } })
    ids.push(answer.json<{ readonly id: string }>().id)
  }
  const [one = '', other = ''] = ids
  const { db } = dashboard.database
  const stored = () => db.selectFrom('completion_content').select('id').execute()
  await eventually(stored, (all) => all.length === 2)
  const views = async () =>
    (await db.selectFrom('audit').select('id').where('action', '=', 'content.viewed').execute()).length
  await page.goto(`${dashboard.url}/app/requests`)
  const [file] = await Promise.all([page.waitForEvent('download'), button(page, 'Export prompts and answers').click()])
  const lines = readFileSync(await file.path(), 'utf8')
    .trim()
    .split('\n')
  assert.deepEqual(
    lines.map((line) => JSON.parse(line).messages[1].content),
    ['Second question', 'First question'],
  )
  await page.goto(`${dashboard.url}/app/requests?request=${one}`)
  const sheet = dialog(page, 'Request')
  await sheet.getByText('Each view is recorded in the audit log.').waitFor()
  assert.equal(await views(), 0)
  await sheet.getByRole('button', { name: 'Show prompt and answer' }).click()
  await sheet.getByText('First question').waitFor()
  await sheet.getByText('An answer.', { exact: true }).waitFor()
  assert.equal(await views(), 1)
  await sheet.getByLabel('Compare with').fill(other)
  await sheet.getByRole('button', { name: 'Compare', exact: true }).click()
  await sheet.getByRole('cell', { name: 'Second question' }).waitFor()
  assert.equal(await views(), 2)
  await page.evaluate(SETTLED)
  await sheet.getByRole('link', { name: 'Replay in Playground' }).click()
  // Not by its text: the sheet has it, too, until it has faded out.
  assert.ok(
    await comesTrue(
      page,
      "[...document.querySelectorAll('textarea')].some((field) => field.value === 'First question')",
    ),
  )
  await sheet.waitFor({ state: 'detached' })
  await page.goBack()
  await sheet.getByRole('button', { name: 'Show prompt and answer' }).click()
  await sheet.getByRole('button', { name: 'Delete content' }).click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Delete content' }).click()
  await sheet.getByRole('button', { name: 'Show prompt and answer' }).waitFor()
  assert.deepEqual(
    (await stored()).map(({ id }) => id),
    [other],
  )
})

test('pages of settings that a role may not see say so, and are not in its navigation', async (t) => {
  const page = await dashboard.open(t, browser, '/settings/guardrails', { as: await dashboard.member('developer') })
  await page.getByText('You cannot see guardrails').waitFor()
  const navigation = page.getByRole('navigation', { name: 'Settings' })
  assert.deepEqual(
    await Promise.all(['Guardrails', 'Content capture', 'Telemetry'].map((name) => navigation.getByText(name).count())),
    [0, 0, 1],
  )
  await page.goto(`${dashboard.url}/app/settings/content`)
  await page.getByText('You cannot see content capture').waitFor()
  const billing = await dashboard.open(t, browser, '/settings/telemetry', { as: await dashboard.member('billing') })
  await billing.getByText('You cannot see telemetry destinations').waitFor()
})

test('axe finds nothing on the pages of guardrails, content and telemetry, and nothing scrolls sideways', async (t) => {
  for (const [path, title, open] of [
    ['guardrails', 'Guardrails', 'Create guardrail'],
    ['content', 'Content capture', undefined],
    ['telemetry', 'Telemetry', 'Add destination'],
  ] as const) {
    const page = await dashboard.open(t, browser, `/settings/${path}`, { bypassCSP: true })
    await page.getByRole('heading', { name: title, level: 1 }).waitFor()
    if (open === undefined) await button(page, 'Save').waitFor()
    else await button(page, open).first().click()
    for (const [colorScheme, width] of [
      ['light', 1280],
      ['dark', 320],
    ] as const) {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
      await page.setViewportSize({ width, height: 800 })
      await page.evaluate(SETTLED)
      assert.deepEqual(await axeFindings(page), [], `${path}, ${colorScheme}`)
      assert.ok((await overflow(page)) <= 0, `${path} at ${width} px`)
    }
  }
})
