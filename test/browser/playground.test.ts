/** Models asked in the dashboard, in a real browser. Runs on one database: what is decided in it, other tests look at. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser, Locator, Page } from 'playwright-core'
import { axeFindingsInBothThemes, comesTrue, overflow, startBrowser } from '../support/browser/browser.ts'
import { type Dashboard, startDashboard } from '../support/browser/dashboard.ts'
import { eventually } from '../support/client.ts'
import { HOSTILE_MARKUP } from '../support/http/hostile-markup.ts'

const endings: (() => unknown)[] = []
let browser: Browser
let dashboard: Dashboard

before(async () => {
  ;[browser, dashboard] = await Promise.all([
    startBrowser(),
    startDashboard({ after: (end) => void endings.push(end as () => unknown) }),
  ])
})
after(async () => {
  await browser?.close()
  for (const end of endings) await end()
})

/** Looked at one after the other in one window, since windows are slow to open. */
const views: (readonly [name: string, look: (page: Page) => Promise<void>])[] = []
const view = (name: string, look: (page: Page) => Promise<void>): void => void views.push([name, look])

test('the playground', async (t) => {
  const page = await dashboard.open(t, browser, '/playground', { permissions: ['clipboard-read', 'clipboard-write'] })
  for (const [name, look] of views) {
    await t.test(name, async () => {
      await look(page)
      await page.unrouteAll()
    })
  }
})

const visit = async (page: Page, search: string): Promise<void> => {
  await page.goto(`${dashboard.url}/app/playground${search}`)
  await message(page).waitFor()
}

const SIMULATOR = 'turnpike-simulator'
const CHAT = '**/v1/chat/completions'
const message = (page: Page) => page.getByLabel('Message', { exact: true })
const button = (page: Page | Locator, name: string | RegExp) => page.getByRole('button', { name, exact: true })
const column = (page: Page, number: number) => page.getByRole('region', { name: new RegExp(`^Model ${number}`) })
const figure = (place: Locator, label: string) =>
  place
    .locator('dl > div', { has: place.page().getByText(label, { exact: true }) })
    .locator('dd')
    .last()
/** Of all columns together. */
const ended = (page: Page) => button(page, /^(Run again|Retry)$/)

async function say(page: Page, text: string): Promise<void> {
  await message(page).fill(text)
  await message(page).press('Control+Enter')
}

/** Its settings are closed, and the focus, which would be taken from where it went meanwhile, is back. */
async function settingsAreClosed(page: Page): Promise<void> {
  await page.getByRole('dialog', { name: 'Settings' }).waitFor({ state: 'detached' })
  await page.locator(':focus', { hasText: 'Settings' }).waitFor()
}

/** Answers of the gateway that only a page needs to believe in. */
const events = (...chunks: readonly (object | string)[]) => ({
  contentType: 'text/event-stream',
  headers: { 'x-request-id': 'req_made_up' },
  body: chunks.map((chunk) => `data: ${typeof chunk === 'string' ? chunk : JSON.stringify(chunk)}\n\n`).join(''),
})
const delta = (fields: object) => ({ id: 'chatcmpl-made-up', choices: [{ index: 0, delta: fields }] })

view('two models answer side by side, each goes on with its own answer, and what it took is told', async (page) => {
  await visit(page, `?models=${SIMULATOR},${SIMULATOR}`)
  await page.getByText('Requests are real and billed to this account.').waitFor()
  await say(page, 'simulate: reasoning I greet.\nsimulate: say Good **morning** to you.\nsimulate: pace 40')
  await ended(page).nth(1).waitFor()
  for (const number of [1, 2]) {
    const answered = column(page, number)
    await answered.locator('strong', { hasText: 'morning' }).waitFor()
    assert.match(await figure(answered, 'Tokens in / out').innerText(), /^\d+ \/ \d+$/)
    assert.match(await figure(answered, 'Cost').innerText(), /^\$0\.0000\d+$/)
    assert.match(await figure(answered, 'First token').innerText(), /\d m?s$/)
    assert.match(await figure(answered, 'Speed').innerText(), /tokens\/s$/)
    assert.equal(await figure(answered, 'Finish reason').innerText(), 'stop')
    const link = answered.getByRole('link', { name: 'Details' })
    assert.match((await link.getAttribute('href')) ?? '', /\/requests\?request=chatcmpl-/)
  }
  const reasoning = column(page, 1).getByText('I greet.', { exact: true })
  assert.equal(await reasoning.isVisible(), false)
  await column(page, 1).getByText('Reasoning', { exact: true }).click()
  await reasoning.waitFor()
  await page.getByText(`${SIMULATOR} answered: Good **morning** to you.`).waitFor({ state: 'attached' })

  await say(page, 'simulate: say Once more.\nsimulate: pace 0')
  await column(page, 2).getByText('Once more.', { exact: true }).waitFor()
  await ended(page).nth(1).waitFor()
  await button(column(page, 2), 'Request and response').click()
  const sheet = page.getByRole('dialog')
  const request = JSON.parse(await sheet.getByRole('group', { name: 'Request' }).innerText())
  assert.deepEqual(
    request.messages.map(({ role }: { role: string }) => role),
    ['user', 'assistant', 'user'],
  )
  assert.equal(request.messages[1].content, 'Good **morning** to you.')
  await sheet.getByRole('tab', { name: 'Response' }).click()
  assert.match(await sheet.getByRole('group', { name: 'Response' }).innerText(), /data: \[DONE\]$/)
  assert.match(page.url(), /sheet=raw&column=2&tab=response|column=2.*tab=response/)
  await page.goBack()
  await sheet.waitFor({ state: 'detached' })
})

