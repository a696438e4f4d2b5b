/** Choices with how many requests there are of each. */
import { type InfiniteData, type QueryClient, queryOptions, useQuery, useQueryClient } from '@tanstack/react-query'
import { api, take } from '../../api/client.ts'
import { formatCount, plural } from '../../lib/format.ts'
import { groupLabel } from '../../lib/group-names.ts'
import type { Period } from '../../lib/period.ts'
import type { ComboboxOption } from '../../ui/form/combobox.tsx'
import { type Completion, choicesQuery, LIST, type Overview } from './queries.ts'
import { FILTERS, type RequestFilters, STATUSES, type Status } from './search.ts'
import { filterText, STATUS_NAMES } from './words.ts'

export interface CountedOption {
  readonly value: string
  readonly label: string
  /** Requests in the period; undefined: not known. */
  readonly count?: number | undefined
}

/** `gpt-5.4-mini, 1,204 requests` */
export function optionName({ label, count }: CountedOption): string {
  return count === undefined ? label : `${label}, ${plural(count, 'request')}`
}

/** As a list of choices shows them. */
export function shownOption(option: CountedOption): ComboboxOption {
  const { value, label, count } = option
  return { value, label, hint: count === undefined ? undefined : formatCount(count), name: optionName(option) }
}

/** In the order they have, but those without a request after all others. */
export function lastWithout(options: readonly CountedOption[]): readonly CountedOption[] {
  return [...options.filter(({ count }) => count !== 0), ...options.filter(({ count }) => count === 0)]
}

export function statusCounts({ buckets }: Pick<Overview, 'buckets'>): Readonly<Record<Status, number>> {
  const sum = (status: Status) => buckets.reduce((count, bucket) => count + bucket[status], 0)
  return {
    completed: sum('completed'),
    failed: sum('failed'),
    incomplete: sum('incomplete'),
    client_left: sum('client_left'),
  }
}

interface FilterQuery {
  readonly filters: RequestFilters
  readonly period: Pick<Period, 'start' | 'end'>
  readonly rows: readonly Completion[]
}

interface FilterOptions {
  /** Within the other filters, as the histogram is. */
  readonly statuses: readonly CountedOption[]
  /** Models and keys are those that were used in the period, whatever else is filtered by. */
  readonly models: readonly CountedOption[]
  readonly keys: readonly CountedOption[]
  /** Those of the rows that are there; nobody counts them. */
  readonly providers: readonly CountedOption[]
}

export function useFilterOptions({ filters, period, rows }: FilterQuery): FilterOptions {
  const counts = useStatusCounts(filters, period)
  const models = useQuery(modelsQuery(period)).data?.groups
  const keys = useQuery(choicesQuery(period)).data?.groups
  const chosen = (name: 'model' | 'key_id') => ({ value: filters[name], label: filterText(name, filters, rows) })
  return {
    statuses: lastWithout(STATUSES.map((value) => ({ value, label: STATUS_NAMES[value], count: counts?.[value] }))),
    models: withChosen(
      models?.map(({ key, requests }) => ({ value: key, label: key, count: requests })),
      chosen('model'),
    ),
    keys: withChosen(
      keys?.map((each) => ({ value: each.key, label: groupLabel('key', each), count: each.requests })),
      chosen('key_id'),
    ),
    providers: [...new Set(rows.map(({ provider }) => provider))].sort().map((value) => ({ value, label: value })),
  }
}

/** What is filtered by can be chosen also where the period has none of it. */
function withChosen(
  options: readonly CountedOption[] | undefined,
  { value, label }: { readonly value: string | undefined; readonly label: string },
): readonly CountedOption[] {
  if (options === undefined) return []
  if (value === undefined || options.some((option) => option.value === value)) return lastWithout(options)
  return lastWithout([...options, { value, label, count: 0 }])
}

/** The page has them already, unless what it shows is of one status. */
function useStatusCounts({ status, ...others }: RequestFilters, { start, end }: FilterQuery['period']) {
  const asked = { period_start: start, period_end: end, ...others }
  const client = useQueryClient()
  const shown = status === undefined ? shownOverview(client, asked) : undefined
  const { data } = useQuery({ ...overviewQuery(asked), enabled: shown === undefined })
  const overview = shown ?? data?.overview
  return overview === undefined ? undefined : statusCounts(overview)
}

type Asked = Omit<RequestFilters, 'status'> & { readonly period_start: string; readonly period_end: string }

/** Of the list that is on the page, if it was asked the same. */
function shownOverview(client: QueryClient, asked: Asked): Overview | undefined {
  const wanted: RequestFilters = asked
  const lists = client.getQueriesData<InfiniteData<{ readonly overview?: Overview }>>({
    queryKey: [LIST, asked],
    type: 'active',
    predicate: ({ queryKey }) => FILTERS.every((name) => (queryKey[1] as RequestFilters)[name] === wanted[name]),
  })
  return lists.map(([, data]) => data?.pages?.[0]?.overview).find((overview) => overview !== undefined)
}

function overviewQuery(asked: Asked) {
  return queryOptions({
    queryKey: [`${LIST}?include=overview`, asked],
    queryFn: () => take(api.GET(LIST, { params: { query: { ...asked, include: 'overview', limit: 1 } } })),
    staleTime: FRESH_MS,
  })
}

function modelsQuery({ start, end }: FilterQuery['period']) {
  const query = { period_start: start, period_end: end, group_by: 'model' as const }
  return queryOptions({
    queryKey: ['/v1/usage', 'choices', query],
    queryFn: () => take(api.GET('/v1/usage', { params: { query } })),
    staleTime: FRESH_MS,
  })
}

const FRESH_MS = 60_000
