/**
 * The frame around every view of the dashboard, and what its first page loads, in a real browser. Runs on one database:
 * accounts, sessions and files are the same on every one.
 */
import assert from 'node:assert/strict'
import { after, before, type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Browser, Page, Response } from 'playwright-core'
import { buildDocumentation } from '../../scripts/build-docs.ts'
import { createSignInLink, signInUrl } from '../../src/features/accounts/bootstrap.ts'
import { storeCatalogue } from '../../src/features/stored-settings/published-catalogue.ts'
import {
  axeFindings,
  axeFindingsInBothThemes,
  comesTrue,
  openWindow,
  overflow,
  startBrowser,
} from '../support/browser/browser.ts'
import {
  type Dashboard,
  frameIsThere,
  isOfFrame,
  type OpenOptions,
  startDashboard,
} from '../support/browser/dashboard.ts'
import { join as joinAccount, OWN_PAGE, VERSION } from '../support/browser/signed-in.ts'

const MODEL = 'claude-sonnet-4-6'
/** Of all JavaScript, as it travels. */
const MAX_SCRIPT_BYTES = 200 * 1024
/** Files below it are sent as they are. */
const MIN_COMPRESSED_BYTES = 1024
const MAX_LAYOUT_SHIFT = 0.05

let browser: Browser
let dashboard: Dashboard
const endings: (() => unknown)[] = []

before(async () => {
  browser = await startBrowser()
  dashboard = await startDashboard({ after: (end) => void endings.push(end as () => unknown) })
  await dashboard.seed([(await dashboard.newKey('Production')).id], { count: 60, days: 2 })
})
after(async () => {
  await browser?.close()
  for (const end of endings) await end()
})

const open = (t: TestContext, path: string, options: OpenOptions = {}): Promise<Page> =>
  dashboard.open(t, browser, path, options)
const at = (page: Page, path: string): Promise<void> => page.waitForURL(`${dashboard.url}/app${path}`)
const heading = (page: Page, name: string) => page.getByRole('heading', { level: 1, name, exact: true })
const navigation = (page: Page) => page.getByRole('navigation', { name: 'Main' })
const searchField = (page: Page) => page.getByRole('combobox', { name: 'Search or jump to' })
const option = (page: Page, name: string | RegExp) => page.getByRole('option', { name })
const accountMenu = (page: Page, account: string) =>
  page.getByRole('button', { name: new RegExp(`^Account ${account}\\b`) })

/** The name of what has the focus; its tag where it has none. */
const FOCUSED = `(() => {
  const { activeElement: element } = document
  return (element?.getAttribute('aria-label') ?? element?.innerText ?? '').trim().replace(/\\s+/g, ' ') || element?.id || element?.tagName
})()`
const focused = (page: Page): Promise<string> => page.evaluate<string>(FOCUSED)
const CELL_HEIGHT = "document.querySelector('tbody td').offsetHeight"
const cellHeight = (page: Page): Promise<number> => page.evaluate<number>(CELL_HEIGHT)
/** Of the menu alone: what Base UI puts beside every one to guard the focus is hidden, and meant to take it. */
const MENU_FINDINGS =
  "axe.run('[role=menu]').then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes[0].html))"
/** Goes round a menu, once at most. */
async function pressUntil(page: Page, key: string, name: string): Promise<void> {
  for (let presses = 0; presses < 20 && (await focused(page)) !== name; presses += 1) await page.keyboard.press(key)
  assert.equal(await focused(page), name)
}
const VIEW_FOCUSED = "document.activeElement.id === 'view'"
/** Both at once: the second letter is not waited for longer than a moment. */
const jump = (page: Page, letter: string) => Promise.all(['g', letter].map((key) => page.keyboard.press(key)))

test('the palette finds a view and a model by some letters and opens it, before and after the list of models was loaded', async (t) => {
  const page = await open(t, '/')
  await page.keyboard.press('Control+k')
  await searchField(page).fill('audi')
  await option(page, /^Audit log/).waitFor()
  await page.keyboard.press('Enter')
  await at(page, '/settings/audit')
  await page.keyboard.press('Control+k')
  await searchField(page).fill('sonnet-4-6')
  await option(page, new RegExp(`^${MODEL}`)).waitFor()
  await page.keyboard.press('Enter')
  await at(page, `/models/${MODEL}`)
  await page.locator('main').getByText(MODEL, { exact: true }).first().waitFor()
  await navigation(page).getByRole('link', { name: 'Models & Pricing' }).click()
  await page.locator('main').getByRole('link', { name: MODEL, exact: true }).first().waitFor()
  await page.keyboard.press('Control+k')
  await searchField(page).fill('sonnet-4-6')
  await option(page, new RegExp(`^${MODEL}`)).waitFor()
  await searchField(page).fill('no view is called so')
  await page.getByText('No matches.').waitFor()
  await page.keyboard.press('Escape')
  await searchField(page).waitFor({ state: 'detached' })
})

