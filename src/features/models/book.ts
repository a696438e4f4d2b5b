/**
 * The models that can be used: the catalogue, overridden by the configuration file, limited to configured providers.
 * Built at start and on reload, then only read; it knows no HTTP and no database.
 */
import {
  type CatalogueDeployment,
  type CatalogueEntry,
  type CataloguePricing,
  EMBEDDING_PARAMETERS,
  RERANK_PARAMETERS,
} from '../../../catalogue/entry.ts'
import type {
  Capabilities,
  Capability,
  Deployment,
  Model,
  ModelBook,
  ModelKind,
  PricePeriod,
  VirtualModel,
} from '../../domain/model.ts'
import { nearest } from '../../lib/text.ts'
import { pricePeriods } from './price.ts'

/** For a model that is not in the catalogue. */
const DEFAULTS = {
  owned_by: 'custom',
  created: 0,
  capabilities: { streaming: true, function_calling: false, vision: false, json_mode: false },
  context_window: 128_000,
} as const

export interface ModelBookInput {
  readonly catalogue: readonly CatalogueEntry[]
  /** In the file's order. */
  readonly models: readonly ConfiguredModel[]
  readonly virtualModels?: readonly ConfiguredVirtualModel[] | undefined
  /** Names of configured providers with a supported protocol. */
  readonly providers: ReadonlySet<string>
  /** Factors on the weights of deployments, by provider; 1 unless set. */
  readonly weights?: ReadonlyMap<string, number> | undefined
  /** Unix milliseconds, which select the price. */
  readonly now: () => number
}

