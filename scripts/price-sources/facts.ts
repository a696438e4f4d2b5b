/**
 * Price facts: what one source says of one model at one host, as a flat record that can be compared name by name.
 * Names are those of the catalogue (`input_per_million`), with the rule in front: `above_200k.`, `flex.`, `flex.above_272k.`.
 */
import type { CatalogueDeployment, CatalogueEntry } from '../../catalogue/entry.ts'

/** Dollars, tokens, or an ISO date. */
export type PriceFacts = Readonly<Record<string, number | string>>

/** One published collection of prices, in the version that was read. */
export interface PriceSource {
  readonly name: string
  readonly version: string
  /** ISO date on which the collection published this version. */
  readonly date: string
  /** Facts of the catalogue's deployments, by `deploymentKey`. */
  readonly models: Readonly<Record<string, PriceFacts>>
}

/** Names under which a deployment may be listed: the host's own, then the catalogue's ID and aliases. */
export interface Wanted {
  readonly provider: string
  readonly names: readonly string[]
}

/** Reads the facts of one deployment out of a collection; undefined: the collection does not know the model there. */
export type FactsReader = (wanted: Wanted) => PriceFacts | undefined

export function deploymentKey({ provider, model }: CatalogueDeployment): string {
  return `${provider}:${model}`
}

/** Collects from a collection what it says of every deployment of the catalogue. */
export function collectFacts(catalogue: readonly CatalogueEntry[], read: FactsReader): Record<string, PriceFacts> {
  const models: Record<string, PriceFacts> = {}
  for (const entry of catalogue) {
    for (const deployment of entry.deployments) {
      const names = [...new Set([deployment.model, entry.id, ...entry.aliases])]
      const facts = read({ provider: deployment.provider, names })
      if (facts !== undefined) models[deploymentKey(deployment)] = facts
    }
  }
  return models
}

/** Facts without those that are not there. Amounts are rounded to the micro-dollar that a price can express. */
export function definedFacts(facts: Readonly<Record<string, unknown>>): PriceFacts {
  const defined: Record<string, number | string> = {}
  for (const [name, value] of Object.entries(facts)) {
    if (typeof value === 'string') defined[name] = value
    if (typeof value === 'number' && Number.isFinite(value)) defined[name] = Math.round(value * 1e6) / 1e6
  }
  return defined
}

/** `above_272k`: sources write the same threshold as 272000, 271999 and, in binary thousands, 278528. */
export function thresholdName(tokens: number): string {
  const binary = tokens % 1024 === 0 && tokens % 1000 !== 0
  return `above_${Math.round(tokens / (binary ? 1024 : 1000))}k`
}

export function prefixed(prefix: string, facts: PriceFacts): PriceFacts {
  return Object.fromEntries(Object.entries(facts).map(([name, value]) => [`${prefix}.${name}`, value]))
}
