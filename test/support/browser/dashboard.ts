/** The dashboard on a real server: the built one, with models of several providers, people of every role, and use to look at. */
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { TestContext } from 'node:test'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { migrate } from '../../../src/db/migrate.ts'
import type { CompletionStatus } from '../../../src/domain/completion.ts'
import type { Role } from '../../../src/domain/identity/caller.ts'
import type { AccountId, KeyId } from '../../../src/domain/ids.ts'
import { ensureFirstAccount } from '../../../src/features/accounts/bootstrap.ts'
import { createKey, FULL_ACCESS } from '../../../src/features/keys/queries.ts'
import { DASHBOARD_FOLDER } from '../../../src/http/dashboard.ts'
import { PROVIDERS } from '../../../src/providers/index.ts'
import { currentLocation, openLocation, testIds } from '../database.ts'
import { completionRecord, recordCompletions } from '../ledger/completions.ts'
import { freePort } from '../process/free-port.ts'
import { temporaryPath } from '../sqlite-file.ts'
import { comesTrue, openWindow } from './browser.ts'
import { type AppForTests, join as joinAccount, openApp, type Person } from './signed-in.ts'

export interface Dashboard extends AppForTests {
  /** Without trailing slash. */
  readonly url: string
  /** Its owner operates the installation. */
  readonly account: AppForTests['account']
  readonly firstAccount: AccountId
  readonly owner: Person
  /** Of the owner, and a fresh one each time: it is valid for 15 minutes, which the tests of a file may take. */
  readonly ownerToken: () => Promise<string>
  /** A person of the first account. */
  readonly member: (role: Role) => Promise<Person>
  /** A key of the first account, with its secret. */
  readonly newKey: (name: string) => Promise<{ readonly id: KeyId; readonly secret: string }>
  /** A window of its own, signed in (as the owner by default), that has not been anywhere yet. */
  readonly window: (t: TestContext, browser: Browser, options?: OpenOptions) => Promise<Page>
  /** The same at `/app` and the path; its `h1` is there. */
  readonly open: (t: TestContext, browser: Browser, path: string, options?: OpenOptions) => Promise<Page>
  /** Completions of the last days, of four models and the given keys; the same every time but for when they are. */
  readonly seed: (keys: readonly KeyId[], options?: SeedOptions) => Promise<void>
  /** With which commands find the same file and database; on SQLite. */
  readonly environment: Readonly<Record<string, string>>
}

export interface OpenOptions extends BrowserContextOptions {
  readonly as?: Person
}

export interface SeedOptions {
  readonly count?: number
  readonly days?: number
}

export interface DashboardOptions {
  /** Of the configuration file; of the first account, which is then made before the start. */
  readonly over?: object | ((firstAccount: AccountId) => object)
  /** Besides those that are never called. */
  readonly providers?: object
  readonly settings?: Readonly<Record<string, string>>
  readonly plan?: string
}

const BUILT_IN = { builtInProviders: Object.keys(PROVIDERS), providerVariables: {}, settingVariables: {} }
/** Nobody calls them: they are there so that their models are. */
const NEVER_CALLED = { api_key: 'sk-never-used' }
const CONFIG = {
  providers: {
    simulator: { protocol: 'simulator' },
    openai: NEVER_CALLED,
    anthropic: NEVER_CALLED,
    google: NEVER_CALLED,
    deepseek: NEVER_CALLED,
  },
}