test('keyboard shortcuts work until they are switched off, and never while typing', async (t) => {
  const page = await open(t, '/settings/appearance')
  await page.keyboard.press('?')
  const help = page.getByRole('dialog', { name: 'Keyboard shortcuts' })
  await help.getByText('Go to Usage').waitFor()
  await jump(page, 'u')
  assert.match(page.url(), /appearance$/) // a dialog is open
  await page.keyboard.press('Escape')
  await help.waitFor({ state: 'detached' })
  await jump(page, 'u')
  await heading(page, 'Usage').waitFor()
  assert.equal(new URL(page.url()).pathname, '/app/usage')
  assert.ok(await comesTrue(page, VIEW_FOCUSED))
  await page.keyboard.press('Control+k')
  await searchField(page).pressSequentially('gh?')
  assert.equal(await searchField(page).inputValue(), 'gh?')
  await page.keyboard.press('Escape')
  await page.goBack()
  await page.getByRole('switch', { name: 'Single-letter shortcuts' }).click()
  await page.reload()
  await heading(page, 'Appearance').waitFor()
  await page.keyboard.press('?')
  await jump(page, 'u')
  await page.keyboard.press('Control+k')
  await searchField(page).waitFor()
  assert.match(page.url(), /appearance$/)
  assert.equal(await help.count(), 0)
})

test('the keyboard meets the skip link, the navigation, the account, the search and the view, in this order', async (t) => {
  const page = await open(t, '/settings/appearance')
  await page.getByRole('link', { name: 'No limit' }).waitFor()
  const links = await navigation(page).getByRole('link').allInnerTexts()
  const version = await page.getByRole('link', { name: /^Version \d/ }).innerText()
  const frame = ['Help', version, 'Account Default', 'Search or jump to… Ctrl K', 'No limit']
  const expected = ['Skip to content', ...links, ...frame]
  const met: string[] = []
  for (const _ of expected) {
    await page.keyboard.press('Tab')
    met.push((await focused(page)).replace(/^(Account Default)\b.*$/, '$1'))
  }
  assert.deepEqual(met, expected)
  await page.reload()
  await heading(page, 'Appearance').waitFor()
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  assert.ok(await comesTrue(page, VIEW_FOCUSED))
  await page.keyboard.press('Tab')
  assert.equal(await page.evaluate('document.activeElement.closest("main")?.id'), 'view')
})

test('operators see which release is newer, by the catalogue that was pulled; nobody does without one', async (t) => {
  const { db } = dashboard.database
  const hint = (page: Page) => page.getByRole('link', { name: /is available$/ })
  const before = await dashboard.open(t, browser, '/')
  await before.getByRole('link', { name: `Version ${VERSION}` }).waitFor()
  assert.equal(await hint(before).count(), 0)
  const pull = async (release: string | undefined) => {
    await storeCatalogue(db, { publishedAt: new Date().toISOString(), models: [], release }, Date.now())
    const token = await dashboard.ownerToken()
    const expected = release === '99.0.0' ? release : null
    for (;;) {
      const me = (await dashboard.ask('GET', '/v1/me', { token })).json<{ newer_release: string | null }>()
      if (me.newer_release === expected) return
      await sleep(50) // processes read changes every moment
    }
  }
  t.after(() => storeCatalogue(db, undefined, Date.now()))
  await pull('99.0.0')
  await before.reload()
  await hint(before).getByText('99.0.0 is available').waitFor()
  assert.equal(await hint(before).getAttribute('href'), '/docs/deploy/upgrades')
  const developer = await dashboard.open(t, browser, '/', { as: await dashboard.member('developer') })
  await developer.getByRole('link', { name: `Version ${VERSION}` }).waitFor()
  assert.equal(await hint(developer).count(), 0)
  for (const release of [VERSION, '0.0.1', undefined]) await pull(release)
  await before.reload()
  await before.getByRole('link', { name: `Version ${VERSION}` }).waitFor()
  assert.equal(await hint(before).count(), 0)
})

