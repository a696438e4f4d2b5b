/** Views under names of one's own, and filters with counts. Runs on one database: what is seeded in it, all of these tests look at. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { axeFindingsInBothThemes, comesTrue, overflow, startBrowser } from '../support/browser/browser.ts'
import { type Dashboard, frameIsThere, isOfFrame, startDashboard } from '../support/browser/dashboard.ts'
import { type SeededRequests, seedRequests } from '../support/providers/requests-seed.ts'

let browser: Browser
let dashboard: Dashboard
let seeded: SeededRequests
const endings: (() => unknown)[] = []

before(async () => {
  browser = await startBrowser()
  dashboard = await startDashboard({ after: (end) => void endings.push(end as () => unknown) })
  seeded = await seedRequests(dashboard)
})
after(async () => {
  await browser?.close()
  for (const end of endings) await end()
})

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })
const entry = (page: Page, name: string) => page.getByRole('menuitem', { name, exact: true })
const field = (page: Page) => page.getByRole('textbox', { name: 'Name' })
const dialog = (page: Page) => page.getByRole('dialog', { name: 'Save this view' })
const note = (page: Page, text: string) => page.getByRole('dialog').getByText(text, { exact: true })
const title = (page: Page, name: string) => page.getByRole('heading', { level: 1, name, exact: true })
const rows = (page: Page) => page.getByRole('table', { name: 'Requests' }).locator('tbody tr')
const address = (page: Page) => Object.fromEntries(new URL(page.url()).searchParams)
const hasFocus = (page: Page, text: string) =>
  comesTrue(page, `document.activeElement.textContent.trim() === ${JSON.stringify(text)}`)

async function save(page: Page, name: string): Promise<void> {
  await button(page, 'Views').click()
  await entry(page, 'Save this view…').click()
  await field(page).fill(name)
  await button(page, 'Save view').click()
  await note(page, `View saved: ${name}`).waitFor()
}

test('a view of rejected requests has their code, and one of completions its ranges', async (t) => {
  const page = await dashboard.open(t, browser, '/requests?tab=rejected&code=model_not_found')
  await save(page, 'Misspelt')
  await page.goto(`${dashboard.url}/app/requests?range=7d&outcome=rate_limited&min_duration_ms=2000&max_cost_usd=0.5`)
  await save(page, 'Slow and limited')
  await page.reload()
  await button(page, 'Views').click()
  assert.equal(await entry(page, 'Misspelt').getAttribute('href'), '/app/requests?tab=rejected&code=model_not_found')
  await entry(page, 'Misspelt').click()
  await page.waitForURL(/tab=rejected/)
  assert.deepEqual(address(page), { tab: 'rejected', code: 'model_not_found' })
  await button(page, 'Views').click()
  await entry(page, 'Slow and limited').click()
  await page.waitForURL(/min_duration_ms/)
  const ranges = { outcome: 'rate_limited', min_duration_ms: '2000', max_cost_usd: '0.5' }
  assert.deepEqual(address(page), { range: '7d', ...ranges })
})

test('a view of Requests is saved by keyboard, and is there after a reload and from elsewhere', async (t) => {
  const page = await dashboard.open(t, browser, '/requests')
  const path = `requests?range=7d&status=failed&model=gpt-5.4-mini&request=${seeded.retried}`
  await page.goto(`${dashboard.url}/app/${path}`)
  await page.getByRole('dialog', { name: 'Request' }).waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('dialog', { name: 'Request' }).waitFor({ state: 'detached' })
  await button(page, 'Views').focus()
  await page.keyboard.press('Enter')
  await page.getByText('Save filters and period under a name. No saved views yet.').waitFor()
  await entry(page, 'Save this view…').focus()
  await page.keyboard.press('Enter')
  await dialog(page).waitFor()
  assert.ok(await comesTrue(page, "document.activeElement.value === 'Failed, gpt-5.4-mini, last 7 days'"))
  await page.keyboard.press('ControlOrMeta+A')
  await page.keyboard.type('Failing minis')
  await page.keyboard.press('Enter')
  await note(page, 'View saved: Failing minis').waitFor()
  await dialog(page).waitFor({ state: 'detached' })
  assert.ok(await hasFocus(page, 'Views'))
  await page.reload()
  await rows(page).first().waitFor()
  await page.getByRole('link', { name: 'Models & Pricing', exact: true }).click()
  await title(page, 'Models & Pricing').waitFor()
  await page.getByRole('link', { name: 'Requests', exact: true }).click()
  await title(page, 'Requests').waitFor()
  await button(page, 'Views').click()
  const link = entry(page, 'Failing minis')
  assert.equal(await link.getAttribute('aria-current'), null)
  assert.equal(await link.getAttribute('href'), '/app/requests?range=7d&status=failed&model=gpt-5.4-mini')
  await link.focus()
  await page.keyboard.press('Enter')
  await page.waitForURL(/status=failed/)
  assert.deepEqual(address(page), { range: '7d', status: 'failed', model: 'gpt-5.4-mini' })
  await button(page, 'Views').click()
  await page.locator('[role=menuitem][aria-current=page]').getByText('Failing minis').waitFor()
})

test('only the view that is seen is marked, whatever else its filters are part of', async (t) => {
  const page = await dashboard.open(t, browser, '/requests')
  await save(page, 'The last day')
  await page.goto(`${dashboard.url}/app/requests?range=24h&order=asc`)
  await rows(page).first().waitFor()
  await save(page, 'Its beginning')
  await button(page, 'Views').click()
  const marked = page.locator('[role=menuitem][aria-current=page]')
  await marked.waitFor()
  assert.deepEqual(await marked.allInnerTexts(), ['Its beginning'])
  await page.goto(`${dashboard.url}/app/requests?live=1`)
  await rows(page).first().waitFor()
  await button(page, 'Views').click()
  await marked.waitFor()
  assert.deepEqual(await marked.allInnerTexts(), ['The last day'])
  const opened = page.context().waitForEvent('page')
  await entry(page, 'Its beginning').click({ button: 'middle' })
  const other = await opened
  await title(other, 'Requests').waitFor()
  assert.deepEqual(address(other), { range: '24h', order: 'asc' })
  await rows(other).first().waitFor()
  await save(other, 'Of the other tab')
  await entry(page, 'Of the other tab').waitFor()
})

test('a view of Usage is replaced when its name is given again, and removed and brought back', async (t) => {
  const page = await dashboard.open(t, browser, '/usage?group=key')
  await button(page, 'Views').click()
  await entry(page, 'Save this view…').click()
  assert.equal(await field(page).inputValue(), 'Spend by key, last 7 days')
  await button(page, 'Save view').click()
  await note(page, 'View saved: Spend by key, last 7 days').waitFor()
  await page.getByText('30 days', { exact: true }).click()
  await page.waitForURL(/range=30d/)
  await button(page, 'Views').click()
  await entry(page, 'Save this view…').click()
  await field(page).fill('Spend by key, last 7 days')
  await dialog(page).getByRole('status').getByText('A view with this name exists. Saving replaces it.').waitFor()
  await button(page, 'Replace view').click()
  await note(page, 'View replaced: Spend by key, last 7 days').waitFor()
  await page.reload()
  await title(page, 'Usage').waitFor()
  await button(page, 'Views').click()
  const link = entry(page, 'Spend by key, last 7 days')
  assert.equal(await link.getAttribute('href'), '/app/usage?range=30d&group=key')
  await entry(page, 'Remove Spend by key, last 7 days').click()
  await note(page, 'View removed: Spend by key, last 7 days').waitFor()
  await button(page, 'Undo').click()
  await button(page, 'Views').click()
  await link.waitFor()
  await entry(page, 'Remove Spend by key, last 7 days').click()
  await button(page, 'Views').click()
  await page.getByText('No saved views yet.').waitFor()
  await page.reload()
  await title(page, 'Usage').waitFor()
  await button(page, 'Views').click()
  await page.getByText('No saved views yet.').waitFor()
})

test('there are 20 views at most: then one is replaced or removed', async (t) => {
  const page = await dashboard.open(t, browser, '/usage')
  const views = Array.from({ length: 20 }, (_, index) => ({ name: `View ${index + 1}`, search: { range: 'month' } }))
  const key = `turnpike.views.${dashboard.firstAccount}.usage`
  // Before the page reads it: what a busy browser has just stored may not be there for the next document.
  await page.addInitScript(`localStorage.setItem(${JSON.stringify(key)}, ${JSON.stringify(JSON.stringify(views))})`)
  await page.reload()
  await title(page, 'Usage').waitFor()
  await button(page, 'Views').click()
  await entry(page, 'Save this view…').click()
  await dialog(page).getByText('At most 20 views can be saved. Remove one first.').waitFor()
  assert.ok(await button(page, 'Save view').isDisabled())
  await field(page).fill('View 20')
  await button(page, 'Replace view').click()
  await note(page, 'View replaced: View 20').waitFor()
  await button(page, 'Views').click()
  await entry(page, 'View 20').waitFor()
  assert.equal(await entry(page, 'View 20').getAttribute('href'), '/app/usage?range=7d')
})

test('invalid browser storage is shown as text or ignored; other accounts and pages have their own views', async (t) => {
  const page = await dashboard.open(t, browser, '/usage')
  await title(page, 'Usage').waitFor()
  const views = [
    { name: '<img src=x onerror=alert(1)>', search: { range: '30d', href: 'javascript:alert(1)', group: ['day'] } },
    { name: 7, search: {} },
    'nothing',
  ]
  const key = `turnpike.views.${dashboard.firstAccount}.usage`
  const others = key.replace(dashboard.firstAccount, 'acc_of_others').replace('usage', 'requests')
  const write = (place: string, text: string) =>
    page.evaluate(`localStorage.setItem(${JSON.stringify(place)}, ${JSON.stringify(text)})`)
  await write(key, JSON.stringify(views))
  await write(others, JSON.stringify(views))
  await page.reload()
  await title(page, 'Usage').waitFor()
  await button(page, 'Views').click()
  await entry(page, 'Save this view…').waitFor()
  const links = page.getByRole('menu', { name: 'Views' }).locator('a')
  assert.deepEqual(await links.allInnerTexts(), ['<img src=x onerror=alert(1)>'])
  assert.equal(await links.getAttribute('href'), '/app/usage?range=30d')
  await page.goto(`${dashboard.url}/app/requests`)
  await title(page, 'Requests').waitFor()
  await button(page, 'Views').click()
  await page.getByText('No saved views yet.').waitFor()
  await write(key, '{')
  await page.goto(`${dashboard.url}/app/usage`)
  await title(page, 'Usage').waitFor()
  await button(page, 'Views').click()
  await page.getByText('No saved views yet.').waitFor()
})

const LIST = '/v1/usage/completions'
interface Counted {
  readonly groups: readonly { readonly key: string; readonly requests: number }[]
  readonly overview: { readonly buckets: readonly Readonly<Record<string, number>>[] }
}
const named = (label: string, count: number) =>
  `${label}, ${count.toLocaleString('en-US')} ${count === 1 ? 'request' : 'requests'}`

/** What is chosen from, in its order, as it is read out. */
async function choices(page: Page, name: string): Promise<readonly string[]> {
  await page.getByRole('combobox', { name, exact: true }).click()
  const options = page.getByRole('option')
  await options
    .and(page.getByRole('option', { name: /, [\d,]+ requests?$/ }))
    .first()
    .waitFor()
  const said = await page.getByRole('listbox').ariaSnapshot()
  await page.keyboard.press('Escape')
  await options.first().waitFor({ state: 'detached' })
  return [...said.matchAll(/option "([^"]*)"/g)].map(([, option = '']) => option)
}

