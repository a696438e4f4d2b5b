/** Requests one by one, in the dashboard. Runs on one database: what is seeded in it, all of these tests look at. */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { after, before, test } from 'node:test'
import type { Browser, Page, Request } from 'playwright-core'
import type { CompletionRecord } from '../../src/domain/completion.ts'
import { axeFindingsInBothThemes, comesTrue, overflow, startBrowser } from '../support/browser/browser.ts'
import { type Dashboard, frameIsThere, isOfFrame, startDashboard } from '../support/browser/dashboard.ts'
import { eventually } from '../support/client.ts'
import { completionIdAt, completionRecord, recordCompletions } from '../support/ledger/completions.ts'
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

// (runs in the browser, whose types tests do not know)
const SHEET_OVERFLOW = "Math.max(0, document.querySelector('[role=dialog]').scrollWidth - innerWidth)"
// By how much the table is wider than its frame.
const TABLE_OVERFLOW =
  "(frame => Math.max(0, frame.scrollWidth - frame.clientWidth))(document.querySelector('main table').parentElement)"
const HEADER_WIDTHS = "[...document.querySelectorAll('main th')].map(({ offsetWidth }) => offsetWidth)"
const seenAs = (state: 'hidden' | 'visible') =>
  `Object.defineProperty(document, 'visibilityState', { value: '${state}', configurable: true });` +
  "document.dispatchEvent(new Event('visibilitychange', { bubbles: true }))"
const LIST = '/v1/usage/completions'
interface List {
  readonly data: readonly { readonly id: string; readonly status: string }[]
}

const STREAM = `${LIST}/stream`

const liveMark = (page: Page, name: string) => page.locator('main').locator('span').getByText(name, { exact: true })
const ended = (over: Partial<CompletionRecord>) =>
  recordCompletions(dashboard.database, [
    completionRecord({ accountId: dashboard.firstAccount, createdAt: Date.now(), ...over }),
  ])
const table = (page: Page) => page.getByRole('table', { name: 'Requests' })
const rows = (page: Page) => table(page).locator('tbody tr')
const sheet = (page: Page) => page.getByRole('dialog', { name: 'Request' })
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })
const hoursOf = (page: Page) =>
  (Date.parse(address(page)['to'] ?? '') - Date.parse(address(page)['from'] ?? '')) / 3_600_000
const address = (page: Page) => Object.fromEntries(new URL(page.url()).searchParams)

test('the view sends one request, and lists what the API lists', async (t) => {
  const page = await dashboard.open(t, browser, '/no/such/view')
  await frameIsThere(page)
  const asked: string[] = []
  page.on('request', (request) => {
    const url = request.url().replace(dashboard.url, '')
    if (url.startsWith('/v1/') && !isOfFrame(url)) asked.push(url)
  })
  await page.getByRole('link', { name: 'Requests', exact: true }).click()
  await rows(page).first().waitFor()
  await page.getByRole('slider', { name: 'Requests over time' }).waitFor()
  await page.waitForLoadState('networkidle')
  assert.equal(asked.length, 1, asked.join('\n'))
  const list = (await dashboard.ask('GET', asked[0] ?? '', { token: await dashboard.ownerToken() })).json<List>()
  const links = await rows(page)
    .locator('a.row-link')
    .evaluateAll((all) => all.map((link) => (link as unknown as { readonly href: string }).href))
  assert.deepEqual(
    links.map((href) => new URL(href).searchParams.get('request')),
    list.data.map(({ id }) => id),
  )
  assert.deepEqual((await rows(page).first().innerText()).split(/\s*\t\s*/).slice(1, 9), [
    ...['Client left', 'gpt-5.4-mini', 'openai', 'Checkout service', '7', '1', '3', '$0.000038'],
  ])
})

