/** What the operator sees of the installation: providers, accounts, processes. Runs on one database: tests change what they made themselves. */
import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Browser, Page } from 'playwright-core'
import { axeFindings, axeFindingsInBothThemes, overflow, startBrowser } from '../support/browser/browser.ts'
import { type Dashboard, startDashboard } from '../support/browser/dashboard.ts'
import { VERSION } from '../support/browser/signed-in.ts'

const endings: (() => unknown)[] = []
const PRICING = { input_per_million: 1, output_per_million: 2 }
let browser: Browser
let dashboard: Dashboard
let upstream: Server
let chat: (model: string) => Promise<{ readonly statusCode: number }>

before(async () => {
  upstream = await startUpstream()
  const t = { after: (end: () => unknown) => void endings.push(end) }
  const { port } = upstream.address() as AddressInfo // it listens on a port
  browser = await startBrowser()
  dashboard = await startDashboard(t, { over: configuration(port) })
  const { secret } = await dashboard.newKey('ci-runner')
  chat = (model) =>
    dashboard.ask('POST', '/v1/chat/completions', {
      token: secret,
      body: { model, messages: [{ role: 'user', content: 'Hello' }] },
    })
})
after(async () => {
  await browser?.close()
  for (const end of endings) await end()
  upstream?.close()
})

/** Fails unless the first part of the path says otherwise. */
async function startUpstream(): Promise<Server> {
  const statuses: Readonly<Record<string, number>> = { limited: 429, good: 200, wrong: 401 }
  const server = createServer((request, response) => {
    request.resume()
    const [, part = ''] = request.url?.split('/') ?? []
    response.writeHead(statuses[part] ?? 500, { 'content-type': 'application/json', 'retry-after': '300' })
    response.end('{"error":{"message":"upstream-secret-detail"}}')
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  return server
}

function configuration(port: number) {
  const url = `http://127.0.0.1:${port}`
  const provider = { protocol: 'openai', api_key: 'sk-in-the-file' }
  return {
    providers: {
      simulator: { protocol: 'simulator' },
      failing: { ...provider, base_url: `${url}/v1` },
      limited: { ...provider, base_url: `${url}/limited/v1` },
      quiet: { ...provider, base_url: `${url}/quiet/v1` },
      good: { ...provider, base_url: `${url}/good/v1` },
      wrong: { ...provider, base_url: `${url}/wrong/v1` },
      gone: { ...provider, base_url: 'http://127.0.0.1:1/v1' },
    },
    models: [
      ...['failing', 'limited', 'wrong'].map((name) => ({
        id: name,
        pricing: PRICING,
        deployments: [{ provider: name, model: `${name}-upstream` }],
      })),
      endingModel('price-ends', 3),
      endingModel('price-ended', -3),
      endingModel('price-lasts', 30),
      endingModel('price-followed', 3, [{ ...PRICING, starts: dayFromNow(4) }]),
    ],
    routing: { max_attempts: 1, breaker: { failures: 2, open_ms: 224_000 } },
    agents: { sandbox: { backend: 'none' } },
    plans: { team: { monthly_credit_usd: 20, requests_per_minute: 60, billing: 'prepaid' } },
  }
}

const STARTED_AT = Date.now()
const DAY_MS = 86_400_000

/** A day of UTC: `2026-11-26`. */
const dayFromNow = (days: number) => new Date(STARTED_AT + days * DAY_MS).toISOString().slice(0, 10)

/** The first moment of that day as the dashboard writes it. */
function midnightText(days: number): string {
  const format = { year: 'numeric', month: 'short', day: 'numeric', timeZone: 'UTC' } as const
  return `${new Date(dayFromNow(days)).toLocaleDateString('en-US', format)}, 00:00:00 UTC`
}

/** @param days From now to the last day of its price. */
function endingModel(id: string, days: number, successors: readonly object[] = []) {
  const pricing = { ...PRICING, ends: dayFromNow(days), successors }
  return { id, pricing, deployments: [{ provider: 'simulator', model: id }] }
}

const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name, exact: true })
// (a note that names the same thing is a dialog to browsers, too)
const dialog = (page: Page, name: string) => page.getByRole('dialog', { name, exact: true })
const question = (page: Page) => page.getByRole('alertdialog')
const figure = (page: Page, name: string) => page.locator('dl > div').filter({ hasText: name }).locator('dd')