test('statuses, models and keys are counted, as the API counts them, when the filters are opened', async (t) => {
  const page = await dashboard.open(t, browser, '/no/such/view')
  await frameIsThere(page)
  const asked: string[] = []
  page.on('request', (request) => {
    const url = request.url().replace(dashboard.url, '')
    if (url.startsWith('/v1/usage') && !isOfFrame(url)) asked.push(url)
  })
  await page.getByRole('link', { name: 'Requests', exact: true }).click()
  await rows(page).first().waitFor()
  await page.getByRole('slider', { name: 'Requests over time' }).waitFor()
  assert.equal(asked.length, 1, asked.join('\n'))
  await button(page, 'Filter').click()
  const models = await choices(page, 'Model')
  const keys = await choices(page, 'Key')
  const statuses = await choices(page, 'Status')
  await page.keyboard.press('Escape')
  await button(page, 'Filter').click()
  assert.deepEqual(await choices(page, 'Model'), models)
  const groupings = asked.slice(1).map((url) => new URL(url, dashboard.url).searchParams.get('group_by'))
  assert.deepEqual(groupings.toSorted(), ['key', 'model'])
  const answers = await Promise.all(
    asked.map(async (url) =>
      (await dashboard.ask('GET', url, { token: await dashboard.ownerToken() })).json<Counted>(),
    ),
  )
  const groupsBy = (name: string) => answers[1 + groupings.indexOf(name)]?.groups ?? []
  assert.deepEqual(
    models,
    groupsBy('model').map(({ key, requests }) => named(key, requests)),
  )
  const [checkout] = seeded.keys
  const ofCheckout = groupsBy('key').find(({ key }) => key === checkout?.id)?.requests ?? 0
  assert.ok(keys.includes(named('Checkout service', ofCheckout)), keys.join('\n'))
  const sum = (status: string) =>
    (answers[0]?.overview.buckets ?? []).reduce((all, each) => all + (each[status] ?? 0), 0)
  const expected = [
    ...[named('Completed', sum('completed')), named('Failed', sum('failed'))],
    ...[named('Incomplete', sum('incomplete')), named('Client left', sum('client_left'))],
  ]
  assert.deepEqual(statuses.toSorted(), expected.toSorted())
  assert.deepEqual(statuses.map(isNone), statuses.map(isNone).toSorted(), 'those without a request are the last')
})

