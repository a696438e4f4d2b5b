/**
 * Providers that really refuse, limit and fail: every part that tells their health says the same. Runs on one database:
 * it is about one installation.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { checkProviders } from '../../src/cli/doctor.ts'
import { loadConfig } from '../../src/config/load.ts'
import { PROVIDERS } from '../../src/providers/index.ts'
import { startBrowser } from '../support/browser/browser.ts'
import { type Dashboard, startDashboard } from '../support/browser/dashboard.ts'
import { model } from '../support/gateway.ts'
import { answerJson, completion } from '../support/providers/answers.ts'
import { type Script, startFakeProvider } from '../support/providers/fake-provider.ts'

const endings: (() => unknown)[] = []
/** By provider, each called five times unless told otherwise; with its calls of one outcome. */
const EXPECTED = {
  good: { answer: 200, status: 'healthy', problem: null, outcome: 'answered', calls: 5 },
  shaky: { answer: 200, status: 'degraded', problem: null, outcome: 'failed', calls: 1 },
  wrong: { answer: 401, status: 'down', problem: 'Key refused (401)', outcome: 'credentials', calls: 5 },
  forbidden: { answer: 403, status: 'down', problem: 'Key refused (403)', outcome: 'credentials', calls: 5 },
  limited: { answer: 429, status: 'down', problem: 'Rate limited (429)', outcome: 'rate_limited', calls: 5 },
  // One of 25 calls is limited: the process leaves the key alone for a while, which says nothing of the provider's health.
  waited: { answer: 200, status: 'healthy', problem: 'Rate limited (429)', outcome: 'rate_limited', calls: 1 },
  dead: { answer: 500, status: 'down', problem: 'Failing (500)', outcome: 'failed', calls: 5 },
} as const
const NAMES = Object.keys(EXPECTED) as (keyof typeof EXPECTED)[] // its own keys
const BADGES = { healthy: 'Healthy', degraded: 'Degraded', down: 'Down' } as const
let browser: Browser
let dashboard: Dashboard

before(async () => {
  const t = { after: (end: () => unknown) => void endings.push(end) }
  const started = NAMES.map(async (name) => {
    const { url, close } = await startFakeProvider(scriptOf(name))
    t.after(close)
    return [name, { protocol: 'openai', base_url: `${url}/v1`, api_key: 'sk-up' }] as const
  })
  const over = {
    providers: Object.fromEntries(await Promise.all(started)),
    models: NAMES.map((name) => model(`${name}-model`, name, 'up-model')),
    routing: { max_attempts: 1 },
  }
  ;[browser, dashboard] = await Promise.all([startBrowser(), startDashboard(t, { over })])
})
after(async () => {
  await browser?.close()
  for (const end of endings) await end()
})

test('401 of a client shows on the card that waits for the first request', async (t) => {
  const page = await dashboard.open(t, browser, '/')
  await page.getByRole('heading', { name: 'Waiting for the first request…' }).waitFor()
  const body = { model: 'good-model', messages: [{ role: 'user', content: 'Hello' }] }
  for (const _ of [1, 2]) {
    const answer = await dashboard.ask('POST', '/v1/chat/completions', { token: 'tp_nobody', body })
    assert.equal(answer.statusCode, 401, answer.body)
  }
  await page.getByText('2 requests arrived and were rejected: 401 invalid credential').waitFor()
})

const callsOf = (name: keyof typeof EXPECTED) => (name === 'waited' ? 25 : 5)

/** The first call of `shaky` fails, and the last of `waited`. */
function scriptOf(name: keyof typeof EXPECTED): Script {
  const { answer } = EXPECTED[name]
  const refused = answerJson({ error: { message: 'No.' } }, answer === 200 ? 500 : answer)
  const limited = answerJson({ error: { message: 'No.' } }, 429, { 'retry-after': '600' })
  const answered = answerJson(completion({ content: 'Hi' }))
  let calls = 0
  return (call, reply) => {
    calls += 1
    if (name === 'waited') return (calls === callsOf(name) ? limited : answered)(call, reply)
    return (answer !== 200 || (name === 'shaky' && calls === 1) ? refused : answered)(call, reply)
  }
}

