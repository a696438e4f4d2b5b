/** Warnings of the catalogue: old sources, near or past dates, missing prices. */
import type { CatalogueEntry } from '../../catalogue/entry.ts'

/** The current day, and the periods of warnings. */
export interface Calendar {
  /** ISO date. */
  readonly today: string
  /** Age at which a source is stale. */
  readonly staleDays: number
  /** Days ahead for which dates are reported. */
  readonly nearDays: number
}

export interface CatalogueWarning {
  readonly kind: 'stale' | 'deprecated' | 'unpriced'
  readonly message: string
}

export function catalogueWarnings(entry: CatalogueEntry, { today, staleDays, nearDays }: Calendar): CatalogueWarning[] {
  const { deprecation_date: deprecated, price_ends: ends, pricing, source } = entry
  const found: CatalogueWarning[] = []
  const warn = (kind: CatalogueWarning['kind'], message: string): void => void found.push({ kind, message })
  const age = daysBetween(source.read, today)
  if (age > staleDays) warn('stale', `its source was read ${age} days ago, on ${source.read}`)
  const price = ends === undefined ? undefined : within(ends, today, nearDays)
  if (price !== undefined && !isFollowed(pricing)) warn('stale', `its price ${price < 0 ? 'ended' : 'ends'} on ${ends}`)
  const shutDown = deprecated === null ? undefined : within(deprecated, today, nearDays)
  if (shutDown !== undefined) {
    warn('deprecated', `its provider ${shutDown < 0 ? 'shut it down' : 'shuts it down'} on ${deprecated}`)
  }
  if (pricing === null) warn('unpriced', 'it has no price and cannot be called')
  return found
}

/** Whether a successor of the price is known. */
function isFollowed(pricing: CatalogueEntry['pricing']): boolean {
  return (pricing?.successors ?? []).length > 0
}

/** @returns days from today to `day`, negative when it is past; undefined when it is further ahead than `nearDays`. */
function within(day: string, today: string, nearDays: number): number | undefined {
  const left = daysBetween(today, day)
  return left > nearDays ? undefined : left
}

function daysBetween(from: string, to: string): number {
  return Math.round((Date.parse(to) - Date.parse(from)) / 86_400_000)
}

export function isDay(text: string): boolean {
  return /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(text))
}
