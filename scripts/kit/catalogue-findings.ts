/** Finds inconsistencies of the catalogue, and warnings as of a given day. */
import type { CatalogueEntry, CataloguePricing } from '../../catalogue/entry.ts'
import { pricePeriods } from '../../src/features/models/price.ts'
import { type PriceDifference, priceDifferences } from '../price-sources/differences.ts'
import type { PriceSource } from '../price-sources/facts.ts'
import { type Calendar, type CatalogueWarning, catalogueWarnings, isDay } from './catalogue-warnings.ts'

export interface Finding {
  /** Inconsistencies are errors; a difference that the entry explains is settled. */
  readonly level: 'error' | 'warning' | 'settled'
  readonly kind: 'inconsistent' | CatalogueWarning['kind'] | PriceDifference['kind']
  /** The model's ID. */
  readonly model: string
  readonly message: string
}

export interface CatalogueCheck extends Calendar {
  readonly catalogue: readonly CatalogueEntry[]
  /** Ids of the registry. */
  readonly providers: ReadonlySet<string>
  /** Price collections to compare with. */
  readonly sources: readonly PriceSource[]
}

/** Returns findings in the order of the catalogue, inconsistencies of a model first. */
export function catalogueFindings(check: CatalogueCheck): Finding[] {
  const owners = ownersOfNames(check.catalogue)
  return check.catalogue.flatMap((entry) => {
    const inconsistent = [
      ...nameProblems(entry, owners),
      ...priceProblems(entry),
      ...sizeProblems(entry),
      ...capabilityProblems(entry),
      ...deploymentProblems(entry, check.providers),
      ...dateProblems(entry, check.today),
    ].map((message) => ({ level: 'error', kind: 'inconsistent', model: entry.id, message }) as const)
    const warned = catalogueWarnings(entry, check).map(
      (warning) => ({ level: 'warning', model: entry.id, ...warning }) as const,
    )
    const compared = isCompared(entry) ? priceDifferences(entry, check.sources) : []
    const differing = compared.map(
      (found) => ({ level: found.kind === 'settled' ? 'settled' : 'warning', model: entry.id, ...found }) as const,
    )
    return [...inconsistent, ...warned, ...differing]
  })
}

/** No collection has the built-in simulator. */
function isCompared({ deployments }: CatalogueEntry): boolean {
  return deployments.some(({ provider }) => provider !== 'simulator')
}

/** Maps each name to the models that use it as ID or alias, with repeats. */
function ownersOfNames(catalogue: readonly CatalogueEntry[]): ReadonlyMap<string, readonly string[]> {
  const owners = new Map<string, string[]>()
  for (const { id, aliases } of catalogue) {
    for (const name of [id, ...aliases]) owners.set(name, [...(owners.get(name) ?? []), id])
  }
  return owners
}

function nameProblems({ id, aliases }: CatalogueEntry, owners: ReadonlyMap<string, readonly string[]>): string[] {
  const shared = [...new Set([id, ...aliases])].filter((name) => (owners.get(name)?.length ?? 0) > 1)
  return shared.map(
    (name) => `the name ${name} is used ${owners.get(name)?.length} times: ${owners.get(name)?.join(', ')}`,
  )
}

function priceProblems(entry: CatalogueEntry): string[] {
  const { pricing, price_ends: ends } = entry
  if (pricing === null) return ends === undefined ? [] : ['price_ends is set, but there is no price']
  const dear = dearerThanInput(pricing) ? ['cached input costs more than input'] : []
  return [...unreadable(entry), ...dear]
}

function unreadable(entry: CatalogueEntry): string[] {
  try {
    pricePeriods(entry)
    return []
  } catch (error) {
    return [error instanceof Error ? error.message : String(error)]
  }
}

function dearerThanInput({ cached_input_per_million: cached, input_per_million: input }: CataloguePricing): boolean {
  return cached !== undefined && cached > input
}

function sizeProblems({ context_window: window, max_output_tokens: output }: CatalogueEntry): string[] {
  const problems: string[] = []
  if (!Number.isSafeInteger(window) || window < 1) problems.push(`context_window is ${window}`)
  if (output === null) return problems
  if (!Number.isSafeInteger(output) || output < 1) problems.push(`max_output_tokens is ${output}`)
  if (output > window) problems.push(`max_output_tokens ${output} is above context_window ${window}`)
  return problems
}

function capabilityProblems(entry: CatalogueEntry): string[] {
  const { capabilities, input_modalities: modalities, supported_parameters: parameters } = entry
  const pairs = [
    ['vision', capabilities.vision, 'input_modalities', 'image', modalities],
    ['function_calling', capabilities.function_calling, 'supported_parameters', 'tools', parameters],
    ['json_mode', capabilities.json_mode, 'supported_parameters', 'response_format', parameters],
  ] as const
  const problems: string[] = modalities.includes('text') ? [] : ['input_modalities lack text']
  for (const [capability, isThere, list, word, words] of pairs) {
    if (isThere !== words.includes(word)) {
      problems.push(`${capability} is ${isThere}, but ${list} ${isThere ? 'lack' : 'have'} ${word}`)
    }
  }
  return problems
}

function deploymentProblems({ deployments }: CatalogueEntry, providers: ReadonlySet<string>): string[] {
  if (deployments.length === 0) return ['it can be had nowhere']
  const names = deployments.map(({ provider }) => provider)
  const strange = names.filter((name) => !providers.has(name))
  const twice = names.filter((name, at) => names.indexOf(name) !== at)
  return [
    ...strange.map((name) => `the registry has no provider ${name}`),
    ...twice.map((name) => `two deployments are at ${name}`),
  ]
}

function dateProblems(entry: CatalogueEntry, today: string): string[] {
  const { created, deprecation_date: deprecated, price_ends: ends, source } = entry
  const problems: string[] = []
  if (!/^https:\/\/[^\s/]+|^docs\//.test(source.url)) problems.push('its source has no address')
  if (!isDay(source.read)) problems.push(`its source was read on no day: ${JSON.stringify(source.read)}`)
  else if (source.read > today) problems.push(`its source was read in the future: ${source.read}`)
  if (!Number.isSafeInteger(created)) problems.push(`created is ${created}`)
  for (const [name, day] of [
    ['deprecation_date', deprecated],
    ['price_ends', ends],
  ] as const) {
    if (day === null || day === undefined) continue
    if (!isDay(day)) problems.push(`${name} is no day: ${day}`)
    else if (Date.parse(day) / 1000 < created) problems.push(`${name} ${day} is before the release`)
  }
  return problems
}
