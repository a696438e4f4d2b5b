/**
 * A real browser, Debian's Chromium, on pages of a gateway at `http://localhost`, where it keeps `Secure` cookies. What a
 * page does that its own policy forbids, and what its console complains about, fails the test that opened it.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { findTool } from '../../../scripts/kit/machine-tools.ts'

const PATIENCE_MS = 20_000
/** As root, which tests may be, Chromium runs without its sandbox only; nothing but our own pages is looked at. */
const ARGUMENTS = ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu']

export async function startBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: findTool('chromium'), args: ARGUMENTS, timeout: PATIENCE_MS })
}

/** A window of a person of their own: cookies are shared with nobody. Closed, and its complaints looked at, after the test. */
export async function openWindow(t: TestContext, browser: Browser, options: BrowserContextOptions = {}): Promise<Page> {
  const context = await browser.newContext({ locale: 'en-GB', reducedMotion: 'reduce', ...options })
  context.setDefaultTimeout(PATIENCE_MS)
  const complaints: string[] = []
  context.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text())
  })
  await context.addInitScript(TELL_VIOLATIONS)
  if (process.env['TURNPIKE_TEST_SLOW_PAGES'] !== undefined) await slowDown(context)
  context.on('weberror', (error) => complaints.push(String(error.error())))
  t.after(async () => {
    await context.close()
    const grave = complaints.filter((text) => !NOT_GRAVE.test(text))
    assert.deepEqual(grave, [])
  })
  return context.newPage()
}

const SLOWER_TIMES = 8
const LATE_MS = 800

/** For `TURNPIKE_TEST_SLOW_PAGES`, which finds tests that look before a page is there: it computes slowly, and answers come late. */
async function slowDown(context: BrowserContext): Promise<void> {
  context.on('page', (page) => {
    void context
      .newCDPSession(page)
      .then((session) => session.send('Emulation.setCPUThrottlingRate', { rate: SLOWER_TIMES }))
      .catch(() => undefined)
  })
  await context.route(/\/(?:v1|auth|api)\//, async (route) => {
    await sleep(Math.random() * LATE_MS)
    await route.continue().catch(() => undefined)
  })
}

/** An answer of 4xx is noted by browsers as if it were a fault of the page. And a server may end before its windows do. */
const NOT_GRAVE = /^Failed to load resource: (?:.* status of 4\d\d|net::ERR_CONNECTION_REFUSED)/

/** Whether an expression becomes true in the page. (Playwright's own way of waiting for one is `eval`, which pages forbid.) */
export async function comesTrue(page: Page, expression: string, withinMs = PATIENCE_MS): Promise<boolean> {
  const until = performance.now() + withinMs
  while (!(await page.evaluate<boolean>(expression))) {
    if (performance.now() > until) return false
    await sleep(50)
  }
  return true
}

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** What axe-core finds wrong, in words, when nothing moves any more. The window needs `bypassCSP`. */
export async function axeFindings(page: Page): Promise<readonly string[]> {
  await page.evaluate(AXE)
  assert.ok(await comesTrue(page, AT_REST), 'what moves on the page comes to rest')
  return page.evaluate<readonly string[]>(FINDINGS)
}

// Strings: these run in the browser, whose types tests do not know.
const TELL_VIOLATIONS =
  "addEventListener('securitypolicyviolation', (event) => console.error('policy: ' + event.violatedDirective))"
const FINDINGS = `axe.run({ resultTypes: ['violations'] }).then(({ violations }) =>
  violations.flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => id + ': ' + html + ' ' + failureSummary)))`
/** Colors and places that are on their way are neither the old ones nor the new ones. */
const AT_REST = `new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() =>
  resolve(document.getAnimations().every((one) => one.playState !== 'running' || one.effect.getComputedTiming().endTime === Infinity)))))`
const FOLLOWS_WITHIN_MS = 3_000
const OVERFLOW = 'document.documentElement.scrollWidth - innerWidth'

/** How many pixels a page is wider than its window: what it comes to when it has followed a change of the window's size. */
export async function overflow(page: Page): Promise<number> {
  await comesTrue(page, `${OVERFLOW} <= 0`, FOLLOWS_WITHIN_MS)
  return page.evaluate<number>(OVERFLOW)
}
