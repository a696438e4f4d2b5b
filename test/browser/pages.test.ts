/** How pages look and read, in a real browser. Runs on one database: what is decided in it, other tests look at. */
import assert from 'node:assert/strict'
import { after, before, type TestContext, test } from 'node:test'
import type { Browser, BrowserContextOptions, Locator, Page } from 'playwright-core'
import { buildDocumentation } from '../../scripts/build-docs.ts'
import {
  axeFindings,
  axeFindingsInBothThemes,
  comesTrue,
  openWindow,
  overflow,
  startBrowser,
} from '../support/browser/browser.ts'
import { type Site, startSite } from '../support/browser/site.ts'
import { eventually } from '../support/client.ts'

let browser: Browser

before(async () => {
  browser = await startBrowser()
})
after(() => browser?.close())

const main = (page: Page) => page.locator('main').innerText()
const press = (page: Page, name: string | RegExp) => page.getByRole('button', { name, exact: true }).click()

type Look = (name: string) => Promise<void>

async function visitPages(
  t: TestContext,
  options: BrowserContextOptions,
  lookAt: (page: Page, name: string) => Promise<void>,
) {
  const site = await startSite(t, { withProvider: true })
  const page = await openWindow(t, browser, options)
  const look: Look = (name) => lookAt(page, name)
  await visitAsStranger(site, page, look)
  await page.goto(await site.link())
  await page.waitForURL(`${site.url}/app/`)
  await visitSignedIn(site, page, look)
  await letDevicesIn(site, page, look)
}

async function visitAsStranger({ url }: Site, page: Page, look: Look): Promise<void> {
  for (const path of ['/', '/sign-in?next=/activate', '/app/sign-in', '/invitation', '/auth/nobody']) {
    await page.goto(url + path)
    await look(path)
  }
  await page.goto(`${url}/invitation#token=none`)
  await page.getByRole('link', { name: 'Continue with Example Works' }).waitFor()
  await look('invitation, sign in')
}

async function visitSignedIn({ url }: Site, page: Page, look: Look): Promise<void> {
  for (const path of ['/app/', '/sign-in', '/app/sign-in', '/invitation#token=none']) {
    await page.goto(url + path)
    await look(`${path}, signed in`)
  }
  await press(page, /^Accept as/)
  await page.getByRole('heading', { name: 'This invitation is no longer valid' }).waitFor()
  await look('invitation refused')
}

async function letDevicesIn(site: Site, page: Page, look: Look): Promise<void> {
  const [approved, denied] = [await site.device(), await site.device({ scope: 'chat', userAgent: 'x'.repeat(200) })]
  for (const [device, decision] of [
    [denied, 'Deny'],
    [approved, 'Approve'],
  ] as const) {
    await page.goto(device.uriComplete)
    await look('code')
    await press(page, 'Continue')
    await page.locator('.code-to-compare').waitFor()
    await look('question')
    await press(page, decision)
    await page.waitForURL(`${site.url}/activate/*`)
    await look(decision)
  }
  await page.goto((await site.device()).uriComplete)
  await press(page, 'Continue')
  await page.locator('.code-to-compare').waitFor()
  await site.database.db
    .updateTable('device_code')
    .set({ expires_at: Date.now() - 1 })
    .execute()
  await press(page, 'Approve')
  await page.getByRole('heading', { name: 'This request is no longer valid' }).waitFor()
  await look('over')
  await page.goto(`${site.url}/activate`)
  for (const wrong of ['B', 'C', 'D', 'F']) {
    await page.getByLabel('Code').fill(wrong)
    await press(page, 'Continue')
    await page.locator(`input[value="${wrong}"]`).waitFor()
  }
  await look('wrong code')
  await press(page, 'Continue')
  await page.getByRole('heading', { name: 'Too many wrong codes' }).waitFor()
  await look('blocked')
  await site.database.db.updateTable('session').set({ created_at: 1 }).execute()
  await page.goto(`${site.url}/activate`)
  await page.getByRole('heading', { name: 'Sign in again' }).waitFor()
  await look('sign in again')
}

test('axe reports no issues on any page, in light and in dark colors', async (t) => {
  await visitPages(t, { bypassCSP: true }, async (page, name) => {
    assert.deepEqual(await axeFindingsInBothThemes(page), [], name)
  })
})

test('at 320 px no page scrolls sideways, and none violates its content security policy', async (t) => {
  await visitPages(t, { viewport: { width: 320, height: 640 } }, async (page, name) => {
    assert.ok((await overflow(page)) <= 0, name)
    assert.equal(await page.locator('h1').count(), 1, name)
    assert.notEqual(await page.title(), ' – Turnpike', name)
  })
})

test('an invited person signs in and becomes a member', async (t) => {
  const site = await startSite(t, { withProvider: true })
  const page = await openWindow(t, browser)
  await page.goto(await invitation(site))
  await page.getByRole('link', { name: 'Continue with Example Works' }).click()
  await page.getByLabel('Name').fill('ada')
  await press(page, 'Continue')
  await page.waitForURL(`${site.url}/app/`)
  assert.match(await main(page), /^Difference\n[\s\S]*Ada Lovelace \(ada@example\.com\), developer/)
})

