/** What costs are told by, and how the values are called. */
import type { AccountNames } from '../../../api/names.ts'
import { formatDate } from '../../../lib/time.ts'
import type { CostFilter, CostFilters } from '../search.ts'

const NAMES = ['team', 'member', 'key', 'model', 'provider', 'kind', 'session', 'end_user', 'day'] as const
type Name = (typeof NAMES)[number]
/** `tag:` and the key of a tag, or another dimension. */
export type Dimension = Name | `tag:${string}`

export const MAX_DIMENSIONS = 3
const TAG_KEY = /^[a-z0-9_.:-]{1,32}$/

const DIMENSION_NAMES: Readonly<Record<Name, string>> = {
  team: 'Team',
  member: 'Member',
  key: 'Key',
  model: 'Model',
  provider: 'Provider',
  kind: 'Kind of model',
  session: 'Session',
  end_user: 'End user',
  day: 'Day',
}

/** Those that are no tag. */
export const PLAIN_DIMENSIONS = NAMES

export function isTag(dimension: string): dimension is `tag:${string}` {
  return dimension.startsWith('tag:') && TAG_KEY.test(dimension.slice('tag:'.length))
}

/** Up to three, each once; without what is none. By model where that leaves nothing. */
export function readDimensions(text: string | undefined): readonly Dimension[] {
  const names = (text ?? '').split(',').map((name) => name.trim())
  const known = names.filter((name): name is Dimension => NAMES.some((each) => each === name) || isTag(name))
  const chosen = [...new Set(known)].slice(0, MAX_DIMENSIONS)
  return chosen.length === 0 ? ['model'] : chosen
}

/** `Team`, `Tag customer`. */
export function dimensionName(dimension: Dimension): string {
  return isTag(dimension) ? `Tag ${dimension.slice('tag:'.length)}` : DIMENSION_NAMES[dimension as Name]
}

export const FILTER_NAMES: Readonly<Record<CostFilter, string>> = {
  tag: 'Tag',
  team_id: 'Team',
  member_id: 'Member',
  key_id: 'Key',
  model: 'Model',
  provider: 'Provider',
  kind: 'Kind of model',
  session_id: 'Session',
  end_user: 'End user',
}

export const KINDS = ['chat', 'embedding', 'rerank'] as const

/** What people, teams and keys are called. */
export type NameOf = AccountNames['nameOf']

const OF_ACCOUNT: readonly Dimension[] = ['team', 'member', 'key']

/** Null: the requests have none. */
export function valueLabel(dimension: Dimension, value: string | null, nameOf: NameOf): string {
  if (value === null) return `No ${dimensionName(dimension).toLowerCase()}`
  if (dimension === 'day') return formatDate(value)
  return OF_ACCOUNT.includes(dimension) ? nameOf(value) : value
}

const FILTER_OF: Readonly<Record<Exclude<Name, 'day'>, CostFilter>> = {
  team: 'team_id',
  member: 'member_id',
  key: 'key_id',
  model: 'model',
  provider: 'provider',
  kind: 'kind',
  session: 'session_id',
  end_user: 'end_user',
}

/** The filter that leaves only what has this value; undefined: there is none, as of days and of what has no value. */
export function filterOf(dimension: Dimension, value: string | null): CostFilters | undefined {
  if (value === null || dimension === 'day') return undefined
  if (isTag(dimension)) return { tag: `${dimension.slice('tag:'.length)}=${value}` }
  return { [FILTER_OF[dimension as Exclude<Name, 'day'>]]: value }
}

/** What the list of requests can be narrowed by. */
const OF_REQUESTS: readonly CostFilter[] = ['tag', 'key_id', 'model', 'provider', 'session_id']

/** All of these narrow the list of requests: it shows just what was added up. */
export function canListRequests(filters: CostFilters): boolean {
  return Object.keys(filters).every((name) => OF_REQUESTS.some((each) => each === name))
}
