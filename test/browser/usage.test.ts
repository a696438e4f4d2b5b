/** What was used, as the dashboard adds it up. Runs on one database: what is seeded in it, all of these tests look at. */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { after, before, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import type { TeamId } from '../../src/domain/ids.ts'
import { axeFindings, axeFindingsInBothThemes, overflow, startBrowser } from '../support/browser/browser.ts'
import { type Dashboard, isOfFrame, startDashboard } from '../support/browser/dashboard.ts'
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

interface Group {
  readonly key: string
  readonly requests: number
  readonly tokens: number
  readonly cost_usd: number
}
interface Report {
  readonly total_requests: number
  readonly total_tokens: number
  readonly total_cost_usd: number
  readonly groups: readonly Group[]
}

/** What the page asked for, asked of the API by somebody else. */
async function reportOf(
  page: Page,
  query: string,
  go: () => Promise<unknown>,
): Promise<{ url: string; report: Report }> {
  const asked = page.waitForRequest((request) => request.url().includes('/v1/usage?') && request.url().includes(query))
  await go()
  const url = (await asked).url().replace(dashboard.url, '')
  return { url, report: (await dashboard.ask('GET', url, { token: await dashboard.ownerToken() })).json<Report>() }
}

const NANO = 1_000_000_000n
/** Of `$1.70035153`: exact. */
function nanoOf(text: string): bigint {
  const [, whole = '', fraction = ''] = /^\$([\d,]+)\.(\d+)$/.exec(text.trim()) ?? []
  return BigInt(whole.replaceAll(',', '')) * NANO + BigInt(fraction.padEnd(9, '0'))
}
const countOf = (text: string) => Number(text.replaceAll(',', ''))
const sumOf = (amounts: readonly bigint[]) => amounts.reduce((sum, amount) => sum + amount, 0n)

type Part = 'tbody' | 'tfoot'

function cells(part: Part, number: number): string {
  return `[role=group] > table[class*=border-separate] > ${part} td:nth-child(${number})`
}

async function column(page: Page, part: Part, number: number): Promise<readonly string[]> {
  return page.locator(cells(part, number)).allInnerTexts()
}

async function shownGroups(page: Page) {
  const [requests, tokens] = await Promise.all([2, 3].map((each) => column(page, 'tbody', each)))
  return (await titles(page, 'tbody', 4)).map((usd, row) => [
    countOf(requests?.[row] ?? ''),
    countOf(tokens?.[row] ?? ''),
    nanoOf(usd),
  ])
}

const title = (page: Page, name: string) => page.getByRole('heading', { name, exact: true })
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })
const GROUPS = [
  ['model', 'Model'],
  ['key', 'Key'],
  ['day', 'Day'],
  ['agent', 'Agent'],
] as const
const CHART = { model: 'Spend by model', key: 'Spend by key', day: 'Spend by day', agent: 'Spend by agent' } as const

test('J4: table, chart and API agree to the last digit, however usage is grouped', async (t) => {
  const page = await dashboard.open(t, browser, '/models')
  for (const [group, name] of GROUPS) {
    const choose = () => page.getByRole('group', { name: 'Group by' }).getByText(name, { exact: true }).click()
    const go = () => (group === 'model' ? page.goto(`${dashboard.url}/app/usage?range=30d`) : choose())
    const { report } = await reportOf(page, `group_by=${group}`, go)
    await title(page, CHART[group]).waitFor()
    if (group === 'model') await button(page, `Show table: ${CHART.model}`).click()
    const rows = await shownGroups(page)
    const exact = report.groups.map((each) => [each.requests, each.tokens, nanoOf(`$${each.cost_usd.toFixed(9)}`)])
    assert.deepEqual(rows.slice(0, exact.length), exact, group)
    assert.equal(rows.length, exact.length + (group === 'agent' ? 1 : 0)) // what was used outside agents
    const total = nanoOf(`$${report.total_cost_usd.toFixed(9)}`)
    assert.equal(sumOf(rows.map(([, , nano]) => BigInt(nano ?? 0))), total, group)
    assert.deepEqual(
      [await column(page, 'tfoot', 2), await column(page, 'tfoot', 3), (await titles(page, 'tfoot', 4)).map(nanoOf)],
      [[report.total_requests.toLocaleString('en-US')], [report.total_tokens.toLocaleString('en-US')], [total]],
    )
    if (group !== 'agent') {
      const above = page
        .locator('figure')
        .filter({ has: title(page, CHART[group]) })
        .locator('span[title^="$"]')
        .first()
      assert.equal(nanoOf((await above.getAttribute('title')) ?? ''), total)
      assert.match(await above.innerText(), /^\$[\d,]+\.\d\d$/)
    }
    const twin = page.getByRole('group', { name: CHART[group] }).locator('tfoot td')
    const inChart = group === 'agent' ? exact.map(([, , nano]) => BigInt(nano ?? 0)) : [total]
    assert.equal(sumOf((await twin.allInnerTexts()).map(nanoOf)), sumOf(inChart), `chart by ${group}`)
  }
})

