/** Home, from the first request on. Runs on one database: each test has accounts of its own, or only reads. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import OpenAI from 'openai'
import type { Browser, Page } from 'playwright-core'
import type { CompletionStatus } from '../../src/domain/completion.ts'
import { createKey, FULL_ACCESS } from '../../src/features/keys/queries.ts'
import { axeFindingsInBothThemes, overflow, startBrowser } from '../support/browser/browser.ts'
import { type Dashboard, startDashboard } from '../support/browser/dashboard.ts'
import { testIds } from '../support/database.ts'
import { model } from '../support/gateway.ts'
import { completionRecord, recordCompletions } from '../support/ledger/completions.ts'
import { answerJson } from '../support/providers/answers.ts'
import { startFakeProvider } from '../support/providers/fake-provider.ts'

const endings: (() => unknown)[] = []
/** Of `dashboard.seed`. */
const SEEDED_MODEL = 'turnpike-simulator'
const PROVIDER_KEY = 'sk-refused-0123456789'
let browser: Browser
let dashboard: Dashboard

before(async () => {
  const t = { after: (end: () => unknown) => void endings.push(end) }
  const refusing = await startFakeProvider(
    answerJson({ error: { message: `Incorrect API key provided: ${PROVIDER_KEY}. Billing is off.` } }, 401),
  )
  t.after(() => refusing.close())
  const providers = { refusing: { protocol: 'openai', base_url: `${refusing.url}/v1`, api_key: PROVIDER_KEY } }
  const over = { models: [model('refused-model', 'refusing', 'up-model')] }
  ;[browser, dashboard] = await Promise.all([startBrowser(), startDashboard(t, { over, providers })])
})
after(async () => {
  await browser?.close()
  for (const end of endings) await end()
})

const main = (page: Page) => page.locator('main')
const chart = (page: Page, name: string) => main(page).getByRole('figure', { name })
const step = (page: Page, name: string) => main(page).getByRole('listitem').filter({ hasText: name })

test('the first request is waited for, and shows up within a second or two; the checklist ticks itself', async (t) => {
  const account = await dashboard.account('Fresh')
  const person = await dashboard.person(account, 'owner', 'fresh@example.com')
  const page = await dashboard.open(t, browser, '/', { as: person })
  await page.getByRole('heading', { name: 'Waiting for the first request…' }).waitFor()
  await main(page).getByText(`curl '${dashboard.url}/v1/chat/completions'`).waitFor()
  await main(page).getByRole('tab', { name: 'TypeScript' }).click()
  await main(page).getByText(`baseURL: "${dashboard.url}/v1"`).waitFor()
  await main(page).getByText('0 of 5 done').waitFor()

  const secret = await dashboard.key(account)
  const rejected = { model: 'no-such-model', messages: [{ role: 'user', content: 'Hello' }] }
  for (const _ of [1, 2]) await dashboard.ask('POST', '/v1/chat/completions', { token: secret, body: rejected })
  const notice = main(page).getByText('2 requests arrived and were rejected: 422 model not found')
  await notice.waitFor()
  const why = main(page).getByRole('link', { name: 'See why' })
  assert.equal(await why.getAttribute('href'), '/app/requests?tab=rejected')

  const client = new OpenAI({ baseURL: `${dashboard.url}/v1`, apiKey: secret, maxRetries: 0 })
  const answer = await client.chat.completions.create({
    model: 'turnpike-simulator',
    messages: [{ role: 'user', content: 'simulate: say Good morning.' }],
  })
  const received = main(page).getByText(`First request received: ${answer.usage?.total_tokens} tokens, $0.000`)
  await received.waitFor({ timeout: 60_000 })
  await step(page, 'Send the first request: done').waitFor()
  const link = page.getByRole('link', { name: 'See the request' })
  assert.equal(await link.getAttribute('href'), `/app/requests?request=${answer.id}`)
  await chart(page, 'Requests by model').getByText('1 request', { exact: true }).waitFor()

  await page.reload()
  await step(page, 'Create an API key: done').waitFor()
  await main(page).getByText('2 of 5 done').waitFor()
  assert.equal(await received.count(), 0)
  await createKey(
    dashboard.database.db,
    { ...FULL_ACCESS, accountId: account, name: 'capped', monthlyBudgetNanoUsd: 5_000_000_000n },
    { now: Date.now, ids: testIds },
  )
  await page.reload()
  await step(page, 'Set a monthly budget: done').waitFor()
  await page.getByRole('button', { name: 'Dismiss getting started' }).click()
  await page.getByText('Getting started dismissed').waitFor()
  await page.reload()
  await chart(page, 'Requests by model').waitFor()
  assert.equal(await main(page).getByText('Getting started').count(), 0)
})

