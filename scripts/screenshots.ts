/**
 * `npm run screenshots`: writes every page of the dashboard, with months of sample data, in light, dark and narrow, to
 * `screenshots/`. Arguments select pages by parts of their names: `npm run screenshots -- usage model`. With `--docs`, the
 * pictures of README and guides, in light and dark, to `docs/pictures/`.
 */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { build } from 'vite'
import { DASHBOARD_FOLDER } from '../src/http/dashboard.ts'
import { comesTrue, startBrowser } from '../test/support/browser/browser.ts'
import type { Dashboard } from '../test/support/browser/dashboard.ts'
import { startTour, type Tour } from '../test/support/browser/dashboard-tour.ts'
import { ROOT } from './source-files.ts'

const FOLDER = join(ROOT, 'screenshots')
const PICTURES = join(ROOT, 'docs', 'pictures')
/** The pages that README and guides show. */
const PICTURED = ['home', 'request', 'usage', 'costs', 'providers', 'team', 'budgets', 'webhook', 'agent']
/** Of WebP, from 0 to 100: a third of a PNG's bytes. */
const QUALITY = 80
const TIMEOUT_MS = 60_000
/** Pages that poll never become idle. */
const QUIET_MS = 3_000
const WIDE = { width: 1280, height: 800 }
const LOOKS: Readonly<Record<string, BrowserContextOptions>> = {
  light: { colorScheme: 'light', viewport: WIDE },
  dark: { colorScheme: 'dark', viewport: WIDE },
  narrow: { colorScheme: 'light', viewport: { width: 390, height: 844 } },
}

async function signedIn(browser: Browser, dashboard: Dashboard, look: BrowserContextOptions): Promise<Page> {
  const context = await browser.newContext({ locale: 'en-US', reducedMotion: 'reduce', ...look })
  context.setDefaultTimeout(TIMEOUT_MS)
  const { cookie } = await dashboard.browser(dashboard.owner)
  const [name = '', value = ''] = cookie.split('=')
  const own = { httpOnly: true, secure: true, sameSite: 'Lax' } as const
  await context.addCookies([{ name, value, url: 'https://localhost/', ...own }])
  return context.newPage()
}

async function open(page: Page, url: string): Promise<void> {
  await page.goto(url)
  await page.locator('h1').first().waitFor() // by tag: below an open sheet it has no role
  // What arrives may open parts that load something themselves.
  for (const _ of [1, 2]) {
    await page.waitForLoadState('networkidle', { timeout: QUIET_MS }).catch(() => undefined)
    if (!(await comesTrue(page, IS_LOADED))) throw new Error(`${url}: the page does not load`)
  }
}

/** No part of the page is a placeholder any more. */
const IS_LOADED = "document.querySelector('main .animate-pulse, [role=dialog] .animate-pulse') === null"

/** @returns the path of the file, with a note if the page is wider than the window. */
async function take(page: Page, { url, file }: { readonly url: string; readonly file: string }): Promise<string> {
  await open(page, url)
  // A dialog is captured with the window, not the full page.
  const isCovered = (await page.getByRole('dialog').count()) > 0
  await page.screenshot({ path: file, fullPage: !isCovered })
  const wider = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')
  return `${relative(ROOT, file)}${wider > 0 ? `  (${wider} px wider than the window)` : ''}`
}

/** Writes the window as WebP, which Playwright's own screenshots cannot. @returns the path of the file. */
async function takePicture(
  page: Page,
  { url, file }: { readonly url: string; readonly file: string },
): Promise<string> {
  await open(page, url)
  const session = await page.context().newCDPSession(page)
  const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: QUALITY })
  writeFileSync(file, Buffer.from(data, 'base64'))
  return relative(ROOT, file)
}

async function takePictures(browser: Browser): Promise<void> {
  await withTour(async ({ dashboard, views }) => {
    for (const look of ['light', 'dark'] as const) {
      const page = await signedIn(browser, dashboard, LOOKS[look] ?? {})
      for (const name of PICTURED) {
        const url = `${dashboard.url}/app${views[name]}`
        console.log(await takePicture(page, { url, file: join(PICTURES, `${name}-${look}.webp`) }))
      }
      await page.context().close()
    }
  })
}

async function withTour(use: (tour: Tour) => Promise<void>): Promise<void> {
  const ends: (() => unknown)[] = []
  try {
    await use(await startTour({ after: (end) => void ends.push(end as () => unknown) }))
  } finally {
    for (const end of ends) await end()
  }
}

async function takeAll(browser: Browser, parts: readonly string[]): Promise<void> {
  await withTour(async ({ dashboard, views }) => {
    const wanted = Object.entries(views).filter(
      ([name]) => parts.length === 0 || parts.some((part) => name.includes(part)),
    )
    for (const [look, options] of Object.entries(LOOKS)) {
      const page = await signedIn(browser, dashboard, options)
      for (const [name, path] of wanted) {
        console.log(await take(page, { url: `${dashboard.url}/app${path}`, file: join(FOLDER, `${name}-${look}.png`) }))
      }
      await page.context().close()
    }
  })
}

const built = process.env['TURNPIKE_TEST_DASHBOARD'] ?? DASHBOARD_FOLDER
if (!existsSync(join(built, 'index.html'))) await build({ root: join(ROOT, 'dashboard'), logLevel: 'warn' })
mkdirSync(FOLDER, { recursive: true })
const browser = await startBrowser()
try {
  const args = process.argv.slice(2)
  await (args.includes('--docs') ? takePictures(browser) : takeAll(browser, args))
} finally {
  await browser.close()
}
