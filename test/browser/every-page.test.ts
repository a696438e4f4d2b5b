/**
 * Every page of an installation that has been at work for months: no table is clipped at 1280 px, and axe finds nothing at
 * 1440, 1280 and 390 px. Runs on one database: what is looked at comes from other tests' queries.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { axeFindings, axeFindingsInBothThemes, comesTrue, overflow, startBrowser } from '../support/browser/browser.ts'
import type { Dashboard } from '../support/browser/dashboard.ts'
import { startTour, type Tour } from '../support/browser/dashboard-tour.ts'

const endings: (() => unknown)[] = []
let browser: Browser
let tour: Tour

before(async () => {
  const t = { after: (end: () => unknown) => void endings.push(end) }
  ;[browser, tour] = await Promise.all([startBrowser(), startTour(t)])
})
after(async () => {
  await browser?.close()
  for (const end of endings.reverse()) await end()
})

/** Not in the tour, which is for pictures. */
const MORE_TABLES = {
  'usage-speed': '/usage?range=7d&show=speed',
  rejected: '/requests?range=7d&tab=rejected',
  ledger: '/billing?tab=ledger',
  invoices: '/billing?tab=invoices',
  payments: '/billing?tab=payments',
  guardrails: '/settings/guardrails',
  content: '/settings/content',
  telemetry: '/settings/telemetry',
}
const views = () => Object.entries({ ...tour.views, ...MORE_TABLES })
/** Dialogs and figures on pages that are looked at without them; what is in them, the tests of their pages look at. */
const OVERLAYS = [
  'models-compare',
  'costs-team',
  'request',
  'key',
  'keys-create',
  'teams-create',
  'team-member',
  'budgets-create',
]

const IS_LOADED = `document.querySelector('h1') !== null && document.querySelector('main [aria-busy=true]') === null`

async function visit(page: Page, path: string): Promise<void> {
  await page.goto(`${tour.dashboard.url}/app${path}`)
  await page.locator('h1').waitFor()
  await page.waitForLoadState('networkidle')
  assert.ok(await comesTrue(page, IS_LOADED), path)
}

/** In the page: what is wrong with its tables, each with the table's label. Nothing that only a screen reader reads is looked at. */
const CLIPPED = `[...document.querySelectorAll('table:not(.sr-only)')].flatMap((table) => {
  const frame = table.parentElement.getBoundingClientRect()
  const isSeen = (element) => element.offsetParent !== null && getComputedStyle(element).position !== 'absolute'
  const cells = [...table.querySelectorAll('th, td')].filter(isSeen)
  const hasTitle = (element) => element.closest('[title]') !== null || element.querySelector('[title]') !== null
  const cut = cells.flatMap((cell) => [...cell.querySelectorAll('*')]).filter((element) =>
    isSeen(element) && element.innerText && getComputedStyle(element).overflowX !== 'visible' &&
    element.scrollWidth > element.clientWidth + 1 && !hasTitle(element))
  const outside = (cell) => {
    const { left, right } = cell.getBoundingClientRect()
    return left < frame.left - 1 || right > Math.min(frame.right, innerWidth) + 1
  }
  return [
    ...cut.map((element) => 'no title: ' + element.innerText),
    ...cells.filter(outside).slice(0, 1).map((cell) => 'beyond the edge: ' + cell.innerText),
  ].map((text) => table.caption?.innerText + ': ' + text)
})`

/** Buttons that cannot be pressed and do not say why, but for those of which something is under way. */
const MUTE_BUTTONS = `[...document.querySelectorAll('button:disabled, button[aria-disabled=true]:not([aria-busy=true])')]
  .filter((button) => button.disabled || !document.getElementById(button.getAttribute('aria-describedby'))?.textContent)
  .map((button) => 'no reason: ' + button.outerHTML.slice(0, 200))`

/** Names as long as they may be, of everything that has one. */
async function addLongNames({ ask, ownerToken, newKey }: Dashboard): Promise<void> {
  const token = await ownerToken()
  const long = (text: string) =>
    `${text} ${'with a name that is as long as one may be '.repeat(3)}`.slice(0, 100).trim()
  const address = (text: string) => `https://example.com/${`${text}/`.repeat(20)}`
  const limits = { ip_allowlist: ['203.0.113.0/24'], requests_per_minute: 100, monthly_budget_usd: 1234 }
  const all = [
    ['/v1/keys', { name: long('Key'), models: ['gpt-5.4-mini'], tags: { environment: 'north' }, ...limits }],
    ['/v1/teams', { name: long('Team') }],
    ['/v1/webhooks', { url: address('hooks'), description: long('Webhook') }],
    ['/v1/invitations', { email: `${'long'.repeat(15)}@acme.example`, role: 'developer' }],
    ['/v1/admin/accounts', { name: long('Account') }],
    ['/v1/guardrails', { name: long('Guardrail'), rules: [{ kind: 'secrets', action: 'block' }] }],
    ['/v1/telemetry-destinations', { name: long('Telemetry'), kind: 'otlp', url: address('otlp') }],
    ['/v1/provider-credentials', { provider: 'openai', name: long('Credential'), api_key: 'sk-of-nobody-at-all' }],
  ] as const
  for (const [path, body] of all) {
    const { statusCode, body: answer } = await ask('POST', path, { token, body })
    assert.ok(statusCode < 300, `${path}: ${answer}`)
  }
  const { secret } = await newKey(long('Rejected'))
  const body = { model: 'no/such-model'.repeat(8), messages: [{ role: 'user', content: 'Hi' }] }
  assert.equal((await ask('POST', '/v1/chat/completions', { token: secret, body })).statusCode, 422)
}

test('no table of any page is clipped at 1280 px, axe finds nothing at 1440, 1280 and 390 px, in light and dark', async (t) => {
  await addLongNames(tour.dashboard)
  const page = await tour.dashboard.window(t, browser, { bypassCSP: true })
  const found: string[] = []
  let tables = 0
  for (const [name, path] of views()) {
    await page.setViewportSize({ width: 1280, height: 900 })
    await visit(page, path)
    tables += await page.locator('table').count()
    found.push(...(await page.evaluate<string[]>(CLIPPED)).map((text) => `${name}: ${text}`))
    found.push(...(await page.evaluate<string[]>(MUTE_BUTTONS)).map((text) => `${name}: ${text}`))
    if ((await overflow(page)) > 0) found.push(`${name}: the page scrolls sideways`)
    if (OVERLAYS.includes(name)) continue
    // Each theme in two widths: a finding that needs one pair alone is not known, and six pairs take twice as long.
    await page.emulateMedia({ colorScheme: 'dark' })
    found.push(...(await axeFindings(page)).map((text) => `${name}, 1280 px: ${text}`))
    await page.emulateMedia({ colorScheme: 'light' })
    await page.setViewportSize({ width: 390, height: 900 })
    found.push(...(await axeFindings(page)).map((text) => `${name}, 390 px: ${text}`))
    await page.setViewportSize({ width: 1440, height: 900 })
    found.push(...(await axeFindingsInBothThemes(page)).map((text) => `${name}: ${text}`))
  }
  assert.ok(tables > 30, `${tables} tables`)
  assert.deepEqual(found, [])
})
