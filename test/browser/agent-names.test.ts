/** Names of agents are anybody's text: nothing in them runs, wherever they are shown. Runs on one database: it is about pages. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser, Locator, Page } from 'playwright-core'
import { agentReference } from '../../src/domain/agent.ts'
import type { AgentId, KeyId } from '../../src/domain/ids.ts'
import { startBrowser } from '../support/browser/browser.ts'
import { type Dashboard, startDashboard } from '../support/browser/dashboard.ts'
import { testIds } from '../support/database.ts'
import { HOSTILE_MARKUP } from '../support/http/hostile-markup.ts'
import { completionRecord, recordCompletions } from '../support/ledger/completions.ts'

const MODEL = 'turnpike-simulator'
/** Of the page, in CSS pixels. */
const HEIGHT = 'document.documentElement.scrollHeight'
const STEP = 500
/** A busy machine renders some rows only after they were scrolled past. */
const RENDERED_WITHIN_MS = 60_000
const LOADED_WITHIN_MS = 180_000
const CLICKED_WITHIN_MS = 5_000
const endings: (() => unknown)[] = []
let browser: Browser
let dashboard: Dashboard
let agents: readonly AgentId[]

before(async () => {
  ;[browser, dashboard] = await Promise.all([
    startBrowser(),
    startDashboard({ after: (end: () => unknown) => void endings.push(end) }),
  ])
  agents = await nameAgents(dashboard)
})
after(async () => {
  await browser?.close()
  for (const end of endings) await end()
})

/** One of each name, with a completion each; past the API, which would refuse some. */
async function nameAgents({ database, firstAccount, newKey }: Dashboard): Promise<readonly AgentId[]> {
  const { id: keyId } = await newKey('of agents')
  const about = { account_id: firstAccount, repository: 'acme/shop', model: MODEL, creator: '{}', key_id: keyId }
  const counts = { runs: 1, messages: 1, events: 1, status: 'completed' as const }
  const rows = HOSTILE_MARKUP.map((text, index) => ({
    ...about,
    ...counts,
    id: testIds.agent(),
    name: text.replaceAll('\0', '').toWellFormed(),
    created_at: Date.now() - index,
  }))
  await database.db.insertInto('agent').values(rows).execute()
  await recordCompletions(
    database,
    rows.map(({ id }) => call(dashboard, keyId, id)),
  )
  return rows.map(({ id }) => id)
}

function call({ firstAccount: accountId }: Dashboard, keyId: KeyId, agentId: AgentId) {
  const tokens = { promptTokens: 9, completionTokens: 3, costNanoUsd: 1_000n }
  const clientRequestId = agentReference(agentId, testIds.run())
  return completionRecord({
    accountId,
    keyId,
    model: MODEL,
    createdAt: Date.now() - 60_000,
    ...tokens,
    clientRequestId,
  })
}

/** With what tells of a payload that ran, and of what the policy of the page refused. */
async function open(t: Parameters<Dashboard['open']>[0], path: string): Promise<Page> {
  const page = await dashboard.window(t, browser)
  await page.addInitScript(`
    globalThis.__ran = []
    globalThis.__hacked = (number) => globalThis.__ran.push(number)
    addEventListener('securitypolicyviolation', (event) => globalThis.__ran.push(event.violatedDirective))`)
  await page.goto(`${dashboard.url}/app${path}`)
  await page.getByRole('heading', { level: 1 }).waitFor()
  return page
}

async function assertNothingRan(page: Page, where: string): Promise<void> {
  assert.deepEqual(await page.evaluate('globalThis.__ran'), [], where)
  assert.equal(
    await page.locator('main').locator('img, script, iframe, object, embed, form:not(search form)').count(),
    0,
    where,
  )
}

test('the list of agents shows every name as text', async (t) => {
  const page = await open(t, '/agents')
  const links = page.locator('main a[href*="/agents/agt_"]')
  const more = page.getByRole('button', { name: 'Load more' })
  await links.first().waitFor()
  const loadedBy = performance.now() + LOADED_WITHIN_MS
  while ((await more.count()) > 0) {
    assert.ok(performance.now() < loadedBy, 'every page of the list is loaded')
    await more.click({ timeout: CLICKED_WITHIN_MS }).catch(() => undefined) // the last page may have removed it
  }
  // Of a long list only the rows near the window are rendered.
  const seen = new Set<string | undefined>()
  const until = performance.now() + RENDERED_WITHIN_MS
  while (seen.size < agents.length && performance.now() < until) await readRows(page, links, seen)
  assert.equal(seen.size, agents.length)
  await page.evaluate('scrollTo(0, 0)')
  await page.getByText('<script>globalThis.__hacked?.(').first().waitFor()
  await assertNothingRan(page, 'Agents')
})

/** Scrolls from the first row to the last, and adds the agents of the rows that are rendered meanwhile. */
async function readRows(page: Page, links: Locator, seen: Set<string | undefined>): Promise<void> {
  await page.evaluate('scrollTo(0, 0)')
  for (let top = 0; top < (await page.evaluate<number>(HEIGHT)); top += STEP) {
    await page.evaluate(
      `scrollTo(0, ${top}); new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))`,
    )
    const linked = await links.evaluateAll((all) => all.map((link) => (link as unknown as { href: string }).href))
    for (const href of linked) seen.add(/agt_\w+/.exec(href)?.[0])
  }
}

test('the page of an agent, its title and its questions show the name as text', async (t) => {
  const page = await open(t, '/agents')
  for (let index = 0; index < agents.length; index += 25) {
    await page.goto(`${dashboard.url}/app/agents/${agents[index]}`)
    await page.getByRole('button', { name: /Delete/ }).click()
    await page.getByRole('alertdialog').waitFor()
    await assertNothingRan(page, `Agent ${index}`)
    assert.equal(await page.getByRole('alertdialog').locator('img, script, iframe, object, embed').count(), 0)
  }
})

test('Usage and Requests show the names of agents as text', async (t) => {
  const page = await open(t, '/usage?group=agent')
  await page.getByRole('table').getByText('__hacked').first().waitFor()
  await assertNothingRan(page, 'Usage')
  await page.goto(`${dashboard.url}/app/requests`)
  await page.getByRole('table').getByText(MODEL).first().waitFor()
  await assertNothingRan(page, 'Requests')
})
