/**
 * The price list as data: what each model is, what it costs, where it can be had and who says so. Nothing here is read
 * at run time but by `features/models`, which lays the operator's own entries over it.
 */
import type { Capability, ModelKind } from '../src/domain/model.ts'

/** US dollars per million tokens of a class; at most six decimals. An absent class costs what the class in brackets costs. */
export interface CatalogueRates {
  readonly input_per_million?: number | undefined
  readonly output_per_million?: number | undefined
  /** Prompt tokens read from the provider's cache [input]. */
  readonly cached_input_per_million?: number | undefined
  /** Prompt tokens written to the provider's cache for 5 minutes, or its only lifetime [input]. */
  readonly cache_write_per_million?: number | undefined
  /** [cache_write] */
  readonly cache_write_1h_per_million?: number | undefined
  /** [cache_write_1h] */
  readonly cache_write_12h_per_million?: number | undefined
  /** [input] */
  readonly audio_input_per_million?: number | undefined
  /** [cached_input] */
  readonly cached_audio_input_per_million?: number | undefined
  /** [output] */
  readonly audio_output_per_million?: number | undefined
  /** [output] */
  readonly image_output_per_million?: number | undefined
  /** [output] */
  readonly reasoning_output_per_million?: number | undefined
}

/** Of requests with a long prompt; rates that it does not set stay as below the threshold. */
export interface CatalogueTier extends CatalogueRates {
  /** The prompt of one call, cached tokens included, has to exceed it. */
  readonly above_prompt_tokens: number
  /** `request` (absent: this): the whole request. `excess`: the prompt's tokens above the threshold, and the output. */
  readonly applies_to?: 'request' | 'excess' | undefined
}

/** Of a service tier that the answer names; rates that it does not set are those of the price. */
export interface CatalogueServiceTier extends CatalogueRates {
  /** Absent: those of the price. Empty: none. */
  readonly tiers?: readonly CatalogueTier[] | undefined
}

/** Rates at a time of day, UTC; those that it does not set are those of the price. */
export interface CatalogueDiscount extends CatalogueRates {
  /** `16:30` */
  readonly from: string
  /** `00:30`, not included; before `from`: of the next day. */
  readonly until: string
}

/** One price: rates, what changes them, and fees. `docs/prices.md` has the rules. */
export interface CatalogueTariff extends CatalogueRates {
  readonly input_per_million: number
  readonly output_per_million: number
  readonly tiers?: readonly CatalogueTier[] | undefined
  /** By the name in the answer: `flex`, `priority`, … */
  readonly service_tiers?: Readonly<Record<string, CatalogueServiceTier>> | undefined
  readonly discounts?: readonly CatalogueDiscount[] | undefined
  /** US dollars for each call of the provider; at most nine decimals. */
  readonly per_request_usd?: number | undefined
  /** US dollars for each image in the request; at most nine decimals. */
  readonly per_image_usd?: number | undefined
  /** US dollars per 1,000 uses of a tool that the provider runs: `web_search`, …; at most six decimals. */
  readonly server_tools?: Readonly<Record<string, number>> | undefined
  /** ISO date or time: the first day (UTC) or moment of this price. Absent: it applies already. */
  readonly starts?: string | undefined
  /** ISO date: the last day (UTC) of this price; or a time, not included. Absent: until its successor, or further notice. */
  readonly ends?: string | undefined
}

/** A price and those that are announced to follow it. */
export interface CataloguePricing extends CatalogueTariff {
  /** In order; each starts at its `starts`, else when the one before it ends. */
  readonly successors?: readonly CatalogueTariff[] | undefined
}

