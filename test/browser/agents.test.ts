/**
 * Agents from the dashboard: real runs in a sandbox, on a real repository, watched in a real browser. Runs on one database:
 * what is decided in it, other tests look at.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, type TestContext, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { ADDER, calls, QUICK_FIX, script } from '../support/agents/agent-site.ts'
import { createBareRepository } from '../support/agents/git-repositories.ts'
import { startGitServer } from '../support/agents/git-server.ts'
import { SITE_REPOSITORY, startRepositorySite } from '../support/agents/repository-site.ts'
import { axeFindings, axeFindingsInBothThemes, comesTrue, overflow, startBrowser } from '../support/browser/browser.ts'
import { type Dashboard, type OpenOptions, startDashboard } from '../support/browser/dashboard.ts'
import { eventually } from '../support/client.ts'
import { HOSTILE_MARKUP } from '../support/http/hostile-markup.ts'

const TIMEOUT_MS = 180_000
/** As a text file that git takes for text. */
const HOSTILE_FILE = HOSTILE_MARKUP.map((text) => text.replaceAll('\0', '')).join('\n')

let browser: Browser
let site: Dashboard
const endings: (() => unknown)[] = []

before(async () => {
  browser = await startBrowser()
  const root = mkdtempSync(join(tmpdir(), 'agents-page-'))
  const files = [...ADDER, { path: 'hostile.txt', content: `${HOSTILE_FILE}\n` }]
  createBareRepository(root, 'acme/adder', { commits: [files] })
  const server = await startGitServer({ root })
  const git_url = `${server.url}/{repository}.git`
  const agents = { git_url, allow_local_git: true, model: 'turnpike-simulator', concurrency: 2 }
  site = await startDashboard(
    { after: (end) => void endings.push(end as () => unknown) },
    { over: { agents, webhooks: { allow_private_networks: true } } },
  )
  endings.push(
    () => server.close(),
    () => rmSync(root, { recursive: true, force: true }),
  )
})
after(async () => {
  await browser?.close()
  for (const end of endings) await end()
})

// biome-ignore lint/suspicious/noExplicitAny: answers are looked at field by field
type Body = any

async function ask(method: 'GET' | 'POST', path: string, body?: object): Promise<Body> {
  const answer = await site.ask(method, `/v1/agents${path}`, {
    token: await site.ownerToken(),
    ...(body !== undefined && { body }),
  })
  assert.ok(answer.statusCode < 400, answer.body)
  return String(answer.headers['content-type']).startsWith('application/json') ? answer.json() : answer.body
}

function create(prompt: string, more: object = {}): Promise<Body> {
  return ask('POST', '', { name: 'Fix it', repository: 'acme/adder', prompt, ...more })
}

function until(id: string, ...statuses: readonly string[]): Promise<Body> {
  return eventually(
    () => ask('GET', `/${id}`),
    ({ status }) => statuses.includes(status),
    TIMEOUT_MS,
  )
}

const open = (t: TestContext, path: string, options?: OpenOptions) => site.open(t, browser, path, options)
const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name, exact: true })
const tab = (page: Page, name: string) => page.getByRole('tab', { name })
const card = (page: Page, name: string) => page.getByRole('article', { name, exact: true })

async function goTo(page: Page, path: string): Promise<void> {
  await page.goto(`${site.url}/app${path}`)
  await page.getByRole('heading', { level: 1 }).waitFor()
}

/** What a `status` chip says. */
const chip = (page: Page, word: string) => page.locator('main').getByText(word, { exact: true }).first()