view('a run is stopped, and what it cost until then is metered', async (page) => {
  await visit(page, `?models=${SIMULATOR}`)
  const sent = page.waitForResponse(CHAT)
  await say(page, 'simulate: tokens 4000')
  await figure(column(page, 1), 'Tokens in / out').getByText('≈').waitFor()
  await button(column(page, 1), 'Stop').click()
  await page.getByText('Tokens generated until then are billed.').waitFor()
  const details = page.getByRole('link', { name: 'Details' })
  const id = new URL((await details.getAttribute('href')) ?? '', page.url()).searchParams.get('request')
  const token = (await sent).request().headers()['authorization']?.replace('Bearer ', '') ?? ''
  const row = await eventually(
    async () => (await dashboard.ask('GET', `/v1/usage/completions/${id}`, { token })).json(),
    ({ status }) => status !== undefined,
  )
  assert.equal(row.status, 'client_left')
  assert.ok(row.cost_usd > 0 && row.completion_tokens < 4000, JSON.stringify(row))
})

/** Adds to `raw` each state of the running answer in which marks of Markdown were seen as text. */
const WATCH_MARKS = `{
  globalThis.raw = []
  new MutationObserver(() => {
    const text = document.querySelector('main [aria-busy=true]')?.innerText ?? ''
    if (/\`\`|^#|\\|/m.test(text)) raw.push(text)
  }).observe(document.querySelector('main'), { childList: true, subtree: true, characterData: true })
}`

view(
  'a stream is Markdown while it runs: fences and tables that are not closed yet, and nothing that runs',
  async (page) => {
    await visit(page, `?models=${SIMULATOR}`)
    await say(page, 'simulate: say The renderer is **loaded**.')
    await column(page, 1).locator('strong', { hasText: 'loaded' }).waitFor()
    await ended(page).waitFor()
    await page.evaluate(WATCH_MARKS)
    const said = [
      '## Two heads',
      'Some **bold** text, [a link](https://example.com/) and [none](javascript:alert(1)), <img src=x onerror=alert(1)>',
      '',
      '| left | right |',
      '|------|-------|',
      '| one | two |',
      '',
      '```ts',
      'const half = 1',
      'const never = 2',
      '```',
    ]
    const tokens = 107
    await say(
      page,
      [...said.map((line) => `simulate: say ${line}`), `simulate: stall ${tokens}`, 'simulate: pace 5'].join('\n'),
    )
    const running = page.locator('main [aria-busy=true]').last()
    await running.getByRole('group', { name: 'ts code' }).getByText('const half').waitFor()
    assert.deepEqual(await running.locator('th, td').allInnerTexts(), ['left', 'right', 'one', 'two'])
    await running.getByRole('heading', { name: 'Two heads' }).waitFor()
    await running.locator('strong', { hasText: 'bold' }).waitFor()
    assert.deepEqual(
      await Promise.all((await running.locator('a, img').all()).map((each) => each.getAttribute('href'))),
      ['https://example.com/'],
    )
    assert.deepEqual(await page.evaluate('globalThis.raw'), [])
    await button(running, 'Stop').click()
    await page.getByText('Tokens generated until then are billed.').waitFor()
    assert.match(await column(page, 1).getByRole('group', { name: 'ts code' }).innerText(), /^const half/)
  },
)