interface Listed {
  readonly name: string
  readonly status: string
  readonly problem: string | null
  readonly last_24h: {
    readonly failures: number
    readonly last_failure: { readonly reason: string; readonly at: string } | null
  }
}

async function callAll(): Promise<void> {
  const { secret } = await dashboard.newKey('caller')
  for (const name of NAMES) {
    const body = { model: `${name}-model`, messages: [{ role: 'user', content: 'Hello' }] }
    for (let call = 0; call < callsOf(name); call++)
      await dashboard.ask('POST', '/v1/chat/completions', { token: secret, body })
  }
}

/** The provider's badge, the reason of its last failure, and the moment of it. */
async function assertShown(part: ReturnType<Page['locator']>, { name, status, last_24h: recent }: Listed) {
  await part
    .getByText(BADGES[status as keyof typeof BADGES], { exact: true })
    .first()
    .waitFor()
  const { last_failure: failure } = recent
  if (failure === null) return assert.equal(await part.locator('time').count(), 0, name)
  await part.getByText(failure.reason).first().waitFor()
  assert.ok((await part.locator(`time[datetime="${failure.at}"]`).count()) > 0, `${name}: when`)
}

test('401, 403 and 429 are failures of a provider: the API, Home, Settings, doctor and metrics agree', async (t) => {
  await callAll()
  const token = await dashboard.ownerToken()
  const all = (await dashboard.ask('GET', '/v1/admin/providers', { token })).json<{ data: Listed[] }>().data
  const listed = all.filter(({ name }) => name in EXPECTED) // without the simulator
  const found = Object.fromEntries(listed.map(({ name, status, problem }) => [name, { status, problem }]))
  const expected = NAMES.map((name) => [name, { status: EXPECTED[name].status, problem: EXPECTED[name].problem }])
  assert.deepEqual(found, Object.fromEntries(expected))

  const home = await dashboard.open(t, browser, '/')
  const row = (name: string) =>
    home
      .getByRole('list', { name: 'Providers' })
      .getByRole('listitem')
      .filter({ has: home.getByRole('link', { name, exact: true }) })
  for (const provider of listed) {
    await assertShown(row(provider.name), provider)
    const { failures: failed } = provider.last_24h
    const hours = await row(provider.name).locator('svg title').allTextContents()
    const failures = hours.map((text) => Number(/(\d+) of \d+ failed$/.exec(text)?.[1] ?? 0))
    assert.equal(
      failures.reduce((sum, count) => sum + count),
      failed,
      provider.name,
    )
  }
  const settings = await dashboard.open(t, browser, '/settings/providers')
  const card = (name: string) => settings.getByRole('article', { name, exact: true })
  for (const provider of listed) await assertShown(card(provider.name), provider)
  for (const [name, waits] of [
    ['waited', 'This process: 1 of 1 credential cooling down'],
    ['dead', 'This process: 1 of 1 model paused'],
  ] as const) {
    await row(name).getByText(waits, { exact: true }).waitFor()
    await card(name).getByText(waits, { exact: true }).waitFor()
  }
  assert.equal(await row('good').getByText('This process').count(), 0)

  const builtIn = { builtInProviders: Object.keys(PROVIDERS), providerVariables: {}, settingVariables: {} }
  const config = await loadConfig({ env: dashboard.environment, cwd: '/', builtIn })
  const lines = (await checkProviders(config)).message.split('\n')
  for (const { name, status, last_24h: recent } of listed) {
    const line = lines.find((text) => text.startsWith(`${name}: `)) ?? ''
    assert.ok(line.includes(`; last 24 hours: ${status}, `), line)
    const { last_failure: failure } = recent
    assert.ok(failure === null || line.endsWith(`${failure.reason}, ${failure.at}`), line)
  }

  const metrics = (await dashboard.ask('GET', '/metrics', { token })).body
  for (const name of NAMES) {
    const { outcome, calls } = EXPECTED[name]
    assert.ok(
      metrics.includes(`turnpike_provider_attempts_total{provider="${name}",outcome="${outcome}"} ${calls}\n`),
      name,
    )
    const open = EXPECTED[name].answer === 200 ? 0 : 1
    assert.match(metrics, new RegExp(`^turnpike_provider_breaker_open\\{provider="${name}".*\\} ${open}$`, 'm'))
  }
})
