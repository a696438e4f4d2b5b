import { GROUP_NAMES, groupLabel, type Named } from '../../lib/group-names.ts'
import { METRIC_NAMES } from '../../lib/measures.ts'
import { periodWords } from '../../lib/saved-views.ts'
import { FALLBACK_RANGE, type UsageSearch } from './search.ts'

/**
 * A view in words: `Spend by model, Checkout service, last 7 days`. Speed is told of all models and keys.
 * @param keys Those whose names are known.
 * @param now Unix milliseconds.
 */
export function viewWords(search: UsageSearch, keys: readonly Named[], now: number): string {
  const period = periodWords(search, FALLBACK_RANGE, now)
  if (search.show === 'speed') return `Speed and errors by ${search.by ?? 'model'}, ${period}`
  const { metric = 'spend', group = 'model', model, key_id: keyId } = search
  const what = `${METRIC_NAMES[metric]} by ${GROUP_NAMES[group].toLowerCase()}`
  const key =
    keyId === undefined ? undefined : groupLabel('key', keys.find((each) => each.key === keyId) ?? { key: keyId })
  return [what, model, key, period].filter((part) => part !== undefined).join(', ')
}