test('an agent is started once, watched to its end, sent a follow-up, and found again', async (t) => {
  const page = await open(t, '/agents', { bypassCSP: true })
  await page.getByText('No agents yet').waitFor()
  assert.match(await page.getByRole('group', { name: /^Command/ }).innerText(), /^curl http:.*\/v1\/agents/)
  assert.deepEqual(await axeFindings(page), [])
  await page.locator('main').getByRole('link', { name: 'New agent' }).first().click()
  await fillForm(page)
  const posts: string[] = []
  page.on('request', (request) => {
    if (request.method() === 'POST' && request.url().endsWith('/v1/agents')) posts.push(request.url())
  })
  await button(page, 'Start agent').dblclick()
  await page.waitForURL(/\/agents\/agt_/)
  const id = new URL(page.url()).pathname.split('/').at(-1) ?? ''
  await chip(page, 'Completed').waitFor({ timeout: TIMEOUT_MS })
  assert.equal((await ask('GET', '')).data.length, 1)
  assert.equal(posts.length, 1)
  await card(page, 'Finish').waitFor() // that it has ended may be known before all that it did is told
  await transcriptIsWhole(page, id)
  await diffIsWhole(page, id)
  await page.goBack()
  await card(page, 'Task').waitFor()
  await page
    .getByLabel('Follow-up', { exact: true })
    .last()
    .fill(script(calls('finish', { summary: 'Nothing more.' })))
  await page.keyboard.press('Control+Enter')
  await card(page, 'Follow-up').waitFor()
  await page.getByText('Nothing more.', { exact: true }).waitFor({ timeout: TIMEOUT_MS })
  await until(id, 'completed')
  await runsAndTimeline(page, id)
  await eventsAreLive(page, id)
})

async function fillForm(page: Page): Promise<void> {
  await page.getByLabel('Repository').fill('adder')
  await page.getByText('A repository is organisation/repository').waitFor()
  assert.ok(await button(page, 'Start agent').isDisabled())
  await page.getByLabel('Repository').fill('https://github.com/acme/adder.git')
  assert.equal(await page.getByLabel('Repository').inputValue(), 'acme/adder')
  await button(page, 'Fix a failing test').click()
  assert.match(await page.getByLabel('Task').inputValue(), /^Run the test suite/)
  await page.getByLabel('Task').fill(QUICK_FIX)
  await page.getByLabel('Budget of a run').fill('0.5')
  await page.getByRole('combobox', { name: 'Model' }).fill('simulator')
  await page.getByRole('option', { name: /^turnpike-simulator .*\$/ }).click()
  const command = await page.getByRole('group', { name: 'API call as a shell command' }).innerText()
  for (const part of ['"repository": "acme/adder"', '"max_cost_usd": 0.5', '"model": "turnpike-simulator"']) {
    assert.ok(command.includes(part), command)
  }
}

async function transcriptIsWhole(page: Page, id: string): Promise<void> {
  const messages: Body[] = (await ask('GET', `/${id}/messages?order=asc&limit=100`)).data
  const shown = (await page.getByRole('list', { name: 'Transcript' }).innerText()).replace(/\s+/g, ' ')
  for (const { kind, content, tool_calls } of messages) {
    if (kind === 'user') assert.ok(shown.includes(content.replace(/\s+/g, ' ')), content)
    for (const call of tool_calls ?? []) {
      const { summary, old, new: next } = JSON.parse(call.function.arguments)
      for (const text of [summary, old, next]) if (text !== undefined) assert.ok(shown.includes(text), text)
    }
  }
  await card(page, 'Edit add.sh').getByRole('row', { name: 'Removed $1 - $2' }).waitFor()
  await card(page, 'Edit add.sh').getByRole('row', { name: 'Added $1 + $2' }).waitFor()
  await card(page, 'Finish').getByText('Now it adds.').waitFor()
}

/** What is seen in a diff, sign and text of each line. */
async function linesOf(page: Page): Promise<readonly string[]> {
  const rows = await page.locator('section[id^="file-"] tbody tr').all()
  return Promise.all(
    rows.map(async (row) => {
      const [sign = '', text = ''] = (await row.locator('td').allTextContents()).slice(-2)
      return `${sign.charAt(0)}${text}`.replace('−', '-')
    }),
  )
}

