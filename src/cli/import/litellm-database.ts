/** Virtual keys, teams, budgets and spending of a LiteLLM database (its `schema.prisma`), which is only read. */
import { Client } from 'pg'
import type { BudgetWindow } from '../../domain/budget.ts'
import { type NanoUsd, parseNanoUsd, usdText } from '../../domain/money.ts'
import { isRecord, type Json } from '../../lib/json.ts'
import type { ImportDraft, ImportedBudget } from './draft.ts'
import { wholeNumber } from './litellm-deployments.ts'

/** Of LiteLLM: all models, or those of the team. */
const ANY_MODEL: ReadonlySet<string> = new Set(['all-proxy-models', 'all-team-models', '*'])
const NO_MODEL = 'no-default-models'
/** Everything that calls a model, which is what an imported key may do. */
const MODEL_ROUTES = 'llm_api_routes'
const MAX_NAME_LENGTH = 100
const DAYS_OF_MONTH = 30
const WINDOWS = new Map<number, BudgetWindow>([
  [1, 'day'],
  [7, 'week'],
  [DAYS_OF_MONTH, 'month'],
])
const DAY_UNITS: Readonly<Record<string, number>> = {
  s: 1 / 86_400,
  m: 1 / 1_440,
  h: 1 / 24,
  d: 1,
  w: 7,
  mo: 30,
  y: 365,
}

/** @param url Address of LiteLLM's PostgreSQL database. @param now Unix milliseconds. */
export async function importLitellmDatabase(draft: ImportDraft, url: string, now: number): Promise<void> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    const rows = async (table: string): Promise<readonly Json[]> =>
      (await client.query(`select row_to_json(t) as row from "${table}" t`)).rows.map(({ row }) => row as Json)
    const budgets = new Map((await rows('LiteLLM_BudgetTable')).map((row) => [String(row['budget_id']), row]))
    const teams = importTeams(draft, await rows('LiteLLM_TeamTable'))
    for (const row of await rows('LiteLLM_VerificationToken')) {
      const budget = budgets.get(String(row['budget_id'])) ?? {}
      const team = typeof row['team_id'] === 'string' ? (teams.get(row['team_id']) ?? UNKNOWN_TEAM) : undefined
      importKey(draft, withBudget(row, budget), { now, team })
    }
    const { rows: known } = await client.query('select table_name from information_schema.tables')
    const tables = new Set(known.map(({ table_name: name }) => name))
    for (const other of OTHERS) if (tables.has(other.table)) reportOthers(draft, other, await rows(other.table))
  } finally {
    await client.end()
  }
}

interface Others {
  readonly table: string
  readonly subject: string
  /** Columns, the first of them that has a value names the row. */
  readonly names: readonly string[]
  /** Columns of which one must have a value. Empty: every row counts. */
  readonly limits: readonly string[]
  readonly text: string
  readonly advice: string
}

/** What has an equal only by other means. Older releases lack some of the tables. */
const OTHERS: readonly Others[] = [
  {
    table: 'LiteLLM_ProxyModelTable',
    subject: 'model in the database',
    names: ['model_name'],
    limits: [],
    text: 'Not taken over: only models of the configuration file are.',
    advice: 'Export it to that file and import again, or store it with PUT /v1/admin/models/{id}.',
  },
  {
    table: 'LiteLLM_OrganizationTable',
    subject: 'organization',
    names: ['organization_alias', 'organization_id'],
    limits: [],
    text: 'Its teams are taken over, not its budget and its models.',
    advice: 'Create an account for it, or a budget of the account: docs/budgets.md.',
  },
  {
    table: 'LiteLLM_UserTable',
    subject: 'user',
    names: ['user_email', 'user_alias', 'user_id'],
    limits: ['max_budget', 'rpm_limit', 'tpm_limit'],
    text: 'Not taken over: its budget and its limits.',
    advice: 'Invite the person and set a budget of the member: docs/budgets.md.',
  },
  {
    table: 'LiteLLM_EndUserTable',
    subject: 'end user',
    names: ['alias', 'user_id'],
    limits: ['budget_id'],
    text: 'Not taken over: its budget.',
    advice: 'Send a tag for each customer, and set a budget of the tag: docs/budgets.md.',
  },
]

function reportOthers({ findings }: ImportDraft, others: Others, rows: readonly Json[]): void {
  const { subject, names, limits, text, advice } = others
  const isSet = (row: Json) => (name: string) => row[name] !== undefined && row[name] !== null
  for (const row of rows) {
    if (limits.length > 0 && !limits.some(isSet(row))) continue
    const name = String(row[names.find(isSet(row)) ?? ''] ?? '').slice(0, MAX_NAME_LENGTH)
    findings.push({ status: 'no_equal', subject: `${subject}: ${name}`, text, advice })
  }
}