/** Throws when two entries of the file claim one name, a fallback is unknown, or a price is not exact in micro-dollars. */
export function buildModelBook(input: ModelBookInput): ModelBook {
  const { catalogue, models, virtualModels = [], now } = input
  const entries = [...configuredEntries(models, catalogue), ...catalogueEntries(catalogue, models)]
  checkFallbacks(entries)
  const byName = new Map<string, ListedAtTimes>()
  for (const entry of entries) {
    const deployments = usableDeployments(entry, input)
    if (deployments.length === 0) continue
    const model = toModel(entry, deployments)
    const periods = pricePeriods(entry)
    byName.set(model.id, atTimes(model, periods))
    for (const alias of entry.aliases) byName.set(alias, atTimes({ ...model, id: alias, aliasOf: model.id }, periods))
  }
  checkVirtual(virtualModels, entries)
  for (const virtual of virtualModels) {
    const model = virtualModel(virtual, (id) => byName.get(id)?.otherwise)
    if (model !== undefined) byName.set(model.id, { periods: [], otherwise: model })
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

/** A model with each of its prices, built once, so that lookups allocate nothing. */
interface ListedAtTimes {
  /** Prices with a start or an end, the earliest first. */
  readonly periods: readonly { readonly startsAt: number; readonly endsAt: number; readonly model: Model }[]
  /** With its only price without start and end, else without a price. */
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

/** Throws for two models of the file with one name; names of the file override aliases of the catalogue. */
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

/** Returns the entries of the catalogue whose ID the file does not use, without aliases that it uses. */
function catalogueEntries(catalogue: readonly CatalogueEntry[], models: readonly ConfiguredModel[]): ModelEntry[] {
  const given = new Set(namesGiven(models))
  return catalogue
    .filter(({ id }) => !given.has(id))
    .map((entry) => ({
      ...entry,
      ...readingFacts(entry),
      deployments: published(entry.deployments),
      aliases: entry.aliases.filter((alias) => !given.has(alias)),
    }))
}

/** The catalogue's lists are complete: what they do not name, the model cannot do. */
function readingFacts({
  kind = 'chat',
  ...entry
}: Pick<CatalogueEntry, 'input_modalities' | 'supported_parameters' | 'kind'>) {
  if (kind !== 'chat') return {}
  return {
    pdf: entry.input_modalities.includes('file'),
    json_schema: entry.supported_parameters.includes('structured_outputs'),
  }
}

/** What the catalogue says of deployments comes after what the operator says of their providers. */
function published(deployments: readonly CatalogueDeployment[]): readonly EntryDeployment[] {
  return deployments.map(({ data_collection: dataCollection, zdr, region, ...deployment }) =>
    dataCollection === undefined && zdr === undefined && region === undefined
      ? deployment
      : { ...deployment, published: { dataCollection, zdr, region } },
  )
}

function namesGiven(models: readonly ConfiguredModel[]): string[] {
  return models.flatMap(({ id, aliases = [] }) => [id, ...aliases])
}

const INCOMPARABLE = 'vectors of two models cannot be compared. Give it several deployments of one model instead.'

function checkFallbacks(entries: readonly ModelEntry[]): void {
  const known = entries.flatMap(({ id, aliases }) => [id, ...aliases])
  for (const { id, kind, fallbacks = [] } of entries) {
    if (kind === 'embedding' && fallbacks.length > 0)
      throw new Error(`The embedding model '${id}' has fallbacks; ${INCOMPARABLE}`)
    const unknown = fallbacks.find((name) => !known.includes(name))
    if (unknown === undefined) continue
    const [near] = nearest(unknown, known, 1)
    const hint = near === undefined ? '' : ` Did you mean '${near}'?`
    throw new Error(`The model '${id}' falls back to '${unknown}', which does not exist.${hint}`)
  }
}

/** Throws for an ID that is taken, and for a candidate that does not exist or is of another kind than the first, or several of embeddings. */
function checkVirtual(virtualModels: readonly ConfiguredVirtualModel[], entries: readonly ModelEntry[]): void {
  const kinds = new Map(
    entries.flatMap(({ id, aliases, kind }) => [id, ...aliases].map((name) => [name, kind] as const)),
  )
  const taken = new Set(kinds.keys())
  for (const { id, candidates } of virtualModels) {
    if (taken.has(id)) throw new Error(`Two models are called '${id}'; the ID of a virtual model must be its own.`)
    taken.add(id)
    for (const { model } of candidates) {
      if (!kinds.has(model)) throw new Error(`The virtual model '${id}' names '${model}', which does not exist.`)
      const isSame = (kinds.get(model) ?? 'chat') === (kinds.get(candidates[0]?.model ?? '') ?? 'chat')
      if (!isSame) throw new Error(`The virtual model '${id}' has models of several kinds.`)
    }
    if (candidates.length > 1 && kinds.get(candidates[0]?.model ?? '') === 'embedding')
      throw new Error(`The virtual model '${id}' has several embedding models; ${INCOMPARABLE}`)
  }
}

function usableDeployments(
  { deployments }: ModelEntry,
  { providers, weights }: Pick<ModelBookInput, 'providers' | 'weights'>,
): Deployment[] {
  return deployments
    .filter(({ provider }) => providers.has(provider))
    .map(({ priority = 0, weight = 1, data_collection: dataCollection, ...deployment }) => ({
      ...deployment,
      priority,
      weight: weight * (weights?.get(deployment.provider) ?? 1),
      ...(dataCollection !== undefined && { dataCollection }),
    }))
}

/** Without a price yet. */
function toModel(entry: ModelEntry, deployments: readonly Deployment[]): Model {
  return {
    id: entry.id,
    name: entry.name,
    ownedBy: entry.owned_by,
    created: entry.created,
    kind: entry.kind ?? 'chat',
    capabilities: entry.capabilities,
    contextWindow: entry.context_window,
    ...(entry.pdf !== undefined && { pdf: entry.pdf }),
    ...(entry.json_schema !== undefined && { jsonSchema: entry.json_schema }),
    maxInputs: entry.max_inputs,
    maxOutputTokens: entry.max_output_tokens ?? undefined,
    price: undefined,
    priceVersion: undefined,
    priceSource: entry.source,
    aliasOf: undefined,
    deprecationDate: entry.deprecation_date ?? undefined,
    replacement: entry.replacement,
    inputModalities: entry.input_modalities,
    supportedParameters: entry.supported_parameters,
    ...(entry.fallbacks !== undefined && { fallbacks: entry.fallbacks }),
    deployments,
  }
}

/** A model in the configuration file. Absent fields are those of the catalogue, or the defaults. */
export interface ConfiguredModel {
  readonly id: string
  readonly name?: string | undefined
  readonly owned_by?: string | undefined
  readonly aliases?: readonly string[] | undefined
  readonly kind?: ModelKind | undefined
  readonly capabilities?: { readonly [name in Capability | 'pdf' | 'json_schema']?: boolean | undefined } | undefined
  readonly context_window?: number | undefined
  readonly max_inputs?: number | undefined
  readonly max_output_tokens?: number | null | undefined
  readonly pricing?: CataloguePricing | null | undefined
  readonly deprecation_date?: string | undefined
  readonly replacement?: string | undefined
  readonly fallbacks?: readonly string[] | undefined
  readonly deployments?: readonly CatalogueDeployment[] | undefined
}

type Overridable = 'deployments' | 'kind' | 'max_inputs' | 'source' | 'note' | 'price_ends' | 'replacement'

interface EntryDeployment extends CatalogueDeployment {
  readonly published?: Deployment['published']
}

/** One model, merged from the catalogue and the configuration file. */
interface ModelEntry extends Omit<CatalogueEntry, Overridable> {
  readonly deployments: readonly EntryDeployment[]
  readonly kind?: ModelKind | undefined
  /** Undefined: not known. */
  readonly pdf?: boolean | undefined
  readonly json_schema?: boolean | undefined
  readonly max_inputs?: number | undefined
  readonly replacement?: string | undefined
  readonly fallbacks?: readonly string[] | undefined
  /** Undefined: as in the price itself. */
  readonly price_ends?: string | undefined
  /** Source of the price; undefined: the catalogue has none, or the file sets the price. */
  readonly source?: CatalogueEntry['source'] | undefined
}

/**
 * Merges an entry field by field; the file has precedence. A price is replaced as a whole, never combined of two.
 * @param base The catalogue's entry that the file overrides, under its ID or an alias of it; undefined: a new model.
 */
function mergeEntry(model: ConfiguredModel, base: CatalogueEntry | undefined): ModelEntry {
  const known = base ?? emptyEntry(model.id)
  const kind = model.kind ?? known.kind
  const isChat = kind === undefined || kind === 'chat'
  const capabilities = isChat ? mergeCapabilities(known.capabilities, model.capabilities) : NO_CAPABILITIES
  const facts = isChat ? { ...(base && readingFacts(base)), ...givenFacts(model.capabilities) } : {}
  return {
    id: model.id,
    name: model.name ?? known.name,
    owned_by: model.owned_by ?? known.owned_by,
    created: known.created,
    kind,
    capabilities,
    context_window: model.context_window ?? known.context_window,
    max_inputs: model.max_inputs ?? known.max_inputs,
    max_output_tokens: model.max_output_tokens === undefined ? known.max_output_tokens : model.max_output_tokens,
    pricing: model.pricing === undefined ? known.pricing : model.pricing,
    price_ends: model.pricing === undefined ? base?.price_ends : undefined,
    source: model.pricing === undefined ? base?.source : undefined,
    aliases: model.aliases ?? (base?.id === model.id ? base.aliases : []),
    deprecation_date: model.deprecation_date ?? known.deprecation_date,
    replacement: model.replacement ?? known.replacement,
    ...facts,
    input_modalities: listed(inputModalities(known, capabilities), 'file', facts.pdf),
    fallbacks: model.fallbacks,
    supported_parameters: listed(
      base?.supported_parameters ?? supportedParameters(kind, capabilities),
      'structured_outputs',
      facts.json_schema,
    ),
    deployments: model.deployments ?? published(known.deployments),
  }
}

function givenFacts({ pdf, json_schema }: NonNullable<ConfiguredModel['capabilities']> = {}) {
  return { ...(pdf !== undefined && { pdf }), ...(json_schema !== undefined && { json_schema }) }
}

/** @param isThere Undefined: as it is. */
function listed(names: readonly string[], name: string, isThere: boolean | undefined): readonly string[] {
  if (isThere === undefined || names.includes(name) === isThere) return names
  return isThere ? [...names, name] : names.filter((each) => each !== name)
}

function emptyEntry(id: string): ModelEntry {
  return {
    ...DEFAULTS,
    id,
    name: id,
    max_output_tokens: null,
    pricing: null,
    aliases: [],
    deprecation_date: null,
    input_modalities: ['text'],
    supported_parameters: [],
    deployments: [],
  }
}

/** Of models that generate no text. */
const NO_CAPABILITIES: Capabilities = { streaming: false, function_calling: false, vision: false, json_mode: false }

function mergeCapabilities(known: Capabilities, given: ConfiguredModel['capabilities'] = {}): Capabilities {
  return {
    streaming: given.streaming ?? known.streaming,
    function_calling: given.function_calling ?? known.function_calling,
    vision: given.vision ?? known.vision,
    json_mode: given.json_mode ?? known.json_mode,
  }
}

function inputModalities(known: ModelEntry, { vision }: Capabilities): readonly string[] {
  if (known.input_modalities.includes('image') === vision) return known.input_modalities
  return vision ? [...known.input_modalities, 'image'] : known.input_modalities.filter((name) => name !== 'image')
}

function supportedParameters(
  kind: ModelKind | undefined,
  { function_calling, json_mode }: Capabilities,
): readonly string[] {
  if (kind === 'embedding') return EMBEDDING_PARAMETERS
  if (kind === 'rerank') return RERANK_PARAMETERS
  const parameters = ['max_tokens', 'stop', 'temperature', 'top_p']
  if (function_calling) parameters.push('tool_choice', 'tools')
  if (json_mode) parameters.push('response_format')
  return parameters.sort()
}

/** A virtual model in the configuration file. */
export interface ConfiguredVirtualModel {
  readonly id: string
  readonly name?: string | undefined
  readonly candidates: readonly { readonly model: string; readonly weight?: number | undefined }[]
  readonly strategy?: VirtualModel['strategy'] | undefined
  readonly sticky?: VirtualModel['sticky'] | undefined
}

/**
 * Returns the model that stands for its usable candidates; undefined where none of them has a provider. It can do what any
 * of them can.
 */
export function virtualModel(
  { id, name = id, candidates, strategy = 'priority', sticky = 'none' }: ConfiguredVirtualModel,
  find: (id: string) => Model | undefined,
): Model | undefined {
  const found = candidates.flatMap(({ model }) => find(model) ?? [])
  const [first] = found
  if (first === undefined) return undefined
  const known = found.flatMap(({ maxOutputTokens }) => maxOutputTokens ?? [])
  return {
    id,
    name,
    ownedBy: 'virtual',
    created: 0,
    kind: first.kind,
    capabilities: {
      streaming: found.some(({ capabilities }) => capabilities.streaming),
      function_calling: found.some(({ capabilities }) => capabilities.function_calling),
      vision: found.some(({ capabilities }) => capabilities.vision),
      json_mode: found.some(({ capabilities }) => capabilities.json_mode),
    },
    contextWindow: Math.max(...found.map(({ contextWindow }) => contextWindow)),
    maxOutputTokens: known.length < found.length ? undefined : Math.max(...known),
    price: undefined,
    priceVersion: undefined,
    aliasOf: undefined,
    deprecationDate: undefined,
    inputModalities: [...new Set(found.flatMap(({ inputModalities }) => inputModalities))],
    supportedParameters: [...new Set(found.flatMap(({ supportedParameters }) => supportedParameters))].sort(),
    deployments: found.flatMap(({ deployments }) => deployments),
    virtual: { strategy, sticky, candidates: candidates.map(({ model, weight = 1 }) => ({ model, weight })) },
  }
}