test('a signed-in user confirms an invitation and switches between the accounts', async (t) => {
  const site = await startSite(t)
  const page = await openWindow(t, browser)
  await page.goto(await site.link())
  await page.waitForURL(`${site.url}/app/`)
  const link = await invitation(site)
  await page.goto(link)
  await page.waitForURL(`${site.url}/invitation`)
  await press(page, 'Accept as owner@localhost')
  await page.getByRole('heading', { name: 'Welcome to Difference' }).waitFor()
  assert.match(await main(page), /Welcome to Difference\s+Your role in this account is developer/)
  await page.getByRole('link', { name: 'Continue' }).click()
  await press(page, 'Default (owner)')
  await page.getByRole('heading', { name: 'Default', exact: true }).waitFor()
  await page.goto((await site.device()).uriComplete)
  await press(page, 'Continue')
  await press(page, 'Difference (developer)')
  await page.getByLabel('Code').waitFor()
  await press(page, 'Continue')
  await page.locator('.code-to-compare').waitFor()
  assert.match(await main(page), /As owner@localhost \(developer\)/)
})

test('without an identity provider an invitation says that no new person can join', async (t) => {
  const site = await startSite(t)
  const page = await openWindow(t, browser)
  await page.goto(await invitation(site))
  await page.getByText('This installation has no identity provider').waitFor()
})

/** One of each kind; `scripts/build-docs.test.ts` reads them all. */
const DOCUMENTS = ['', 'concepts', 'clients/', 'none', 'api/']

const WIDTHS = [1440, 1280, 390]

test(`documentation: at ${WIDTHS} px axe finds nothing in light and dark, and nothing is cut off`, async (t) => {
  buildDocumentation()
  const { url } = await startSite(t)
  const page = await openWindow(t, browser, { bypassCSP: true })
  for (const path of DOCUMENTS) {
    await page.goto(`${url}/docs/${path}`)
    await page.waitForLoadState('networkidle')
    if (path === 'api/') await openOperations(page)
    await lookAtDocument(page, path)
  }
  await page.goto(`${url}/docs/concepts`)
  await page.waitForLoadState('networkidle')
  await lookAtSearch(page)
})

async function lookAtDocument(page: Page, name: string): Promise<void> {
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 900 })
    for (const colorScheme of ['dark', 'light'] as const) {
      await page.emulateMedia({ colorScheme })
      const isShown = `document.documentElement.matches('.dark, .dark-mode') === ${colorScheme === 'dark'}`
      assert.ok(await comesTrue(page, isShown), name)
      assert.deepEqual(await axeFindings(page), [], `${name}, ${width} px, ${colorScheme}`)
    }
    assert.ok((await overflow(page)) <= 0, `${name}, ${width} px`)
  }
}

/** Nothing listens to the key before the page's script has run, which may be after its last request. */
async function openSearch(page: Page): Promise<Locator> {
  const field = page.getByRole('combobox')
  await eventually(async () => {
    if (!(await field.isVisible())) await page.keyboard.press('Control+k')
    return field.isVisible()
  }, Boolean)
  return field
}

/** Empty, with results and their text, and without any. */
async function lookAtSearch(page: Page): Promise<void> {
  const look = (name: string): Promise<void> => lookAtDocument(page, `search, ${name}`)
  const field = await openSearch(page)
  await look('empty')
  await field.fill('retry')
  await page.locator('a.result').first().waitFor()
  await look('results')
  await page.getByRole('button', { name: 'Display detailed list' }).press('Enter')
  await page.locator('a.result .excerpt').first().waitFor()
  await look('results with their text')
  await field.fill('zzqqxxzzqqxx')
  await page.locator('.no-results').waitFor()
  await look('no results')
}

/** With fields and choices of each kind: of parameters, bodies and answers. */
async function openOperations(page: Page): Promise<void> {
  await openOperation(page, 'Usage', '/v1/usage')
  await page.getByRole('button', { name: 'Try it out' }).click()
  await openOperation(page, 'Chat', '/v1/chat/completions')
  await page.locator('.opblock-body select').first().waitFor()
}

const openOperation = async (page: Page, tag: string, path: string) => {
  await page.locator(`h3[data-tag="${tag}"]`).click()
  await page.locator('.opblock-summary', { has: page.locator(`[data-path="${path}"]`) }).click()
}

test('documentation: a search for an error finds its page, without a request to another origin', async (t) => {
  buildDocumentation()
  const { url } = await startSite(t)
  const page = await openWindow(t, browser)
  const foreign: string[] = []
  page.on('request', (request) => request.url().startsWith(url) || foreign.push(request.url()))
  await page.goto(`${url}/docs/`)
  await page.waitForLoadState('networkidle')
  const field = await openSearch(page)
  await field.fill('idempotency_key_reused')
  await page.locator('a.result[href="/docs/errors#errors"]').click()
  await page.locator('h1', { hasText: 'Errors' }).waitFor()
  assert.equal(new URL(page.url()).pathname, '/docs/errors')
  assert.deepEqual(foreign, [])
})

test('the API reference lists models with a key that is entered there', async (t) => {
  buildDocumentation()
  const site = await startSite(t)
  const page = await openWindow(t, browser)
  await page.goto(`${site.url}/docs/api/`)
  await page.getByRole('button', { name: 'Authorize' }).click()
  await page.locator('#auth-bearer-value').fill(await site.key(site.firstAccount))
  await page.getByRole('button', { name: 'Apply credentials' }).first().click()
  await page.getByRole('button', { name: 'Close' }).last().click()
  await openOperation(page, 'Models', '/v1/models')
  await page.getByRole('button', { name: 'Try it out' }).click()
  await page.getByRole('button', { name: 'Execute' }).click()
  await page.locator('.live-responses-table .response-col_status', { hasText: '200' }).waitFor()
})

/** The link to another account, `Difference`, as a developer. */
async function invitation(site: Site): Promise<string> {
  const owner = await site.browser(await site.person(await site.account('Difference'), 'owner'))
  const answer = await site.ask('POST', '/v1/invitations', {
    token: await site.token(owner),
    body: { role: 'developer' },
  })
  assert.equal(answer.statusCode, 201, answer.body)
  return answer.json<{ url: string }>().url
}