test('J5: the page shows a provider that fails while it is looked at: why, until when, and nothing that is secret', async (t) => {
  const page = await dashboard.open(t, browser, '/settings/providers')
  await page
    .getByRole('row', { name: /^failing/ })
    .getByText('No calls yet')
    .waitFor()
  assert.equal((await chat('turnpike-simulator')).statusCode, 200)
  for (let call = 0; call < 5; call++) assert.equal((await chat('failing')).statusCode, 503)
  await chat('limited')
  await chat('wrong')
  // (the page asks by itself every 5 s)
  const failing = page.getByRole('article', { name: 'failing' })
  await failing.getByText('Down', { exact: true }).waitFor()
  await failing.getByText('Paused', { exact: true }).waitFor()
  await failing.getByText(/^Breaker open after 5 failures in a row, probed in [1-4] min$/).waitFor()
  await failing.getByText('Failing (500)').waitFor()
  await failing.getByText('5 of 5 (100%)').first().waitFor()
  await failing.getByText('The provider answered with status 500.').waitFor()
  await page.getByRole('status').getByText('failing is down').waitFor({ state: 'attached' })
  const limited = page.getByRole('article', { name: 'limited' })
  await limited.getByText('1 of 1 credential cooling down').waitFor()
  await limited.getByText(/^No\. 1: .*used again in \d min$/).waitFor()
  await page.getByRole('article', { name: 'simulator' }).getByText('Healthy').first().waitFor()
  const wrong = page.getByRole('article', { name: 'wrong' })
  await wrong.getByText('Down', { exact: true }).waitFor()
  await wrong.getByText('Key refused (401)', { exact: true }).waitFor()
  await wrong.getByText('No answer in the last 24 hours.').waitFor()
  await page.getByText('2 down, 1 degraded, 1 healthy').waitFor()
  assert.deepEqual(await page.getByRole('article').getByRole('heading').allInnerTexts(), [
    'failing',
    'wrong',
    'limited',
    'simulator',
  ])
  assert.doesNotMatch(await page.content(), /sk-in-the-file|upstream-secret/)
})

test('prices that end within a week without a successor are listed above the providers', async (t) => {
  const page = await dashboard.open(t, browser, '/settings/providers')
  await page.getByText('Prices without a successor', { exact: true }).waitFor()
  const ends = page.getByRole('list').filter({ hasText: 'price-ended' })
  const texts = await ends.getByRole('listitem').allInnerTexts()
  assert.deepEqual(texts, [`price-ended ended ${midnightText(-2)}`, `price-ends ends ${midnightText(4)}`])
})

test('a provider is tested on request: the page shows the progress, then the result', async (t) => {
  const page = await dashboard.open(t, browser, '/settings/providers')
  const said = (name: string, text: string) =>
    page
      .getByRole('status', { name: `Test of ${name}`, exact: true })
      .getByText(text)
      .waitFor()
  for (const [name, text] of [
    ['good', 'Passed: The provider responded and did not reject the key.'],
    ['wrong', 'Failed: The provider rejected the key (status 401): check providers.wrong.api_key.'],
    ['gone', 'Failed: The provider could not be reached (ECONNREFUSED): check providers.gone.base_url'],
    ['quiet', 'Failed: The provider failed with status 500.'],
    ['simulator', 'Passed: The provider is built in: there is no server to call.'],
  ] as const) {
    await button(page, `Test ${name}`).click()
    await said(name, text)
  }
  const held = Promise.withResolvers<void>()
  const address = '**/v1/admin/providers/good/test'
  await page.route(address, async (route) => {
    await held.promise
    await route.continue()
  })
  await button(page, 'Test good').click()
  await said('good', 'Testing…')
  await page.locator('button[aria-busy=true]', { hasText: 'Test' }).waitFor()
  held.resolve()
  await said('good', 'Passed: The provider responded and did not reject the key.')
  await page.unroute(address)
  const error = { message: 'Not you any more.', type: 'permission_denied', request_id: 'req_1' }
  await page.route(address, (route) => route.fulfill({ status: 403, json: { error } }))
  await button(page, 'Test good').click()
  await page.getByText('Not you any more.').locator('visible=true').first().waitFor()
  assert.doesNotMatch(await page.content(), /sk-in-the-file|upstream-secret/)
})