test('the navigation leads to the documentation, help, and the changes of its version', async (t) => {
  buildDocumentation()
  const page = await open(t, '/settings/appearance')
  await navigation(page).getByRole('button', { name: 'Help' }).click()
  const help = page.getByRole('dialog', { name: 'Help' })
  await help.getByRole('link', { name: 'API reference' }).waitFor()
  const pages = await Promise.all((await help.getByRole('link').all()).map((link) => link.getAttribute('href')))
  await page.keyboard.press('Escape')
  await help.waitFor({ state: 'detached' })
  const version = page.getByRole('link', { name: /^Version \d/ })
  const documentation = navigation(page).getByRole('link', { name: 'Documentation' })
  for (const link of [documentation, version]) pages.push(await link.getAttribute('href'))
  for (const path of pages) assert.equal((await fetch(dashboard.url + path)).status, 200, path ?? '')
  await version.click()
  await page.getByRole('heading', { level: 1, name: 'Changelog' }).waitFor()
})

test('a page that was opened before an upgrade of the gateway offers to reload, and only then', async (t) => {
  const page = await dashboard.window(t, browser)
  await page.clock.install()
  await page.goto(`${dashboard.url}/app/settings/appearance`)
  await heading(page, 'Appearance').waitFor()
  const reload = page.getByRole('button', { name: /^The gateway was updated since this page was opened/ })
  const checked = page.waitForResponse('**/v1/me')
  await page.clock.fastForward('05:01')
  await checked
  assert.equal(await reload.count(), 0)
  await page.route('**/v1/me', async (route) => {
    const response = await route.fetch()
    await route.fulfill({ response, json: { ...(await response.json()), version: '99.0.0' } })
  })
  await page.clock.fastForward('05:01')
  await reload.waitFor()
  await reload.click()
  await page.getByRole('link', { name: 'Version 99.0.0' }).waitFor()
  assert.equal(await reload.count(), 0)
})

test('at 390 px the navigation is a drawer that closes by Escape, restores the focus, and opens the chosen page', async (t) => {
  const page = await open(t, '/settings/appearance', { viewport: { width: 390, height: 844 }, bypassCSP: true })
  const opener = page.getByRole('button', { name: 'Open navigation' })
  await opener.click()
  await navigation(page).getByRole('link', { name: 'Requests' }).waitFor()
  assert.deepEqual(await axeFindings(page), [])
  await page.keyboard.press('Escape')
  await navigation(page).waitFor({ state: 'detached' })
  assert.ok(await comesTrue(page, `${FOCUSED} === 'Open navigation'`))
  await opener.click()
  await navigation(page).getByRole('link', { name: 'Requests' }).click()
  await heading(page, 'Requests').waitFor()
  await navigation(page).waitFor({ state: 'detached' })
  assert.ok((await overflow(page)) <= 0)
})

test('a user of two accounts switches to the other, sees their rights there, and signs out', async (t) => {
  const { database, account } = dashboard
  const person = await dashboard.person(await account('Analytics'), 'billing', 'lin@example.com')
  await joinAccount(database.db, { ...person, accountId: dashboard.firstAccount }, 'developer')
  const page = await open(t, '/settings/appearance', { as: person })
  assert.equal(await navigation(page).getByRole('link', { name: 'Playground' }).count(), 0)
  await accountMenu(page, 'Analytics').click()
  await page.getByRole('menuitem', { name: /^Default/ }).click()
  await accountMenu(page, 'Default').waitFor()
  assert.equal(page.url(), `${dashboard.url}/app/`)
  await navigation(page).getByRole('link', { name: 'Playground' }).waitFor()
  assert.equal(await page.getByRole('link', { name: 'Billing' }).count(), 0)
  await accountMenu(page, 'Default').click()
  await page.getByRole('menuitem', { name: 'Sign out' }).click()
  await page.waitForURL(`${dashboard.url}/sign-in`)
  await page.goto(`${dashboard.url}/app/usage`)
  await page.waitForURL(`${dashboard.url}/sign-in?next=%2Fapp%2Fusage`)
})

test('an address with filters that is opened signed out is shown after signing in', async (t) => {
  const page = await openWindow(t, browser)
  await page.goto(`${dashboard.url}/app/usage?range=7d`)
  await page.waitForURL(`${dashboard.url}/sign-in?**`)
  const link = await createSignInLink(dashboard.database.db, dashboard.firstAccount, Date.now())
  await page.goto(signInUrl(dashboard.url, link))
  await page.waitForURL(`${dashboard.url}/app/usage?range=7d`)
  await heading(page, 'Usage').waitFor()
})

