/** What the first page of the dashboard loads, and how it comes to stand. Runs on one database: the files are the same on every one. */
import assert from 'node:assert/strict'
import { after, before, type TestContext, test } from 'node:test'
import type { Browser, Page, Response } from 'playwright-core'
import { startBrowser } from '../support/browser.ts'
import { type Dashboard, startDashboard } from '../support/dashboard.ts'

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
  await dashboard.seed([(await dashboard.newKey('Production')).id])
})
after(async () => {
  await browser?.close()
  for (const end of endings) await end()
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
  test(`what stands on ${path} stays where it is while the rest arrives`, async (t) => {
    const { page } = await visit(t, path)
    const shift = await page.evaluate<number>(LAYOUT_SHIFT)
    const paintMs = await page.evaluate<number | undefined>(FIRST_PAINT)
    t.diagnostic(`layout shift ${shift.toFixed(4)}; first contentful paint ${paintMs?.toFixed(0)} ms`)
    assert.ok(shift <= MAX_LAYOUT_SHIFT, `${shift}`)
  })
}
