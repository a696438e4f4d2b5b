/** An installation that has been at work for months, for pictures and for eyes: something on every page of the dashboard. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { BudgetId } from '../../../src/domain/ids.ts'
import { WHOLE_LIFE_MS } from '../../../src/features/sessions/queries.ts'
import { ADDER, QUICK_FIX } from '../agents/agent-site.ts'
import { createBareRepository } from '../agents/git-repositories.ts'
import { startGitServer } from '../agents/git-server.ts'
import { eventually } from '../client.ts'
import { testIds } from '../database.ts'
import { billMonths } from '../ledger/billed-months.ts'
import { seedRequests } from '../providers/requests-seed.ts'
import { logWebhooks } from '../webhooks/webhook-log.ts'
import { type Dashboard, startDashboard } from './dashboard.ts'

export interface Tour {
  readonly dashboard: Dashboard
  /** Paths below `/app`, by a name that can be a file's. */
  readonly views: Readonly<Record<string, string>>
}

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const AGENT_WITHIN_MS = 60_000
const ALLOWANCE_NANO_USD = 100_000_000_000n
const PLANS = {
  team: { billing: 'prepaid', monthly_credit_usd: 100, requests_per_minute: 600, max_in_flight: 50 },
}
const PEOPLE = [
  ['admin', 'Grace Hopper', 'grace@acme.example'],
  ['developer', 'Alan Turing', 'alan@acme.example'],
  ['developer', 'Margaret Hamilton', 'margaret@acme.example'],
  ['billing', 'Luca Pacioli', 'luca@acme.example'],
] as const
const DEVICES = [
  [
    'turnpike-cli',
    'turnpike/0.1.0 (linux; x64) node/26.10.0',
    ['chat', 'models:read', 'agents:read', 'agents:write'],
    2 * HOUR_MS,
  ],
  ['turnpike-ide', 'Zed/0.200.1 (macos; arm64)', ['chat', 'models:read'], 5 * 60_000],
  ['turnpike-ide', 'Zed/0.198.0 (linux; x64)', ['chat', 'models:read'], 21 * DAY_MS],
] as const
const BROWSERS = [
  [
    'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 Version/19.0 Safari/605.1.15',
    '198.51.100.23',
  ],
  ['Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0', '203.0.113.80'],
] as const
const KEYS = [
  { name: 'Continuous integration', expires_in_days: 90, scopes: ['chat', 'models:read'], requests_per_minute: 60 },
  { name: 'Support fixture', monthly_budget_usd: 25, models: ['gpt-5.4-mini', 'claude-sonnet-4-6'] },
  { name: 'Prototype of the summer', ip_allowlist: ['203.0.113.0/24'] },
] as const

/** Starts it; takes a few seconds. */
export async function startTour(t: Pick<TestContext, 'after'>): Promise<Tour> {
  const root = mkdtempSync(join(tmpdir(), 'turnpike-tour-'))
  t.after(() => rmSync(root, { recursive: true, force: true }))
  createBareRepository(root, 'acme/adder', { commits: [ADDER] })
  const server = await startGitServer({ root })
  t.after(() => server.close())
  const git_url = `${server.url}/{repository}.git`
  const agents = { git_url, allow_local_git: true, model: 'turnpike-simulator' }
  const dashboard = await startDashboard(t, { plan: 'team', over: { agents, plans: PLANS } })
  return { dashboard, views: viewsOf(await fill(dashboard)) }
}

interface Filled {
  readonly webhookId: string
  readonly agentId: string
  readonly requestId: string
  readonly keyId: string
  readonly teamId: string
  readonly invoiceId: string
}

async function fill(dashboard: Dashboard): Promise<Filled> {
  const { database, firstAccount: accountId } = dashboard
  await addPeople(dashboard)
  const { id: keyId } = await dashboard.newKey('Production')
  await billMonths(database, { accountId, keyId, allowanceNanoUsd: ALLOWANCE_NANO_USD })
  const { retried } = await seedRequests(dashboard, { count: 1_500, days: 14 })
  const token = await dashboard.token(await dashboard.browser(dashboard.owner))
  await addKeys(dashboard, token)
  const teamId = await addTeams(dashboard, token)
  await attribute(dashboard)
  const agentId = await runAgents(dashboard, token)
  const { busy } = await logWebhooks(database, accountId) // after the agents, whose events nobody could deliver
  await makeOlder(dashboard)
  const invoices = (await dashboard.ask('GET', '/v1/invoices', { token })).json<{ data: readonly { id: string }[] }>()
  return { webhookId: busy, agentId, requestId: retried, keyId, teamId, invoiceId: invoices.data[0]?.id ?? '' }
}

