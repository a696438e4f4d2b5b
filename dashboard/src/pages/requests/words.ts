/** What the gateway notes about a request, in words. */

import { formatMs } from '../../lib/format.ts'
import { shortId } from '../../lib/group-names.ts'
import { periodWords } from '../../lib/saved-views.ts'
import type { Zone } from '../../lib/time.ts'
import type { Tone } from '../../ui/status.tsx'
import type { Attempt, Completion } from './queries.ts'
import { FALLBACK_RANGE, FILTERS, type RequestFilters, type RequestsSearch, type Status } from './search.ts'

export const STATUS_NAMES: Readonly<Record<Status, string>> = {
  completed: 'Completed',
  failed: 'Failed',
  incomplete: 'Incomplete',
  client_left: 'Client left',
}

export const STATUS_TEXTS: Readonly<Record<Status, string>> = {
  completed: 'The client received a complete answer.',
  failed: 'The client received no output.',
  incomplete: 'The provider interrupted its answer.',
  client_left: 'The client disconnected before the answer was complete.',
}

export const API_TEXTS: Readonly<Record<Completion['api'], string>> = {
  chat_completions: 'Chat completions',
  messages: 'Messages',
  responses: 'Responses',
  completions: 'Completions',
  embeddings: 'Embeddings',
  rerank: 'Rerank',
}

export const FILTER_NAMES: Readonly<Record<keyof RequestFilters, string>> = {
  status: 'Status',
  model: 'Model',
  key_id: 'Key',
  provider: 'Provider',
  agent_id: 'Agent',
  tag: 'Tag',
  session_id: 'Session',
  client_request_id: 'Client’s request ID',
  request_id: 'Request ID',
  outcome: 'Attempt',
  min_duration_ms: 'Duration from',
  max_duration_ms: 'Duration to',
  min_cost_usd: 'Cost from',
  max_cost_usd: 'Cost to',
}

type Asker = Pick<Completion, 'key_id' | 'key_name'>

/** Who asked, by name where there still is one. */
export function askerName({ key_id: id, key_name: name }: Asker): string {
  return name ?? shortId(id)
}

/** What is filtered by, as it is read: who asked is called what it is called in the rows. */
export function filterText(name: keyof RequestFilters, filters: RequestFilters, rows: readonly Asker[]): string {
  const value = filters[name] ?? ''
  if (name === 'status') return filters.status === undefined ? '' : STATUS_NAMES[filters.status]
  if (name === 'outcome') return filters.outcome === undefined ? '' : OUTCOMES[filters.outcome].word
  if (name.endsWith('_ms')) return formatMs(Number(value))
  if (name.endsWith('_usd')) return `$${value}`
  if (name !== 'key_id') return value
  return askerName(rows.find((row) => row.key_id === value) ?? { key_id: value, key_name: null })
}

/** Ranges need their names: `duration from 2 s`. */
function filterWords(name: keyof RequestFilters, search: RequestsSearch, rows: readonly Asker[]): string {
  const text = filterText(name, search, rows)
  return /^(min|max)_/.test(name) ? `${FILTER_NAMES[name].toLowerCase()} ${text}` : text
}

interface ViewContext {
  readonly rows: readonly Asker[]
  readonly now: number
  readonly zone: Zone
}

/** A view in words: `Failed, gpt-5.4-mini, last 24 hours`. @param now Unix milliseconds. */
export function viewWords(search: RequestsSearch, { rows, now, zone }: ViewContext): string {
  if (search.tab === 'rejected')
    return ['Rejected', ...[search.code, search.request_id].filter((each) => each !== undefined)].join(', ')
  const filters = FILTERS.filter((name) => search[name] !== undefined).map((name) => filterWords(name, search, rows))
  const period = periodWords(search, { fallback: FALLBACK_RANGE, now, zone })
  const order = search.order === 'asc' ? ['oldest first'] : []
  return [...(filters.length === 0 ? ['All requests'] : filters), period, ...order].join(', ')
}

/** `tool_calls` is `Tool calls`. */
export function finishText(reason: string | null): string | undefined {
  if (reason === null) return undefined
  const words = reason.replaceAll('_', ' ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}

export interface OutcomeWords {
  readonly tone: Tone
  readonly word: string
  /** A sentence: what became of the call. */
  readonly text: string
}

export const OUTCOMES: Readonly<Record<Attempt['outcome'], OutcomeWords>> = {
  answered: { tone: 'good', word: 'Answered', text: 'The provider started an answer.' },
  abandoned: {
    tone: 'neutral',
    word: 'Abandoned',
    text: 'The client disconnected, or the gateway cancelled the request, before an answer.',
  },
  rejected: { tone: 'bad', word: 'Rejected', text: 'It rejected the request itself.' },
  credentials: { tone: 'bad', word: 'Credentials rejected', text: 'The provider rejected the gateway’s credentials.' },
  quota: { tone: 'bad', word: 'Out of quota', text: 'The gateway’s quota at the provider is used up.' },
  rate_limited: { tone: 'warn', word: 'Rate limited', text: 'The provider limited the rate.' },
  not_found: { tone: 'bad', word: 'Model unknown', text: 'It has no such model.' },
  overloaded: { tone: 'warn', word: 'Overloaded', text: 'The provider had no capacity.' },
  failed: { tone: 'bad', word: 'Failed', text: 'The provider failed or was unreachable.' },
  cut: { tone: 'warn', word: 'Interrupted', text: 'The provider interrupted its answer.' },
}
