/** Device sign-in, approved or denied in a real browser, also by the command line. Runs on one database. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { openWindow, startBrowser } from '../support/browser/browser.ts'
import { startSite, type WaitingDevice } from '../support/browser/site.ts'
import { CHAT, eventually, hello } from '../support/client.ts'
import { makeHome } from '../support/process/command-line.ts'

let browser: Browser

before(async () => {
  browser = await startBrowser()
})
after(() => browser?.close())

const sees = (page: Page, heading: string) =>
  page.getByRole('heading', { name: heading, level: 1, exact: true }).waitFor()
const reads = (page: Page, text: string) => page.locator('main').getByText(text).waitFor()
const LETTERS = 'BCDFGH'
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })

async function typeCode(page: Page, code: string): Promise<void> {
  await page.getByLabel('Code').fill(code)
  await button(page, 'Continue').click()
}

async function askAbout(page: Page, { uriComplete }: WaitingDevice): Promise<void> {
  await page.goto(uriComplete)
  await button(page, 'Continue').click()
}

test('J3, DEV-3: a user signs in at their provider, approves a device, uses it, and disconnects it', async (t) => {
  const site = await startSite(t, { withProvider: true })
  const device = await site.device()
  const page = await openWindow(t, browser)
  await page.goto(device.uriComplete)
  await sees(page, 'Sign in')
  await page.getByRole('link', { name: 'Continue with Example Works' }).click()
  await page.getByLabel('Name').fill('ada')
  await button(page, 'Continue').click()
  await page.waitForURL(device.uriComplete)
  assert.equal(await page.getByLabel('Code').inputValue(), device.userCode)
  await assert.rejects(device.poll(), { error: 'authorization_pending' }) // filled in is not let in
  await button(page, 'Continue').click()
  await sees(page, 'Connect Turnpike for IDEs?')
  const question = await page.locator('main').innerText()
  assert.equal(await page.locator('.code-to-compare').innerText(), device.userCode)
  for (const told of ['Identifies as Zed on Linux', '127.0.0.1', 'ada@example.com (owner)', 'Default']) {
    assert.ok(question.includes(told), told)
  }
  assert.match(question, /just now|minutes? ago/)
  assert.match(question, /It can\s+call models, at the account’s cost/)
  assert.match(question, /It cannot\s+create, change and revoke API keys\s+read credit and invoices/)
  await button(page, 'Approve').click()
  await sees(page, 'Your device is connected')
  const { access_token: token, refresh_token: refresh } = await device.poll()
  const answer = await site.ask('POST', CHAT, { token, body: hello() })
  assert.equal(answer.statusCode, 200, answer.body)
  await device.revoke(refresh ?? '')
  assert.equal((await site.ask('POST', CHAT, { token, body: hello() })).statusCode, 401)
})

test('without JavaScript and at 320 px a user signs in by link, types a code in any form, and approves', async (t) => {
  const site = await startSite(t)
  const device = await site.device({ scope: 'chat' })
  const page = await openWindow(t, browser, { javaScriptEnabled: false, viewport: { width: 320, height: 640 } })
  await page.goto(`${site.url}/activate`)
  await reads(page, 'turnpike login-link')
  const link = await site.link()
  await page.goto(link)
  await page.getByLabel('Token').fill(link.split('#token=')[1] ?? '')
  await button(page, 'Sign in').click()
  await page.waitForURL(`${site.url}/activate`)
  await typeCode(page, ` ${device.userCode.toLowerCase().replace('-', ' ')} `)
  await reads(page, 'The device is connected for one hour')
  await button(page, 'Approve').click()
  await sees(page, 'Your device is connected')
  assert.equal((await device.poll()).scope, 'chat')
})

test('a one-time link signs in automatically, disappears from the address bar, and works once', async (t) => {
  const site = await startSite(t)
  const link = await site.link()
  const page = await openWindow(t, browser)
  await page.goto(link)
  await page.waitForURL(`${site.url}/app/`)
  await reads(page, 'Signed in as owner@localhost')
  await page.goBack()
  assert.doesNotMatch(page.url(), /token/)
  await page.goto(`${site.url}/app/`)
  await button(page, 'Sign out').click()
  await sees(page, 'Sign in')
  await page.goto(link)
  await page.getByRole('heading', { name: 'This link is no longer valid' }).waitFor()
})

test('a visitor of a dashboard page signs in first, by link or at a provider, and continues on that page', async (t) => {
  for (const withProvider of [false, true]) {
    const site = await startSite(t, { withProvider, withDashboard: true })
    const page = await openWindow(t, browser)
    await page.goto(`${site.url}/app/settings/sessions`)
    await page.waitForURL(`${site.url}/sign-in?next=%2Fapp%2Fsettings%2Fsessions`)
    if (withProvider) {
      await page.getByRole('link', { name: 'Continue with Example Works' }).click()
      await page.getByLabel('Name').fill('ada')
      await button(page, 'Continue').click()
    } else {
      await reads(page, 'turnpike login-link')
      await page.goto(await site.link())
    }
    await page.waitForURL(`${site.url}/app/settings/sessions`)
    await page.goto(`${site.url}/app/`)
    await sees(page, 'Home')
    const email = withProvider ? 'ada@example.com' : 'owner@localhost'
    await button(page, `Account Default ${email}`).waitFor()
  }
})

test('a signed-in user confirms before a link replaces the session', async (t) => {
  const site = await startSite(t)
  const page = await openWindow(t, browser)
  await page.goto(await site.link())
  await page.waitForURL(`${site.url}/app/`)
  await page.goto(await site.link())
  await reads(page, 'You are signed in as owner@localhost')
  assert.equal(page.url(), `${site.url}/app/sign-in`)
  await button(page, 'Sign in').click()
  await page.waitForURL(`${site.url}/app/`)
})

test('DEV-2: after five wrong codes no more are taken, not even the right one', async (t) => {
  const site = await startSite(t)
  const device = await site.device()
  const page = await openWindow(t, browser)
  await page.goto(await site.link())
  await page.waitForURL(`${site.url}/app/`)
  await page.goto(`${site.url}/activate`)
  for (let wrong = 1; wrong <= 5; wrong++) {
    await page.getByLabel('Code').fill(`BBBB-BBB${LETTERS[wrong]}`)
    await button(page, 'Continue').click()
    await page.locator(`input[value="BBBB-BBB${LETTERS[wrong]}"]`).waitFor() // what was typed is kept
    const field = page.getByLabel('Code')
    assert.equal(await field.getAttribute('aria-invalid'), 'true')
    const described = String(await field.getAttribute('aria-describedby')).split(' ')
    assert.equal(await page.locator(`#${described[0]}`).innerText(), 'No pending request has this code.')
  }
  await typeCode(page, device.userCode)
  await sees(page, 'Too many wrong codes')
  await reads(page, 'for 10 minutes')
  await assert.rejects(device.poll(), { error: 'authorization_pending' })
})

test('denying a request rejects the device', async (t) => {
  const site = await startSite(t)
  const device = await site.device()
  const page = await openWindow(t, browser)
  await page.goto(await site.link())
  await page.waitForURL(`${site.url}/app/`)
  await askAbout(page, device)
  await button(page, 'Deny').click()
  await sees(page, 'You denied the request')
  await assert.rejects(device.poll(), { error: 'access_denied' })
})

test('of two windows one decides, and the other reports that the request is closed', async (t) => {
  const site = await startSite(t)
  const device = await site.device()
  const first = await openWindow(t, browser)
  await first.goto(await site.link())
  await first.waitForURL(`${site.url}/app/`)
  const second = await first.context().newPage()
  for (const page of [first, second]) await askAbout(page, device)
  await button(first, 'Deny').click()
  await sees(first, 'You denied the request')
  await button(second, 'Approve').click()
  await sees(second, 'This request is no longer valid')
  await assert.rejects(device.poll(), { error: 'access_denied' })
})

test('a request that expires while the person reads is closed', async (t) => {
  const site = await startSite(t)
  const device = await site.device()
  const page = await openWindow(t, browser)
  await page.goto(await site.link())
  await page.waitForURL(`${site.url}/app/`)
  await askAbout(page, device)
  await site.database.db
    .updateTable('device_code')
    .set({ expires_at: Date.now() - 1 })
    .execute()
  await button(page, 'Approve').click()
  await sees(page, 'This request is no longer valid')
  await page.getByRole('link', { name: 'Enter another code' }).click()
  await typeCode(page, device.userCode)
  await reads(page, 'No pending request has this code')
  await assert.rejects(device.poll(), { error: 'expired_token' })
})

test('DEV-3: a user who signed in long ago signs in again before a device is approved', async (t) => {
  const site = await startSite(t, { withProvider: true })
  const device = await site.device()
  const page = await openWindow(t, browser)
  await page.goto(`${site.url}/sign-in?next=/app/`)
  await page.getByRole('link', { name: 'Continue with Example Works' }).click()
  await page.getByLabel('Name').fill('ada')
  await button(page, 'Continue').click()
  await page.waitForURL(`${site.url}/app/`)
  await site.database.db
    .updateTable('session')
    .set({ created_at: Date.now() - 13 * 3_600_000 })
    .execute()
  await page.goto(device.uriComplete)
  await sees(page, 'Sign in again')
  await page.getByRole('link', { name: 'Continue with Example Works' }).click()
  await page.waitForURL(device.uriComplete)
  await sees(page, 'Connect a device')
})

test('J3: the waiting login continues after approval, chat streams, and a disconnected user receives instructions', async (t) => {
  const site = await startSite(t, { withProvider: true })
  const home = makeHome()
  t.after(home.remove)
  const login = home.start(['login', '--url', site.url, '--insecure-file'])
  t.after(() => login.child.kill())
  const code = /[B-Z]{4}-[B-Z]{4}/
  const shown = await eventually(
    async () => login.stdout(),
    (text) => code.test(text),
  )
  const page = await openWindow(t, browser)
  await page.goto(`${site.url}/activate`)
  await page.getByRole('link', { name: 'Continue with Example Works' }).click()
  await page.getByLabel('Name').fill('ada')
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByLabel('Code').fill(code.exec(shown)?.[0] ?? '')
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByText('Identifies as turnpike-cli on').waitFor()
  await page.getByRole('button', { name: 'Approve' }).click()
  await page.getByRole('heading', { name: 'Your device is connected' }).waitFor()
  const signedIn = await login.ended
  assert.match(signedIn.stdout, /Signed in to \S+ as ada@example\.com, account Default/)
  const answer = await home.run(['chat'], { input: 'hello' })
  assert.deepEqual([answer.code, answer.stdout.trim().length > 0], [0, true], answer.stderr)
  const key = await site.key(site.firstAccount)
  const { data } = (await site.ask('GET', '/v1/devices', { token: key })).json<{ data: { id: string }[] }>()
  assert.equal((await site.ask('DELETE', `/v1/devices/${data[0]?.id}`, { token: key })).statusCode, 204)
  const refused = await home.run(['chat'], { input: 'hello' })
  assert.notEqual(refused.code, 0)
  assert.match(refused.stderr, /Run 'turnpike login --url/)
})