view('a run can be of a team, whose usage it is then', async (page) => {
  const token = await dashboard.ownerToken()
  await visit(page, `?models=${SIMULATOR}`)
  await button(page, 'Settings').click()
  const sheet = page.getByRole('dialog', { name: 'Settings' })
  await sheet.getByLabel('Functions').waitFor()
  assert.equal(await sheet.getByLabel('Team', { exact: true }).count(), 0, 'the account has no team')
  const { id } = (await dashboard.ask('POST', '/v1/teams', { token, body: { name: 'Orbit' } })).json()
  await visit(page, `?models=${SIMULATOR}`)
  await button(page, 'Settings').click()
  await sheet.getByLabel('Team', { exact: true }).fill('Orb')
  await page.getByRole('option', { name: 'Orbit' }).click()
  await button(sheet, 'Done').click()
  await settingsAreClosed(page)
  await page.getByText('for a team', { exact: true }).waitFor()
  const sent = page.waitForRequest(CHAT)
  await say(page, 'Hi\nsimulate: pace 0')
  assert.equal((await sent).headers()['x-turnpike-team'], id)
  await ended(page).waitFor()
  const usage = () => dashboard.ask('GET', `/v1/usage?team_id=${id}`, { token })
  const counted = await eventually(
    async () => (await usage()).json(),
    ({ total_requests: requests }) => requests > 0,
  )
  assert.equal(counted.total_requests, 1)
  await button(page, 'Get code').click()
  await page.getByRole('dialog').getByText(`x-turnpike-team: ${id}`).waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
})

view('tools are checked as they are typed, called, answered; a schema is kept to', async (page) => {
  await visit(page, `?models=${SIMULATOR}`)
  await button(page, 'Settings').click()
  const sheet = page.getByRole('dialog', { name: 'Settings' })
  await sheet.getByLabel('Functions').fill('[\n  {"type": "function"},\n]')
  await sheet.getByText('Line 3: This is not JSON: unexpected ].').waitFor()
  assert.equal(await sheet.getByLabel('Temperature').count(), 0) // which the simulator does not support
  await sheet.getByLabel('Functions').fill('')
  await button(sheet, 'Insert example').click()
  await button(sheet, 'Done').click()
  await settingsAreClosed(page)
  await page.getByText('1 tool', { exact: true }).waitFor()
  await say(page, 'Weather?\nsimulate: tool get_weather {"city": "Lisbon"}\nsimulate: pace 0')
  await page.getByLabel('Answer the tool').waitFor() // until then, arguments may come in pieces
  assert.match(
    await page.getByRole('group', { name: 'Arguments of get_weather' }).innerText(),
    /^\{\n {2}"city": "Lisbon"\n\}$/,
  )
  await page.getByLabel('Answer the tool').fill('21 °C and sun')
  await page.keyboard.press('Control+Enter')
  await page
    .getByText(/21 °C and sun/)
    .nth(1)
    .waitFor()
  await ended(page).waitFor()
  await figure(column(page, 1), 'Finish reason').getByText('stop').waitFor()

  await button(page, 'Clear conversation').click()
  await page.getByText('start with an example').waitFor()
  await button(page, 'Settings').click()
  await sheet.getByLabel('Functions').fill('')
  await sheet.getByLabel('JSON schema').check()
  await sheet
    .getByLabel('Schema', { exact: true })
    .fill('{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}')
  await page.keyboard.press('Escape')
  await settingsAreClosed(page)
  await say(page, 'Where?\nsimulate: pace 0')
  await ended(page).waitFor()
  const [answer] = await page.getByRole('group', { name: 'Conversation' }).getByText('"city"').allInnerTexts()
  assert.equal(typeof JSON.parse(answer ?? '').city, 'string')
})

