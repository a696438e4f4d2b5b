/** What the gateway notes about a request, in words. */

import { shortId } from '../../lib/group-names.ts'
import { periodWords } from '../../lib/saved-views.ts'
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
  completed: 'The client got a whole answer.',
  failed: 'Nothing was generated for the client.',
  incomplete: 'The provider broke off before its answer was whole.',
  client_left: 'The client broke off before the answer was whole.',
}

export const FILTER_NAMES: Readonly<Record<keyof RequestFilters, string>> = {
  status: 'Status',
  model: 'Model',
  key_id: 'Key',
  provider: 'Provider',
  agent_id: 'Agent',
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
  if (name !== 'key_id') return value
  return askerName(rows.find((row) => row.key_id === value) ?? { key_id: value, key_name: null })
}

/** A view in words: `Failed, gpt-5.4-mini, last 24 hours`. @param now Unix milliseconds. */
export function viewWords(search: RequestsSearch, rows: readonly Asker[], now: number): string {
  const filters = FILTERS.filter((name) => search[name] !== undefined).map((name) => filterText(name, search, rows))
  const period = periodWords(search, FALLBACK_RANGE, now)
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
  answered: { tone: 'good', word: 'Answered', text: 'Its answer began.' },
  abandoned: {
    tone: 'neutral',
    word: 'Abandoned',
    text: 'The client left, or the gateway ended the request, before there was an answer.',
  },
  rejected: { tone: 'bad', word: 'Rejected', text: 'It refused the request itself.' },
  credentials: { tone: 'bad', word: 'Credentials refused', text: 'It refused the credentials of this gateway.' },
  quota: { tone: 'bad', word: 'Out of quota', text: 'The quota of this gateway is used up there.' },
  rate_limited: { tone: 'warn', word: 'Rate limited', text: 'It was asked too often.' },
  not_found: { tone: 'bad', word: 'Model unknown', text: 'It does not know the model.' },
  overloaded: { tone: 'warn', word: 'Overloaded', text: 'It had no capacity.' },
  failed: { tone: 'bad', word: 'Failed', text: 'It failed, or could not be reached.' },
  cut: { tone: 'warn', word: 'Cut off', text: 'It broke off its answer.' },
}