test('a test and its result have room on a phone; tests are in the audit log', async (t) => {
  const page = await dashboard.open(t, browser, '/settings/providers', { bypassCSP: true, reducedMotion: 'reduce' })
  for (const name of ['gone', 'simulator']) await button(page, `Test ${name}`).click()
  await page.setViewportSize({ width: 320, height: 800 })
  for (const name of ['gone', 'simulator']) {
    await page
      .getByRole('status', { name: `Test of ${name}` })
      .getByText(/^(Passed|Failed): /)
      .waitFor()
  }
  assert.deepEqual(await axeFindingsInBothThemes(page), [])
  assert.ok((await overflow(page)) <= 0)
  await page.goto(`${dashboard.url}/app/settings/audit?action=provider.tested`)
  await page
    .getByText(/tested provider “gone”$/)
    .first()
    .waitFor()
})

test('an account is created, receives exact credit and another plan, and is in use by the gateway', async (t) => {
  const page = await dashboard.open(t, browser, '/settings/accounts')
  await button(page, 'Create account').click()
  await page.waitForURL('**/settings/accounts?selected=new')
  await page.getByLabel('Name').fill('Acme <b>Robotics</b>')
  await page.getByLabel('team', { exact: true }).check()
  await dialog(page, 'Create account').getByRole('button', { name: 'Create account' }).click()
  const sheet = dialog(page, 'Acme <b>Robotics</b>')
  await sheet.waitFor()
  await figure(page, 'Balance').getByText('$20.00', { exact: true }).waitFor()
  const id = String(new URL(page.url()).searchParams.get('selected'))
  await giveCredit(page)
  assert.equal(await balanceOf(id), 32.340000001)
  await page.getByRole('tab', { name: 'Change plan' }).click()
  await page.waitForURL(/tab=plan/)
  await page.getByLabel('unlimited', { exact: true }).check()
  await button(page, 'Continue').click()
  await question(page).getByText('Requests no longer need credit: they are postpaid.').waitFor()
  await button(page, 'Change plan').click()
  await figure(page, 'Plan').getByText('unlimited').waitFor()
  await button(page, 'Close').click()
  await sheet.waitFor({ state: 'detached' })
  await findAccount(page, id)
})

async function findAccount(page: Page, id: string): Promise<void> {
  const field = page.getByLabel('Search accounts')
  const row = page.getByRole('row', { name: /^Acme <b>Robotics<\/b> unlimited \$32\.34/ })
  const found = page.getByRole('status').getByText('1 account found', { exact: true })
  await field.fill('ACME <B>')
  await page.waitForURL(/search=ACME/)
  await found.waitFor()
  await row.waitFor()
  await field.fill('nobody')
  await page.getByText('No accounts match “nobody”').waitFor()
  await page.getByRole('status').getByText('0 accounts found', { exact: true }).waitFor()
  await button(page, 'Clear search').filter({ hasText: 'Clear search' }).click()
  await row.waitFor()
  assert.equal(await field.inputValue(), '')
  await page.locator('input[type=search]:focus').waitFor()
  assert.equal(new URL(page.url()).search, '')
  await page.goto(`${dashboard.url}/app/settings/accounts?search=${id}`)
  await found.waitFor()
  await row.waitFor()
  assert.equal(await field.inputValue(), id)
}