test('of 10,000 requests only those near the window are rendered; the focus survives scrolling to the last', async (t) => {
  const ids = Array.from({ length: 10_000 }, (_, at) => completionIdAt(at))
  const page = await dashboard.open(t, browser, '/settings/keys')
  await page.route(/\/completions\?/, async (route) => {
    const response = await route.fetch()
    const { data, ...rest } = await response.json()
    const many = ids.map((id, at) => ({ ...data[at % data.length], id }))
    await route.fulfill({ response, json: { ...rest, data: many, has_more: false, next_cursor: null } })
  })
  await page.getByRole('link', { name: 'Requests', exact: true }).click()
  await rows(page).first().waitFor()
  assert.equal(await table(page).getAttribute('aria-rowcount'), '10001')
  const row = (number: number) => table(page).locator(`[aria-rowindex="${number}"]`)
  const widths = () => page.evaluate<number[]>(HEADER_WIDTHS)
  const before = await widths()
  await row(2).getByRole('link').focus()
  await page.evaluate('scrollTo(0, document.documentElement.scrollHeight)')
  await row(10_001).waitFor()
  assert.ok((await rows(page).count()) < 120, `${await rows(page).count()} rows`)
  assert.deepEqual(await widths(), before)
  await page.keyboard.press('Tab')
  assert.equal(await page.evaluate("document.activeElement.closest('tr').ariaRowIndex"), '3')
  await page.keyboard.press('Enter')
  await page.waitForURL((url) => url.searchParams.get('request') === ids[1])
})

test('a bar of the histogram becomes the period by keyboard, and back leads out of it', async (t) => {
  const page = await dashboard.open(t, browser, '/requests?range=7d')
  const chart = page.getByRole('slider', { name: 'Requests over time' })
  await chart.focus()
  await page.keyboard.press('End')
  while (/: 0$/.test(String(await chart.getAttribute('aria-valuetext')))) await page.keyboard.press('ArrowLeft')
  const [, count = ''] = /: (\d+)\./.exec(String(await chart.getAttribute('aria-valuetext'))) ?? []
  await page.keyboard.press('Enter')
  await page.waitForURL(/range=custom/)
  const { from = '', to = '' } = address(page)
  assert.equal(Date.parse(to) - Date.parse(from), 2 * 3_600_000)
  await page.getByText(count === '1' ? '1 request' : `${count} requests`, { exact: true }).waitFor()
  assert.equal(await rows(page).count(), Number(count))
  await page.goBack()
  await page.waitForURL(/range=7d/)
  await page.getByText('2 hours a bar', { exact: true }).waitFor()
})

test('bars that are dragged over become the period, and so do those chosen with Shift', async (t) => {
  const page = await dashboard.open(t, browser, '/requests?range=7d')
  const chart = page.getByRole('slider', { name: 'Requests over time' })
  await chart.focus()
  await page.keyboard.press('End')
  const last = (await chart.getAttribute('aria-valuetext'))?.split(':')[0] ?? ''
  for (let bars = 0; bars < 2; bars += 1) await page.keyboard.press('Shift+ArrowLeft')
  assert.match((await chart.getAttribute('aria-valuetext')) ?? '', new RegExp(`^From .+ to ${last}.*, 3 points`))
  await page.keyboard.press('Enter')
  await page.waitForURL(/range=custom/)
  assert.ok(hoursOf(page) > 4 && hoursOf(page) <= 6, `${hoursOf(page)} hours`)
  await page.goBack()
  await page.getByText('2 hours a bar', { exact: true }).waitFor()
  const { x = 0, y = 0, width = 0 } = (await chart.boundingBox()) ?? {}
  await page.mouse.move(x + width / 4, y + 60)
  await page.mouse.down()
  await page.mouse.move(x + width / 2, y + 60, { steps: 3 })
  await chart.locator('[data-range]').waitFor({ state: 'attached' })
  await page.mouse.up()
  await page.waitForURL(/range=custom/)
  assert.ok(hoursOf(page) > 24 && hoursOf(page) < 72, `${hoursOf(page)} hours`)
})