async function diffIsWhole(page: Page, id: string): Promise<void> {
  await tab(page, 'Diff').click()
  await page.waitForURL(/tab=diff/)
  await page.getByText('1 file changed').waitFor()
  const diff: string = await ask('GET', `/${id}/diff`)
  const wished = diff.split('\n').slice(diff.split('\n').findIndex((line) => line.startsWith('@@')) + 1, -1)
  assert.deepEqual(await linesOf(page), wished)
  await page.getByText('Side by side').click()
  await page.waitForURL(/tab=diff-split/)
  await page.getByRole('cell', { name: 'echo $(($1 + $2))' }).waitFor()
  const [download] = await Promise.all([page.waitForEvent('download'), button(page, 'Download').click()])
  assert.equal(download.suggestedFilename(), `${id}.diff`)
  await button(page, /^add\.sh/).click()
  await page.getByRole('cell', { name: 'echo $(($1 + $2))' }).waitFor({ state: 'hidden' })
  await page.goBack()
  await page.waitForURL(/tab=diff$/)
}

async function runsAndTimeline(page: Page, id: string): Promise<void> {
  await tab(page, 'Runs').click()
  const runs = page.getByRole('table', { name: 'Runs' })
  await runs.getByRole('row', { name: /^Run 2 Completed/ }).waitFor()
  const [, first] = (await ask('GET', `/${id}/runs`)).data
  await runs
    .getByRole('row', { name: new RegExp(`Run 1 .*\\$0.50.*${first.commit.slice(0, 8)}.*Now it adds`) })
    .waitFor()
  await tab(page, 'Timeline').click()
  const timeline = page.getByRole('region', { name: 'Run 1' })
  await timeline.getByText('1 file').waitFor()
  assert.deepEqual(
    (await timeline.locator('li p:first-child').allInnerTexts()).filter((text) => !/\d/.test(text)),
    ['Queued', 'Started', 'Cloning the repository', 'Working', 'Committing', 'Completed'],
  )
  const link = page.getByRole('link', { name: 'see its requests' })
  assert.equal(new URL((await link.getAttribute('href')) ?? '', site.url).search, `?agent_id=${id}`)
}

/** Before and after there is an endpoint, while the agent goes on. */
async function eventsAreLive(page: Page, id: string): Promise<void> {
  await tab(page, 'Events').click()
  await page.waitForURL(/tab=events$/)
  const events = page.getByRole('table', { name: 'Webhook events' })
  await events
    .getByRole('row', { name: /^agent.completed .* No endpoint$/ })
    .nth(1)
    .waitFor()
  assert.equal(await events.getByRole('row').count(), 5)
  const url = 'http://127.0.0.1:9/agents' // where nobody answers
  const added = await site.ask('POST', '/v1/webhooks', { token: await site.ownerToken(), body: { url } })
  assert.equal(added.statusCode, 201, added.body)
  const followUp = page.getByLabel('Follow-up', { exact: true }).last()
  await followUp.fill(script(calls('finish', { summary: 'Told.' })))
  await page.keyboard.press('Control+Enter')
  await events
    .getByRole('row', { name: new RegExp(`^agent.completed .*${url} Pending`) })
    .waitFor({ timeout: TIMEOUT_MS })
  assert.deepEqual(await axeFindings(page), [])
  await events.getByRole('link', { name: url }).first().click()
  await page.waitForURL(/webhooks\/whk_.*delivery=dlv_/)
  await page.getByRole('dialog').getByText(id).first().waitFor()
}