interface Report {
  readonly total_requests: number
  readonly total_tokens: number
  readonly total_cost_usd: number
  readonly groups: readonly { readonly key: string; readonly requests: number; readonly cost_usd: number }[]
  readonly series: readonly { readonly at: string; readonly key: string; readonly requests: number }[]
}

const DAY_MS = 86_400_000
const timeOf = ({ searchParams }: URL, name: string): number => Date.parse(searchParams.get(name) ?? '')
const isByModelOfWeek = (url: URL): boolean =>
  url.searchParams.get('group_by') === 'model' && timeOf(url, 'period_end') - timeOf(url, 'period_start') === 7 * DAY_MS

test('charts show the API’s figures, by table and by keyboard; the period is in the address; few requests', async (t) => {
  const { secret } = await seeded()
  const page = await dashboard.window(t, browser)
  await page.clock.setFixedTime(Date.now()) // or periods could move on, and be asked for again
  await page.goto(`${dashboard.url}/app/`)
  await chart(page, 'Requests by model').getByRole('slider').waitFor()
  await page.waitForLoadState('networkidle')
  const asked = new Set<string>()
  page.on('request', (request) => void asked.add(request.url()))
  const asking = page.waitForRequest((request) => isByModelOfWeek(new URL(request.url())))
  await page.getByText('7 days', { exact: true }).click()
  await page.waitForURL(/\/app\/\?range=7d$/)
  const figure = chart(page, 'Requests by model')
  await figure.getByRole('slider').waitFor()
  await page.getByRole('slider', { name: 'Time to first token' }).waitFor()
  // (what has no period is asked again now and then)
  assert.ok([...asked].filter((url) => new URL(url).searchParams.has('period_start')).length <= 8)
  const query = new URL((await asking).url()).search
  const report = (await dashboard.ask('GET', `/v1/usage${query}`, { token: secret })).json<Report>()

  await figure.getByRole('link', { name: `${report.total_requests} requests` }).waitFor()
  const tokens = `${report.total_tokens.toLocaleString('en-US')} tokens`
  const tokensLink = chart(page, 'Input and output tokens').getByRole('link', { name: tokens })
  assert.equal(await tokensLink.getAttribute('href'), '/app/usage?range=7d&metric=tokens')
  await chart(page, 'Spend by model')
    .getByRole('link', { name: `$${report.total_cost_usd.toFixed(2)}` })
    .waitFor()

  const slider = figure.getByRole('slider')
  await slider.focus()
  await page.keyboard.press('Home')
  const first = (await slider.getAttribute('aria-valuetext')) ?? ''
  await page.keyboard.press('ArrowRight')
  const second = (await slider.getAttribute('aria-valuetext')) ?? ''
  assert.match(first, /^\w{3} \d+: \d+/)
  assert.notEqual(first, second)
  const others = page.getByRole('slider', { name: 'Spend by model' })
  assert.match((await others.getAttribute('aria-valuetext')) ?? '', new RegExp(`^${second.split(':')[0]}:`)) // read the same day

  await figure.getByRole('button', { name: 'Show table: Requests by model' }).click()
  const totals = await figure.locator('tfoot td').allInnerTexts()
  assert.deepEqual(
    totals.map(Number),
    report.groups.map(({ requests }) => requests),
  )
  const body = (await figure.locator('tbody td').allInnerTexts()).map((text) => (text === '—' ? 0 : Number(text)))
  const days = Map.groupBy(report.series, ({ at, key }) => `${at.slice(0, 10)} ${key}`)
  assert.deepEqual(
    body.filter((count) => count > 0).toSorted(),
    [...days.values()].map((all) => all.reduce((sum, { requests }) => sum + requests, 0)).toSorted(),
  )
  await page.goBack()
  await page.waitForURL(/\/app\/?$/)
  const error = main(page).getByRole('list', { name: 'Latest errors' }).getByRole('link').first()
  assert.match((await error.getAttribute('href')) ?? '', /^\/app\/requests\?request=/)
})