test('a view sends at most three requests, its address has its whole state, and each row leads to its requests', async (t) => {
  const page = await dashboard.open(t, browser, '/settings/appearance') // where nothing is asked about use
  const asked: string[] = []
  page.on('request', (request) => {
    const url = request.url().replace(dashboard.url, '')
    if (url.startsWith('/v1/usage') && !isOfFrame(url)) asked.push(url)
  })
  await page.getByRole('link', { name: 'Usage', exact: true }).click()
  await title(page, 'Spend by model').waitFor()
  await page.waitForLoadState('networkidle')
  assert.ok(asked.length <= 3, asked.join('\n'))
  await page.getByText('30 days', { exact: true }).click()
  await page.getByText('Tokens', { exact: true }).first().click()
  await page.getByRole('switch', { name: 'Cumulative' }).check()
  await page.getByRole('link', { name: 'By key: gpt-5.4-mini' }).click()
  await title(page, 'Cumulative tokens by key').waitFor()
  const address = new URL(page.url())
  const state = { range: '30d', metric: 'tokens', cumulative: '1', group: 'key', model: 'gpt-5.4-mini' }
  assert.deepEqual(Object.fromEntries(address.searchParams), state)
  await page.reload()
  await title(page, 'Cumulative tokens by key').waitFor()
  assert.equal(await page.getByRole('combobox', { name: 'Model' }).inputValue(), 'gpt-5.4-mini')
  const requests = await column(page, 'tbody', 2)
  await page.getByRole('link', { name: 'Checkout service', exact: true }).click()
  await page.waitForURL(/\/app\/requests\?/)
  const target = { range: '30d', model: 'gpt-5.4-mini', key_id: seeded.keys[0]?.id }
  assert.deepEqual(Object.fromEntries(new URL(page.url()).searchParams), target)
  await page.getByText(`${requests[0]} requests`, { exact: true }).waitFor()
  await page.goBack()
  await title(page, 'Cumulative tokens by key').waitFor()
  await page.goBack()
  await title(page, 'Cumulative tokens by model').waitFor()
})

test('what an address says that the page does not know is ignored', async (t) => {
  const address = '/usage?group=colour&metric=smell&interval=week&range=ever&sort=taste&foo=1&dir=desc'
  const page = await dashboard.open(t, browser, address)
  await page.getByRole('slider', { name: 'Spend by model' }).waitFor()
  assert.deepEqual(Object.fromEntries(new URL(page.url()).searchParams), { dir: 'desc' })
})

interface Newest {
  readonly data: readonly [{ readonly created_at: string }]
}

test('arrow keys read the chart, and Enter opens a day by the hour', async (t) => {
  const { data } = (
    await dashboard.ask('GET', '/v1/usage/completions?limit=1', { token: await dashboard.ownerToken() })
  ).json<Newest>()
  const newest = data[0].created_at
  const page = await dashboard.window(t, browser)
  await page.clock.setFixedTime(newest) // or its last day could be one that has only just begun
  await page.goto(`${dashboard.url}/app/usage?metric=requests`)
  const chart = page.getByRole('slider', { name: 'Requests by model' })
  await chart.focus()
  await page.keyboard.press('End')
  const text = String(await chart.getAttribute('aria-valuetext'))
  const [, count = ''] = /: (\d+)/.exec(text) ?? []
  await page.keyboard.press('Enter')
  await page.waitForURL(/range=custom/)
  const today = newest.slice(0, 10)
  assert.match(page.url(), new RegExp(`from=${today}&to=${today}`))
  await page
    .locator(cells('tfoot', 2))
    .filter({ hasText: new RegExp(`^${count}$`) })
    .waitFor()
  await page.locator('figure').getByText(count, { exact: true }).first().waitFor()
})

test('the file is the gateway’s own, under its own name', async (t) => {
  const page = await dashboard.open(t, browser, '/models')
  const go = () => page.goto(`${dashboard.url}/app/usage?range=30d&group=key`)
  const { url } = await reportOf(page, 'group_by=key', go)
  const download = page.waitForEvent('download')
  await button(page, 'Download CSV').click()
  const file = await download
  const answer = await dashboard.ask('GET', `${url.replace(/&interval=\w+/, '')}&format=csv`, {
    token: await dashboard.ownerToken(),
  })
  assert.equal(await readFile(await file.path(), 'utf8'), answer.body)
  assert.ok(answer.headers['content-disposition']?.includes(`"${file.suggestedFilename()}"`))
  assert.match(file.suggestedFilename(), /^usage-by-key-.*\.csv$/)
})