test('filters are in the address, survive a reload, and go one by one', async (t) => {
  const page = await dashboard.open(t, browser, '/requests?range=30d&model=gpt-5.4-mini')
  await button(page, 'Filter').click()
  await page.getByRole('combobox', { name: 'Status' }).click()
  await page.getByRole('option', { name: 'Failed' }).click()
  await page.getByRole('combobox', { name: 'Key' }).fill('night')
  await page.getByRole('option', { name: 'Nightly evaluation' }).click()
  await button(page, 'Apply').click()
  const filters = { range: '30d', status: 'failed', model: 'gpt-5.4-mini', key_id: String(seeded.keys[1]?.id) }
  await page.waitForURL(/status=failed/)
  assert.deepEqual(address(page), filters)
  await page.reload()
  await button(page, 'Remove filter Key Nightly evaluation').waitFor()
  const query = new URLSearchParams({ ...filters, limit: '50' })
  query.delete('range')
  const list = (await dashboard.ask('GET', `${LIST}?${query}`, { token: await dashboard.ownerToken() })).json<List>()
  assert.ok(list.data.length > 0)
  assert.equal(await rows(page).count(), list.data.length)
  await button(page, 'Filter').click()
  await page.getByRole('textbox', { name: 'Duration from (ms)' }).fill('1')
  await page.getByRole('textbox', { name: 'Cost to ($)' }).fill('1000')
  await button(page, 'Apply').click()
  await page.waitForURL(/min_duration_ms=1&max_cost_usd=1000/)
  await page.getByText('These filters support at most 7 days').waitFor()
  await button(page, 'Show the last 7 days').click()
  await page.waitForURL(/range=7d/)
  await button(page, 'Remove filter Duration from 1 ms').click()
  await button(page, 'Remove filter Cost to $1000').click()
  await page.goto(`${dashboard.url}/app/requests?${new URLSearchParams(filters)}`)
  await button(page, 'Remove filter Status Failed').click()
  await page.waitForURL((url) => !url.searchParams.has('status'))
  await button(page, 'Load more').click()
  await page.getByText('100 requests so far').waitFor()
  await page.getByRole('status').getByText('50 more requests loaded, 100 in all').waitFor()
})

test('the file has the requests that match the filters of the address, and reports if there are more', async (t) => {
  const page = await dashboard.open(t, browser, '/requests?range=7d&status=failed&model=gpt-5.4-mini&order=asc')
  let more = false
  let url = ''
  await page.route(`**${LIST}?*format=csv*`, async (route) => {
    url = route.request().url()
    const answer = await route.fetch()
    const headers = { ...answer.headers(), ...(more && { 'x-next-cursor': 'more' }) }
    await route.fulfill({ response: answer, headers })
  })
  const download = page.waitForEvent('download')
  await button(page, 'Export CSV').click()
  const file = await download
  const query = new URL(url).searchParams
  const asked = ['status', 'model', 'order'].map((name) => query.get(name))
  assert.deepEqual(asked, ['failed', 'gpt-5.4-mini', 'asc'])
  const [from, to] = ['period_start', 'period_end'].map((name) => query.get(name)?.slice(0, 10))
  assert.equal(file.suggestedFilename(), `turnpike-requests-${from}-${to}.csv`)
  const answer = await dashboard.ask('GET', url.replace(dashboard.url, ''), { token: await dashboard.ownerToken() })
  assert.equal(await readFile(await file.path(), 'utf8'), answer.body)
  assert.ok(answer.body.split('\r\n').length > 2)
  more = true
  await button(page, 'Export CSV').click()
  await page.getByRole('paragraph').getByText('The file has the oldest 10,000 of the period.').waitFor()
  const error = { message: 'Out of order.', type: 'invalid_request_error', code: 'broken' }
  await page.route(`**${LIST}?*format=csv*`, (route) => route.fulfill({ status: 400, json: { error } }))
  await button(page, 'Export CSV').click()
  await page.getByText('Could not download the file: Out of order.').first().waitFor()
})