test('days are those of the viewer, and every chart ends at now', async (t) => {
  await seeded()
  // Where it is another day than in UTC now; neither has summer time.
  const now = Date.now()
  const isLate = new Date(now).getUTCHours() >= 12
  const [timezoneId, hours] = isLate ? (['Pacific/Kiritimati', 14] as const) : (['Pacific/Pago_Pago', -11] as const)
  const page = await dashboard.window(t, browser, { timezoneId })
  await page.clock.setFixedTime(now)
  const asking = page.waitForRequest((request) => isByModelOfWeek(new URL(request.url())))
  await page.goto(`${dashboard.url}/app/?range=7d`)
  const start = timeOf(new URL((await asking).url()), 'period_start')
  assert.equal(new Date(start + hours * 3_600_000).toISOString().slice(11, 19), '00:00:00')
  const format = new Intl.DateTimeFormat('en-US', { month: 'short', day: 'numeric', timeZone: timezoneId })
  const today = format.format(now)
  for (const [name, points] of [
    ['Requests by model', 7],
    ['Time to first token', Math.ceil((now - start) / 3_600_000)],
  ] as const) {
    const slider = page.getByRole('slider', { name })
    await slider.focus()
    await page.keyboard.press('End')
    assert.ok((await slider.getAttribute('aria-valuetext'))?.startsWith(today), name)
    assert.ok(Math.abs(Number(await slider.getAttribute('aria-valuemax')) - points) <= 1, name) // an hour may begin
  }
  await page.goto(`${dashboard.url}/app/requests?range=today`)
  const listing = await page.waitForResponse((response) => response.url().includes('/v1/usage/completions?'))
  const midnight = timeOf(new URL(listing.url()), 'period_start')
  assert.equal(midnight, start + 6 * DAY_MS)
  const auditing = page.waitForRequest((request) => request.url().includes('/v1/audit?'))
  await page.goto(`${dashboard.url}/app/settings/audit?range=today`)
  assert.equal(timeOf(new URL((await auditing).url()), 'from'), midnight)
  await page.getByRole('button', { name: 'Custom' }).click()
  await page.getByText('Days are those of your time zone.').waitFor()
  await page.getByRole('button', { name: 'Apply' }).click()
  await page.waitForURL((url) => timeOf(url, 'from') === midnight && timeOf(url, 'to') === midnight + DAY_MS)
  await page.goto(`${dashboard.url}/app/requests?range=today`)
  await page.getByRole('button', { name: 'Custom' }).click()
  await page.getByText('Days are those of your time zone.').waitFor()
  await page.getByRole('button', { name: 'Apply' }).click()
  await page.waitForURL((url) => timeOf(url, 'from') === midnight && timeOf(url, 'to') === midnight + DAY_MS)
  const ofDay = page.waitForRequest((request) => request.url().includes('/v1/usage/completions?'))
  await page.reload()
  const asked = new URL((await ofDay).url())
  assert.deepEqual([timeOf(asked, 'period_start'), timeOf(asked, 'period_end')], [midnight, midnight + DAY_MS])
  const day = new Intl.DateTimeFormat('en-US', { dateStyle: 'medium', timeZone: timezoneId }).format(now)
  await page.getByRole('button', { name: day, exact: true }).waitFor()
  await page.getByRole('button', { name: 'Views', exact: true }).click()
  await page.getByRole('menuitem', { name: 'Save this view…' }).click()
  const name = page.getByRole('textbox', { name: 'Name' })
  assert.equal(await name.inputValue(), `All requests, ${day}`)
  await page.getByRole('button', { name: 'Save view', exact: true }).click()
  await page.goto(`${dashboard.url}/app/requests?range=today`)
  await page.getByRole('button', { name: 'Views', exact: true }).click()
  await page.getByRole('menuitem', { name: `All requests, ${day}`, exact: true }).click()
  await page.waitForURL((url) => timeOf(url, 'from') === midnight && timeOf(url, 'to') === midnight + DAY_MS)
  await page.goto(`${dashboard.url}/app/requests?from=2026-11-03&to=2026-11-03`) // as a link of Usage, whose days are UTC
  await page.getByRole('button', { name: 'Nov 3, 2026 UTC', exact: true }).waitFor()
  const using = page.waitForRequest((request) => new URL(request.url()).searchParams.get('model') === SEEDED_MODEL)
  await page.goto(`${dashboard.url}/app/models/${SEEDED_MODEL}`)
  assert.equal(timeOf(new URL((await using).url()), 'period_start'), start)
  const slider = page.getByRole('slider', { name: 'Your requests, last 7 days' })
  await slider.focus()
  await page.keyboard.press('End')
  assert.ok((await slider.getAttribute('aria-valuetext'))?.startsWith(`${today}: `))
  assert.equal(await slider.getAttribute('aria-valuemax'), '7')
})