test('a session that ended elsewhere leads to the sign-in, which returns to the page', async (t) => {
  const page = await open(t, '/settings/appearance')
  await frameIsThere(page) // a question on its way would be refused, and be the one that leads away
  const [cookie] = await page.context().cookies()
  const headers = { cookie: `${cookie?.name}=${cookie?.value}`, ...OWN_PAGE }
  const { statusCode } = await dashboard.ask('POST', '/auth/sign-out', { headers, body: {} })
  assert.equal(statusCode, 204)
  await navigation(page).getByRole('link', { name: 'Requests' }).click()
  await page.waitForURL((url) => url.pathname === '/sign-in')
  assert.match(new URL(page.url()).searchParams.get('next') ?? '', /^\/app\/requests/)
})

test('without a network a notice says that data may be old, until the network is back', async (t) => {
  const page = await open(t, '/settings/appearance')
  await frameIsThere(page)
  await page.waitForLoadState('networkidle')
  await page.context().setOffline(true)
  const note = page.getByText('You are offline. The data may be out of date.')
  await note.waitFor()
  await page.context().setOffline(false)
  await note.waitFor({ state: 'detached' })
})

test('columns are hidden and rows made higher from the keyboard, without asking again; both are so after a reload, and in cards', async (t) => {
  const page = await open(t, '/requests?range=7d', { viewport: { width: 1280, height: 800 }, bypassCSP: true })
  const header = (name: string) => page.getByRole('columnheader', { name, exact: true })
  const view = page.getByRole('button', { name: 'View', exact: true })
  await header('Provider').waitFor()
  await frameIsThere(page)
  await page.waitForLoadState('networkidle')
  assert.deepEqual(await axeFindings(page), [])
  const asked: string[] = []
  page.on('request', (request) => void asked.push(request.url().replace(dashboard.url, '')))
  const height = await cellHeight(page)
  await view.press('Enter')
  assert.ok(await page.getByRole('menuitemcheckbox', { name: 'Time', exact: true }).isDisabled())
  await pressUntil(page, 'ArrowDown', 'Provider')
  await page.keyboard.press('Space')
  await header('Provider').waitFor({ state: 'detached' })
  await pressUntil(page, 'ArrowDown', 'Finish')
  await page.keyboard.press('Space')
  await header('Finish').waitFor()
  await pressUntil(page, 'ArrowDown', 'Comfortable')
  await page.keyboard.press('Space')
  assert.ok(await comesTrue(page, `${CELL_HEIGHT} > ${height}`))
  assert.deepEqual(await page.evaluate(MENU_FINDINGS), [])
  await page.keyboard.press('Escape')
  assert.ok(await comesTrue(page, `${FOCUSED} === 'View'`))
  assert.deepEqual(
    asked.filter((address) => !isOfFrame(address)),
    [],
  )
  await page.reload()
  await header('Finish').waitFor()
  assert.equal(await header('Provider').count(), 0)
  assert.ok((await cellHeight(page)) > height)
  await page.setViewportSize({ width: 390, height: 844 })
  const card = page.getByRole('list', { name: 'Requests' }).getByRole('listitem').first()
  await card.getByText('Model', { exact: true }).waitFor()
  assert.equal(await card.getByText('Provider', { exact: true }).count(), 0)
  await view.click()
  await page.getByRole('menuitem', { name: 'Reset view' }).click()
  await card.getByText('Provider', { exact: true }).waitFor()
})

test('an unknown address is explained within the shell and leads Home', async (t) => {
  const page = await open(t, '/no/such/view')
  await heading(page, 'Not found').waitFor()
  await page.locator('main').getByRole('link', { name: 'Go to Home' }).click()
  await at(page, '/')
  await heading(page, 'Home').waitFor()
  assert.ok(await comesTrue(page, "document.title === 'Home · Turnpike'"))
})

/** Notes whether there was anything to paint when the theme came. */
const NOTE_THEME = `
  localStorage.setItem('turnpike.theme', 'dark')
  new MutationObserver(() => {
    if (document.documentElement?.dataset.theme) globalThis.themeCameFirst ??= document.body === null
  }).observe(document, { subtree: true, childList: true, attributes: true })`

test('a theme that was chosen is there before anything is painted, whatever the system has', async (t) => {
  const page = await dashboard.window(t, browser, { colorScheme: 'light' })
  await page.addInitScript(NOTE_THEME)
  await page.goto(`${dashboard.url}/app/settings/appearance`)
  await heading(page, 'Appearance').waitFor()
  assert.equal(await page.evaluate('document.documentElement.dataset.theme'), 'dark')
  assert.equal(await page.evaluate('themeCameFirst'), true)
  assert.equal(await page.getByRole('radio', { name: 'Dark' }).isChecked(), true)
})