async function giveCredit(page: Page): Promise<void> {
  const amount = page.getByLabel('Amount')
  await amount.fill('12.3400000001')
  await page.getByText('Enter at most 9 decimals.').waitFor()
  assert.equal(await button(page, 'Continue').isDisabled(), true)
  await amount.fill('12.340000001')
  await page.getByLabel('Purchase').check()
  await page.getByLabel('Note').fill('Order 7')
  await button(page, 'Continue').click()
  await question(page).getByText('Purchase: $12.340000001 for “Acme <b>Robotics</b>”?').waitFor()
  await question(page).getByText('from $20.00 to $32.340000001').waitFor()
  await page.keyboard.press('Escape')
  await question(page).waitFor({ state: 'detached' })
  await page.locator(':focus', { hasText: 'Continue' }).waitFor()
  await page.keyboard.press('Enter')
  await question(page).getByRole('button', { name: 'Add $12.340000001' }).click()
  await page.getByText('its balance is $32.340000001').first().waitFor()
  await figure(page, 'Balance').getByText('$32.340000001', { exact: true }).waitFor()
  assert.equal(await amount.inputValue(), '')
}

async function balanceOf(id: string): Promise<number> {
  const token = await dashboard.token(await dashboard.browser(dashboard.owner))
  return (await dashboard.ask('GET', `/v1/admin/accounts/${id}`, { token })).json<{ balance_usd: number }>().balance_usd
}

test('processes are listed with their work; another version, a silent one and a missing sandbox are marked', async (t) => {
  const page = await dashboard.open(t, browser, '/settings/instances')
  const own = page.getByRole('row', { name: /^ins_.*Running/ })
  await own.getByText('Role: all').waitFor()
  await page.getByRole('main').getByText('Agents run without a sandbox').waitFor()
  await page.getByText('None', { exact: true }).first().waitFor()
  const now = Date.now()
  const other = { id: 'ins_other', version: '0.9.0', role: 'worker', address: null, started_at: now - 60_000 }
  const vitals = { load_permille: 1_500, lag_ms: 12, active_requests: 3 }
  const { db } = dashboard.database
  await db
    .insertInto('instance')
    .values({ ...other, ...vitals, seen_at: now + 600_000 })
    .execute()
  await page.getByText(`1 process runs ${VERSION}, 1 process runs 0.9.0`).waitFor()
  const row = page.getByRole('row', { name: /^ins_other/ })
  await row.getByText('Draining').waitFor()
  await row.getByText('1.50').waitFor()
  const isSilent = row.getByText('Not reporting').waitFor()
  // (who has been silent for longer is not listed any more)
  do {
    const silent = { seen_at: Date.now() - 20_000 }
    await db.updateTable('instance').set(silent).where('id', '=', 'ins_other').execute()
  } while (await Promise.race([isSilent.then(() => false), sleep(1_000, true)]))
  await db.deleteFrom('instance').where('id', '=', 'ins_other').execute()
  await page.getByText('Processes run different versions').waitFor({ state: 'detached' })
})

test('an owner of another account is rejected; failures are shown and can be retried; without providers there is a command', async (t) => {
  const outsider = await dashboard.person(await dashboard.account('Elsewhere'), 'owner', 'elsewhere@example.com')
  const refused = await dashboard.open(t, browser, '/settings/providers', { as: outsider })
  for (const [path, what] of [
    ['providers', 'providers'],
    ['accounts', 'accounts'],
    ['instances', 'instances'],
  ]) {
    await refused.goto(`${dashboard.url}/app/settings/${path}`)
    await refused.getByText(`You cannot see ${what}`).waitFor()
    await refused.getByText('Only the operator of this installation can.').waitFor()
  }
  const page = await dashboard.open(t, browser, '/settings/appearance')
  const error = { message: 'Broken for a moment.', type: 'invalid_request_error', request_id: 'req_1' }
  for (const [name, path] of [
    ['Providers', '**/v1/admin/providers?*'],
    ['Accounts', '**/v1/admin/accounts?*'],
    ['Instances', '**/v1/admin/instances?*'],
  ] as const) {
    await page.route(path, (route) => route.fulfill({ status: 400, json: { error } }))
    await page.getByRole('link', { name, exact: true }).click()
    await page.getByRole('alert').getByText('Broken for a moment.').waitFor()
    await page.unroute(path)
    await button(page, 'Try again').click()
    await page.getByText('Broken for a moment.').waitFor({ state: 'detached' })
  }
  const none = { data: [], has_more: false, next_cursor: null }
  await page.route('**/v1/admin/providers?*', (route) => route.fulfill({ json: none }))
  await page.getByRole('link', { name: 'Providers' }).click()
  await page.getByText('No providers are configured').waitFor()
})

