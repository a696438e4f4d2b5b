/** What the gateway is asked for: the table, and the same by day for the chart. */
import { keepPreviousData, queryOptions, useQuery } from '@tanstack/react-query'
import { api, take } from '../../../api/client.ts'
import { downloadFile } from '../../../api/download.ts'
import { useAccountNames } from '../../../api/names.ts'
import type { paths } from '../../../api/schema.d.ts'
import type { Period } from '../../../lib/period.ts'
import { optionsQuery, type Report } from '../queries.ts'
import type { CostFilters } from '../search.ts'
import type { Dimension, NameOf } from './dimensions.ts'

export interface CostQuestion {
  readonly period: Pick<Period, 'start' | 'end'>
  readonly dimensions: readonly Dimension[]
  readonly filters: CostFilters
}

/** What is seen while the next answer is on its way belongs to another question: it says to which. */
export interface AskedCosts {
  readonly asked: CostQuestion
  readonly report: Report
}

const PATH = '/v1/usage'
const FRESH_MS = 15_000
type UsageQuery = NonNullable<paths[typeof PATH]['get']['parameters']['query']>

function parameters({ period: { start, end }, dimensions, filters }: CostQuestion) {
  return { period_start: start, period_end: end, group_by: dimensions.join(','), ...filters }
}

/** What was seen before stays while the next answer is on its way. */
export function costsQuery(question: CostQuestion) {
  const query = parameters(question) as UsageQuery // a kind that is none is refused by the gateway
  return queryOptions({
    queryKey: [PATH, 'costs', query],
    queryFn: async (): Promise<AskedCosts> => ({
      asked: question,
      report: await take(api.GET(PATH, { params: { query } })),
    }),
    placeholderData: keepPreviousData,
    staleTime: FRESH_MS,
  })
}

/** The gateway's own file, under the name that it gives it. */
export async function downloadCosts(question: CostQuestion, format: 'csv' | 'json'): Promise<string> {
  const query = new URLSearchParams({ ...parameters(question), format })
  return (await downloadFile(`${PATH}?${query}`, `usage.${format}`)).name
}

/** Names of keys that were used are known to everybody who may read usage. */
export function useCostNames(period: CostQuestion['period']): NameOf {
  const { nameOf } = useAccountNames()
  const used = useQuery(optionsQuery(period)).data?.report.groups
  return (id) => used?.find(({ key }) => key === id)?.name ?? nameOf(id)
}