/** Where a model can be had. Lower priorities are tried first; absent: 0, and weight 1. */
export interface CatalogueDeployment {
  /** Name in the provider registry. */
  readonly provider: string
  /** The provider's own name of the model. */
  readonly model: string
  readonly priority?: number
  readonly weight?: number
  /** One of the provider's further protocols; absent: its usual one. */
  readonly protocol?: string | undefined
  /** Whether the provider may keep data to train on; absent: not known. */
  readonly data_collection?: 'allow' | 'deny' | undefined
  /** Zero data retention; absent: not known. */
  readonly zdr?: boolean | undefined
  /** Absent: not known, or that of the provider's address. */
  readonly region?: string | undefined
}

export interface CatalogueEntry {
  readonly id: string
  readonly name: string
  /** Who made the model, not who hosts it. */
  readonly owned_by: string
  /** Unix seconds of the release. */
  readonly created: number
  /** Absent: chat. */
  readonly kind?: ModelKind
  readonly capabilities: Readonly<Record<Capability, boolean>>
  /** Tokens; of embedding and rerank models, of each input. */
  readonly context_window: number
  /** Most inputs or documents of one request; absent: not known, or not limited. */
  readonly max_inputs?: number
  /** Tokens; null: not known, or not promised. */
  readonly max_output_tokens: number | null
  /** Null: no price with a source; the model may not be called until the operator sets one. */
  readonly pricing: CataloguePricing | null
  /** ISO date: the last day of a price that the provider has limited in time; absent: it stands until further notice. The same as `pricing.ends`. */
  readonly price_ends?: string
  /** Other IDs of the same release: undated for dated and the other way round. */
  readonly aliases: readonly string[]
  /** ISO date on which the provider shuts the model down; null: none announced. */
  readonly deprecation_date: string | null
  /** The ID of the model here that the provider recommends instead, by its page of deprecations; absent: none that is here. */
  readonly replacement?: string
  /** All of them; `file`: PDF. */
  readonly input_modalities: readonly string[]
  /** `structured_outputs`: answers that follow a JSON schema, at one of its providers at least. */
  readonly supported_parameters: readonly string[]
  readonly deployments: readonly CatalogueDeployment[]
  /** Where the price was read (the page or a stored copy of it) and on which day. */
  readonly source: { readonly url: string; readonly read: string }
  /**
   * Why a figure stands although a price collection says another: name of the figure (`max_output_tokens`,
   * `above_200k.input_per_million`, with `*` for the rest of a name) → reason, with its source and day. `sources`: why
   * fewer than two collections know the model. Read by `npm run catalogue:check`.
   */
  readonly settled?: Readonly<Record<string, string>>
  /** What the other fields cannot say: why this price, which part of the provider's tariff is missing. */
  readonly note?: string
}

/** What the entries of one maker share; each may override it. */
interface Shared extends Partial<CatalogueEntry> {
  /** Has each model under its ID, unless the entry names deployments. */
  readonly provider?: string
}

type Default<Given> =
  | 'aliases'
  | 'deprecation_date'
  | (Given extends { readonly provider: string } ? 'deployments' : never)
type OwnFields<Given> = Omit<CatalogueEntry, keyof Given | Default<Given>> & Partial<CatalogueEntry>

/** Completes entries by what they share. Without their own they have no aliases and no date of deprecation. */
export function catalogueEntries<Given extends Shared>(
  { provider = '', ...shared }: Given,
  models: readonly (OwnFields<Given> & Pick<CatalogueEntry, 'id'>)[],
): readonly CatalogueEntry[] {
  return models.map((own) => {
    const deployments = [{ provider, model: own.id }]
    // The type of `models` requires each field that is neither shared nor a default.
    return { aliases: [], deprecation_date: null, deployments, ...shared, ...own } as unknown as CatalogueEntry
  })
}

/** Dollars per million tokens. */
export interface Rates {
  readonly input: number
  readonly output: number
  readonly cached?: number
  readonly cacheWrite?: number
  readonly cacheWrite1h?: number
  readonly cacheWrite12h?: number
  readonly audio?: number
  readonly cachedAudio?: number
  readonly reasoning?: number
}