test('the details of a pasted ID show the attempts, their reasons, and the cost', async (t) => {
  const page = await dashboard.open(t, browser, '/requests?range=1h')
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
  await page.goto(`${dashboard.url}/app/requests?range=custom&from=2026-01-01&to=2026-01-01&request=${seeded.retried}`)
  const calls = sheet(page).getByRole('list', { name: 'Calls to providers' }).getByRole('listitem')
  await calls.first().waitFor()
  const said = (await calls.allInnerTexts()).map((text) => text.replaceAll(/\s+/g, ' '))
  assert.deepEqual(said, [
    '1. azure · gpt-54-mini Overloaded The provider had no capacity. HTTP 503. Began after 2 ms, took 640 ms. So the next was called 258 ms later.',
    '2. azure · gpt-54-mini Failed The provider failed or was unreachable. No HTTP status. Began after 900 ms, took 310 ms. So the next was called at once.',
    '3. openai · gpt-5.4-mini Answered The provider started an answer. HTTP 200. Began after 1.2 s, took 940 ms.',
  ])
  await sheet(page).getByText('78 × $1.25/M + 4,736 × $0.125/M + 10 × $10/M = $0.0007895', { exact: true }).waitFor()
  await sheet(page).getByText('rounded up to the nano-dollar once').waitFor()
  await button(page, 'Copy as curl').click()
  await page.getByRole('status').getByText('Copied').waitFor()
  const curl = await page.evaluate<string>('navigator.clipboard.readText()')
  assert.match(curl, /^curl .*\/v1\/chat\/completions/)
  assert.match(curl, /gpt-5\.4-mini/)
  const playground = sheet(page).getByRole('link', { name: 'Open in Playground' })
  assert.match(String(await playground.getAttribute('href')), /\/app\/playground\?models=gpt-5\.4-mini$/)
  await sheet(page).getByText('cart-7').waitFor()
  await page.goto(`${dashboard.url}/app/requests?request=chatcmpl-nobodys`)
  await sheet(page).getByText('No request has this ID').waitFor()
})

test('the details name the API of a request, and the curl command calls the same', async (t) => {
  const page = await dashboard.open(t, browser, '/requests?range=1h')
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
  await page.goto(`${dashboard.url}/app/requests?range=1h&request=${seeded.estimated}`)
  await sheet(page).getByText('Messages', { exact: true }).waitFor()
  await button(page, 'Copy as curl').click()
  await page.getByRole('status').getByText('Copied').waitFor()
  const curl = await page.evaluate<string>('navigator.clipboard.readText()')
  assert.match(curl, /^curl --no-buffer '.*\/v1\/messages'[\s\S]*x-api-key[\s\S]*"stream": true/)
})

test('a row opens its sheet, and the focus returns to the row', async (t) => {
  const page = await dashboard.open(t, browser, '/requests?range=24h')
  const link = rows(page).first().locator('a.row-link')
  await link.focus()
  await page.keyboard.press('Enter')
  await sheet(page).getByText('Estimated: the provider reported no token count').waitFor()
  await sheet(page).getByText('6 × $1.25/M + 1 × $0.125/M + 3 × $10/M = $0.000037625', { exact: true }).waitFor()
  assert.equal(address(page)['request'], seeded.estimated)
  await page.keyboard.press('Escape')
  await sheet(page).waitFor({ state: 'detached' })
  assert.deepEqual(address(page), { range: '24h' })
  const href = JSON.stringify(await link.getAttribute('href'))
  assert.ok(await comesTrue(page, `document.activeElement.getAttribute('href') === ${href}`))
})

test('the live view shows completed requests from one stream without requesting the list again', async (t) => {
  const page = await dashboard.window(t, browser)
  await page.clock.setFixedTime(Date.now() + 10 * 60_000) // whose 24 hours go on to after what ends here, and do not move
  await page.goto(`${dashboard.url}/app/requests?range=24h`)
  const total = page.getByText(/^\d+ requests$/)
  const before = Number.parseInt(await total.innerText(), 10)
  const asked: string[] = []
  const streams = new Set<Request>()
  page.on('request', (request) => {
    const { pathname, searchParams } = new URL(request.url())
    if (pathname === STREAM) streams.add(request)
    if (pathname === LIST && searchParams.get('limit') !== '1') asked.push(request.url())
  })
  page.on('requestfinished', (request) => void streams.delete(request))
  page.on('requestfailed', (request) => void streams.delete(request))
  const streamsLeft = () =>
    eventually(
      async () => streams.size,
      (count) => count === 0,
    )
  await page.getByRole('switch', { name: 'Live' }).check()
  await page.waitForURL(/live=1/)
  await liveMark(page, 'Live').waitFor()
  const models = ['model-of-now', 'model-of-then', 'model-of-a-slow-one']
  for (const model of models.slice(0, 2)) {
    await ended({ model })
    await rows(page).first().getByText(model, { exact: true }).waitFor()
  }
  await ended({ model: 'model-of-a-slow-one', createdAt: Date.now() - 30_000, durationMs: 30_000 })
  await rows(page).nth(2).getByText('model-of-a-slow-one', { exact: true }).waitFor()
  for (const model of models) assert.equal(await rows(page).getByText(model, { exact: true }).count(), 1, model)
  await page
    .getByRole('status')
    .getByText(/^\d new requests?/)
    .waitFor()
  await page.getByText(`${before + models.length} requests`, { exact: true }).waitFor()
  assert.equal(await button(page, 'Load more').count(), 0)
  assert.equal(asked.length, 1, asked.join('\n'))
  assert.equal(streams.size, 1)
  await page.evaluate(seenAs('hidden'))
  await streamsLeft()
  const again = page.waitForRequest((request) => new URL(request.url()).pathname === STREAM)
  await page.evaluate(seenAs('visible'))
  assert.match(String((await again).headers()['last-event-id']), /^chatcmpl-/)
  await liveMark(page, 'Live').waitFor()
  assert.equal(asked.length, 1, asked.join('\n'))
  await page.getByRole('switch', { name: 'Live' }).uncheck()
  await page.waitForURL((url) => !url.searchParams.has('live'))
  await liveMark(page, 'Live').waitFor({ state: 'detached' })
  await streamsLeft()
  await ended({ model: 'model-of-nobody' })
  await page.getByRole('button', { name: 'Refresh' }).click()
  await rows(page).first().getByText('model-of-nobody', { exact: true }).waitFor()
})