test('nothing around the views fails axe-core, in light and in dark colors', async (t) => {
  const page = await open(t, '/no/such/view', { bypassCSP: true, reducedMotion: 'reduce' })
  assert.deepEqual(await axeFindingsInBothThemes(page), [])
  await page.keyboard.press('Control+k')
  await option(page, new RegExp(`^${MODEL}`)).waitFor()
  assert.deepEqual(await axeFindingsInBothThemes(page), [])
  await page.keyboard.press('Escape')
  await searchField(page).waitFor({ state: 'detached' })
  await page.keyboard.press('?')
  await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor()
  assert.deepEqual(await axeFindingsInBothThemes(page), [])
})

// Strings: these run in the browser, whose types tests do not know.
const LAYOUT_SHIFT = `new Promise((resolve) => {
  let sum = 0
  const add = (entries) => {
    for (const { value, hadRecentInput } of entries) if (!hadRecentInput) sum += value
  }
  const observer = new PerformanceObserver((list) => add(list.getEntries()))
  observer.observe({ type: 'layout-shift', buffered: true })
  requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(() => {
    add(observer.takeRecords())
    resolve(sum)
  })))
})`
const FIRST_PAINT = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"

interface Visit {
  readonly page: Page
  readonly requests: readonly string[]
  readonly scripts: readonly Response[]
  readonly policy: string
}

/** Of somebody who was never here: nothing is in the browser's cache. Over when nothing more is asked for. */
async function visit(t: TestContext, path: string): Promise<Visit> {
  const page = await dashboard.window(t, browser, { viewport: { width: 1280, height: 800 } })
  const requests: string[] = []
  const scripts: Response[] = []
  page.on('request', (request) => requests.push(request.url()))
  page.on('response', (response) => {
    if (response.request().resourceType() === 'script') scripts.push(response)
  })
  const answer = await page.goto(`${dashboard.url}/app${path}`)
  await page.getByRole('heading', { level: 1 }).waitFor()
  await page.waitForLoadState('networkidle')
  return { page, requests, scripts, policy: answer?.headers()['content-security-policy'] ?? '' }
}

/** As it travelled; what is worth it was compressed by Brotli. */
function sizeOf(script: Response): number {
  const { 'content-length': length, 'content-encoding': coding } = script.headers()
  const size = Number(length)
  assert.ok(size > 0, `${script.url()} does not say its size`)
  assert.ok(size < MIN_COMPRESSED_BYTES || coding === 'br', `${script.url()} travelled as ${coding ?? 'it is'}`)
  return size
}

const isElsewhere = (url: string): boolean =>
  !['data:', 'blob:'].includes(new URL(url).protocol) && !url.startsWith(`${dashboard.url}/`)

test('the first page loads at most 200 KiB of JavaScript, compressed, and nothing from anywhere else', async (t) => {
  const { page, requests, scripts, policy } = await visit(t, '/')
  const size = scripts.map(sizeOf).reduce((sum, bytes) => sum + bytes, 0)
  const paintMs = await page.evaluate<number | undefined>(FIRST_PAINT)
  t.diagnostic(
    `${scripts.length} scripts, ${(size / 1024).toFixed(1)} KiB; first contentful paint ${paintMs?.toFixed(0)} ms`,
  )
  assert.ok(scripts.length > 2, 'there is no application')
  assert.ok(
    size <= MAX_SCRIPT_BYTES,
    `${size} bytes in ${scripts.map((script) => `\n${sizeOf(script)} ${script.url()}`)}`,
  )
  assert.deepEqual(requests.filter(isElsewhere), [])
  assert.match(policy, /script-src 'self';/)
  assert.doesNotMatch(policy, /unsafe|\*|https?:/)
})

for (const path of ['/', '/usage']) {
  test(`elements of ${path} keep their position while the rest loads`, async (t) => {
    const { page } = await visit(t, path)
    const shift = await page.evaluate<number>(LAYOUT_SHIFT)
    const paintMs = await page.evaluate<number | undefined>(FIRST_PAINT)
    t.diagnostic(`layout shift ${shift.toFixed(4)}; first contentful paint ${paintMs?.toFixed(0)} ms`)
    assert.ok(shift <= MAX_LAYOUT_SHIFT, `${shift}`)
  })
}
