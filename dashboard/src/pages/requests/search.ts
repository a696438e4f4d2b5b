/** What of the view is in its address. */
import { present, readChoice, readText } from '../../lib/address.ts'
import { type PeriodSearch, readPeriodSearch } from '../../lib/period.ts'
import type { ViewSearch } from '../../lib/saved-views.ts'

export const STATUSES = ['completed', 'failed', 'incomplete', 'client_left'] as const
export type Status = (typeof STATUSES)[number]

export const PROBLEMS = [
  'abandoned',
  'rejected',
  'credentials',
  'quota',
  'rate_limited',
  'not_found',
  'overloaded',
  'failed',
  'cut',
] as const
export type Problem = (typeof PROBLEMS)[number]

/** What narrows the list, beside its period. */
export interface RequestFilters {
  readonly status?: Status
  readonly model?: string
  readonly key_id?: string
  readonly provider?: string
  readonly agent_id?: string
  /** `key=value` */
  readonly tag?: string
  readonly session_id?: string
  readonly client_request_id?: string
  readonly request_id?: string
  /** Of an attempt that did not answer. */
  readonly outcome?: Problem
  /** Milliseconds. */
  readonly min_duration_ms?: string
  readonly max_duration_ms?: string
  readonly min_cost_usd?: string
  readonly max_cost_usd?: string
}

/** In the order in which they are told. */
export const FILTERS = [
  'status',
  'model',
  'key_id',
  'provider',
  'agent_id',
  'tag',
  'session_id',
  'client_request_id',
  'request_id',
  'outcome',
  'min_duration_ms',
  'max_duration_ms',
  'min_cost_usd',
  'max_cost_usd',
] as const satisfies (keyof RequestFilters)[]

export interface RequestsSearch extends PeriodSearch, RequestFilters {
  /** The completion whose sheet is open. */
  readonly request?: string
  readonly order?: 'asc' | 'desc'
  readonly live?: '1'
  readonly tab?: 'rejected'
  /** Of rejected requests. */
  readonly code?: string
}

export function readRequestsSearch(raw: Record<string, unknown>): RequestsSearch {
  const others = {
    status: readChoice(raw, 'status', STATUSES),
    model: readText(raw, 'model'),
    key_id: readText(raw, 'key_id'),
    provider: readText(raw, 'provider'),
    agent_id: readText(raw, 'agent_id'),
    tag: readText(raw, 'tag'),
    session_id: readText(raw, 'session_id'),
    client_request_id: readText(raw, 'client_request_id'),
    request: readText(raw, 'request'),
    order: readChoice(raw, 'order', ['asc', 'desc']),
    live: readChoice(raw, 'live', ['1']),
    tab: readChoice(raw, 'tab', ['rejected']),
    code: readText(raw, 'code'),
    request_id: readText(raw, 'request_id'),
    outcome: readChoice(raw, 'outcome', PROBLEMS),
    min_duration_ms: readNumber(raw, 'min_duration_ms', WHOLE),
    max_duration_ms: readNumber(raw, 'max_duration_ms', WHOLE),
    min_cost_usd: readNumber(raw, 'min_cost_usd', DECIMAL),
    max_cost_usd: readNumber(raw, 'max_cost_usd', DECIMAL),
  }
  return { ...readPeriodSearch(raw), ...present(others) }
}

/** As the gateway takes them. */
const WHOLE = /^\d{1,9}$/
const DECIMAL = /^\d{1,9}(\.\d{1,9})?$/

function readNumber(raw: Record<string, unknown>, name: keyof RequestFilters, form: RegExp): string | undefined {
  const text = readText(raw, name)?.trim()
  return text !== undefined && form.test(text) ? text : undefined
}

/** Those that are given. */
export function filtersOf(search: RequestFilters): RequestFilters {
  return present(Object.fromEntries(FILTERS.map((name) => [name, search[name]])))
}

/** The page's period where its address names none. */
export const FALLBACK_RANGE = '24h'

/** What is kept under a name: neither the sheet that is open nor what is listened to. Rejected ones have no period. */
export function readRequestsView(raw: Record<string, unknown>): ViewSearch {
  const { request: _, live: __, tab, code, ...view } = readRequestsSearch(raw)
  if (tab === 'rejected') return present({ tab, code, request_id: view.request_id })
  return { range: FALLBACK_RANGE, ...view }
}
