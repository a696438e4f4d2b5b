/** What the gateway is asked for: at most three requests a view, one for speed. */
import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import { api, take } from '../../api/client.ts'
import { downloadFile } from '../../api/download.ts'
import type { paths } from '../../api/schema.d.ts'
import { present } from '../../lib/address.ts'
import type { Group } from '../../lib/group-names.ts'
import type { Period } from '../../lib/period.ts'
import type { Interval, SpeedGroup } from './search.ts'

export type Report = paths['/v1/usage']['get']['responses']['200']['content']['application/json']

export interface ReportQuestion {
  readonly period: Pick<Period, 'start' | 'end'>
  readonly group?: Group | undefined
  readonly interval?: Interval | undefined
  readonly model?: string | undefined
  readonly keyId?: string | undefined
}

/** What is seen while the next answer is on its way belongs to another question: it says to which. */
export interface AskedReport {
  readonly asked: ReportQuestion
  readonly report: Report
}

const PATH = '/v1/usage'
/** Sums of a period are not read again for a while unless somebody comes back to the page. */
const FRESH_MS = 15_000

function parameters({ period, group, interval, model, keyId }: ReportQuestion) {
  return {
    period_start: period.start,
    period_end: period.end,
    ...present({ group_by: group, interval, model, key_id: keyId }),
  }
}

/** What was seen before stays while the next answer is on its way. */
export function reportQuery(question: ReportQuestion) {
  const query = parameters(question)
  return queryOptions({
    queryKey: [PATH, query],
    queryFn: async (): Promise<AskedReport> => ({
      asked: question,
      report: await take(api.GET(PATH, { params: { query } })),
    }),
    placeholderData: keepPreviousData,
    staleTime: FRESH_MS,
  })
}

const SPEED_PATH = '/v1/usage/performance'
export type Performance = paths[typeof SPEED_PATH]['get']['responses']['200']['content']['application/json']

export interface SpeedQuestion {
  /** At most 7 days. */
  readonly period: Pick<Period, 'start' | 'end'>
  readonly group: SpeedGroup
}

export interface AskedSpeed {
  readonly asked: SpeedQuestion
  readonly performance: Performance
}

/** What was seen before stays while the next answer is on its way. */
export function speedQuery({ period: { start, end }, group }: SpeedQuestion) {
  const query = { period_start: start, period_end: end, group_by: group }
  return queryOptions({
    queryKey: [SPEED_PATH, query],
    queryFn: async (): Promise<AskedSpeed> => ({
      asked: { period: { start, end }, group },
      performance: await take(api.GET(SPEED_PATH, { params: { query } })),
    }),
    placeholderData: keepPreviousData,
    staleTime: FRESH_MS,
  })
}

/** Every key and model that has been used in the period: what can be filtered by. */
export function optionsQuery(period: ReportQuestion['period']) {
  return queryOptions({ ...reportQuery({ period, group: 'key' }), staleTime: 60_000 })
}

/** The gateway's own file, under the name that it gives it. */
export async function downloadReport(question: ReportQuestion): Promise<string> {
  const query = new URLSearchParams({ ...parameters({ ...question, interval: undefined }), format: 'csv' })
  return (await downloadFile(`${PATH}?${query}`, 'usage.csv')).name
}
