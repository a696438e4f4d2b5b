/** Models, their prices and how they compare. Runs on one database: it is filled before the tests, which only read it. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { axeFindingsInBothThemes, overflow, startBrowser } from '../support/browser/browser.ts'
import { type Dashboard, startDashboard } from '../support/browser/dashboard.ts'

const PRICED = 'acme/large'
const UNPRICED = 'acme/beta'
const RETIRED = 'acme/ancient'
const deployments = [{ provider: 'simulator', model: 'turnpike-simulator' }]
const MODELS = [
  { id: PRICED, pricing: { input_per_million: 0.000123, output_per_million: 7 }, deployments },
  { id: UNPRICED, deployments },
  {
    id: RETIRED,
    pricing: { input_per_million: 1, output_per_million: 1 },
    deprecation_date: '2024-01-31',
    deployments,
  },
]
const endings: (() => unknown)[] = []
let browser: Browser
let dashboard: Dashboard

before(async () => {
  const t = { after: (end: () => unknown) => void endings.push(end) }
  ;[browser, dashboard] = await Promise.all([startBrowser(), startDashboard(t, { over: { models: MODELS } })])
  await dashboard.seed([], { count: 120, days: 1 })
})
after(async () => {
  await browser?.close()
  for (const end of endings) await end()
})

const main = (page: Page) => page.locator('main')
const status = (page: Page) => main(page).getByRole('status')
const dataRows = (page: Page) => page.getByRole('table', { name: 'Models' }).locator('tbody tr')
const cells = (page: Page, id: string) =>
  dataRows(page).filter({ has: page.getByRole('link', { name: id, exact: true }) })

interface PerformanceAnswer {
  readonly groups: readonly {
    readonly key: string
    readonly first_byte_ms: { readonly p50: number } | null
    readonly success_rate: number | null
  }[]
}

test('search, facets with counts and sort are in the address, and back undoes them', async (t) => {
  const page = await dashboard.open(t, browser, '/models')
  await cells(page, PRICED).getByText('Overridden').waitFor()
  await cells(page, PRICED).getByText('$0.000123').waitFor()
  await cells(page, UNPRICED).getByText('Not priced').waitFor()
  const [, current, all] = /^(\d+) of (\d+) models$/.exec(await status(page).innerText()) ?? []
  assert.equal(Number(current), await dataRows(page).count())

  await page.getByRole('searchbox', { name: 'Search models' }).pressSequentially('claude')
  await page.waitForURL(/\?q=claude$/)
  await status(page).getByText(` of ${all} models`).waitFor() // the address is the first that knows
  await page.getByRole('button', { name: 'Can', exact: true }).click()
  const choice = page.getByRole('checkbox', { name: /^JSON schema/ })
  const count = Number(/\d+/.exec(await choice.locator('..').innerText())?.[0])
  await choice.check()
  await page.keyboard.press('Escape')
  await page.waitForURL(/capability=json_schema/)
  await status(page).getByText(`${count} of ${all} models`).waitFor()
  assert.equal(await dataRows(page).count(), count)

  await page.getByRole('button', { name: 'Output', exact: true }).click()
  await page.waitForURL(/sort=output&dir=desc/)
  await page.locator('th[aria-sort=descending]', { hasText: 'Output' }).waitFor()
  const costliest = await dataRows(page).first().innerText()
  assert.match(costliest, /claude-\S+/)
  const outputs = (await dataRows(page).locator('td:nth-child(5)').allInnerTexts()).map((text) => Number(text.slice(1)))
  assert.deepEqual(
    outputs,
    outputs.toSorted((one, other) => other - one),
  )

  await page.goBack()
  await page.waitForURL((url) => !url.search.includes('sort'))
  await page.goBack()
  await status(page)
    .getByText(/of \d+ models/)
    .waitFor()
  assert.doesNotMatch(page.url(), /capability/)
  await page.reload()
  assert.equal(await page.getByRole('searchbox', { name: 'Search models' }).inputValue(), 'claude')
  await page.getByRole('searchbox', { name: 'Search models' }).fill('no such thing')
  await page.getByText('No matching models').waitFor()
  await main(page).getByRole('button', { name: 'Clear filters' }).last().click()
  await status(page).getByText(`${current} of ${all} models`, { exact: true }).waitFor()
})

test('retired models are folded away, shown when asked for, and found by a search', async (t) => {
  const page = await dashboard.open(t, browser, '/models?provider=simulator')
  const retiredRow = dataRows(page).filter({ hasText: RETIRED })
  await cells(page, PRICED).waitFor()
  assert.equal(await retiredRow.count(), 0)
  await page.getByRole('button', { name: /^Show \d+ retired$/ }).click()
  await page.waitForURL(/retired=1/)
  await retiredRow.getByText(/Retired .*2024/).waitFor()
  await page.getByRole('button', { name: /^Hide \d+ retired$/ }).click()
  await retiredRow.waitFor({ state: 'detached' })
  await page.getByRole('searchbox', { name: 'Search models' }).fill('ancient')
  await retiredRow.waitFor()

  await page.goto(`${dashboard.url}/app/playground?models=${PRICED}`)
  const retired = page.getByRole('option', { name: RETIRED })
  await page.getByRole('button', { name: 'Show all' }).click()
  await page.getByRole('option', { name: PRICED }).waitFor()
  assert.equal(await retired.count(), 0)
  await page.getByRole('button', { name: /^Show \d+ retired$/ }).click()
  await retired.waitFor()
  await page.keyboard.press('Escape')
  await retired.waitFor({ state: 'detached' })
  await page.getByRole('combobox', { name: 'Model 1' }).fill('ancient')
  await retired.click()
  await page.waitForURL(/models=acme(?:%2F|\/)ancient/)
})

test('speed is as the API measured, and models are compared at exact cost', async (t) => {
  const page = await dashboard.open(t, browser, '/models?q=gpt-5.4-mini')
  const performance = await performanceOf()
  // (seeded under the name that the catalogue folds into its dated one)
  const simulator = performance.groups.find(({ key }) => key === 'turnpike-simulator')
  await page.getByRole('checkbox', { name: 'Compare gpt-5.4-mini-2026-03-17' }).check()
  await page.getByRole('searchbox', { name: 'Search models' }).fill('simulator')
  const measured = `${simulator?.first_byte_ms?.p50} ms`
  await cells(page, 'turnpike-simulator').getByText(measured, { exact: true }).waitFor()
  await page.getByRole('checkbox', { name: 'Compare turnpike-simulator' }).check()
  const tray = page.getByRole('region', { name: 'Models to compare' })
  await tray.getByText('2 models of 4').waitFor()
  const opener = tray.getByRole('button', { name: 'Compare' })
  await opener.click()

  const sheet = page.getByRole('dialog', { name: 'Compare models' })
  await sheet.getByLabel('Input tokens a day').fill('780')
  await sheet.getByLabel('Output tokens a day').fill('10')
  await sheet.getByLabel('Input read from cache').fill('90')
  const row = (name: string) =>
    sheet
      .getByRole('row')
      .filter({ has: page.getByRole('rowheader', { name: new RegExp(`^${name}(?: \\(differs\\))?$`) }) })
  // 78 × $0.75/M + 702 × $0.075/M + 10 × $4.50/M, and 78 × $0.10/M + 702 × $0.01/M + 10 × $0.40/M
  await row('A day').getByText('$0.00016', { exact: true }).waitFor()
  await row('A day').getByText('$0.000019', { exact: true }).waitFor()
  assert.deepEqual(await row('30 days').getByRole('cell').allInnerTexts(), ['$0.0047', '$0.00056'])
  await page.waitForURL(/input=780&output=10&cached=90/)
  await page.reload()
  await row('A day').getByText('$0.00016', { exact: true }).waitFor()
  const link = sheet.getByRole('link', { name: 'Try in Playground' })
  assert.match((await link.getAttribute('href')) ?? '', /models=gpt-5\.4-mini-2026-03-17%2Cturnpike-simulator/)
  await page.keyboard.press('Escape')
  await sheet.waitFor({ state: 'hidden' })
  await opener.click()
  await sheet.waitFor()
  await page.keyboard.press('Escape')
  await sheet.waitFor({ state: 'hidden' })
  await page.locator(':focus', { hasText: 'Compare' }).waitFor()
})

test('at most four models are compared, unknown names are omitted, and differences are marked', async (t) => {
  const ids = ['turnpike-simulator', PRICED, UNPRICED, 'gpt-5.4-mini']
  const page = await dashboard.open(t, browser, `/models?compare=${ids.join(',')}`)
  const fifth = page.getByRole('checkbox', { name: 'Compare claude-sonnet-4-6', exact: true })
  await fifth.and(page.getByRole('checkbox', { disabled: true })).focus()
  await page.keyboard.press('Space')
  assert.equal(await fifth.isChecked(), false)
  const reason = page.locator(`#${await fifth.getAttribute('aria-describedby')}`)
  await reason.getByText('Remove one first.').waitFor()
  await cells(page, UNPRICED).getByText('no calls', { exact: true }).waitFor()

  await page.setViewportSize({ width: 320, height: 800 })
  await page.goto(`${dashboard.url}/app/models?compare=${PRICED},turnpike-simulator,no-such&view=compare`)
  const sheet = page.getByRole('dialog', { name: 'Compare models' })
  await sheet.getByText('“no-such” is not a listed model and was left out.').waitFor()
  await sheet.getByRole('rowheader', { name: 'Output (differs)', exact: true }).waitFor()
  await sheet.getByRole('rowheader', { name: 'Providers', exact: true }).waitFor()
  const { key, success_rate: rate } =
    (await performanceOf()).groups.find(({ key }) => key === 'turnpike-simulator') ?? {}
  await sheet
    .getByRole('row', { name: /^Uptime, 7 d/ })
    .getByText(`${Math.round((rate ?? 0) * 1000) / 10}%`)
    .waitFor()
  await sheet.getByRole('button', { name: `Remove ${key}` }).press('Enter')
  await page.waitForURL((url) => url.searchParams.get('compare') === PRICED)
  await page.getByRole('dialog', { name: 'Cost of a model' }).waitFor()
  await page.locator('[data-dialog-body]:focus').waitFor()
  assert.equal(await overflow(page), 0)
})

async function performanceOf(): Promise<PerformanceAnswer> {
  const { secret } = await dashboard.newKey('reader')
  return (await dashboard.ask('GET', '/v1/usage/performance', { token: secret })).json<PerformanceAnswer>()
}

test('a model has its page, also with a slash in its ID, and a name that is none the nearest', async (t) => {
  const page = await dashboard.open(t, browser, `/models/${PRICED}`)
  await main(page).getByText('Set by the operator of this installation.').waitFor()
  await main(page).getByRole('listitem').filter({ hasText: 'simulator' }).getByText('Healthy').waitFor()
  await main(page).getByText(`"model": "${PRICED}"`).waitFor()
  await main(page).getByRole('tab', { name: 'Python', exact: true }).click()
  await main(page).getByText(`base_url="${dashboard.url}/v1"`).waitFor()
  await page.goto(`${dashboard.url}/app/models/turnpike-simulater`)
  await page.getByRole('link', { name: 'turnpike-simulator' }).click()
  await page.getByRole('heading', { level: 1, name: 'Turnpike Simulator' }).waitFor()
  await main(page).getByRole('slider', { name: 'Your requests, last 7 days' }).focus()
  await page.keyboard.press('End')
  assert.match((await page.locator(':focus').getAttribute('aria-valuetext')) ?? '', /^\w{3} \d+: \d+$/)
})

test('the last 24 hours of a model are shown by hour, as a strip and as a table', async (t) => {
  const page = await dashboard.window(t, browser)
  await page.clock.setFixedTime(Date.now()) // or an hour could begin between two looks
  await page.goto(`${dashboard.url}/app/models/turnpike-simulator`)
  const figure = main(page).getByRole('figure', { name: 'Your last 24 hours' })
  const strip = figure.getByRole('img', { name: /^Last 24 hours: / })
  await strip.waitFor()
  assert.equal(await strip.locator('title').count(), 24)
  const [, failed, requests] = /(\d+) of (\d+) requests? failed/.exec(await figure.innerText()) ?? []
  await figure.getByRole('button', { name: 'Show table: Your last 24 hours' }).click()
  assert.equal(await figure.locator('tbody tr').count(), 24)
  assert.deepEqual(await figure.locator('tfoot td').allInnerTexts(), [requests, failed])
})

test('users who may not call models are not sent to the Playground; failures give the reason and can be retried', async (t) => {
  const page = await dashboard.open(t, browser, `/models/${PRICED}`, { as: await dashboard.member('billing') })
  await page.getByRole('link', { name: 'Estimate cost' }).waitFor()
  assert.equal(await page.getByRole('link', { name: 'Try in Playground' }).count(), 0)
  let answer = { status: 403, message: 'Your role may not.' }
  await page.route('**/v1/models', (route) => {
    const { status: code, message } = answer
    return code === 200 ? route.continue() : route.fulfill({ status: code, json: { error: { message, type: 'x' } } })
  })
  await page.goto(`${dashboard.url}/app/models`)
  await page.getByText('You cannot see models').waitFor()
  answer = { status: 400, message: 'It is broken.' }
  await page.reload()
  await page.getByRole('alert').getByText('It is broken.').waitFor()
  answer = { status: 200, message: '' }
  await page.getByRole('button', { name: 'Try again' }).click()
  await cells(page, PRICED).waitFor()
  await page.unroute('**/v1/models')
  await page.route('**/v1/models', (route) => route.fulfill({ json: { object: 'list', data: [] } }))
  await page.reload()
  await page.getByText('No models yet').waitFor()
})

