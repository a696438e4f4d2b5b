/** One model's entry, out of the built-in catalogue and the operator's configuration. */
import type { CatalogueDeployment, CatalogueEntry, CataloguePricing } from '../../../catalogue/entry.ts'
import type { Capabilities, Capability } from '../../domain/model.ts'

/** A model in the configuration file. Everything but the ID may be left to the catalogue, or to the defaults. */
export interface ConfiguredModel {
  readonly id: string
  readonly name?: string | undefined
  readonly owned_by?: string | undefined
  readonly aliases?: readonly string[] | undefined
  readonly capabilities?: { readonly [name in Capability]?: boolean | undefined } | undefined
  readonly context_window?: number | undefined
  readonly max_output_tokens?: number | null | undefined
  readonly pricing?: CataloguePricing | null | undefined
  readonly deprecation_date?: string | undefined
  readonly deployments?: readonly CatalogueDeployment[] | undefined
}

/** What the catalogue and the file say of one model, together. */
export interface ModelEntry extends Omit<CatalogueEntry, 'source' | 'note' | 'price_ends'> {
  /** Undefined: as the price itself says. */
  readonly price_ends?: string | undefined
  /** Of the price; undefined: the catalogue knows none, or the file has its own. */
  readonly source?: CatalogueEntry['source'] | undefined
}

/** Of a model that only the file knows, where the file does not say. */
export const DEFAULTS = {
  owned_by: 'custom',
  created: 0,
  capabilities: { streaming: true, function_calling: false, vision: false, json_mode: false },
  context_window: 128_000,
} as const

/**
 * The file wins field by field. Capabilities are merged one by one; a price is replaced as a whole, since parts of two
 * price lists make a third that nobody asked for.
 * @param base The catalogue's entry that the file overrides, under its ID or an alias of it; undefined: a new model.
 */
export function mergeEntry(model: ConfiguredModel, base: CatalogueEntry | undefined): ModelEntry {
  const known = base ?? emptyEntry(model.id)
  const capabilities = mergeCapabilities(known.capabilities, model.capabilities)
  return {
    id: model.id,
    name: model.name ?? known.name,
    owned_by: model.owned_by ?? known.owned_by,
    created: known.created,
    capabilities,
    context_window: model.context_window ?? known.context_window,
    max_output_tokens: model.max_output_tokens === undefined ? known.max_output_tokens : model.max_output_tokens,
    pricing: model.pricing === undefined ? known.pricing : model.pricing,
    price_ends: model.pricing === undefined ? base?.price_ends : undefined,
    source: model.pricing === undefined ? base?.source : undefined,
    aliases: model.aliases ?? (base?.id === model.id ? base.aliases : []),
    deprecation_date: model.deprecation_date ?? known.deprecation_date,
    input_modalities: inputModalities(known, capabilities),
    supported_parameters: base?.supported_parameters ?? supportedParameters(capabilities),
    deployments: model.deployments ?? known.deployments,
  }
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

function supportedParameters({ function_calling, json_mode }: Capabilities): readonly string[] {
  const parameters = ['max_tokens', 'stop', 'temperature', 'top_p']
  if (function_calling) parameters.push('tool_choice', 'tools')
  if (json_mode) parameters.push('response_format')
  return parameters.sort()
}