test('a stream that breaks off continues after its last event; a rejected one gives the reason', async (t) => {
  const page = await dashboard.open(t, browser, '/requests?range=24h')
  await rows(page).first().waitFor()
  const id = completionIdAt(Date.now())
  const list = (await dashboard.ask('GET', `${LIST}?limit=1`, { token: await dashboard.ownerToken() })).json<{
    data: object[]
  }>()
  const row = { ...list.data[0], id, model: 'model-that-was-told' }
  const froms: (string | undefined)[] = []
  const goOn = Promise.withResolvers<void>()
  await page.route(`**${STREAM}*`, async (route) => {
    froms.push(route.request().headers()['last-event-id'])
    if (froms.length > 1) await goOn.promise
    if (froms.length > 1) return route.fallback()
    const body = `retry: 2000\n\nid: ${id}\nevent: completion\ndata: ${JSON.stringify(row)}\n\n`
    await route.fulfill({ contentType: 'text/event-stream', body })
  })
  await page.getByRole('switch', { name: 'Live' }).check()
  await rows(page).getByText('model-that-was-told', { exact: true }).waitFor()
  await liveMark(page, 'Reconnecting…').waitFor()
  await ended({ model: 'model-that-was-missed' })
  goOn.resolve()
  await rows(page).getByText('model-that-was-missed', { exact: true }).waitFor()
  await liveMark(page, 'Live').waitFor()
  assert.deepEqual(froms.slice(0, 2), [undefined, id])
  const error = { message: 'Nobody may listen.', type: 'invalid_request_error', code: 'broken' }
  await page.route(`**${STREAM}*`, (route) => route.fulfill({ status: 400, json: { error } }))
  await page.goto(`${dashboard.url}/app/requests?range=24h&live=1`)
  await page.getByRole('alert').getByText('Nobody may listen.').waitFor()
  await liveMark(page, 'Not live').waitFor()
  await rows(page).first().waitFor()
  await page.setViewportSize({ width: 320, height: 800 })
  await page.getByRole('list', { name: 'Requests', exact: true }).waitFor()
  assert.equal(await overflow(page), 0)
})

const CHAT = { model: 'turnpike-simulator', messages: [{ role: 'user', content: 'simulate: say Hi.' }] }
const chat = async (secret: string, over: object = {}, headers: Readonly<Record<string, string>> = {}) => {
  const answer = await dashboard.ask('POST', '/v1/chat/completions', {
    token: secret,
    body: { ...CHAT, ...over },
    headers,
  })
  return { requestId: String(answer.headers['x-request-id']), id: answer.json<{ readonly id?: string }>().id ?? '' }
}
const rejectedTable = (page: Page) => page.getByRole('table', { name: 'Rejected requests' })