test('accessible in light and in dark colors, and as narrow as a phone', async (t) => {
  const page = await dashboard.open(t, browser, `/models?compare=${PRICED},${UNPRICED}&q=acme`, {
    bypassCSP: true,
  })
  await cells(page, PRICED).waitFor()
  assert.deepEqual(await axeFindingsInBothThemes(page), [])
  await page.getByRole('button', { name: 'Compare', exact: true }).click()
  await page.getByRole('rowheader', { name: 'Input (differs)', exact: true }).waitFor()
  assert.deepEqual(await axeFindingsInBothThemes(page), [])
  for (const width of [390, 320]) {
    await page.setViewportSize({ width, height: 800 })
    assert.equal(await overflow(page), 0)
  }
  await page.keyboard.press('Escape')
  await page.getByRole('list', { name: 'Models', exact: true }).waitFor()
  assert.equal(await overflow(page), 0)
  await page.getByRole('link', { name: PRICED, exact: true }).click()
  await page.getByRole('heading', { level: 1, name: PRICED }).waitFor()
  await main(page).getByRole('heading', { name: 'Your requests, last 7 days' }).waitFor()
  assert.equal(await overflow(page), 0)
  assert.deepEqual(await axeFindingsInBothThemes(page), [])
})

test('a model has code for each API that serves it', async (t) => {
  const page = await dashboard.open(t, browser, `/models/${PRICED}`)
  const choose = (name: string) => page.getByRole('tab', { name, exact: true }).click()
  const code = main(page).getByRole('tabpanel')
  await code.getByText('/v1/chat/completions').waitFor()
  await choose('Responses: Python')
  await code.getByText('client.responses.create(').waitFor()
  await choose('Messages: curl')
  await code.getByText('/v1/messages').waitFor()
  await choose('Messages: Python')
  await code.getByText('from anthropic import Anthropic').waitFor()
  await code.getByText(`model="${PRICED}"`).waitFor()
  for (const width of [320, 1280]) {
    await page.setViewportSize({ width, height: 900 })
    assert.equal(await overflow(page), 0, String(width))
  }
  await page.route('**/v1/models', async (route) => {
    const list = await (await route.fetch()).json()
    for (const model of list.data) model.kind = 'embedding'
    await route.fulfill({ json: list })
  })
  await page.reload()
  await code.getByText('/v1/embeddings').waitFor()
})