/** Limits of the key itself take precedence over those of its budget. */
function withBudget(row: Json, budget: Json): Json {
  const own = Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null && !isEmptyMap(value)))
  return { ...budget, ...own }
}

/** Of columns that are never null. */
const isEmptyMap = (value: unknown): boolean => isRecord(value) && Object.keys(value).length === 0

interface TeamOfKeys {
  readonly name: string
  /** Why its keys are not imported; undefined: they are. */
  readonly obstacle: string | undefined
}

const UNKNOWN_TEAM: TeamOfKeys = { name: '', obstacle: 'Its team does not exist.' }

/** Returns the teams by their IDs in LiteLLM. */
function importTeams(draft: ImportDraft, rows: readonly Json[]): ReadonlyMap<string, TeamOfKeys> {
  const teams = new Map<string, TeamOfKeys>()
  for (const row of rows) {
    const id = String(row['team_id'])
    const alias = String(row['team_alias'] ?? id).slice(0, MAX_NAME_LENGTH)
    const isTaken = [...teams.values()].some((team) => team.name === alias)
    const name = isTaken ? `${alias.slice(0, 60)} ${id.slice(0, 36)}` : alias
    const subject = `team: ${name}`
    addSpending(draft, { key: `litellm team ${id}`, spend: spentBy(row), note: `LiteLLM: spent by team ${name}` })
    const models = modelsOf(row['models'])
    const budget = budgetOf(draft, subject, row)
    const state = { blocked: row['blocked'] === true, models, budget }
    const obstacle = obstacleOf(state)
    teams.set(id, { name, obstacle: obstacle && `The team ${name}: ${obstacle}` })
    if (obstacle !== undefined) {
      draft.findings.push({ status: 'no_equal', subject, text: obstacle, advice: 'Create the team if it is needed.' })
      continue
    }
    const requestsPerMinute = wholeNumber(row['rpm_limit'])
    draft.teams.push({ name, models: models ?? [], requestsPerMinute, budget: budget === SPENT ? undefined : budget })
    draft.findings.push({ status: 'taken', subject, text: 'a team with its models, its rate limit and its budget' })
    reportLimits(draft, subject, row)
  }
  return teams
}

interface KeyContext {
  readonly now: number
  /** Undefined: it has none. */
  readonly team: TeamOfKeys | undefined
}

function importKey(draft: ImportDraft, row: Json, { now, team }: KeyContext): void {
  const token = String(row['token'])
  const last4 = String(row['key_name'] ?? '').slice(-4)
  const name = String(row['key_alias'] ?? `LiteLLM …${last4}`).slice(0, MAX_NAME_LENGTH)
  const subject = `key: ${name}`
  const expiresAt = typeof row['expires'] === 'string' ? utcTime(row['expires']) : undefined
  const models = modelsOf(row['models'])
  const budget = budgetOf(draft, subject, row)
  const expired = expiresAt !== undefined && !(expiresAt > now)
  const state = { token, blocked: row['blocked'] === true, expired, routes: row['allowed_routes'], models, budget }
  const obstacle = team?.obstacle ?? obstacleOf(state)
  if (team === undefined) {
    addSpending(draft, { key: `litellm key ${token}`, spend: spentBy(row), note: `LiteLLM: spent by ${name}` })
  }
  if (obstacle !== undefined) {
    draft.findings.push({ status: 'no_equal', subject, text: obstacle, advice: 'Create a new key if it is needed.' })
    return
  }
  draft.keys.push({
    hash: Uint8Array.from(Buffer.from(token, 'hex')),
    name,
    last4,
    models: models ?? [],
    ipAllowlist: [],
    requestsPerMinute: wholeNumber(row['rpm_limit']),
    budget: budget === SPENT ? undefined : budget,
    expiresAt,
    team: team?.name,
  })
  const text = `accepted as it is, with the scopes of requests${team === undefined ? '' : `, in team ${team.name}`}`
  draft.findings.push({ status: 'taken', subject, text })
  reportLimits(draft, subject, row)
}

interface State {
  /** Undefined: of a team. */
  readonly token?: string
  readonly blocked: boolean
  readonly expired?: boolean
  /** `allowed_routes` of a key: paths, and names of sets of paths. None: all. */
  readonly routes?: unknown
  readonly models: readonly string[] | undefined
  readonly budget: ImportedBudget | typeof SPENT | undefined
}