test('axe reports no issues in either theme, and nothing scrolls sideways on phones', async (t) => {
  const accounts = '/settings/accounts'
  const page = await dashboard.open(t, browser, accounts, { bypassCSP: true, reducedMotion: 'reduce' })
  const sheet = `${accounts}?selected=${dashboard.firstAccount}`
  for (const [path, seen] of [
    [accounts, 'Default'],
    [`${accounts}?search=nobody`, 'No accounts match'],
    [sheet, 'Held by requests'],
    [`${sheet}&tab=plan`, 'postpaid'],
    [`${accounts}?selected=new`, '(default)'],
    ['/settings/providers', 'Not called yet'],
    ['/settings/instances', 'Active runs'],
  ] as const) {
    await page.goto(`${dashboard.url}/app${path}`)
    await page.getByText(seen).locator('visible=true').first().waitFor()
    assert.deepEqual(await axeFindingsInBothThemes(page), [], path)
    for (const width of [390, 320]) {
      await page.setViewportSize({ width, height: 800 })
      assert.ok((await overflow(page)) <= 0, `${path}, ${width} px`)
    }
    await page.setViewportSize({ width: 1280, height: 800 })
  }
})

test('a provider is added with its key, tested, given a model, disabled and enabled, without a restart', async (t) => {
  const { port } = upstream.address() as AddressInfo
  const page = await dashboard.open(t, browser, '/settings/providers', { bypassCSP: true, reducedMotion: 'reduce' })
  await button(page, 'Add provider').click()
  const form = page.getByRole('dialog')
  const fill = async (part: string) => {
    await form.getByRole('combobox', { name: 'Provider' }).click()
    await page.getByRole('option', { name: 'Another OpenAI-compatible server' }).click()
    await form.getByLabel('Key', { exact: true }).fill('sk-added-0123456789abcdef')
    await form.getByLabel('Address').fill(`http://127.0.0.1:${port}/${part}/v1`)
    await form.getByLabel('Name').fill('own')
    await form.getByRole('button', { name: 'Save and test' }).click()
  }
  await fill('wrong')
  await form.getByText('The provider rejected the key (status 401)').waitFor()
  assert.deepEqual(await axeFindings(page), [])
  await form.getByRole('button', { name: 'Remove and try again' }).click()
  await fill('good')
  await form.getByText('The provider responded and did not reject the key.').waitFor()
  await form.getByRole('textbox', { name: /^Model/ }).fill('coder')
  await form.getByLabel('Input price').fill('0')
  await form.getByLabel('Output price').fill('0.5')
  await form.getByRole('button', { name: 'Add model' }).click()
  await form.getByText('own/coder', { exact: true }).waitFor()
  await form.getByRole('button', { name: 'Done' }).click()
  assert.notEqual((await chat('own/coder')).statusCode, 422)

  await page.getByRole('button', { name: 'Settings of own' }).click()
  await form.getByText('…cdef').waitFor()
  await form.getByLabel('Weight').fill('3')
  await form.getByRole('switch', { name: 'In use' }).click()
  await form.getByRole('button', { name: 'Save changes' }).click()
  await dialog(page, 'own').waitFor({ state: 'detached' })
  await page.getByText('Disabled', { exact: true }).waitFor()
  assert.equal((await chat('own/coder')).statusCode, 422)
  const token = await dashboard.token(await dashboard.browser(dashboard.owner))
  const stored = await dashboard.ask('GET', '/v1/admin/providers/own', { token })
  const { settings, api_keys: keys } = stored.json<{ settings: Record<string, unknown>; api_keys: unknown }>()
  assert.deepEqual([settings['weight'], settings['disabled'], keys], [3, true, [{ last4: 'cdef' }]])

  await page.getByRole('button', { name: 'Settings of good' }).click()
  await form.getByText('Set in the configuration file or the environment').waitFor()
  assert.deepEqual(await axeFindingsInBothThemes(page), [])
})
