/** Members, devices, sessions, the audit log and appearance in the dashboard. Runs on one database: later tests find what earlier ones did in the log. */
import assert from 'node:assert/strict'
import { after, before, type TestContext, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { axeFindings, overflow, startBrowser } from '../support/browser/browser.ts'
import { type Dashboard, startDashboard } from '../support/browser/dashboard.ts'
import type { Person } from '../support/browser/signed-in.ts'
import { storeContent, storedContents } from '../support/ledger/completions.ts'

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
const question = (page: Page) => page.getByRole('alertdialog')
const focus = (page: Page, text: string) => page.locator(':focus', { hasText: text })
const go = (page: Page, label: string) =>
  page.getByRole('navigation', { name: 'Settings' }).getByText(label, { exact: true }).click()
const heading = (page: Page, name: string) => page.getByRole('heading', { level: 1, name, exact: true }).waitFor()

async function confirm(page: Page, name: string): Promise<void> {
  await question(page).getByRole('button', { name }).click()
  await question(page).waitFor({ state: 'detached' })
}

test('a person is invited by a link that is shown once, and another invitation is withdrawn', async (t) => {
  const page = await dashboard.open(t, browser, '/settings/members')
  await page.getByText('No open invitations').waitFor()
  await button(page, 'Invite').click()
  const dialog = page.getByRole('dialog', { name: 'Invite a member' })
  await dialog.getByLabel('Email').fill('not an address')
  await button(page, 'Create link').click()
  await dialog.getByRole('alert').waitFor()
  assert.equal(await dialog.getByLabel('Email').getAttribute('aria-invalid'), 'true')
  await dialog.getByLabel('Email').fill('grace@example.com')
  await dialog.getByLabel('Billing', { exact: true }).check()
  await button(page, 'Create link').click()
  const link = await page.getByRole('dialog').locator('[data-secret]').innerText()
  assert.match(link, new RegExp(`^${dashboard.url}/invitation#token=tpi_[0-9A-Za-z]{46}$`))
  await button(page, 'Done').click()
  await focus(page, 'Invite').waitFor()
  assert.equal((await page.locator('body').innerText()).includes(link), false)
  const row = page.getByRole('row', { name: /grace@example\.com/ })
  await row.getByText('Billing').waitFor()
  await button(page, 'Withdraw the invitation for grace@example.com').click()
  await question(page).getByText('Its link stops working at once, also for grace@example.com.').waitFor()
  await confirm(page, 'Withdraw')
  await page.getByText('No open invitations').waitFor()
})

test('an owner changes a role and removes a member, and cannot leave the account without an owner', async (t) => {
  const developer = await dashboard.member('developer')
  const token = await dashboard.token(await dashboard.browser(developer))
  const page = await dashboard.open(t, browser, '/settings/members')
  const row = page.getByRole('row', { name: /developer@example\.com/ })
  await row.getByRole('combobox').click()
  await page.getByRole('option', { name: /^Admin/ }).click()
  await question(page).getByText('Until now: Developer.').waitFor()
  await confirm(page, 'Change role')
  await row.getByRole('combobox').getByText('Admin').waitFor()
  const audit = await dashboard.ask('GET', '/v1/audit', { token })
  assert.equal(audit.statusCode, 200, audit.body)

  const own = page.getByRole('row', { name: /owner@example\.com/ })
  await own.getByRole('combobox').click()
  await page.getByRole('option', { name: /^Developer/ }).click()
  await button(page, 'Change role').click()
  await question(page).getByRole('alert').getByText('This is the last owner').waitFor()
  await page.keyboard.press('Escape')
  await own.getByRole('combobox').getByText('Owner').waitFor()

  await row.getByRole('button', { name: /^Remove/ }).click()
  await question(page).getByText('the API keys that they created are revoked').waitFor()
  await storeContent(dashboard.database, developer)
  await question(page).getByRole('checkbox', { name: 'Delete captured prompts and answers' }).check()
  await confirm(page, 'Remove member')
  await row.waitFor({ state: 'detached' })
  assert.equal((await dashboard.ask('GET', '/v1/audit', { token })).statusCode, 401)
  assert.deepEqual(await storedContents(dashboard.database), [])
})

test('J3: a connected device is listed with its rights, and rejected after it is disconnected', async (t) => {
  const { url } = dashboard
  const post = async (path: string, fields: Record<string, string>) => {
    const answer = await fetch(url + path, {
      method: 'POST',
      body: new URLSearchParams({ client_id: 'turnpike-ide', ...fields }),
      headers: { 'user-agent': 'Zed/0.200.1' },
    })
    return (await answer.json()) as Record<string, string>
  }
  const asked = await post('/device/code', { scope: 'chat models:read offline_access' })
  const page = await dashboard.open(t, browser, '/settings/devices')
  await page.getByText('No connected devices').waitFor()
  await page.getByText(`turnpike login --url ${url}`, { exact: true }).waitFor()
  await page.route('**/v1/me', async (route) => {
    const answer = await route.fetch()
    await route.fulfill({ response: answer, json: { ...(await answer.json()), command_line: 'npx turnpike' } })
  })
  await page.reload()
  await page.getByText(`npx turnpike login --url ${url}`, { exact: true }).waitFor()
  await page.goto(asked['verification_uri_complete'] ?? '')
  await button(page, 'Continue').click()
  await button(page, 'Approve').click()
  await page.waitForURL(/\/activate\/./)
  const { access_token: token } = await post('/oauth/token', {
    grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
    device_code: asked['device_code'] ?? '',
  })
  const use = async () => (await fetch(`${url}/v1/models`, { headers: { authorization: `Bearer ${token}` } })).status
  assert.equal(await use(), 200)
  await page.goto(`${url}/app/settings/devices?whose=all`)
  const row = page.getByRole('row', { name: /Zed/ })
  await row.getByText('Chat, Models', { exact: true }).waitFor()
  await row.getByText('owner@example.com').waitFor()
  await row.getByRole('button', { name: /^Disconnect/ }).click()
  await confirm(page, 'Disconnect')
  await page.getByText('No connected devices').waitFor()
  const until = performance.now() + 60_000
  while ((await use()) !== 401) assert.ok(performance.now() < until)
  await page.getByText('All', { exact: true }).click()
  await page.getByRole('row', { name: /Zed/ }).getByText('Disconnected').waitFor()
  assert.match(page.url(), /state=all/)
})

test('the audit log describes actions in sentences; filters and entries have addresses', async (t) => {
  const page = await dashboard.open(t, browser, '/settings/audit')
  const says = (text: string) => page.getByRole('link', { name: text, exact: true })
  await says('Ada made developer@example.com admin (was developer)').waitFor()
  await says('Ada invited grace@example.com as billing').waitFor()
  await says('Ada withdrew an invitation').waitFor()
  await says('Ada disconnected the device of turnpike-ide').click()
  const sheet = page.getByRole('dialog', { name: 'Audit entry' })
  await sheet.getByText('device.revoked', { exact: true }).waitFor()
  const shared = page.url()
  await button(page, 'Only “Device revoked”').click()
  await sheet.waitFor({ state: 'detached' })
  await says('Ada withdrew an invitation').waitFor({ state: 'detached' })
  assert.match(page.url(), /action=device\.revoked$/)
  await page.goBack()
  await sheet.waitFor()
  await page.goto(`${shared}&action=member.removed`) // not of the list, and found by its own address
  await sheet.getByText('device.revoked', { exact: true }).waitFor()
  await page.keyboard.press('Escape')
  await sheet.waitFor({ state: 'detached' })
  await says('Ada removed developer@example.com').waitFor()
  await page.goto(`${dashboard.url}/app/settings/audit?action=no.such`)
  await button(page, 'Clear filters').click()
  await says('Ada withdrew an invitation').waitFor()
})

test('denied attempts of the same kind are one entry with their number', async (t) => {
  const ask = async (token: string, scope: string) =>
    dashboard.ask('POST', '/v1/keys', { token, body: { name: 'Wider', scopes: [scope] } })
  const granted = await ask((await dashboard.newKey('Full')).secret, 'keys')
  assert.equal(granted.statusCode, 201, granted.body)
  const { key } = granted.json<{ key: string }>()
  for (let attempt = 0; attempt < 12; attempt++) assert.equal((await ask(key, 'billing')).statusCode, 403)
  const page = await dashboard.open(t, browser, '/settings/audit?action=key.created')
  const row = page.getByRole('row', { name: /Key “Wider” tried to create a key/ })
  await row.getByText('Refused × 12', { exact: true }).waitFor()
  assert.equal(await row.count(), 1)
  assert.equal(await page.getByText('×').count(), 1)
  await row.getByRole('link').click()
  const sheet = page.getByRole('dialog', { name: 'Audit entry' })
  await sheet.getByText('Refused × 12', { exact: true }).waitFor()
  await sheet.getByText('Last attempt', { exact: true }).waitFor()
})

test('other sessions are signed out, and the current one stays', async (t) => {
  const other = await dashboard.browser(dashboard.owner)
  const page = await dashboard.open(t, browser, '/settings/sessions')
  await page.getByRole('row', { name: /This one/ }).waitFor()
  await button(page, 'Sign out all others').click()
  await confirm(page, 'Sign out')
  await button(page, 'Sign out all others').waitFor({ state: 'detached' })
  assert.equal(await page.getByRole('row').count(), 2)
  const answer = await dashboard.ask('POST', '/auth/session', {
    headers: { cookie: other.cookie, 'sec-fetch-site': 'same-origin' },
  })
  assert.equal(answer.statusCode, 401)
})

test('theme, time zone and shortcuts are chosen, and last', async (t) => {
  const page = await dashboard.open(t, browser, '/settings/appearance', { timezoneId: 'Asia/Tokyo' })
  await page.getByLabel('Dark').check()
  await page.getByLabel('UTC', { exact: true }).check()
  await page.getByRole('switch', { name: 'Single-letter shortcuts' }).uncheck()
  await page.reload()
  await heading(page, 'Appearance')
  assert.equal(await page.evaluate('document.documentElement.dataset.theme'), 'dark')
  assert.equal(await page.getByLabel('UTC', { exact: true }).isChecked(), true)
  await page.keyboard.press('g')
  await page.keyboard.press('m')
  await go(page, 'Audit log')
  await page.getByRole('cell', { name: /UTC$/ }).first().waitFor()
  await go(page, 'Appearance')
  await page.getByRole('switch').check()
  await page.getByRole('switch').blur()
  await Promise.all([page.keyboard.press('g'), page.keyboard.press('k')]) // closely, whatever the machine does meanwhile
  await heading(page, 'API keys')
})

test('users without the right are informed: developers see members and no audit log', async (t) => {
  const page = await dashboard.open(t, browser, '/settings/audit', { as: await dashboard.member('billing') })
  await page.getByText('You cannot see the audit log').waitFor()
  await go(page, 'Members')
  await page.getByRole('row', { name: /owner@example\.com/ }).waitFor()
  assert.equal(await page.getByRole('combobox').count(), 0)
  assert.equal(await button(page, 'Invite').count(), 0)
  assert.equal(await button(page, 'Leave').count(), 1)
})

test('a page that cannot be loaded reports it', async (t) => {
  const page = await dashboard.open(t, browser, '/settings/appearance')
  const error = { message: 'Broken for a moment.', type: 'invalid_request_error' }
  await page.route('**/v1/{members,devices,sessions,audit}?*', (route) =>
    route.fulfill({ status: 400, json: { error } }),
  )
  for (const label of ['Members', 'Connected devices', 'Sessions', 'Audit log']) {
    await go(page, label)
    await heading(page, label)
    await page.getByText('Broken for a moment.').first().waitFor()
    await button(page, 'Try again').first().waitFor()
  }
})

const MODEL = 'turnpike-simulator'

test('a team is created and receives a member, a key and a budget that blocks its requests until it is raised', async (t) => {
  const person = await dashboard.member('developer')
  const { db } = dashboard.database
  await db.updateTable('person').set({ name: 'Katherine Johnson' }).where('id', '=', person.userId).execute()
  const page = await dashboard.open(t, browser, '/settings/teams')
  await button(page, 'Create team').first().click()
  const form = page.getByRole('dialog', { name: 'Create a team' })
  await form.getByText('Enter a name.').waitFor()
  assert.equal(await button(page, 'Create team').last().isDisabled(), true)
  await form.getByLabel('Name').fill('Trajectories')
  await form.getByLabel('Selected endpoints').check()
  await form.getByLabel('Chat completions').check()
  await form.getByRole('button', { name: 'Create team' }).click()
  await heading(page, 'Trajectories')
  const teamId = new URL(page.url()).pathname.split('/').at(-1) ?? ''

  await button(page, 'Add member').click()
  await page.getByRole('combobox', { name: 'Person' }).fill('Kath')
  await page.getByRole('option', { name: 'Katherine Johnson' }).click()
  await page.getByRole('dialog').getByLabel('Viewer').check()
  await page.getByRole('dialog').getByRole('button', { name: 'Add member' }).click()
  const row = page.getByRole('row', { name: /Katherine Johnson/ })
  await row.getByRole('combobox').click()
  await page.getByRole('option', { name: /^Admin/ }).click()
  await row.getByRole('combobox').getByText('Admin').waitFor()

  await button(page, 'Add budget').click()
  const budget = page.getByRole('dialog', { name: 'Create a budget' })
  await budget.getByLabel('Limit').fill('0.000001')
  await budget.getByRole('button', { name: 'Create budget' }).click()
  await page.getByText('$0.000001 a month').waitFor()

  const secret = await makeKeyOfTeam(page)
  const ask = async () => {
    const body = { model: MODEL, messages: [{ role: 'user', content: 'Hello' }], max_tokens: 200 }
    const answer = await dashboard.ask('POST', '/v1/chat/completions', { token: secret, body })
    return [answer.statusCode, answer.json<{ error?: { code: string } }>().error?.code]
  }
  assert.deepEqual(await ask(), [402, 'team_budget_exceeded'])
  await page.getByRole('link', { name: '$0.000001 a month' }).click()
  await button(page, 'Raise for a time').click()
  const sheet = page.getByRole('dialog', { name: 'Budget' })
  await sheet.getByLabel('Amount').fill('5')
  await sheet.getByLabel('Until').fill('2031-01-01T00:00')
  await sheet.getByText('Enter a reason.').waitFor()
  await sheet.getByLabel('Reason').fill('The launch is on Monday')
  await sheet.getByRole('button', { name: 'Raise', exact: true }).click()
  await sheet.getByRole('listitem').getByText('The launch is on Monday').waitFor()
  assert.deepEqual(await ask(), [200, undefined])
  await button(page, 'End').click()
  await confirm(page, 'End raise')
  await page.keyboard.press('Escape')
  await page.getByRole('table', { name: 'Budgets' }).getByText('of $0.000001').waitFor()
  assert.deepEqual(await ask(), [402, 'team_budget_exceeded'])

  await showsTeamTo(t, person, { teamId })
  await button(page, 'Archive').click()
  await question(page).getByLabel('Type Trajectories to confirm').fill('Trajectories')
  await confirm(page, 'Archive team')
  await page.getByText('Its keys are rejected; its usage stays.').waitFor()
  assert.deepEqual(await ask(), [401, 'invalid_credential'])
})

/** From the page of the team and back to it. */
async function makeKeyOfTeam(page: Page): Promise<string> {
  await page.getByRole('link', { name: 'Create key' }).click()
  const form = page.getByRole('dialog', { name: 'Create an API key' })
  await form.getByLabel('Name').fill('Orbiter')
  assert.equal(await form.getByRole('combobox', { name: 'Team' }).inputValue(), 'Trajectories')
  await form.getByLabel('Tags', { exact: true }).fill('Mission=1')
  await form.getByText('“Mission=1” is not key=value').waitFor()
  await form.getByLabel('Tags', { exact: true }).fill('mission=mercury')
  await form.getByRole('button', { name: 'Create key' }).click()
  const secret = await page.getByRole('dialog').locator('[data-secret]').innerText()
  await button(page, 'I have saved it').click()
  await page.goBack()
  await page.getByRole('link', { name: /^Orbiter/ }).waitFor()
  return secret
}

/** Who is an admin of the team alone decides who is in it, and neither what it may spend nor what it may use. */
async function showsTeamTo(t: TestContext, as: Person, { teamId }: { readonly teamId: string }): Promise<void> {
  const page = await dashboard.open(t, browser, `/settings/teams/${teamId}`, { as })
  await button(page, 'Add member').waitFor()
  await page.getByText('$0.000001 a month').waitFor()
  for (const name of ['Edit', 'Archive', 'Add budget']) assert.equal(await button(page, name).count(), 0, name)
  await page.goto(`${dashboard.url}/app/settings/budgets`)
  await page.getByRole('link', { name: /Trajectories/ }).click()
  await page.getByRole('dialog', { name: 'Budget' }).getByText('Since').waitFor()
  for (const name of ['Raise for a time', 'Remove', 'Save changes'])
    assert.equal(await button(page, name).count(), 0, name)
}

/** Colors go over into each other, and are measured when they are there. */
const SETTLED = `new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(go)))
  .then(() => Promise.allSettled(document.getAnimations().filter(isShort).map(({ finished }) => finished)))
function isShort({ effect }) { return effect.getComputedTiming().endTime < 1000 }`

const VIEWS = [
  ['API keys', '/settings/keys'],
  ['Members', '/settings/members'],
  ['Teams', '/settings/teams?status=archived'],
  ['Budgets', '/settings/budgets'],
  ['Connected devices', '/settings/devices?state=all'],
  ['Sessions', '/settings/sessions'],
  ['Audit log', '/settings/audit'],
  ['Appearance', '/settings/appearance'],
] as const

test('axe reports no issues in either theme, and nothing scrolls sideways at 320 and 390 px', async (t) => {
  await dashboard.newKey(`A name that goes on ${'and on '.repeat(20)}`)
  const page = await dashboard.open(t, browser, '/settings/appearance', { bypassCSP: true })
  const look = async (name: string) => {
    assert.deepEqual(await axeFindings(page), [], `${name}, light`)
    await page.emulateMedia({ colorScheme: 'dark', reducedMotion: 'reduce' })
    for (const width of [320, 390]) {
      await page.setViewportSize({ width, height: 800 })
      await page.evaluate(SETTLED)
      assert.ok((await overflow(page)) <= 0, `${name} at ${width} px`)
    }
    assert.deepEqual(await axeFindings(page), [], `${name}, dark and narrow`)
    await page.setViewportSize({ width: 1280, height: 800 })
    await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' })
    await page.evaluate(SETTLED)
  }
  for (const [title, path] of VIEWS) {
    await page.goto(`${dashboard.url}/app${path}`)
    await heading(page, title)
    await page.locator('[aria-busy]').first().waitFor({ state: 'detached' })
    await look(title)
  }
  await page.goto(`${dashboard.url}/app/settings/keys?create=1`)
  await page.getByLabel('Selected scopes').check()
  await look('Create an API key')
  await page.goto(`${dashboard.url}/app/settings/budgets`)
  await page.getByRole('link', { name: /Trajectories/ }).click()
  await button(page, 'Save changes').waitFor()
  await look('Budget')
  await page.goto(`${dashboard.url}/app/settings/teams?status=archived`)
  await page.getByRole('link', { name: /Trajectories/ }).click()
  await page.getByRole('row', { name: /Katherine Johnson/ }).waitFor()
  await look('Team')
  await page.goto(`${dashboard.url}/app/settings/keys?status=all`)
  await page.getByRole('link', { name: /A name that goes on/ }).click()
  await page.getByRole('button', { name: 'Save changes' }).waitFor()
  await look('API key')
})