test('rejected requests have a tab of their own, which narrows to a code and has more pages', async (t) => {
  const { secret } = await dashboard.newKey('Refused service')
  const unknown = await chat(secret, { model: 'no-such-model' })
  const nobody = await chat('tp_nobody')
  const page = await dashboard.open(t, browser, '/requests')
  await page.getByRole('tab', { name: 'Rejected' }).click()
  await page.waitForURL(/tab=rejected/)
  const row = (id: string) => rejectedTable(page).getByRole('row').filter({ hasText: id })
  await eventually(
    async () => {
      await button(page, 'Refresh').click()
      await page.waitForLoadState('networkidle')
      return row(unknown.requestId).count()
    },
    (count) => count === 1,
  )
  const cells = await row(unknown.requestId).getByRole('cell').allInnerTexts()
  assert.deepEqual(cells.slice(1, 6), [
    '422',
    'model_not_found',
    '/v1/chat/completions',
    'no-such-model',
    'Refused service',
  ])
  const ofNobody = await row(nobody.requestId).getByRole('cell').allInnerTexts()
  assert.deepEqual([ofNobody[1], ofNobody[5]], ['401', 'No valid key'])
  await row(unknown.requestId).getByRole('link', { name: 'model_not_found' }).click()
  await page.waitForURL(/code=model_not_found/)
  await row(nobody.requestId).waitFor({ state: 'detached' })
  await row(unknown.requestId).waitFor()
  await button(page, 'Only model_not_found').click()
  await row(nobody.requestId).waitFor()
  const many = Array.from({ length: 50 }, (_, at) => ({
    ...{ account_id: dashboard.firstAccount, created_at: 1, key_id: seeded.keys[0]?.id ?? null, status: 429 },
    ...{ request_id: `req_${String(at).padStart(22, '0')}`, endpoint: '/v1/messages', code: 'rate_limit_exceeded' },
  }))
  await dashboard.database.db.insertInto('rejection').values(many).execute()
  await button(page, 'Refresh').click()
  await button(page, 'Load more').click()
  await row('req_0000000000000000000000').waitFor()
})

test('anything is found by any of its IDs, in the list and in the command menu', async (t) => {
  const { id: keyId, secret } = await dashboard.newKey('Searched service')
  const { requestId, id } = await chat(secret, {}, { 'x-client-request-id': 'order-4711' })
  const rejected = await chat(secret, { model: 'no-such-model' })
  const hook = await dashboard.ask('POST', '/v1/webhooks', {
    token: await dashboard.ownerToken(),
    body: { url: 'https://hooks.example.com/x', events: ['agent.completed'] },
  })
  assert.equal(hook.statusCode, 201, hook.body)
  const webhookId = hook.json<{ readonly id: string }>().id
  const pinged = async () =>
    dashboard.ask('GET', `/v1/webhooks/${webhookId}/deliveries`, { token: await dashboard.ownerToken() })
  const [delivery] = (await pinged()).json<List>().data
  const isListed = async (path: string) =>
    (await dashboard.ask('GET', path, { token: await dashboard.ownerToken() })).json<List>().data.length > 0
  await eventually(() => isListed(`${LIST}?request_id=${requestId}`), Boolean)
  await eventually(() => isListed(`/v1/usage/rejections?request_id=${rejected.requestId}`), Boolean)
  const places: readonly (readonly [string, RegExp])[] = [
    [requestId, new RegExp(`/requests\\?request=${id}`)],
    [id, new RegExp(`/requests\\?request=${id}`)],
    ['order-4711', new RegExp(`/requests\\?request=${id}`)],
    [rejected.requestId, new RegExp(`/requests\\?tab=rejected&request_id=${rejected.requestId}`)],
    [seeded.agentId, new RegExp(`/agents/${seeded.agentId}`)],
    [keyId, new RegExp(`/settings/keys\\?key=${keyId}`)],
    [String(delivery?.id), new RegExp(`/webhooks/${webhookId}\\?delivery=${delivery?.id}`)],
  ]
  const page = await dashboard.open(t, browser, '/requests')
  for (const [searched, place] of places) {
    await page.goto(`${dashboard.url}/app/requests?tab=rejected`)
    await page.getByRole('searchbox', { name: 'Find by ID' }).fill(searched)
    await page.keyboard.press('Enter')
    await page.waitForURL(place)
  }
  for (const [searched, place] of [places[0], places[3], places[5]].filter((each) => each !== undefined)) {
    await page.goto(`${dashboard.url}/app/settings/appearance`)
    await page.getByRole('heading', { level: 1 }).waitFor()
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox', { name: 'Search or jump to' }).fill(searched)
    await page.getByRole('option', { name: `Find ${searched}` }).waitFor()
    await page.keyboard.press('Enter')
    await page.waitForURL(place)
  }
  await page.goto(`${dashboard.url}/app/requests?request=${id}`)
  await sheet(page).getByText('Completion ID', { exact: true }).waitFor()
  const details = sheet(page).locator('dl > div')
  await details.filter({ hasText: 'Completion ID' }).getByText(id).waitFor()
  await details
    .filter({ hasText: /^Request ID/ })
    .getByText(requestId)
    .waitFor()
  await page.goto(`${dashboard.url}/app/requests`)
  await page.getByRole('searchbox', { name: 'Find by ID' }).fill('nothing-is-called-so')
  await page.keyboard.press('Enter')
  await page.getByText('Nothing has the ID nothing-is-called-so.').first().waitFor()
})

