/**
 * The models as they are now: the catalogue under the operator's own entries, as far as a provider of each is
 * configured. Built at start and on reload, then only read; it knows no HTTP and no database.
 */
import type { CatalogueEntry } from '../../../catalogue/entry.ts'
import type { Deployment, Model } from '../../domain/model.ts'
import { nearest } from '../../lib/nearest.ts'
import { type ConfiguredModel, type ModelEntry, mergeEntry } from './entry.ts'
import { priceVersion, toPrice } from './price.ts'

export interface ModelBookInput {
  readonly catalogue: readonly CatalogueEntry[]
  /** In the file's order. */
  readonly models: readonly ConfiguredModel[]
  /** Names of the providers that are configured and whose protocol is spoken here. */
  readonly providers: ReadonlySet<string>
}

export interface ModelBook {
  /** By ID or alias. */
  find(id: string): Model | undefined
  /** The `count` nearest IDs, nearest first, for error messages. */
  nearest(id: string, count: number): readonly string[]
  /** Aliases too, each behind what it stands for. */
  readonly all: readonly Model[]
}

/** Throws when two entries of the file claim one name, or a price is not exact in micro-dollars. */
export function buildModelBook({ catalogue, models, providers }: ModelBookInput): ModelBook {
  const entries = [...configuredEntries(models, catalogue), ...catalogueEntries(catalogue, models)]
  const byName = new Map<string, Model>()
  for (const entry of entries) {
    const deployments = usableDeployments(entry, providers)
    if (deployments.length === 0) continue
    const model = toModel(entry, deployments)
    byName.set(model.id, model)
    for (const alias of entry.aliases) byName.set(alias, { ...model, id: alias, aliasOf: model.id })
  }
  const ids = [...byName.keys()]
  return {
    find: (id) => byName.get(id),
    nearest: (id, count) => nearest(id, ids, count),
    all: [...byName.values()],
  }
}

/** Throws when the file gives one name to two models; an alias that comes from the catalogue gives way instead. */
function configuredEntries(models: readonly ConfiguredModel[], catalogue: readonly CatalogueEntry[]): ModelEntry[] {
  const given = namesGiven(models)
  const [twice] = given.filter((name, at) => given.indexOf(name) !== at)
  if (twice !== undefined) throw new Error(`Two models of the configuration are called '${twice}'.`)
  return models.map((model) => {
    const base = catalogue.find(({ id, aliases }) => id === model.id || aliases.includes(model.id))
    const merged = mergeEntry(model, base)
    if (model.aliases !== undefined) return merged
    return { ...merged, aliases: merged.aliases.filter((alias) => !given.includes(alias)) }
  })
}

/** What the file leaves of the catalogue: a name that the file uses, as ID or alias, is the file's. */
function catalogueEntries(catalogue: readonly CatalogueEntry[], models: readonly ConfiguredModel[]): ModelEntry[] {
  const given = new Set(namesGiven(models))
  return catalogue
    .filter(({ id }) => !given.has(id))
    .map((entry) => ({ ...entry, aliases: entry.aliases.filter((alias) => !given.has(alias)) }))
}

function namesGiven(models: readonly ConfiguredModel[]): string[] {
  return models.flatMap(({ id, aliases = [] }) => [id, ...aliases])
}

function usableDeployments({ deployments }: ModelEntry, providers: ReadonlySet<string>): Deployment[] {
  return deployments
    .filter(({ provider }) => providers.has(provider))
    .map(({ provider, model, priority = 0, weight = 1 }) => ({ provider, model, priority, weight }))
}

function toModel(entry: ModelEntry, deployments: readonly Deployment[]): Model {
  const price = toPrice(entry)
  return {
    id: entry.id,
    name: entry.name,
    ownedBy: entry.owned_by,
    created: entry.created,
    capabilities: entry.capabilities,
    contextWindow: entry.context_window,
    maxOutputTokens: entry.max_output_tokens ?? undefined,
    price,
    priceVersion: price === undefined ? undefined : priceVersion(entry.id, price),
    priceSource: price === undefined ? undefined : entry.source,
    aliasOf: undefined,
    deprecationDate: entry.deprecation_date ?? undefined,
    inputModalities: entry.input_modalities,
    supportedParameters: entry.supported_parameters,
    deployments,
  }
}