view(
  'images are sent to models that read them, and refused when they are too large, no images, or for nobody',
  async (page) => {
    const models = (
      await dashboard.ask('GET', '/v1/models', { token: (await dashboard.newKey('images')).secret })
    ).json()
    const blind = models.data.find(
      ({ pricing, capabilities }: { pricing: unknown; capabilities: { vision: boolean } }) =>
        pricing !== null && !capabilities.vision,
    )?.id
    await visit(page, `?models=${SIMULATOR}`)
    const choose = (name: string, mimeType: string, bytes: number) =>
      page.getByLabel('Images', { exact: true }).setInputFiles({ name, mimeType, buffer: Buffer.alloc(bytes, 1) })
    await choose('large.png', 'image/png', 6 * 1024 * 1024)
    await page.getByText('large.png has 6 MiB; the limit is 5 MiB.').waitFor()
    await choose('drawing.svg', 'image/svg+xml', 10)
    await page.getByText('drawing.svg is not a PNG, JPEG, GIF or WebP image.').waitFor()
    const png = Buffer.from(
      'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
      'base64',
    )
    await page
      .getByLabel('Images', { exact: true })
      .setInputFiles({ name: 'dot.png', mimeType: 'image/png', buffer: png })
    const attached = page.getByRole('list', { name: 'Attached images' })
    await attached.getByText('dot.png').waitFor()
    await button(attached, 'Remove dot.png').click()
    await attached.waitFor({ state: 'detached' })
    await message(page).focus()
    await page.evaluate(PASTE_IMAGE)
    await attached.getByText('pasted.png').waitFor()
    await say(page, 'What is it?\nsimulate: pace 0')
    await column(page, 1).getByText('You sent an image.').waitFor()
    await column(page, 1).getByRole('img', { name: 'pasted.png' }).waitFor()
    await page.goto(`${dashboard.url}/app/playground?models=${SIMULATOR},${encodeURIComponent(blind)}`)
    await page
      .getByLabel('Images', { exact: true })
      .setInputFiles({ name: 'dot.png', mimeType: 'image/png', buffer: png })
    await page.getByText(`${blind} cannot read images.`).waitFor()
    await say(page, 'What is it?')
    assert.equal(await page.getByText('Answers appear here.').count(), 2)
  },
)

const PASTE_IMAGE = `{
  const data = new DataTransfer()
  data.items.add(new File([new Uint8Array(10)], 'pasted.png', { type: 'image/png' }))
  document.activeElement.dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true }))
}`

view(
  'a refusal, an error in the stream and a connection that ends early are told apart, and tried again',
  async (page) => {
    await visit(page, `?models=${SIMULATOR}`)
    await say(page, 'simulate: error 400 Not like this')
    const place = column(page, 1)
    await place.getByText('Failed', { exact: true }).waitFor()
    await place.getByText('provider_rejected').waitFor()
    await place.getByText(/^req_/).waitFor()
    await say(page, 'simulate: say one two three four\nsimulate: error 500 after 2\nsimulate: pace 0')
    await place.getByText('one two', { exact: true }).waitFor()
    await place.getByText('provider_error').waitFor()
    await say(page, 'simulate: say five six seven\nsimulate: cut 2\nsimulate: pace 0')
    await place.getByText('five six', { exact: true }).waitFor()
    await ended(page).waitFor()
    assert.equal(await place.getByText('Failed', { exact: true }).count(), 3)

    await page.route(CHAT, (route) => route.fulfill(events(delta({ content: 'half of it' }))), { times: 1 })
    await say(page, 'simulate: say All of it.\nsimulate: pace 0')
    await place.getByText('Interrupted', { exact: true }).waitFor()
    await place.getByText('half of it', { exact: true }).waitFor()
    await button(place, 'Retry').click()
    await place.getByText('All of it.', { exact: true }).waitFor()
    assert.equal(await place.getByText('half of it', { exact: true }).count(), 0)
  },
)

view('a link fills the view and sends nothing; code, link and history lead out of it and back', async (page) => {
  await visit(page, `?models=${SIMULATOR}&system=Be+brief.&prompt=Hello+%26+welcome`)
  const asked: string[] = []
  page.on('request', (request) => asked.push(new URL(request.url()).pathname))
  assert.deepEqual(
    [await message(page).inputValue(), await page.getByLabel('System').inputValue()],
    ['Hello & welcome', 'Be brief.'],
  )
  await button(page, 'Copy link').click()
  await page.getByText('Link copied.').first().waitFor()
  const clipboard = () => page.evaluate<string>('navigator.clipboard.readText()')
  assert.equal(await clipboard(), page.url())
  await button(page, 'Get code').click()
  const sheet = page.getByRole('dialog', { name: 'Code' })
  await button(sheet, 'Copy').click()
  await sheet.getByText('Copied').waitFor()
  const curl = await clipboard()
  assert.ok(curl.includes(`'${dashboard.url}/v1/chat/completions'`) && curl.includes('Bearer $TURNPIKE_API_KEY'), curl)
  assert.match(curl, /"content": "Hello & welcome"/)
  await sheet.getByRole('tab', { name: 'TypeScript' }).click()
  assert.match(await sheet.getByRole('group', { name: 'TypeScript code' }).innerText(), /import OpenAI from 'openai'/)
  assert.match(page.url(), /tab=typescript/)
  await page.keyboard.press('Escape')
  await sheet.waitFor({ state: 'detached' })
  assert.ok(await comesTrue(page, "document.activeElement.textContent === 'Get code'"))
  assert.ok(!asked.includes('/v1/chat/completions'))

  await say(page, 'simulate: say Done.\nsimulate: pace 0')
  await ended(page).waitFor()
  await page.goto(`${dashboard.url}/app/playground`)
  await button(page, 'History').click()
  const history = page.getByRole('dialog', { name: 'History' })
  await button(history, /^Use again/)
    .first()
    .click()
  assert.match(await message(page).inputValue(), /^simulate: say Done\./)
  assert.equal(await page.getByLabel('System').inputValue(), 'Be brief.')
  await button(page, 'History').click()
  await button(history, 'Clear history').click()
  await history.getByText('No runs yet.').waitFor()
})