let seeds: Promise<{ readonly secret: string }> | undefined

/** The first account, filled once. */
async function seeded(): Promise<{ readonly secret: string }> {
  seeds ??= (async () => {
    const { id, secret } = await dashboard.newKey('Production')
    await dashboard.seed([id], { count: 300, days: 7 })
    return { secret }
  })()
  return seeds
}

test('each provider has a strip of its last 24 hours, of an answer that the charts need as well', async (t) => {
  const account = await dashboard.account('Hours')
  const person = await dashboard.person(account, 'owner', 'hours@example.com')
  const createdAt = Date.now() - 2 * 3_600_000
  const call = (status: CompletionStatus, provider = 'openai') =>
    completionRecord({ accountId: account, provider, status, createdAt })
  await recordCompletions(dashboard.database, [
    call('failed'),
    call('incomplete'),
    call('completed'),
    call('completed', 'google'),
  ])
  const page = await dashboard.window(t, browser, { as: person })
  await page.clock.setFixedTime(Date.now()) // or periods could move on, and be asked for again
  const asked = new Set<string>()
  page.on('request', (request) => void asked.add(request.url()))
  await page.goto(`${dashboard.url}/app/`)
  const strip = (provider: string, name: string | RegExp) =>
    main(page)
      .getByRole('list', { name: 'Providers' })
      .getByRole('listitem')
      .filter({ hasText: provider })
      .getByRole('img', { name, exact: true })
  const failing = strip('openai', /^Last 24 hours: 1 of 24 hours with failures, at \d\d:\d\d, 2 of 3 failed$/)
  await failing.waitFor()
  await strip('google', 'Last 24 hours: no failures, requests in 1 hour').waitFor()
  await strip('anthropic', 'Last 24 hours: no requests').waitFor()
  assert.equal(await failing.locator('title').count(), 24)
  assert.equal(await failing.locator('title', { hasText: ': 2 of 3 failed' }).count(), 1)
  await chart(page, 'Time to first token').waitFor()
  // of the period, and of the one before
  assert.equal([...asked].filter((url) => url.includes('/v1/usage/performance')).length, 2)
})

test('recent errors are listed by cause, with the provider’s message for users with the right', async (t) => {
  const { secret } = await dashboard.newKey('Unlucky')
  const body = { model: 'refused-model', messages: [{ role: 'user', content: 'Hello' }] }
  for (const _ of [1, 2]) {
    const answer = await dashboard.ask('POST', '/v1/chat/completions', { token: secret, body })
    assert.ok(answer.statusCode >= 500, answer.body)
    assert.doesNotMatch(answer.body, /Billing is off/)
  }
  const page = await dashboard.open(t, browser, '/')
  const cause = (on: Page) =>
    main(on)
      .getByRole('list', { name: 'Latest errors' })
      .getByRole('listitem')
      .filter({ hasText: 'refusing rejected our credentials (401)' })
  await cause(page).getByText('2 requests').waitFor()
  assert.equal(await cause(page).count(), 1)
  await cause(page).getByText('“Incorrect API key provided: [redacted] Billing is off.”').waitFor()
  await cause(page).getByRole('link').click()
  const sheet = page.getByRole('dialog', { name: 'Request' })
  await sheet.getByText('HTTP 401.').waitFor()
  await sheet.getByText('Incorrect API key provided: [redacted] Billing is off.').waitFor()
  const other = await dashboard.open(t, browser, '/', { as: await dashboard.member('developer') })
  await cause(other).getByRole('link').click()
  await other.getByRole('dialog', { name: 'Request' }).getByText('HTTP 401.').waitFor()
  assert.equal(await other.getByText('Incorrect API key').count(), 0)
})

