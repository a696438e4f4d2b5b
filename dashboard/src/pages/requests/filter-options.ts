/** Choices with how many requests there are of each. */
import { formatCount, plural } from '../../lib/format.ts'
import type { ComboboxOption } from '../../ui/combobox.tsx'
import type { Overview } from './queries.ts'
import type { Status } from './search.ts'

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