test('a pull request is opened from the page of an agent, which then links to it', async (t) => {
  const github = await startRepositorySite(t, 'github', ADDER)
  const { url, token: gitToken } = github
  const git = { git_url: `${url}/{repository}.git`, git_provider: 'github', allow_local_git: true }
  const credentials = (account: string) => [{ accounts: [account], repositories: ['acme/*'], token: gitToken }]
  const over = (account: string) => ({
    agents: { ...git, model: 'turnpike-simulator', git_credentials: credentials(account) },
  })
  const own = await startDashboard(t, { over })
  const asked = { token: await own.token(await own.browser(own.owner)) }
  const completed = async (prompt: string): Promise<Body> => {
    const body = { name: 'Fix it', repository: SITE_REPOSITORY, prompt }
    const { id } = (await own.ask('POST', '/v1/agents', { ...asked, body })).json<Body>()
    const read = async (): Promise<Body> => (await own.ask('GET', `/v1/agents/${id}`, asked)).json()
    return eventually(read, ({ status }) => status === 'completed', TIMEOUT_MS)
  }
  const idle = await completed(script(calls('finish', { summary: 'Nothing to do.' })))
  const page = await own.open(t, browser, `/agents/${idle.id}`, { bypassCSP: true })
  assert.equal(await button(page, 'Open pull request').getAttribute('aria-disabled'), 'true')
  await button(page, 'Open pull request').hover()
  await page.getByRole('tooltip').getByText('No branch was pushed.').waitFor()
  const { id, branch } = await completed(QUICK_FIX)
  await page.goto(`${own.url}/app/agents/${id}`)
  const link = (name: RegExp) => page.getByRole('link', { name })
  assert.equal(await link(/^on 127/).getAttribute('href'), `${url}/${SITE_REPOSITORY}/tree/${branch}`)
  assert.deepEqual(await axeFindings(page), [])
  await button(page, 'Open pull request').click()
  await link(/^Pull request$/).waitFor()
  await page.reload()
  const [pull] = github.pulls
  assert.equal(await link(/^Pull request$/).getAttribute('href'), pull && github.pageOf(pull))
  assert.deepEqual([github.pulls.length, pull?.head, await button(page, 'Open pull request').count()], [1, branch, 0])
  assert.deepEqual(await axeFindings(page), [])
})

test('a stream that is cut continues after the last received event', async (t) => {
  const { id } = await create(QUICK_FIX)
  await until(id, 'completed')
  const stream: string = await ask('GET', `/${id}/events`)
  const beginning = `${stream.split('\n\n').slice(0, 5).join('\n\n')}\n\n`
  const seen: (string | undefined)[] = []
  const page = await open(t, '/agents')
  await page.route('**/events', async (route, request) => {
    seen.push(request.headers()['last-event-id'])
    if (seen.length > 1) await route.continue()
    else await route.fulfill({ contentType: 'text/event-stream', body: beginning })
  })
  await page.getByRole('link', { name: 'Fix it' }).first().click()
  await card(page, 'Finish').waitFor()
  const last = /^id: (\d+)/m.exec(beginning.split('\n\n').at(-2) ?? '')?.[1]
  assert.deepEqual([seen[0], seen[1]], [undefined, last])
  assert.equal(await card(page, 'Edit add.sh').count(), 1)
  assert.equal(await card(page, 'Task').count(), 1)
  await page.reload()
  await card(page, 'Finish').waitFor()
})

test('a running agent receives a follow-up and is cancelled, and an ended one is deleted', async (t) => {
  const { id } = await create(script(calls('shell', { command: 'echo begun; sleep 600' })), { name: 'Slow' })
  const page = await open(t, `/agents/${id}`)
  await chip(page, 'Live').waitFor()
  await card(page, 'Run').getByText('Running').waitFor({ timeout: TIMEOUT_MS })
  await page.getByText('it reads your message before its next step').waitFor()
  await page.getByLabel('Follow-up', { exact: true }).last().fill('And be quick.')
  await button(page, 'Send').click()
  await card(page, 'Follow-up').getByText('And be quick.').waitFor()
  await button(page, 'Cancel run').click()
  const dialog = page.getByRole('alertdialog')
  await dialog.getByText('stops within 10 seconds').waitFor()
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'hidden' })
  assert.ok(await comesTrue(page, "document.activeElement.innerText === 'Cancel run'"))
  await button(page, 'Cancel run').click()
  await dialog.getByRole('button', { name: 'Cancel run' }).click()
  await chip(page, 'Cancelled').waitFor({ timeout: TIMEOUT_MS })
  await button(page, 'Delete').click()
  assert.ok(await button(page, 'Delete agent').isDisabled())
  await dialog.getByLabel('Type delete to confirm').fill('delete')
  await button(page, 'Delete agent').click()
  await page.waitForURL(/\/agents$/)
  await goTo(page, `/agents/${id}`)
  await page.getByText('Agent not found').waitFor()
})