test('how long credit lasts is one figure, by the limit that is reached first', async (t) => {
  const account = await dashboard.account('Lasting')
  const person = await dashboard.person(account, 'owner', 'lasting@example.com')
  const token = await dashboard.token(await dashboard.browser(person))
  const budgets = [
    { usd: 10, window: 'total' },
    { usd: 1_000_000, window: 'month' },
  ]
  const set = await dashboard.ask('PUT', '/v1/budgets', {
    token,
    body: { level: 'account', subject: account, budgets },
  })
  assert.equal(set.statusCode, 200, set.body)
  const spent = { accountId: account, createdAt: Date.now(), costNanoUsd: 2_000_000_000n }
  await recordCompletions(dashboard.database, [completionRecord(spent)])
  const page = await dashboard.open(t, browser, '/', { as: person })
  const figure = await main(page)
    .getByText(/^Credit lasts: /)
    .innerText()
  const why = 'By the budget in total, with $2.00 a day in the last 7 days'
  await main(page).getByText(`${why}.`).waitFor()
  await page.goto(`${dashboard.url}/app/billing`)
  const stat = main(page).getByText('Credit lasts', { exact: true }).locator('..')
  await stat.getByText(why).waitFor()
  assert.ok((await stat.innerText()).includes(figure.replace('Credit lasts: ', '')), figure)
  assert.match(figure, /^Credit lasts: [45] days$/)
})

test('each part fails, is refused and is tried again by itself', async (t) => {
  await seeded()
  const page = await dashboard.open(t, browser, '/', { as: await dashboard.member('billing') })
  await main(page).getByRole('list', { name: 'Providers' }).getByText('Healthy').first().waitFor()
  assert.equal(await step(page, 'Create an API key').count(), 0) // billing makes none
  let status = 400
  await page.route('**/v1/usage?*', (route) =>
    status === 200 ? route.continue() : route.fulfill({ status, json: { error: { message: 'Not now.', type: 'x' } } }),
  )
  await page.reload()
  await page.getByRole('alert').getByText('Could not load usage').waitFor()
  await chart(page, 'Time to first token').waitFor()
  status = 200
  await page.getByRole('button', { name: 'Try again' }).click()
  await chart(page, 'Spend by model').waitFor()
  status = 403
  await page.reload()
  await page.getByText('You cannot see usage').waitFor()
})

/** What the sample of a series in the legend of a chart is painted with. */
async function legendColor(page: Page, figure: string, series: string): Promise<string> {
  const sample = page
    .getByRole('figure', { name: figure })
    .getByRole('listitem')
    .filter({ has: page.getByText(series, { exact: true }) })
    .locator('rect')
  const pattern = /#([^)]*)/.exec((await sample.first().getAttribute('fill')) ?? '')?.[1]
  return page.locator(`[id="${pattern}"] rect`).first().evaluate(COMPUTED, 'fill')
}

const COMPUTED = new Function('element', 'property', 'return getComputedStyle(element)[property]') as (
  element: unknown,
  property: string,
) => string

test('a model has one color in all charts, and a status the color of its badge', async (t) => {
  await seeded()
  const page = await dashboard.open(t, browser, '/?range=7d')
  const models = ['gpt-5.4-mini', 'claude-sonnet-4-6', 'gemini-2.5-flash', SEEDED_MODEL]
  const colorsIn = async (figure: string) => {
    await chart(page, figure).getByRole('slider').waitFor()
    return Promise.all(models.map((name) => legendColor(page, figure, name)))
  }
  const colors = await colorsIn('Requests by model')
  assert.equal(new Set(colors).size, models.length)
  assert.deepEqual(await colorsIn('Spend by model'), colors)
  await page.goto(`${dashboard.url}/app/usage?range=30d&metric=tokens`)
  assert.deepEqual(await colorsIn('Tokens by model'), colors)
  await page.goto(`${dashboard.url}/app/requests?range=7d&status=failed`)
  const badge = main(page).getByRole('table').getByText('Failed', { exact: true }).first()
  assert.equal(await legendColor(page, 'Requests over time', 'Failed'), await badge.evaluate(COMPUTED, 'color'))
})