const isNone = (name: string) => / 0 requests$/.test(name)

test('all statuses are counted even if the list has one, and unused ones come last', async (t) => {
  const page = await dashboard.open(t, browser, '/requests?range=30d&status=client_left&model=model-of-nobody')
  await page.getByText('No matching requests').waitFor()
  const query = new URLSearchParams()
  page.on('request', (request) => {
    const { pathname, searchParams } = new URL(request.url())
    if (pathname === LIST) for (const [name, value] of searchParams) query.append(name, value)
  })
  await button(page, 'Filter').click()
  assert.deepEqual(await choices(page, 'Status'), [
    ...['Completed, 0 requests', 'Failed, 0 requests', 'Incomplete, 0 requests', 'Client left, 0 requests'],
  ])
  assert.deepEqual(
    ['status', 'model', 'include'].map((name) => query.getAll(name)),
    [[], ['model-of-nobody'], ['overview']],
  )
  const models = await choices(page, 'Model')
  assert.ok(models.length > 1)
  assert.equal(models.at(-1), 'model-of-nobody, 0 requests')
  await button(page, 'Clear Model').click()
  await button(page, 'Apply').click()
  await rows(page).first().waitFor()
  assert.deepEqual(address(page), { range: '30d', status: 'client_left' })
})

test('axe reports no issues in the dialog in either theme, and nothing is too wide for a phone', async (t) => {
  const options = { bypassCSP: true, reducedMotion: 'reduce' } as const
  const page = await dashboard.open(t, browser, '/requests?range=7d', options)
  await rows(page).first().waitFor()
  await button(page, 'Views').click()
  await entry(page, 'Save this view…').click()
  await dialog(page).waitFor()
  await entry(page, 'Save this view…').waitFor({ state: 'detached' })
  assert.deepEqual(await axeFindingsInBothThemes(page), [])
  await page.setViewportSize({ width: 320, height: 800 })
  assert.equal(await overflow(page), 0, 'dialog')
  await field(page).fill('x'.repeat(80))
  await button(page, 'Save view').click()
  await dialog(page).waitFor({ state: 'detached' })
  await button(page, 'Views').click()
  await entry(page, 'x'.repeat(80)).waitFor()
  assert.equal(await overflow(page), 0, 'menu')
  await page.keyboard.press('Escape')
  await button(page, 'Filter').click()
  await page.getByRole('combobox', { name: 'Model', exact: true }).click()
  await page.getByRole('option', { name: /^gpt-5\.4-mini, [\d,]+ requests$/ }).waitFor()
  assert.equal(await overflow(page), 0, 'filters')
})