const FIELDS: Readonly<Record<keyof Rates, keyof CatalogueRates>> = {
  input: 'input_per_million',
  output: 'output_per_million',
  cached: 'cached_input_per_million',
  cacheWrite: 'cache_write_per_million',
  cacheWrite1h: 'cache_write_1h_per_million',
  cacheWrite12h: 'cache_write_12h_per_million',
  audio: 'audio_input_per_million',
  cachedAudio: 'cached_audio_input_per_million',
  reasoning: 'reasoning_output_per_million',
}

export function rates({ input, output, ...others }: Rates) {
  const named = Object.entries(others).map(([name, usd]) => [FIELDS[name as keyof Rates], usd])
  return { ...(Object.fromEntries(named) as CatalogueRates), input_per_million: input, output_per_million: output }
}

/** @param isoDate `2025-08-05`. @returns Unix seconds of its midnight UTC. */
export function released(isoDate: string): number {
  return Date.parse(isoDate) / 1000
}

/** A figure read in the models.dev collection, as it was on 2026-07-01. @param file `openai/models/o3`. */
export function modelsDev(file: string): CatalogueEntry['source'] {
  const commit = 'f3fc692299671838c7c65fd8126bf84d81a2e817'
  return { url: `https://github.com/anomalyco/models.dev/blob/${commit}/providers/${file}.toml`, read: '2026-11-20' }
}

/** A figure read in the genai-prices collection, as it was on 2026-08-21. @param file `openai`. */
export function genaiPrices(file: string): CatalogueEntry['source'] {
  const commit = '47df840a5ab10bbcffb8e5ac01b9899032245d1b'
  return {
    url: `https://github.com/pydantic/genai-prices/blob/${commit}/prices/providers/${file}.yml`,
    read: '2026-11-20',
  }
}

/** A figure read in a price collection, in the version that `scripts/price-sources/snapshot.json` holds. */
export function collection(name: 'litellm' | 'genai-prices' | 'pi-ai' | 'model-prices'): CatalogueEntry['source'] {
  const url = {
    litellm: 'https://pypi.org/project/litellm/1.110.2/',
    'genai-prices': 'https://pypi.org/project/genai-prices/0.2.3/',
    'pi-ai': 'https://www.npmjs.com/package/@earendil-works/pi-ai/v/1.6.0',
    'model-prices': 'https://pypi.org/project/model-prices/0.0.5/',
  }[name]
  return { url, read: '2026-11-30' }
}

export const ALL_CAPABILITIES = { streaming: true, function_calling: true, vision: true, json_mode: true } as const
export const TEXT_CAPABILITIES = { ...ALL_CAPABILITIES, vision: false } as const

export const TEXT = ['text'] as const
export const TEXT_AND_IMAGES = ['text', 'image'] as const
export const TEXT_IMAGES_AND_FILES = ['text', 'image', 'file'] as const

/** Request fields of models that answer at once. */
export const CHAT_PARAMETERS = [
  'max_tokens',
  'response_format',
  'seed',
  'stop',
  'structured_outputs',
  'temperature',
  'tool_choice',
  'tools',
  'top_p',
] as const
/** Request fields of models that think first and do not let themselves be sampled. */
export const REASONING_PARAMETERS = [
  'max_tokens',
  'reasoning_effort',
  'response_format',
  'structured_outputs',
  'tool_choice',
  'tools',
] as const
/** Request fields of embedding models. */
export const EMBEDDING_PARAMETERS = ['dimensions', 'encoding_format'] as const
/** Request fields of rerank models. */
export const RERANK_PARAMETERS = ['return_documents', 'top_n'] as const
/** Request fields of models that can do both. */
export const HYBRID_PARAMETERS = [...CHAT_PARAMETERS, 'reasoning_effort'] as const
/** The same where the only host answers in JSON, but by no schema. */
export const JSON_MODE_PARAMETERS = HYBRID_PARAMETERS.filter((name) => name !== 'structured_outputs')
