/** What the account's own requests say of a model, in words; undefined where they say nothing. */
import { formatMs, formatSuccess } from '../../lib/format.ts'
import type { Measured } from './listing.ts'

export interface MeasuredModels {
  readonly byModel: ReadonlyMap<string, Measured>
  readonly isSampled: boolean
}

/** The median. */
export function firstTokenText(speeds: MeasuredModels | undefined, id: string): string | undefined {
  const ms = speeds?.byModel.get(id)?.first_byte_ms?.p50
  return ms === undefined ? undefined : formatMs(ms)
}

export const NO_CALLS = 'no calls'

export function uptimeText(speeds: MeasuredModels | undefined, id: string): string | undefined {
  const speed = speeds?.byModel.get(id)
  if (speed === undefined) return speeds === undefined || speeds.isSampled ? undefined : NO_CALLS
  return speed.success_rate === null ? undefined : formatSuccess(speed.success_rate)
}