/** Why a key or a team is not imported; undefined: it is. */
function obstacleOf({ token, blocked, expired = false, routes, models, budget }: State): string | undefined {
  const allowed = Array.isArray(routes) ? routes.map(String) : []
  if (token !== undefined && !/^[0-9a-f]{64}$/.test(token)) return 'Its token is not a SHA-256.'
  if (blocked) return 'It is blocked.'
  if (expired) return 'It has expired.'
  if (budget === SPENT) return 'Its budget is spent.'
  if (allowed.length > 0 && !allowed.includes(MODEL_ROUTES)) return `It may only call ${allowed.join(', ')}.`
  return models === undefined ? 'It may call no model.' : undefined
}

/** Undefined: none may be called. Empty: all. */
function modelsOf(value: unknown): readonly string[] | undefined {
  const models = Array.isArray(value) ? value.map(String) : []
  if (models.some((name) => ANY_MODEL.has(name))) return []
  const others = models.filter((name) => name !== NO_MODEL)
  return others.length === 0 && models.length > 0 ? undefined : others
}

/** LiteLLM's timestamps have no zone, and are UTC. */
function utcTime(text: string): number {
  return Date.parse(/(Z|[+-]\d\d:?\d\d)$/.test(text) ? text : `${text}Z`)
}

/** A budget in total of which nothing is left. */
const SPENT = 'spent'

/** Returns the budget in the same window; one of another duration becomes the same average for a month. */
function budgetOf(draft: ImportDraft, subject: string, row: Json): ImportedBudget | typeof SPENT | undefined {
  const usd = Number(row['max_budget'])
  if (row['max_budget'] === undefined || row['max_budget'] === null || !Number.isFinite(usd)) return undefined
  const duration = row['budget_duration']
  if (typeof duration !== 'string') return rest(usd - Number(row['spend'] ?? 0))
  const days = durationDays(duration)
  const window = days === undefined ? undefined : WINDOWS.get(days)
  if (window !== undefined) return { limitNanoUsd: nanoUsd(usd), window }
  const monthly = nanoUsd(days === undefined ? usd : (usd * DAYS_OF_MONTH) / days)
  const text = `Its budget of $${usd} in ${duration} became $${usdText(monthly)} for each calendar month.`
  draft.findings.push({ status: 'changed', subject, text, advice: 'Change its budgets: docs/budgets.md.' })
  return { limitNanoUsd: monthly, window: 'month' }
}

/** What is left of a budget that never resets: what is spent here counts from now on. */
function rest(usd: number): ImportedBudget | typeof SPENT {
  return usd >= 1e-6 ? { limitNanoUsd: nanoUsd(usd), window: 'total' } : SPENT
}

function nanoUsd(usd: number): NanoUsd {
  return parseNanoUsd(Math.max(usd, 1e-6).toFixed(6)) ?? 0n
}

function durationDays(text: string): number | undefined {
  if (text === 'monthly') return DAYS_OF_MONTH
  const [, count, unit = ''] = /^(\d+)(s|m|h|d|w|mo|y)$/.exec(text) ?? []
  const days = Number(count) * (DAY_UNITS[unit] ?? Number.NaN)
  return days > 0 ? days : undefined
}

const OTHER_LIMITS = ['tpm_limit', 'tpd_limit', 'max_parallel_requests', 'soft_budget', 'budget_limits']
const OTHER_MAPS = ['model_max_budget', 'budget_fallbacks', 'aliases', 'permissions', 'router_settings']
/** Within `metadata`. */
const OTHER_METADATA = ['guardrails', 'model_rpm_limit', 'model_tpm_limit', 'tags']

function reportLimits({ findings }: ImportDraft, subject: string, row: Json): void {
  const isSet = (name: string) => row[name] !== undefined && row[name] !== null
  const maps = OTHER_MAPS.filter((name) => isRecord(row[name]) && !isEmptyMap(row[name]))
  const metadata = isRecord(row['metadata']) ? row['metadata'] : {}
  const others = OTHER_METADATA.filter((name) => Object.keys(Object(metadata[name])).length > 0)
  const names = [...OTHER_LIMITS.filter(isSet), ...maps, ...others]
  if (names.length === 0) return
  const advice = 'docs/limits.md has the limits of keys, teams and plans.'
  findings.push({ status: 'no_equal', subject, text: `Not taken over: ${names.join(', ')}.`, advice })
}

interface Spending {
  readonly key: string
  /** Dollars. */
  readonly spend: number
  readonly note: string
}

/** `spend` begins again with each period of a budget; `total_spend` is missing or lower in rows of older releases. */
const spentBy = (row: Json): number => Math.max(Number(row['spend'] ?? 0), Number(row['total_spend'] ?? 0))

function addSpending(draft: ImportDraft, { key, spend, note }: Spending): void {
  const amount = parseNanoUsd(spend.toFixed(9))
  if (amount !== undefined && amount > 0n)
    draft.entries.push({ key, nanoUsd: amount, note: note.slice(0, 200), kind: 'spent' })
}