test('no data, failures and rejections are each explained with what to do', async (t) => {
  const page = await dashboard.open(t, browser, '/usage?model=never-used')
  await page.getByText('No matching usage').waitFor()
  await button(page, 'Clear filters').click()
  await title(page, 'Spend by model').waitFor()
  const error = { message: 'Out of order.', type: 'invalid_request_error', code: 'broken', request_id: 'req_shown' }
  await page.route('**/v1/usage?*', (route) => route.fulfill({ status: 400, json: { error } }))
  await page.goto(`${dashboard.url}/app/usage?range=30d`)
  await page.getByRole('alert').getByText('Out of order.').waitFor()
  await page.getByText('req_shown').waitFor()
  await page.unroute('**/v1/usage?*')
  await button(page, 'Try again').click()
  await title(page, 'Spend by model').waitFor()
  await page.route('**/v1/me', async (route) => {
    const answer = await route.fetch()
    const me = (await answer.json()) as { credential: { scopes: string[] } }
    me.credential.scopes = me.credential.scopes.filter((scope) => scope !== 'usage:read')
    await route.fulfill({ response: answer, json: me })
  })
  await page.reload()
  await page.getByText('You cannot see usage').waitFor()
  const other = await dashboard.account('Empty')
  const empty = await dashboard.open(t, browser, '/usage', {
    as: await dashboard.person(other, 'owner', 'new@example.com'),
  })
  await empty.getByText('No usage in this period').waitFor()
  await empty.getByRole('tab', { name: 'Speed and errors' }).click()
  await empty.getByText('No requests in this period').waitFor()
  assert.equal(await empty.locator('table').count(), 0)
})

interface Speed {
  readonly groups: readonly { readonly key: string; readonly requests: number; readonly failed: number }[]
}

test('speed and errors are loaded when shown, name their days, and lead to the failures', async (t) => {
  const page = await dashboard.open(t, browser, '/usage?range=30d', { bypassCSP: true, timezoneId: 'Asia/Tokyo' })
  await title(page, 'Spend by model').waitFor()
  await page.waitForLoadState('networkidle')
  const asked: string[] = []
  page.on('request', (request) => {
    const url = request.url().replace(dashboard.url, '')
    if (/^\/v1\/usage(\/performance)?\?/.test(url)) asked.push(url) // without a question: the frame's balance
  })
  await page.getByRole('tab', { name: 'Speed and errors' }).click()
  await title(page, 'Time to first token').waitFor()
  assert.equal(await page.getByRole('note').count(), 0) // all of the 30 days
  await page.getByRole('group', { name: 'Group by' }).getByText('Provider', { exact: true }).click()
  await title(page, 'By provider').waitFor()
  await page.reload()
  await title(page, 'By provider').waitFor()
  assert.ok(asked.every((url) => url.startsWith('/v1/usage/performance?')) && asked.length > 1, asked.join('\n'))
  const { groups } = (
    await dashboard.ask('GET', asked.at(-1) ?? '', { token: await dashboard.ownerToken() })
  ).json<Speed>()
  const rows = await Promise.all([2, 3].map((number) => column(page, 'tbody', number)))
  const sums = [groups.map(({ requests }) => requests), groups.map(({ failed }) => failed)]
  assert.deepEqual(
    rows.map((texts) => texts.map(countOf)),
    sums,
  )
  assert.deepEqual(await axeFindings(page), [])
  await page.setViewportSize({ width: 320, height: 800 })
  await page.getByRole('list', { name: 'Speed and errors by provider' }).waitFor()
  assert.equal(await overflow(page), 0)
  const worst = groups.find(({ failed }) => failed > 0)
  assert.ok(worst)
  await page.getByRole('link', { name: `${worst.failed} failed: ${worst.key}` }).click()
  await page.waitForURL(/\/app\/requests\?/)
  const { from, to, ...filters } = Object.fromEntries(new URL(page.url()).searchParams)
  assert.deepEqual(filters, { range: 'custom', provider: worst.key, status: 'failed' })
  const query = new URLSearchParams(asked.at(-1)?.split('?')[1])
  assert.match(String(query.get('period_start')), /T15:00:00.000Z$/) // midnight of the viewer
  const end = String(query.get('period_end'))
  assert.deepEqual([from, to], [new Date(Date.parse(end) - 7 * 86_400_000).toISOString(), end]) // for a provider
})

