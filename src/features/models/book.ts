/**
 * The models as they are now: the catalogue under the operator's own entries, as far as a provider of each is
 * configured. Built at start and on reload, then only read; it knows no HTTP and no database.
 */
import type { CatalogueEntry } from '../../../catalogue/entry.ts'
import type { Deployment, Model, PricePeriod } from '../../domain/model.ts'
import { nearest } from '../../lib/nearest.ts'
import { type ConfiguredModel, type ModelEntry, mergeEntry } from './entry.ts'
import { pricePeriods } from './price.ts'

export interface ModelBookInput {
  readonly catalogue: readonly CatalogueEntry[]
  /** In the file's order. */
  readonly models: readonly ConfiguredModel[]
  /** Names of the providers that are configured and whose protocol is spoken here. */
  readonly providers: ReadonlySet<string>
  /** Unix milliseconds: which of several prices applies. */
  readonly now: () => number
}

export interface ModelBook {
  /** By ID or alias, at the price of this moment. */
  find(id: string): Model | undefined
  /** The `count` nearest IDs, nearest first, for error messages. */
  nearest(id: string, count: number): readonly string[]
  /** Aliases too, each behind what it stands for; at the prices of this moment. */
  readonly all: readonly Model[]
}

/** Throws when two entries of the file claim one name, or a price is not exact in micro-dollars. */
export function buildModelBook({ catalogue, models, providers, now }: ModelBookInput): ModelBook {
  const entries = [...configuredEntries(models, catalogue), ...catalogueEntries(catalogue, models)]
  const byName = new Map<string, ListedAtTimes>()
  for (const entry of entries) {
    const deployments = usableDeployments(entry, providers)
    if (deployments.length === 0) continue
    const model = toModel(entry, deployments)
    const periods = pricePeriods(entry)
    byName.set(model.id, atTimes(model, periods))
    for (const alias of entry.aliases) byName.set(alias, atTimes({ ...model, id: alias, aliasOf: model.id }, periods))
  }
  const ids = [...byName.keys()]
  return {
    find: (id) => {
      const listed = byName.get(id)
      return listed && modelAt(listed, now)
    },
    nearest: (id, count) => nearest(id, ids, count),
    get all() {
      return Array.from(byName.values(), (listed) => modelAt(listed, now))
    },
  }
}

/** A model with each of its prices, made once: looking one up makes nothing. */
interface ListedAtTimes {
  /** Of prices with a start or an end, the earliest first. */
  readonly periods: readonly { readonly startsAt: number; readonly endsAt: number; readonly model: Model }[]
  /** At its one price without an end, else without any. */
  readonly otherwise: Model
}

function atTimes(model: Model, periods: readonly PricePeriod[]): ListedAtTimes {
  const priced = ({ price, version }: PricePeriod): Model => ({ ...model, price, priceVersion: version })
  const [only] = periods
  if (only === undefined) return { periods: [], otherwise: { ...model, priceSource: undefined } }
  if (periods.length === 1 && only.startsAt === Number.NEGATIVE_INFINITY && only.endsAt === Number.POSITIVE_INFINITY)
    return { periods: [], otherwise: priced(only) }
  return {
    periods: periods.map((period) => ({ ...period, model: { ...priced(period), pricePeriods: periods } })),
    otherwise: { ...model, pricePeriods: periods },
  }
}

function modelAt({ periods, otherwise }: ListedAtTimes, now: () => number): Model {
  if (periods.length === 0) return otherwise
  const at = now()
  return periods.find(({ startsAt, endsAt }) => startsAt <= at && at < endsAt)?.model ?? otherwise
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

/** Without a price yet. */
function toModel(entry: ModelEntry, deployments: readonly Deployment[]): Model {
  return {
    id: entry.id,
    name: entry.name,
    ownedBy: entry.owned_by,
    created: entry.created,
    capabilities: entry.capabilities,
    contextWindow: entry.context_window,
    maxOutputTokens: entry.max_output_tokens ?? undefined,
    price: undefined,
    priceVersion: undefined,
    priceSource: entry.source,
    aliasOf: undefined,
    deprecationDate: entry.deprecation_date ?? undefined,
    inputModalities: entry.input_modalities,
    supportedParameters: entry.supported_parameters,
    deployments,
  }
}