view('nothing that a model or a provider says runs', async (page) => {
  await visit(page, `?models=${SIMULATOR}`)
  await page.addInitScript('globalThis.__hacked = (n) => { globalThis.__ran = String(n) }')
  await page.reload()
  const all = HOSTILE_MARKUP.join('\n\n')
  const call = { index: 0, id: 'c', type: 'function', function: { name: all, arguments: JSON.stringify({ all }) } }
  const said = [
    delta({ reasoning_content: all }),
    delta({ content: all }),
    delta({ refusal: all }),
    delta({ tool_calls: [call] }),
  ]
  await page.route(CHAT, (route) => route.fulfill(events(...said, '[DONE]')), { times: 1 })
  await say(page, all)
  await page.getByText('The model refused').waitFor()
  await page.getByText('Reasoning', { exact: true }).click()
  await page.locator('main h3, main h4, main blockquote, main strong').first().waitFor()
  await page.route(CHAT, (route) => route.fulfill(events({ error: { message: all, code: all } }, '[DONE]')), {
    times: 1,
  })
  await say(page, 'Again')
  await page.getByText('Failed', { exact: true }).waitFor()
  const targets = await page.evaluate<readonly string[]>(TARGETS)
  assert.deepEqual(
    targets.filter((target) => !/^(https?:|mailto:|\/|data:image\/)/.test(target)),
    [],
  )
  assert.equal(await page.evaluate('globalThis.__ran'), undefined)
})

const TARGETS = `[...document.querySelectorAll('main [href], main [src]')].map(
  (element) => element.getAttribute('href') ?? element.getAttribute('src'))`

test('loading can be retried, an empty list of models is explained, and billing users have no access', async (t) => {
  const page = await dashboard.open(t, browser, '/settings/appearance')
  await page.route(
    '**/v1/models',
    (route) => route.fulfill({ status: 404, json: { error: { message: 'Gone.', type: 'x' } } }),
    { times: 1 },
  )
  await page.goto(`${dashboard.url}/app/playground`)
  await page.getByText('Could not load the models').waitFor()
  await button(page, 'Try again').click()
  await message(page).waitFor()
  await page.route('**/v1/models', (route) => route.fulfill({ json: { object: 'list', data: [] } }), { times: 1 })
  await page.reload()
  await page.getByText('No callable models yet').waitFor()
  const billing = await dashboard.open(t, browser, '/playground', { as: await dashboard.member('billing') })
  await billing.getByText('You cannot see the playground').waitFor()
  assert.equal(await button(billing, /Run/).count(), 0)
})

test('axe reports no issues in light and dark, and nothing overflows at 320 px', async (t) => {
  const page = await dashboard.open(t, browser, `/playground?models=${SIMULATOR},${SIMULATOR},`, {
    bypassCSP: true,
  })
  await message(page).waitFor()
  const look = async (what: string) => assert.deepEqual(await axeFindingsInBothThemes(page), [], what)
  await look('empty')
  await page.route(CHAT, (route) => route.fulfill(events(delta({ content: '# Half' }))), { times: 1 })
  await say(
    page,
    'Which tool?\nsimulate: reasoning Hm.\nsimulate: tool get_weather {"city": "Lisbon"}\nsimulate: pace 0',
  )
  await ended(page).nth(1).waitFor()
  await page.getByRole('heading', { name: 'Half' }).waitFor()
  await look('with answers')
  await button(page, 'Settings').click()
  await button(page, 'Insert example').click()
  await look('settings')
  await page.keyboard.press('Escape')
  await page.setViewportSize({ width: 320, height: 640 })
  assert.equal(await overflow(page), 0)
  for (const name of ['Get code', 'History', 'Settings']) {
    await button(page, name).click()
    await page.getByRole('dialog').waitFor()
    assert.equal(await overflow(page), 0, name)
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
  }
})
