/** Virtual keys, teams, budgets and spending of a LiteLLM database (its `schema.prisma`), which is only read. */
import { Client } from 'pg'
import { type NanoUsd, parseNanoUsd } from '../../domain/money.ts'
import { isRecord, type Json } from '../../lib/json.ts'
import type { ImportDraft } from './draft.ts'
import { wholeNumber } from './litellm-models.ts'

/** Of LiteLLM: all models, or those of the team. */
const ANY_MODEL: ReadonlySet<string> = new Set(['all-proxy-models', 'all-team-models', '*'])
const NO_MODEL = 'no-default-models'
const MAX_NAME_LENGTH = 100
const DAYS_OF_MONTH = 30
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
    const teams = new Map<string, Json>()
    for (const row of await rows('LiteLLM_TeamTable')) teams.set(String(row['team_id']), row)
    const names = importTeams(draft, [...teams.values()])
    for (const row of await rows('LiteLLM_VerificationToken')) {
      const budget = budgets.get(String(row['budget_id'])) ?? {}
      importKey(draft, withBudget(row, budget), { now, team: names.get(String(row['team_id'])) })
    }
  } finally {
    await client.end()
  }
}

/** Limits of the key itself take precedence over those of its budget. */
function withBudget(row: Json, budget: Json): Json {
  const own = Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null))
  return { ...budget, ...own }
}

/** Returns the names of the imported teams by their IDs in LiteLLM. */
function importTeams(draft: ImportDraft, rows: readonly Json[]): ReadonlyMap<string, string> {
  const names = new Map<string, string>()
  for (const row of rows) {
    const id = String(row['team_id'])
    const alias = String(row['team_alias'] ?? id).slice(0, MAX_NAME_LENGTH)
    const name = [...names.values()].includes(alias) ? `${alias.slice(0, 60)} ${id.slice(0, 36)}` : alias
    const subject = `team: ${name}`
    names.set(id, name)
    const models = modelsOf(row['models'])
    draft.teams.push({ name, models: models ?? [], requestsPerMinute: wholeNumber(row['rpm_limit']) })
    draft.findings.push({ status: 'taken', subject, text: 'a team with its models and its rate limit' })
    reportLimits(draft, subject, row)
    if (Number(row['max_budget']) > 0) {
      const text = `Its budget of $${String(row['max_budget'])} was not taken over.`
      draft.findings.push({ status: 'no_equal', subject, text, advice: 'Set budgets of its keys, or of the account.' })
    }
    addSpending(draft, { key: `litellm team ${id}`, spend: row['spend'], note: `LiteLLM: spent by team ${name}` })
  }
  return names
}

interface KeyContext {
  readonly now: number
  /** Name of the imported team. */
  readonly team: string | undefined
}

function importKey(draft: ImportDraft, row: Json, { now, team }: KeyContext): void {
  const token = String(row['token'])
  const last4 = String(row['key_name'] ?? '').slice(-4)
  const name = String(row['key_alias'] ?? `LiteLLM …${last4}`).slice(0, MAX_NAME_LENGTH)
  const subject = `key: ${name}`
  const expiresAt = typeof row['expires'] === 'string' ? utcTime(row['expires']) : undefined
  const models = modelsOf(row['models'])
  const obstacle = obstacleOf({
    token,
    blocked: row['blocked'] === true,
    expired: (expiresAt ?? now + 1) <= now,
    models,
  })
  if (team === undefined) {
    addSpending(draft, { key: `litellm key ${token}`, spend: row['spend'], note: `LiteLLM: spent by ${name}` })
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
    monthlyBudgetNanoUsd: monthlyBudget(draft, subject, row),
    expiresAt,
    team,
  })
  const text = `accepted as it is, with the scopes of requests${team === undefined ? '' : `, in team ${team}`}`
  draft.findings.push({ status: 'taken', subject, text })
  reportLimits(draft, subject, row)
}

interface KeyState {
  readonly token: string
  readonly blocked: boolean
  readonly expired: boolean
  readonly models: readonly string[] | undefined
}

/** Why a key is not imported; undefined: it is. */
function obstacleOf({ token, blocked, expired, models }: KeyState): string | undefined {
  if (!/^[0-9a-f]{64}$/.test(token)) return 'Its token is not a SHA-256.'
  if (blocked) return 'It is blocked.'
  if (expired) return 'It has expired.'
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

/** Converts a budget of any duration to one for a calendar month. */
function monthlyBudget(draft: ImportDraft, subject: string, row: Json): NanoUsd | undefined {
  const usd = Number(row['max_budget'])
  if (row['max_budget'] === undefined || row['max_budget'] === null || !Number.isFinite(usd)) return undefined
  const duration = row['budget_duration']
  const days = typeof duration === 'string' ? durationDays(duration) : undefined
  const monthly = days === undefined ? usd : (usd * DAYS_OF_MONTH) / days
  const written = `$${usd} ${typeof duration === 'string' ? `in ${duration}` : 'in total'}`
  const rounded = monthly.toFixed(6)
  if (days !== DAYS_OF_MONTH) {
    const text = `Its budget of ${written} became $${Number(rounded)} for each calendar month.`
    draft.findings.push({ status: 'changed', subject, text, advice: 'Change monthly_budget_usd of the key.' })
  }
  return parseNanoUsd(rounded)
}

function durationDays(text: string): number | undefined {
  if (text === 'monthly') return DAYS_OF_MONTH
  const [, count, unit = ''] = /^(\d+)(s|m|h|d|w|mo|y)$/.exec(text) ?? []
  const days = Number(count) * (DAY_UNITS[unit] ?? Number.NaN)
  return days > 0 ? days : undefined
}

const OTHER_LIMITS = ['tpm_limit', 'tpd_limit', 'max_parallel_requests', 'soft_budget']
const OTHER_MAPS = ['model_max_budget', 'aliases', 'permissions', 'guardrails']

function reportLimits({ findings }: ImportDraft, subject: string, row: Json): void {
  const isSet = (name: string) => row[name] !== undefined && row[name] !== null
  const maps = OTHER_MAPS.filter((name) => isRecord(row[name]) && Object.keys(row[name] as Json).length > 0)
  const names = [...OTHER_LIMITS.filter(isSet), ...maps]
  if (names.length === 0) return
  const advice = 'docs/limits.md has the limits of keys, teams and plans.'
  findings.push({ status: 'no_equal', subject, text: `Not taken over: ${names.join(', ')}.`, advice })
}

interface Spending {
  readonly key: string
  /** Dollars. */
  readonly spend: unknown
  readonly note: string
}

function addSpending(draft: ImportDraft, { key, spend, note }: Spending): void {
  const nanoUsd = parseNanoUsd(Number(spend ?? 0).toFixed(9))
  if (nanoUsd !== undefined && nanoUsd > 0n)
    draft.entries.push({ key, nanoUsd, note: note.slice(0, 200), kind: 'spent' })
}