/** What was added just now came one after the other in the last months. */
async function makeOlder({ database: { db } }: Dashboard): Promise<void> {
  const now = Date.now()
  const keys = await db.selectFrom('api_key').select('id').orderBy('id').execute()
  for (const [index, { id }] of keys.entries()) {
    const age = { created_at: now - (80 - 11 * index) * DAY_MS, last_used_at: now - index ** 3 * 7 * 60_000 }
    await db.updateTable('api_key').set(age).where('id', '=', id).execute()
  }
  const members = await db.selectFrom('member').select('user_id').orderBy('user_id').execute()
  for (const [index, { user_id: userId }] of members.entries()) {
    const created_at = now - (90 - 13 * index) * DAY_MS
    await db.updateTable('member').set({ created_at }).where('user_id', '=', userId).execute()
  }
}

async function addPeople(dashboard: Dashboard): Promise<void> {
  const { database, firstAccount: accountId, owner } = dashboard
  await database.db.updateTable('account').set({ name: 'Acme' }).where('id', '=', accountId).execute()
  await database.db
    .updateTable('person')
    .set({ name: 'Ada Lovelace', email: 'ada@acme.example' })
    .where('id', '=', owner.userId)
    .execute()
  for (const [role, name, email] of PEOPLE) {
    const person = await dashboard.person(accountId, role, email)
    await database.db.updateTable('person').set({ name }).where('id', '=', person.userId).execute()
  }
  await addDevices(dashboard)
  await addSessions(dashboard)
}

async function addDevices({ database, firstAccount, owner }: Dashboard): Promise<void> {
  const now = Date.now()
  for (const [clientId, userAgent, scopes, agoMs] of DEVICES) {
    const born = now - 30 * DAY_MS
    await database.db
      .insertInto('device')
      .values({
        ...{ account_id: firstAccount, id: testIds.device(), user_id: owner.userId, client_id: clientId },
        ...{ scopes: JSON.stringify(scopes), address: '198.51.100.23', user_agent: userAgent },
        ...{ created_at: born, last_used_at: now - agoMs, revoked_at: null, changed_at: born },
      })
      .execute()
  }
}

async function addSessions({ database, owner }: Dashboard): Promise<void> {
  const now = Date.now()
  for (const [index, [userAgent, address]] of BROWSERS.entries()) {
    const born = now - (index + 1) * 3 * DAY_MS
    await database.db
      .insertInto('session')
      .values({
        ...{ id: testIds.session(), secret_hash: Buffer.alloc(32, index + 1), user_id: owner.userId },
        ...{ account_id: owner.accountId, created_at: born, renewed_at: now - (index + 1) * HOUR_MS },
        ...{ expires_at: born + WHOLE_LIFE_MS, ended_at: null, address, user_agent: userAgent, changed_at: born },
      })
      .execute()
  }
}

async function addKeys(dashboard: Dashboard, token: string): Promise<void> {
  for (const { expires_in_days: days, ...key } of KEYS.map((each) => ({ expires_in_days: undefined, ...each }))) {
    const expires = days === undefined ? {} : { expires_at: new Date(Date.now() + days * DAY_MS).toISOString() }
    await post(dashboard, token, ['/v1/keys', { ...key, ...expires }])
  }
  await post(dashboard, token, ['/v1/invitations', { email: 'katherine@acme.example', role: 'developer' }])
  const body = { monthly_budget_usd: 400, alert_thresholds: [50, 80, 100] }
  await dashboard.ask('PATCH', '/v1/account', { token, body })
}

const TEAMS = [
  { name: 'Search', models: ['gpt-5.4-mini', 'claude-sonnet-4-6'], endpoints: ['chat', 'responses'] },
  { name: 'Support', requests_per_minute: 300 },
  { name: 'Research' },
] as const
const BUDGETS = [
  { level: 'account', budgets: [{ usd: 1_200, window: 'quarter', timezone: 'Europe/Berlin' }] },
  { level: 'tag', subject: 'customer=northwind', budgets: [{ usd: 40, window: 'day', action: 'warn' }] },
] as const
/** What is spent of the budgets, the newest first. */
const SPENT_SHARES = [0.34, 0.91, 1.02, 0.12, 0.6]

/** @returns The id of one with members, a key and budgets. */
async function addTeams(dashboard: Dashboard, token: string): Promise<string> {
  const [first, ...others] = await Promise.all(TEAMS.map((team) => post(dashboard, token, ['/v1/teams', team])))
  const people = await dashboard.database.db.selectFrom('member').select('user_id').orderBy('user_id').execute()
  for (const [index, { user_id }] of people.slice(1, 4).entries()) {
    const role = (['admin', 'member', 'viewer'] as const)[index] ?? 'member'
    await post(dashboard, token, [`/v1/teams/${first?.id}/members`, { user_id, role }])
  }
  await post(dashboard, token, ['/v1/keys', { name: 'Search indexer', team_id: first?.id, tags: { env: 'prod' } }])
  const ofTeams = [
    {
      level: 'team',
      subject: first?.id,
      budgets: [
        { usd: 250, window: 'month' },
        { usd: 20, window: 'day' },
      ],
    },
    { level: 'team', subject: others[0]?.id, budgets: [{ usd: 90, window: 'week', action: 'warn' }] },
  ]
  for (const body of [...ofTeams, ...BUDGETS]) await dashboard.ask('PUT', '/v1/budgets', { token, body })
  await spend(dashboard, token)
  return first?.id ?? ''
}

