/**
 * Debian's Chromium on pages of a gateway at `http://localhost`, where it keeps `Secure` cookies. Violations of the page's
 * content security policy, and errors and warnings on its console, fail the test that opened it.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { findTool } from '../../../scripts/kit/machine-tools.ts'

/** Longest wait for anything on a page: far more than it takes, since other processes may have the cores for seconds. */
const PAGE_TIMEOUT_MS = 60_000
const POLL_MS = 50
/** As root Chromium starts only without its sandbox; it opens nothing but our own pages. */
const ARGUMENTS = [
  '--no-sandbox',
  '--disable-dev-shm-usage',
  '--disable-gpu',
  // A test closes its page before code that V8 has optimized saves what its compilation costs.
  '--js-flags=--no-opt --no-maglev',
]

/** `npm test` ends the process of its files when their tests have ended, and Chromium ends with it. */
const OUTLIVES_FILE = process.execArgv.includes('--test-force-exit')
let shared: Promise<Browser> | undefined

/** In `npm test` the files of a process share one, where `close` closes the windows alone. */
export function startBrowser(): Promise<Browser> {
  if (!OUTLIVES_FILE) return launch()
  shared ??= launchToShare()
  return shared
}

function launch(): Promise<Browser> {
  return chromium.launch({ executablePath: findTool('chromium'), args: ARGUMENTS, timeout: PAGE_TIMEOUT_MS })
}

async function launchToShare(): Promise<Browser> {
  const browser = await launch()
  browser.close = async () => {
    await Promise.all(browser.contexts().map((context) => context.close()))
  }
  return browser
}

/** Opens a window with cookies of its own; it is closed, and its console checked, after the test. */
export async function openWindow(t: TestContext, browser: Browser, options: BrowserContextOptions = {}): Promise<Page> {
  const context = await browser.newContext({ locale: 'en-GB', reducedMotion: 'reduce', ...options })
  context.setDefaultTimeout(PAGE_TIMEOUT_MS)
  const messages: string[] = []
  context.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') messages.push(message.text())
  })
  await context.addInitScript(REPORT_VIOLATIONS)
  if (process.env['TURNPIKE_TEST_SLOW_PAGES'] !== undefined) await slowDown(context)
  context.on('weberror', (error) => messages.push(String(error.error())))
  t.after(async () => {
    await context.close()
    assert.deepEqual(
      messages.filter((text) => !EXPECTED_MESSAGE.test(text)),
      [],
    )
  })
  return context.newPage()
}

const CPU_THROTTLING_RATE = 8
const MAX_DELAY_MS = 800

/** `TURNPIKE_TEST_SLOW_PAGES` finds tests that read a page before it is loaded: it throttles its CPU and delays responses. */
async function slowDown(context: BrowserContext): Promise<void> {
  context.on('page', (page) => {
    void context
      .newCDPSession(page)
      .then((session) => session.send('Emulation.setCPUThrottlingRate', { rate: CPU_THROTTLING_RATE }))
      .catch(() => undefined)
  })
  await context.route(/\/(?:v1|auth|api)\//, async (route) => {
    await sleep(Math.random() * MAX_DELAY_MS)
    await route.continue().catch(() => undefined)
  })
}

/** Browsers report a 4xx response as an error of the page. And a server may stop before its windows close. */
const EXPECTED_MESSAGE = /^Failed to load resource: (?:.* status of 4\d\d|net::ERR_CONNECTION_REFUSED)/

/** Whether an expression becomes true in the page. (Playwright's `waitForFunction` uses `eval`, which pages forbid.) */
export async function comesTrue(page: Page, expression: string, withinMs = PAGE_TIMEOUT_MS): Promise<boolean> {
  const until = performance.now() + withinMs
  while (!(await page.evaluate<boolean>(expression))) {
    if (performance.now() > until) return false
    await sleep(POLL_MS)
  }
  return true
}

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

interface AxeRun {
  readonly findings: readonly string[]
  /** The page was loading or changed meanwhile: the findings may be about elements that it no longer has. */
  readonly wasChanging: boolean
}

/**
 * Returns the violations that axe-core reports for the page at rest. axe-core reads the page once and evaluates its rules
 * in many tasks; a page that changes in between is evaluated again. In dark colors only the rules about colors run: the
 * others have nothing that differs from the same page in light colors. The window needs `bypassCSP`.
 */
export async function axeFindings(page: Page): Promise<readonly string[]> {
  if (!(await page.evaluate<boolean>('globalThis.axe !== undefined'))) await page.evaluate(AXE)
  const until = performance.now() + PAGE_TIMEOUT_MS
  for (;;) {
    assert.ok(await comesTrue(page, AT_REST), 'animations end')
    const { findings, wasChanging } = await page.evaluate<AxeRun>(RUN_AXE)
    if (findings.length === 0 || !wasChanging || performance.now() > until) return findings
    await sleep(POLL_MS)
  }
}

/** Those of the page in light and in dark colors. It stays in dark ones. */
export async function axeFindingsInBothThemes(page: Page): Promise<readonly string[]> {
  const found: string[] = []
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    found.push(...(await axeFindings(page)).map((finding) => `${colorScheme}: ${finding}`))
  }
  return found
}

// Strings: these run in the browser, whose types tests do not know.
const REPORT_VIOLATIONS =
  "addEventListener('securitypolicyviolation', (event) => console.error('policy: ' + event.violatedDirective))"
const RUN_AXE = `(async () => {
  let wasChanging = document.querySelector('[aria-busy=true]') !== null
  const observer = new MutationObserver(() => {
    wasChanging = true
  })
  observer.observe(document, { attributes: true, characterData: true, childList: true, subtree: true })
  const isDark = matchMedia('(prefers-color-scheme: dark)').matches
  const { violations } = await axe.run({
    resultTypes: ['violations'],
    preload: false,
    ...(isDark && { runOnly: ['color-contrast', 'link-in-text-block'] }),
  })
  const findings = violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => id + ': ' + html + ' ' + failureSummary))
  observer.disconnect()
  return { findings, wasChanging }
})()`
/** During an animation, colors and positions are neither the old ones nor the new ones. */
const AT_REST = `new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() =>
  resolve(document.getAnimations().every((one) => one.playState !== 'running' || one.effect.getComputedTiming().endTime === Infinity)))))`
const OVERFLOW = 'document.documentElement.scrollWidth - innerWidth'

/** Returns how many pixels a page is wider than its window, once it has followed a change of the window's size. */
export async function overflow(page: Page): Promise<number> {
  const until = performance.now() + PAGE_TIMEOUT_MS
  for (;;) {
    const pixels = await page.evaluate<number>(OVERFLOW)
    if (pixels <= 0 || performance.now() > until) return pixels
    await sleep(POLL_MS)
  }
}