test('no data, failures and rejections are each explained with what to do', async (t) => {
  const page = await dashboard.open(t, browser, '/requests?provider=nobody')
  await page.getByText('No matching requests').waitFor()
  await page.goto(`${dashboard.url}/app/requests?provider=openai&range=30d`)
  await button(page, 'Show the last 7 days').click()
  await rows(page).first().waitFor()
  const error = { message: 'Out of order.', type: 'invalid_request_error', code: 'broken', request_id: 'req_shown' }
  await page.route(`**${LIST}?*`, (route) => route.fulfill({ status: 400, json: { error } }))
  await page.goto(`${dashboard.url}/app/requests?range=today`)
  await page.getByRole('alert').getByText('Out of order.').waitFor()
  await page.getByText('req_shown').waitFor()
  await page.unroute(`**${LIST}?*`)
  await page.route(`**${LIST}?*`, (route) => route.fulfill({ status: 403, json: { error } }))
  await button(page, 'Try again').click()
  await page.getByText('You cannot see requests').waitFor()
  const other = await dashboard.person(await dashboard.account('Empty'), 'owner', 'new@example.com')
  const empty = await dashboard.open(t, browser, '/requests', { as: other })
  await empty.getByText('No requests in this period').waitFor()
  assert.equal(await empty.locator('table').count(), 0)
})

test('axe reports no issues in either theme, and nothing is too wide for a phone', async (t) => {
  const options = { bypassCSP: true, reducedMotion: 'reduce' } as const
  const page = await dashboard.open(t, browser, '/requests?range=7d&status=failed', options)
  await rows(page).first().waitFor()
  assert.deepEqual(await axeFindingsInBothThemes(page), [])
  for (const width of [390, 320]) {
    await page.setViewportSize({ width, height: 800 })
    await page.getByRole('list', { name: 'Requests', exact: true }).waitFor()
    assert.equal(await overflow(page), 0, `${width} px`)
  }
  await page.goto(`${dashboard.url}/app/requests?tab=rejected`)
  await page.getByRole('list', { name: 'Rejected requests' }).waitFor()
  assert.equal(await overflow(page), 0, 'rejected')
  await page.setViewportSize({ width: 1280, height: 800 })
  await rejectedTable(page).waitFor()
  assert.deepEqual(await axeFindingsInBothThemes(page), [], 'rejected')
  assert.equal(await page.evaluate<number>(TABLE_OVERFLOW), 0, 'rejected at 1280')
  await page.goto(`${dashboard.url}/app/requests?range=7d`)
  await table(page).waitFor()
  assert.equal(await page.evaluate<number>(TABLE_OVERFLOW), 0, 'requests at 1280')
  await page.goto(`${dashboard.url}/app/requests?range=7d&status=failed&request=${seeded.retried}`)
  await sheet(page).getByText('rounded up to the nano-dollar once').waitFor()
  assert.equal(await page.evaluate<number>(SHEET_OVERFLOW), 0)
  assert.deepEqual(await axeFindingsInBothThemes(page), [], 'sheet')
})