async function spend({ ask, database: { db }, firstAccount }: Dashboard, token: string): Promise<void> {
  const list = (await ask('GET', '/v1/budgets', { token })).json<{
    data: readonly { id: BudgetId; usd: number; window_start: string }[]
  }>()
  for (const [index, { id, usd, window_start: start }] of list.data.entries()) {
    const spent = BigInt(Math.round((SPENT_SHARES[index] ?? 0) * usd * 1e9))
    const window = { account_id: firstAccount, budget_id: id, starts_at: Date.parse(start) }
    await db
      .insertInto('budget_window')
      .values({ ...window, spent_nano_usd: spent, held_nano_usd: BigInt(index === 0 ? Math.round(usd * 3e7) : 0) })
      .execute()
  }
  await db
    .updateTable('budget')
    .set({ created_at: Date.now() - 20 * DAY_MS })
    .execute()
  const ends_at = new Date(Date.now() + 2 * DAY_MS).toISOString()
  const raise = { usd: 60, ends_at, reason: 'Load test before the launch of the new search' }
  await ask('POST', `/v1/budgets/${list.data[0]?.id}/raises`, { token, body: raise })
}

const CUSTOMERS = ['northwind', 'contoso', 'fabrikam', 'adventure-works', 'tailspin']

/** Most requests have tags, and half of them a team. */
async function attribute({ database: { db }, firstAccount }: Dashboard): Promise<void> {
  const teams = await db.selectFrom('team').select('id').orderBy('id').execute()
  const rows = await db.selectFrom('completion').select('id').where('account_id', '=', firstAccount).execute()
  for (const [index, { id }] of rows.entries()) {
    const customer = CUSTOMERS[(index * index) % 7]
    const tags = customer === undefined ? null : `customer=${customer},env=${index % 5 === 0 ? 'staging' : 'prod'}`
    await db
      .updateTable('completion')
      .set({ tags, team_id: teams[index % 6]?.id ?? null })
      .where('account_id', '=', firstAccount)
      .where('id', '=', id)
      .execute()
  }
}

/** @returns The id of one that completed. */
async function runAgents(dashboard: Dashboard, token: string): Promise<string> {
  const about = { repository: 'acme/adder', model: 'turnpike-simulator' }
  const fix = { ...about, name: 'Mend the sum', prompt: QUICK_FIX }
  const { id } = await post(dashboard, token, ['/v1/agents', fix])
  const status = async () =>
    (await dashboard.ask('GET', `/v1/agents/${id}`, { token })).json<{ status: string }>().status
  await eventually(status, (now) => !['queued', 'running'].includes(now), AGENT_WITHIN_MS)
  const lost = { ...about, repository: 'acme/gone', name: 'Update the dependencies', prompt: 'Update them all.' }
  await post(dashboard, token, ['/v1/agents', lost])
  return id
}

async function post(
  dashboard: Dashboard,
  token: string,
  [path, body]: readonly [string, object],
): Promise<{ readonly id: string }> {
  const answer = await dashboard.ask('POST', path, { token, body })
  if (answer.statusCode >= 300) throw new Error(`${path}: ${answer.body}`)
  return answer.json<{ id: string }>()
}

function viewsOf({
  webhookId,
  agentId,
  requestId,
  keyId,
  teamId,
  invoiceId,
}: Filled): Readonly<Record<string, string>> {
  return {
    home: '/',
    playground: '/playground',
    models: '/models',
    'models-compare': '/models?compare=gpt-5.4-mini,claude-sonnet-4-6&view=compare',
    model: '/models/claude-sonnet-4-6',
    usage: '/usage?range=7d',
    costs: '/usage?show=costs&range=7d&dims=tag:customer,model',
    'costs-team': '/usage?show=costs&range=7d&dims=team&tag=env=prod',
    requests: '/requests?range=7d',
    request: `/requests?range=7d&request=${requestId}`,
    agents: '/agents',
    'agents-new': '/agents/new',
    agent: `/agents/${agentId}`,
    webhooks: '/webhooks',
    webhook: `/webhooks/${webhookId}`,
    billing: '/billing',
    invoice: `/billing/invoices/${invoiceId}`,
    keys: '/settings/keys',
    key: `/settings/keys?key=${keyId}`,
    'keys-create': '/settings/keys?create=1',
    'provider-keys': '/settings/provider-keys',
    members: '/settings/members',
    teams: '/settings/teams',
    'teams-create': '/settings/teams?create=1',
    team: `/settings/teams/${teamId}`,
    'team-member': `/settings/teams/${teamId}?edit=member`,
    budgets: '/settings/budgets',
    'budgets-create': '/settings/budgets?create=1',
    devices: '/settings/devices',
    sessions: '/settings/sessions',
    audit: '/settings/audit',
    appearance: '/settings/appearance',
    providers: '/settings/providers',
    accounts: '/settings/accounts',
    instances: '/settings/instances',
    lost: '/no/such/view',
  }
}
