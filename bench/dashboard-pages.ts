/**
 * How soon the pages of the dashboard show their content, and answer a click or key, for an account of a million requests:
 * in Chromium, each page opened by its address with a warm cache.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import { startBrowser } from '../test/support/browser/browser.ts'
import type { Gateway } from '../test/support/gateway.ts'
import { BUDGETS } from './budgets.ts'
import { percentile } from './processes.ts'
import { printVerdicts } from './report.ts'

const ROUNDS = 5
const PAGE_WITHIN_MS = 30_000
const POLL_MS = 2
/** Paths below `/app`. */
const PAGES = [
  '/home',
  '/usage',
  '/usage?range=30d',
  '/usage?show=costs&range=30d&dims=key,model',
  '/usage?show=speed&range=30d',
  '/requests',
  '/requests?range=30d',
  '/models',
  '/models/json-50',
  '/agents',
  '/webhooks',
  '/billing',
  '/settings/keys',
  '/settings/members',
  '/settings/teams',
  '/settings/budgets',
  '/settings/audit',
  '/settings/providers',
]
/** Whether the page has its title, and nothing on it is still loading. */
const IS_SHOWN = `document.querySelector('main h1') !== null && document.querySelector('main [aria-busy="true"]') === null`
/** Gathers how long the page took from each key or click to its next frame (Event Timing). */
const OBSERVE = `new PerformanceObserver((list) => {
  window.interactions = [...(window.interactions ?? []), ...list.getEntries().map(({ duration }) => duration)]
}).observe({ type: 'event', durationThreshold: 16 })`

/** @returns whether the budgets hold. */
export async function measurePages(gateway: Gateway): Promise<boolean> {
  const browser = await startBrowser()
  try {
    const context = await browser.newContext({ viewport: { width: 1440, height: 900 } })
    await context.addInitScript(OBSERVE)
    const page = await context.newPage()
    const base = `http://localhost:${gateway.port}`
    await page.goto((await gateway.cli('login-link')).replace(/^http:\/\/[^/]+/, base))
    await page.waitForURL(`${base}/app/**`)
    const slowest = await measureContent(page, `${base}/app`)
    return printVerdicts([
      { figure: 'slowest content of a page, p50 ms', measured: slowest, budget: BUDGETS.pageContentMs },
      {
        figure: 'slowest answer to a key or click, ms',
        measured: await measureInteractions(page, `${base}/app`),
        budget: BUDGETS.pageInteractionMs,
      },
    ])
  } finally {
    await browser.close()
  }
}

/** @returns the longest median, milliseconds from the start of the navigation. */
async function measureContent(page: Page, base: string): Promise<number> {
  let slowest = 0
  for (const path of PAGES) {
    const times: number[] = []
    for (let round = -1; round < ROUNDS; round++) {
      await page.goto(`${base}${path}`, { waitUntil: 'commit' })
      const ms = await shownAfter(page)
      if (round >= 0) times.push(ms)
    }
    const [p50, most] = [percentile(times, 50), Math.max(...times)]
    console.log(`${path.padEnd(46)} p50 ${p50.toFixed(0).padStart(5)} ms  slowest ${most.toFixed(0).padStart(5)} ms`)
    slowest = Math.max(slowest, p50)
  }
  return slowest
}

async function shownAfter(page: Page): Promise<number> {
  for (const until = performance.now() + PAGE_WITHIN_MS; performance.now() < until; await sleep(POLL_MS)) {
    const ms = await page.evaluate<number | undefined>(`${IS_SHOWN} ? performance.now() : undefined`)
    if (ms !== undefined) return ms
  }
  throw new Error(`${page.url()} does not show its content.`)
}

/** Uses the lists and menus with the most in them. @returns the longest time of one, milliseconds. */
async function measureInteractions(page: Page, base: string): Promise<number> {
  const durations: number[] = []
  const measured = async (name: string, act: () => Promise<void>): Promise<void> => {
    await page.evaluate('window.interactions = []')
    await act()
    await sleep(300) // entries come after the frame
    const longest = Math.max(0, ...(await page.evaluate<number[]>('window.interactions')))
    console.log(`${name.padEnd(46)} ${longest.toFixed(0).padStart(9)} ms`)
    durations.push(longest)
  }
  await page.goto(`${base}/requests?range=30d`, { waitUntil: 'commit' })
  await shownAfter(page)
  await measured('open a request', () => page.locator('main tbody tr a, main tbody tr button').first().click())
  await measured('close it', () => page.keyboard.press('Escape'))
  await measured('open the command menu', () => page.keyboard.press('Control+k'))
  await measured('search in it', () => page.keyboard.type('usage', { delay: 30 }))
  await measured('go to the page that was found', () => page.keyboard.press('Enter'))
  await shownAfter(page)
  await measured('choose another period', () => page.getByText('30 days', { exact: true }).first().click())
  await measured('go to another page', () => page.getByRole('link', { name: 'Models' }).first().click())
  return Math.max(...durations)
}