test('of twenty models no two share a color in a chart, and each has its color on Home, in Usage and on its page', async (t) => {
  const account = await dashboard.account('Twenty')
  const person = await dashboard.person(account, 'owner', 'twenty@example.com')
  const token = await dashboard.token(await dashboard.browser(person))
  const listed = (await dashboard.ask('GET', '/v1/models', { token })).json<{
    data: { id: string; alias_of?: string }[]
  }>()
  const models = listed.data.filter(({ alias_of: target }) => target === undefined).slice(0, 20)
  assert.equal(models.length, 20)
  // The eight that are called most often are not the eight that cost most.
  const calls = models.flatMap(({ id }, index) =>
    Array.from({ length: index + 1 }, () =>
      completionRecord({
        accountId: account,
        model: id,
        createdAt: Date.now(),
        costNanoUsd: 10_000_000_000n >> BigInt(index),
      }),
    ),
  )
  await recordCompletions(dashboard.database, calls)
  const page = await dashboard.open(t, browser, '/?range=7d', { as: person })
  const colors = new Map<string, string>()
  const assertColors = async (figure: string) => {
    await chart(page, figure).getByRole('slider').waitFor()
    const legend = await chart(page, figure).getByRole('listitem').locator('span.truncate').allInnerTexts()
    assert.equal(legend.length, 9, figure)
    const found = await Promise.all(legend.map((name) => legendColor(page, figure, name)))
    assert.equal(new Set(found).size, legend.length, `${figure}: ${found}`)
    for (const [index, name] of legend.entries()) {
      if (!name.startsWith('Other')) assert.equal(found[index], colors.get(name) ?? found[index], name)
      colors.set(name, found[index] ?? '')
    }
  }
  await assertColors('Requests by model')
  await assertColors('Spend by model')
  await page.goto(`${dashboard.url}/app/usage?range=30d&metric=requests`)
  await assertColors('Requests by model')
  await page.goto(`${dashboard.url}/app/usage?range=30d`)
  await assertColors('Spend by model')
  const shown = models.filter(({ id }) => colors.has(id))
  assert.ok(shown.length > 8, 'charts show different models')
  for (const { id } of shown.slice(-3)) {
    await page.goto(`${dashboard.url}/app/models/${id}`)
    const bars = chart(page, 'Your requests, last 7 days').locator('pattern rect')
    assert.equal(await bars.first().evaluate(COMPUTED, 'fill'), colors.get(id), id)
  }
})

test('cards fill the width of Home and end together, with and without the first steps', async (t) => {
  const account = await dashboard.account('Wide')
  const person = await dashboard.person(account, 'owner', 'wide@example.com')
  await recordCompletions(dashboard.database, [completionRecord({ accountId: account, createdAt: Date.now() })])
  const page = await dashboard.open(t, browser, '/', { as: person })
  const overview = main(page).getByRole('region', { name: 'Overview' })
  await overview.getByRole('list', { name: 'Providers' }).waitFor()
  await overview.getByText('No failed requests.').waitFor()
  await overview.getByText('Left to spend').waitFor()
  for (const isDismissed of [false, true]) {
    if (isDismissed) await page.getByRole('button', { name: 'Dismiss getting started' }).click()
    for (const width of [1440, 1280, 1024, 390]) {
      await page.setViewportSize({ width, height: 900 })
      const { x, width: room } = (await overview.boundingBox()) ?? assert.fail()
      const cards = await overview.locator('.rounded-xl').all()
      const boxes = (await Promise.all(cards.map((card) => card.boundingBox()))).map((box) => box ?? assert.fail())
      for (const [top, row] of Map.groupBy(boxes, (box) => Math.round(box.y))) {
        const ends = row.map((box) => Math.round(box.x + box.width - x))
        assert.ok(Math.abs(Math.max(...ends) - room) <= 1, `row at ${top} of ${width} px`)
        assert.equal(new Set(row.map((box) => Math.round(box.height))).size, 1)
      }
    }
  }
})

test('accessible in light and in dark colors, and as narrow as a phone', async (t) => {
  await seeded()
  const page = await dashboard.open(t, browser, '/?range=30d', { bypassCSP: true })
  await page.getByRole('slider', { name: 'Spend by model' }).waitFor()
  await page.getByRole('slider', { name: 'Time to first token' }).waitFor()
  await main(page).getByRole('list', { name: 'Providers' }).waitFor()
  assert.deepEqual(await axeFindingsInBothThemes(page), [])
  for (const width of [390, 320]) {
    await page.setViewportSize({ width, height: 800 })
    assert.equal(await overflow(page), 0)
  }
})