/** @param t Whose end ends the server: a test, or `{ after }` of the file. */
export async function startDashboard(
  t: Pick<TestContext, 'after'>,
  { over = {}, providers = {}, settings = {}, plan = 'unlimited' }: DashboardOptions = {},
): Promise<Dashboard> {
  const port = await freePort()
  const url = `http://localhost:${port}`
  const file = join(dirname(await temporaryPath(t)), 'turnpike.yaml')
  const place = await currentLocation(t)
  const more = typeof over === 'function' ? over(await makeFirstAccount(place, plan)) : over
  await writeFile(file, JSON.stringify({ providers: { ...CONFIG.providers, ...providers }, ...more }))
  const app = await openApp(t, {
    place,
    settings: { TURNPIKE_CONFIG: file, PORT: String(port), ...settings },
    dashboardFolder: process.env['TURNPIKE_TEST_DASHBOARD'] ?? DASHBOARD_FOLDER,
    builtIn: BUILT_IN,
  })
  const { db } = app.database
  const firstAccount = await ensureFirstAccount(db, plan, { now: Date.now, ids: testIds })
  const owner = await app.person(firstAccount, 'owner', 'owner@example.com')
  await app.app.server.listen({ host: '127.0.0.1', port })
  app.app.publish(port)
  const window: Dashboard['window'] = async (t, browser, { as = owner, ...options } = {}) => {
    const page = await openWindow(t, browser, { bypassCSP: false, ...options })
    await page.context().addCookies([await cookieOf(app, as)])
    return page
  }
  return {
    ...app,
    window,
    url,
    firstAccount,
    owner,
    environment: { TURNPIKE_CONFIG: file, TURNPIKE_DATA_DIR: dirname(place) },
    ownerToken: async () => app.token(await app.browser(owner)),
    member: async (role) => {
      const person = await app.person(await app.account('Own'), role, `${role}@example.com`)
      await joinAccount(db, { ...person, accountId: firstAccount }, role)
      return { ...person, accountId: firstAccount }
    },
    async newKey(name) {
      const { key, secret } = await createKey(
        db,
        { ...FULL_ACCESS, accountId: firstAccount, name },
        { now: Date.now, ids: testIds },
      )
      return { id: key.id, secret }
    },
    open: async (t, browser, path, options) => {
      const page = await window(t, browser, options)
      await page.goto(`${url}/app${path}`)
      await page.getByRole('heading', { level: 1 }).waitFor()
      return page
    },
    seed: (keys, options) => seed(app, { accountId: firstAccount, keys, ...options }),
  }
}

async function makeFirstAccount(place: string, plan: string): Promise<AccountId> {
  const database = await openLocation(place)
  await migrate(database.db, Date.now)
  const id = await ensureFirstAccount(database.db, plan, { now: Date.now, ids: testIds })
  await database.close()
  return id
}

/** Of the frame around every view, for an owner of the first account: asked when a page is opened, the first again every 30 s. */
const ASKED_BY_FRAME = ['/v1/usage', '/v1/admin/agents']

/** Whether a request, by its path with what it asks, is the frame's own and not of the view in it. */
export const isOfFrame = (address: string): boolean => ASKED_BY_FRAME.includes(address)

/** The frame has all its answers: a heading may be seen before, and a quiet network is one that has not been asked yet, too. */
export async function frameIsThere(page: Page): Promise<void> {
  const hasAnswer = "(path) => performance.getEntriesByName(location.origin + path, 'resource').length > 0"
  assert.ok(
    await comesTrue(page, `${JSON.stringify(ASKED_BY_FRAME)}.every(${hasAnswer})`),
    'the frame gets its answers',
  )
}

async function cookieOf(app: AppForTests, person: Person) {
  const { cookie } = await app.browser(person)
  const [name = '', value = ''] = cookie.split('=')
  return { name, value, url: 'https://localhost/', httpOnly: true, secure: true, sameSite: 'Lax' as const }
}

interface Seed extends SeedOptions {
  readonly accountId: AccountId
  readonly keys: readonly KeyId[]
}

const MODELS = [
  ['gpt-5.4-mini', 'openai', 2_100n],
  ['claude-sonnet-4-6', 'anthropic', 9_700n],
  ['gemini-2.5-flash', 'google', 800n],
  ['turnpike-simulator', 'simulator', 300n],
] as const
const STATUSES: readonly CompletionStatus[] = ['failed', 'client_left', 'incomplete']
const DAY_MS = 86_400_000

/** Pseudo-random and the same every time, so that pages look the same. */
async function seed(app: AppForTests, { accountId, keys, count = 400, days = 14 }: Seed): Promise<void> {
  let state = 42
  const next = (below: number): number => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return Math.floor((state / 2_147_483_648) * below)
  }
  const now = Date.now()
  const records = Array.from({ length: count }, () => {
    const [model, provider, nanoUsdPerToken] = MODELS[next(10) < 5 ? 0 : next(MODELS.length)] ?? MODELS[0]
    const isWhole = next(20) > 0
    const promptTokens = 200 + next(6000)
    const completionTokens = isWhole ? 40 + next(1200) : next(100)
    const firstByteMs = 180 + next(900)
    return completionRecord({
      accountId,
      keyId: keys[next(keys.length)] ?? ('key_seed' as KeyId), // a key that is gone
      model,
      provider,
      status: isWhole ? 'completed' : (STATUSES[next(3)] ?? 'failed'),
      stream: next(2) === 0,
      promptTokens,
      completionTokens,
      cachedTokens: next(3) === 0 ? Math.floor(promptTokens / 2) : 0,
      costNanoUsd: BigInt(promptTokens + 4 * completionTokens) * nanoUsdPerToken,
      createdAt: now - 60_000 - next(days * DAY_MS),
      durationMs: firstByteMs + next(8000),
      firstByteMs,
    })
  })
  await recordCompletions(app.database, records)
}
