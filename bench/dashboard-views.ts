/** Requests of the pages of the dashboard when they are opened. */
import { AGENTS, agentId, KEYS, MODELS } from './dashboard-data.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

/** Path and query, and its name in the table. */
export interface Question {
  readonly name: string
  readonly path: string
}

export interface View {
  readonly name: string
  /** Requested together. */
  readonly paths: readonly string[]
}

function usage(query: Readonly<Record<string, string>> = {}): string {
  return `/v1/usage?${new URLSearchParams(query)}`
}

function completions(query: Readonly<Record<string, string>>): string {
  return `/v1/usage/completions?${new URLSearchParams(query)}`
}

function performance(query: Readonly<Record<string, string>>): string {
  return `/v1/usage/performance?${new URLSearchParams(query)}`
}

/** ISO 8601, with parameters' names. */
function period(lengthMs: number, end: number): { readonly period_start: string; readonly period_end: string } {
  return { period_start: new Date(end - lengthMs).toISOString(), period_end: new Date(end).toISOString() }
}

/** @param now Unix milliseconds. */
export function viewsAt(now: number): readonly View[] {
  const [day, dayBefore] = [period(DAY_MS, now), period(DAY_MS, now - DAY_MS)]
  const [week, weekBefore] = [period(7 * DAY_MS, now), period(7 * DAY_MS, now - 7 * DAY_MS)]
  return [
    {
      name: 'Home',
      paths: [
        usage({ ...day, group_by: 'model', interval: 'hour' }),
        usage(dayBefore),
        performance({ ...day, group_by: 'provider', include: 'hours' }),
        performance(dayBefore),
        completions({ limit: '1' }),
        completions({ status: 'failed', limit: '5' }),
        completions({ status: 'incomplete', limit: '5' }),
        usage(),
        '/v1/models',
      ],
    },
    {
      name: 'Usage',
      paths: [
        usage({ ...week, group_by: 'model', interval: 'hour' }),
        usage({ ...weekBefore, group_by: 'model' }),
        usage({ ...week, group_by: 'key' }),
      ],
    },
    { name: 'Requests', paths: [completions({ ...day, include: 'overview' })] },
    { name: 'Models', paths: ['/v1/models', performance({ group_by: 'model' })] },
  ]
}

const RANGES = { '1 h': HOUR_MS, '24 h': DAY_MS, '7 d': 7 * DAY_MS, '30 d': 30 * DAY_MS, '90 d': 90 * DAY_MS }
const LONGEST_BY_HOUR_MS = 32 * DAY_MS

/** Every grouping of every range, with a series where there is one, and with filters. */
export function usageQuestions(now: number): readonly Question[] {
  return Object.entries(RANGES).flatMap(([range, lengthMs]) => {
    const times = period(lengthMs, now)
    const interval = lengthMs <= LONGEST_BY_HOUR_MS ? 'hour' : 'day'
    const question = (name: string, query: Readonly<Record<string, string>>): Question => ({
      name: `Usage, ${range}, ${name}`,
      path: usage({ ...times, ...query }),
    })
    return [
      question(`by ${interval}`, { interval }),
      question(`by model and ${interval}`, { group_by: 'model', interval }),
      question(`by key and ${interval}`, { group_by: 'key', interval }),
      question('days', { group_by: 'day' }),
      question('by agent', { group_by: 'agent' }),
      question('one model by key', { group_by: 'key', model: MODELS[1], interval }),
      question('one key by model', { group_by: 'model', key_id: KEYS[0], interval }),
    ]
  })
}

/**
 * The page that Requests shows, with its histogram, filtered by all that one can filter by.
 * @param filledAt The `now` of `fillUsage`.
 */
export function requestQuestions(now: number, filledAt: number): readonly Question[] {
  const filters: Readonly<Record<string, Readonly<Record<string, string>>>> = {
    all: {},
    'one model': { model: MODELS[2] },
    'one key': { key_id: KEYS[1] },
    'a key that is hardly used': { key_id: KEYS[3] },
    failed: { status: 'failed' },
    'failed of one model': { status: 'failed', model: MODELS[0] },
    'one agent': { agent_id: agentId(AGENTS - 7, filledAt) },
  }
  return Object.entries(RANGES).flatMap(([range, lengthMs]) => {
    const times = { ...period(lengthMs, now), include: 'overview' }
    const bySearch = lengthMs <= RANGES['7 d'] ? { 'one provider': { provider: 'provider-1' } } : {}
    return Object.entries({ ...filters, ...bySearch }).map(([name, query]) => ({
      name: `Requests, ${range}, ${name}`,
      path: completions({ ...times, ...query }),
    }))
  })
}

/** The report by the tag that `fillUsage` writes, alone and with a second dimension. @param end Of the month. */
export function tagQuestions(end: number): readonly Question[] {
  const month = {
    period_start: new Date(new Date(end).setUTCDate(1)).toISOString().slice(0, 10),
    period_end: new Date(end + 1).toISOString(),
  }
  return ['tag:customer', 'tag:customer,model'].map((group_by) => ({
    name: `Usage, a month, by ${group_by}`,
    path: usage({ ...month, group_by }),
  }))
}