interface CostReport extends Report {
  readonly groups: readonly (Group & { readonly keys: Readonly<Record<string, string | null>> })[]
}

test('the cost explorer adds up to the same total by tag, team and day, and leads to the requests of a row', async (t) => {
  const { db } = dashboard.database
  const team = (
    await dashboard.ask('POST', '/v1/teams', { token: await dashboard.ownerToken(), body: { name: 'Search' } })
  ).json<{
    id: string
  }>()
  const tagged = db.updateTable('completion').where('account_id', '=', dashboard.firstAccount)
  await tagged.set({ tags: 'customer=northwind,env=prod' }).where('model', '=', 'gpt-5.4-mini').execute()
  await tagged
    .set({ tags: 'customer=contoso', team_id: team.id as TeamId })
    .where('model', '=', 'claude-sonnet-4-6')
    .execute()
  const page = await dashboard.open(t, browser, '/usage?range=7d', { bypassCSP: true, reducedMotion: 'reduce' })
  await page.getByRole('tab', { name: 'Cost explorer' }).click()
  await title(page, 'By model').waitFor()
  await page.getByRole('combobox', { name: 'Second group' }).click()
  await page.getByRole('option', { name: 'Tag…' }).click()
  await page.getByLabel('Second group: key of a tag').fill('customer')
  await button(page, 'Group').click()
  await title(page, 'By model, tag customer').waitFor()
  const add = async () => {
    await page.getByRole('combobox', { name: 'Third group' }).click()
    await page.getByRole('option', { name: 'Team' }).click()
    await title(page, 'By model, tag customer, team').waitFor()
  }
  const { url, report } = await reportOf(page, 'group_by=model%2Ctag%3Acustomer%2Cteam', add)
  const exact = (report as CostReport).groups.map((each) => nanoOf(`$${each.cost_usd.toFixed(9)}`))
  const shown = await titles(page, 'tbody', 6)
  assert.deepEqual(shown.map(nanoOf), exact)
  const [total = ''] = await titles(page, 'tfoot', 6)
  assert.equal(nanoOf(total), sumOf(exact))
  const whole = (
    await dashboard.ask('GET', url.replace(/&group_by=[^&]*/, ''), { token: await dashboard.ownerToken() })
  ).json<Report>()
  assert.equal(nanoOf(total), nanoOf(`$${whole.total_cost_usd.toFixed(9)}`), 'the sums that are kept for reports')
  await page.getByRole('row', { name: /claude-sonnet-4-6.*contoso.*Search/ }).waitFor()

  const download = page.waitForEvent('download')
  await button(page, 'Download CSV').click()
  const rows = (await readFile(await (await download).path(), 'utf8')).trim().split('\r\n').slice(1)
  assert.equal(sumOf(rows.map((row) => nanoOf(`$${row.split(',').at(-1)}`))), nanoOf(total))

  assert.deepEqual(await axeFindingsInBothThemes(page), [])
  await page.goto(`${dashboard.url}/app/usage?show=costs&range=7d&dims=tag:customer,day`)
  await title(page, 'Spend by tag customer, each day').waitFor()
  await page.setViewportSize({ width: 390, height: 800 })
  await page.getByRole('list', { name: 'Costs' }).waitFor()
  assert.equal(await overflow(page), 0)
  await page.goto(`${dashboard.url}/app/usage?show=costs&range=7d&dims=tag:customer&model=gpt-5.4-mini`)
  await page.getByRole('list', { name: 'Costs' }).getByRole('link', { name: 'northwind', exact: true }).click()
  await page.waitForURL(/\/app\/requests\?/)
  await page.getByRole('list', { name: 'Filters' }).getByText('customer=northwind').waitFor()
  await page
    .getByText(/^[\d,]+ requests$/)
    .first()
    .waitFor()
})

/** Of the column of costs: all their digits. */
async function titles(page: Page, part: Part, number: number): Promise<readonly string[]> {
  const amounts = await page.locator(`${cells(part, number)} [title]`).all()
  return Promise.all(amounts.map(async (amount) => (await amount.getAttribute('title')) ?? ''))
}

test('axe reports no issues in either theme, and nothing is too wide for a phone', async (t) => {
  const page = await dashboard.open(t, browser, '/usage?range=30d', { bypassCSP: true, reducedMotion: 'reduce' })
  await title(page, 'Spend by model').waitFor()
  assert.deepEqual(await axeFindingsInBothThemes(page), [])
  for (const width of [390, 320]) {
    await page.setViewportSize({ width, height: 800 })
    await page.getByRole('list', { name: 'Usage by model' }).waitFor()
    assert.equal(await overflow(page), 0, `${width} px`)
  }
  assert.deepEqual(await axeFindings(page), [])
})