test('a reader further up is not moved by new events, and can jump to them', async (t) => {
  const seen = Array.from({ length: 8 }, () => calls('view', { path: 'test.sh' }))
  const { id } = await create(script(...seen, calls('shell', { command: 'echo begun; sleep 600' })))
  const page = await open(t, `/agents/${id}`)
  await card(page, 'Run').getByText('Running').waitFor({ timeout: TIMEOUT_MS })
  assert.ok(await comesTrue(page, 'scrollY > 200')) // followed to the end
  await page.evaluate('scrollTo(0, 0)')
  await button(page, 'Jump to latest').waitFor()
  await ask('POST', `/${id}/followup`, { prompt: 'More for you.' })
  await card(page, 'Follow-up').waitFor()
  assert.equal(await page.evaluate<number>('scrollY'), 0)
  await button(page, 'Jump to latest').click()
  assert.ok(await comesTrue(page, 'scrollY > 200'))
  await button(page, 'Jump to latest').waitFor({ state: 'detached' })
  await ask('POST', `/${id}/followup`, { prompt: Array.from({ length: 12 }, () => 'And more.').join('\n') })
  await card(page, 'Follow-up').nth(1).waitFor()
  assert.ok(await comesTrue(page, 'document.documentElement.scrollHeight - innerHeight - scrollY < 50'))
  await ask('POST', `/${id}/cancel`)
  await chip(page, 'Cancelled').waitFor({ timeout: TIMEOUT_MS })
})

test('failures suggest fixes, filters are in the address, and errors of loading and actions give the reason', async (t) => {
  const { id } = await create('x', { repository: 'acme/nothing', name: 'Lost' })
  await until(id, 'failed')
  const page = await open(t, '/agents')
  await page.getByRole('combobox', { name: 'Status' }).click()
  await page.getByRole('option', { name: 'Failed' }).click()
  await page.waitForURL(/\?status=failed$/)
  await page.getByRole('row').nth(2).waitFor({ state: 'hidden' })
  await page.getByRole('row', { name: /^Lost .* Failed acme\/nothing/ }).click()
  await page.getByRole('region', { name: 'Why it failed' }).getByText('could not be fetched').waitFor()
  const box = page.getByRole('textbox', { name: 'Follow-up' })
  await button(page, 'Try again').click()
  assert.deepEqual([await box.inputValue(), await page.evaluate('document.activeElement?.name')], ['x', 'prompt'])
  await box.fill('Mine. ')
  await button(page, 'Ask again').click()
  assert.equal(await box.inputValue(), 'Mine.\n\nx') // what was written is not lost
  await page.goBack()
  await page.goto(`${site.url}/app/agents?status=failed&repository=acme/adder`)
  await button(page, 'Show all agents').click()
  await page.getByRole('row', { name: /^Lost/ }).waitFor()
  const refusal = { type: 'invalid_request', code: 'invalid_value', message: 'Not today.', request_id: 'req_one' }
  // (as 4xx, which the console is allowed to complain about)
  const json = { error: refusal }
  await page.route('**/v1/agents?*', (route) => route.fulfill({ status: 400, json }))
  await page.reload()
  await page.getByRole('alert').getByText('Not today.').waitFor()
  await page.unroute('**/v1/agents?*')
  await button(page, 'Try again').click()
  await page.getByRole('row', { name: /^Lost/ }).waitFor()
  const reason = { ...refusal, code: 'agents_unavailable', message: 'Agents cannot be run here: install bubblewrap.' }
  await page.route('**/v1/agents', (route) => route.fulfill({ status: 400, json: { error: reason } }))
  await goTo(page, '/agents/new')
  await button(page, 'Add tests').click()
  await button(page, 'acme/adder').click()
  await button(page, 'Start agent').click()
  await page.getByRole('alert').getByText('install bubblewrap').waitFor()
  await page.getByText('turnpike doctor').waitFor()
  assert.equal(await page.getByLabel('Name').inputValue(), 'Add tests')
})

test('an agent can be of a team', async (t) => {
  const token = await site.ownerToken()
  const { id: teamId } = (await site.ask('POST', '/v1/teams', { token, body: { name: 'Orbit' } })).json()
  const page = await open(t, '/agents/new')
  await fillForm(page)
  await page.getByLabel('Team', { exact: true }).fill('Orb')
  await page.getByRole('option', { name: 'Orbit' }).click()
  await page
    .getByRole('group', { name: /^API call/ })
    .getByText(`"team_id": "${teamId}"`)
    .waitFor()
  await button(page, 'Start agent').click()
  await page.waitForURL(/\/agents\/agt_/)
  const id = new URL(page.url()).pathname.split('/').at(-1) ?? ''
  assert.equal((await ask('GET', `/${id}`)).team_id, teamId)
  await until(id, 'completed')
})

test('users without the right neither see nor request agents', async (t) => {
  const page = await open(t, '/agents', { as: await site.member('billing') })
  const asked: string[] = []
  page.on('request', (request) => asked.push(new URL(request.url()).pathname))
  for (const path of ['/agents', '/agents/new', '/agents/agt_any']) {
    await goTo(page, path)
    await page.getByText('Owners, admins and developers of the account can.').waitFor()
  }
  assert.deepEqual(
    asked.filter((path) => path.startsWith('/v1/agents')),
    [],
  )
})

test('untrusted text stays text, wherever it is shown', { timeout: 900_000 }, async (t) => {
  const name = '<img src=x onerror=globalThis.__hacked?.(0)>\u202e{{7*7}}'
  const prompt = script(
    calls('shell', { command: 'cat hostile.txt; cp hostile.txt copy.txt; mv add.sh "<b onclick=x>.sh"' }),
    calls('view', { path: 'hostile.txt' }),
    calls('finish', { summary: HOSTILE_MARKUP.slice(0, 200).join('\n\n') }),
  )
  const { id } = await create(prompt, { name })
  await until(id, 'completed')
  const page = await open(t, '/agents')
  await page.addInitScript('globalThis.__hacked = (number) => { document.documentElement.dataset.hacked = number }')
  await page.reload()
  await page.getByText('onerror=globalThis.__hacked?.(0)>[U+202E]{{7*7}}').waitFor()
  for (const path of ['', '?tab=timeline', '?tab=diff', '?tab=diff-split', '?tab=runs', '?tab=events']) {
    await goTo(page, `/agents/${id}${path}`)
    await page.getByRole('tab', { name: 'Runs 1' }).waitFor()
    await (path.includes('diff') ? page.getByText(/files changed/) : page.getByText(/Completed/)).first().waitFor()
    const more = button(page, /^Show all \(/)
    while ((await more.count()) > 0) await more.first().click()
    assert.equal(await page.locator('main').locator('img, script, iframe, object, embed, form').count(), 0, path)
    assert.equal(await page.locator('html').getAttribute('data-hacked'), null, path)
  }
  await goTo(page, `/agents/${id}?tab=diff`)
  await page.locator('section[id^="file-"]').getByText('<script>globalThis.__hacked?.(0)</script>').first().waitFor()
  const shown = (await page.locator('section[id^="file-"]').allInnerTexts()).join('\n')
  assert.ok(shown.includes('<script>globalThis.__hacked?.(0)</script>'))
  assert.ok(shown.includes('[U+202E]>tpircs/<'))
  assert.doesNotMatch(shown, /[\u001b\u202a-\u202e\u2066-\u2069]/)
})

test('every view is accessible in light and in dark colors, and none is wider than a small window', async (t) => {
  const page = await open(t, '/agents', { bypassCSP: true })
  const [one] = (await ask('GET', '?status=completed&order=asc')).data
  const views = [
    '/agents',
    '/agents/new',
    ...['', '?tab=timeline', '?tab=diff', '?tab=runs', '?tab=events'].map((at) => `/agents/${one.id}${at}`),
  ]
  for (const view of views) {
    await goTo(page, view)
    await page.getByText(one.repository).first().waitFor()
    await page.locator('[aria-busy="true"]').first().waitFor({ state: 'detached' })
    assert.deepEqual(await axeFindingsInBothThemes(page), [], view)
    for (const width of [320, 390]) {
      await page.setViewportSize({ width, height: 700 })
      const wider = await eventually(
        () => overflow(page),
        (pixels) => pixels === 0,
      )
      assert.equal(wider, 0, `${view} at ${width} px`)
    }
    await page.setViewportSize({ width: 1280, height: 720 })
  }
})
