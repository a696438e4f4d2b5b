/**
 * Body fields that change what a call costs, beyond the tokens it uses: one table says what becomes of each, for every
 * protocol and host. None of them reaches a provider unless the model's price covers it.
 *
 * A value that asks for nothing is dropped with a warning; one that the price covers is sent where the host knows the
 * field; any other is refused with 422 `unsupported_parameter`.
 */
import { GatewayError } from '../domain/errors.ts'
import type { Price } from '../domain/price.ts'

export interface CostField {
  /** What it makes a provider charge for; shown in the documentation. */
  readonly cost: string
  /** Values that ask for nothing that costs. */
  readonly isFree: (value: unknown) => boolean
  /** Whether the price says what the value costs. Undefined: no price does. */
  readonly isPriced?: (value: unknown, price: Price) => boolean
  /** What of the price covers it, in the words of the configuration; shown in the documentation. */
  readonly pricedBy?: string
  /** What to do instead; ends the error's message. */
  readonly instead?: string
}

const never = (): boolean => false
const isEmpty = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && Object.keys(value).length === 0
const isOne = (value: unknown): boolean => value === 1
const oneOf =
  (...values: readonly unknown[]) =>
  (value: unknown): boolean =>
    values.includes(value)

const ROUTING: CostField = { cost: 'another model or host than the one that is priced', isFree: isEmpty }
const MORE_ANSWERS: CostField = { cost: 'answers that are never seen', isFree: isOne, instead: 'Send `n`.' }
const OUTPUT_LIMIT: CostField = {
  cost: 'more output than is held for',
  isFree: never,
  instead: 'Send `max_tokens`.',
}
const WEB_SEARCH: CostField = {
  cost: 'a fee for each web search',
  isFree: never,
  isPriced: (_, { serverToolNanoUsd: tools }) => tools !== undefined && Object.hasOwn(tools, 'web_search'),
  pricedBy: '`server_tools.web_search`',
}
const TOOLS_AT_THE_PROVIDER: CostField = { cost: 'fees of tools that run at the provider', isFree: isEmpty }

const AS_WRITTEN: Readonly<Record<string, CostField>> = {
  service_tier: {
    cost: 'the rates of another service tier',
    isFree: oneOf('auto', 'default', 'standard', 'standard_only', 'on_demand'),
    isPriced: (value, { serviceTiers: tiers }) =>
      typeof value === 'string' && tiers !== undefined && Object.hasOwn(tiers, value),
    pricedBy: '`service_tiers` with that tier',
  },
  models: ROUTING,
  fallbacks: ROUTING,
  provider: ROUTING,
  route: ROUTING,
  transforms: { ...ROUTING, cost: 'a prompt that the host changes' },
  plugins: TOOLS_AT_THE_PROVIDER,
  mcp_servers: TOOLS_AT_THE_PROVIDER,
  container: TOOLS_AT_THE_PROVIDER,
  compound_custom: TOOLS_AT_THE_PROVIDER,
  guardrail_config: TOOLS_AT_THE_PROVIDER,
  web_search_options: WEB_SEARCH,
  enable_search: { ...WEB_SEARCH, isFree: oneOf(false) },
  search_options: WEB_SEARCH,
  search_parameters: { cost: 'a fee for each source', isFree: isSearchOff },
  best_of: MORE_ANSWERS,
  num_return_sequences: MORE_ANSWERS,
  candidate_count: MORE_ANSWERS,
  max_output_tokens: OUTPUT_LIMIT,
  max_new_tokens: OUTPUT_LIMIT,
  max_tokens_to_sample: OUTPUT_LIMIT,
  n_predict: OUTPUT_LIMIT,
  num_predict: OUTPUT_LIMIT,
  audio: {
    cost: 'the rate of audio output',
    isFree: isEmpty,
    isPriced: (_, price) => price.audioOutputMicroUsd !== undefined,
    pricedBy: '`audio_output_per_million`',
  },
  modalities: {
    cost: 'the rates of audio and image output',
    isFree: (value) => isListOf(value, () => false),
    isPriced: (value, { audioOutputMicroUsd: audio, imageOutputMicroUsd: image }) =>
      isListOf(value, (modality) => (modality === 'audio' ? audio : modality === 'image' && image) !== undefined),
    pricedBy: '`audio_output_per_million`, `image_output_per_million`',
  },
  prompt_cache_options: {
    cost: 'cache writes with a longer lifetime',
    isFree: isEmpty,
    isPriced: (value, price) => isCacheLifetimePriced(value, price),
    pricedBy: '`cache_write_1h_per_million`, `cache_write_12h_per_million` for these lifetimes',
  },
  cache_control: {
    cost: 'cache writes with a longer lifetime',
    isFree: never,
    isPriced: (value, price) => isCacheLifetimePriced(value, price),
    pricedBy: '`cache_write_1h_per_million` for that lifetime',
  },
  speed: { cost: 'a multiple of all rates', isFree: oneOf('standard') },
  inference_geo: { cost: 'a multiple of all rates', isFree: oneOf('global', 'not_available') },
  performance_config: { cost: 'the rates of faster inference', isFree: isEmpty },
}

/** As they are written in the documentation. */
export const COST_FIELDS = AS_WRITTEN

/** Hosts write `serviceTier` and `service-tier` for the same. */
const BY_PLAIN_NAME: ReadonlyMap<string, CostField> = new Map(
  Object.entries(AS_WRITTEN).map(([name, field]) => [plainName(name), field]),
)
/** Of the table, the names that mean nothing else wherever they stand. */
const UNMISTAKABLE: ReadonlySet<string> = new Set(
  ['service_tier', 'web_search_options', 'search_parameters', 'enable_search', 'best_of', 'mcp_servers'].map(plainName),
)
/** What the gateway decides, holds credit for, or checks: none of it may come in through another object. */
const OURS: ReadonlySet<string> = new Set(
  ['model', 'messages', 'n', 'max_tokens', 'max_completion_tokens', 'tools', 'functions', 'stream_options'].map(
    plainName,
  ),
)
/** Objects of body fields within the body, as clients and gateways write them. */
const CONTAINERS: ReadonlySet<string> = new Set(
  [
    'extra',
    'extra_body',
    'extra_params',
    'extra_headers',
    'extra_query',
    'provider_options',
    'provider_params',
    'vendor_params',
    'litellm_params',
    'additional_model_request_fields',
    'model_kwargs',
    'generation_config',
    'options',
    'parameters',
    'config',
    'body',
  ].map(plainName),
)
/** Schemas, grammars and values of templates: names in them are not body fields. */
const DATA: ReadonlySet<string> = new Set(
  [
    'guided_json',
    'structured_outputs',
    'json_schema',
    'schema',
    'response_format',
    'chat_template_kwargs',
    'metadata',
  ].map(plainName),
)
/** Deeper objects are refused: nobody nests body fields so far. */
const MAX_DEPTH = 8

function plainName(name: string): string {
  return name.length > 64 ? name : name.replaceAll(/[_-]/g, '').toLowerCase()
}

/** @returns undefined for fields that change no price. */
export function costFieldOf(name: string): CostField | undefined {
  return BY_PLAIN_NAME.get(plainName(name))
}

/**
 * What becomes of a field of the table: `send` it where the host knows it, or `drop` it with a warning.
 * @throws GatewayError `unsupported_parameter` for a value that costs what the price does not say.
 */
export function judgeCost(param: string, value: unknown, field: CostField, price: Price | undefined): 'send' | 'drop' {
  if (field.isFree(value)) return 'drop'
  if (price !== undefined && field.isPriced?.(value, price) === true) return 'send'
  throw unpriced(param, field)
}

/** @throws GatewayError `unsupported_parameter` where the host does not know a field that the price covers. */
export function refuseUnknownCost(param: string): never {
  const message = `The provider of this model does not support '${param}'.`
  throw new GatewayError('unsupported_parameter', message, { param })
}

/**
 * Refuses body fields of the table, and those that the gateway decides itself, inside an object that is no field of ours
 * (`extra_body`, vendor objects). Linear in the object's size.
 * @throws GatewayError `unsupported_parameter` with the path.
 */
export function refuseNestedCost(name: string, value: unknown): void {
  if (DATA.has(plainName(name))) return
  if (Array.isArray(value)) refuseServerTools(name, value)
  else if (isObject(value)) refuseMembers(name, value, { isContainer: CONTAINERS.has(plainName(name)), depth: 0 })
}

interface Place {
  /** Everything in it is a body field; elsewhere only names that mean nothing else are taken for one. */
  readonly isContainer: boolean
  readonly depth: number
}

function refuseMembers(path: string, object: object, { isContainer, depth }: Place): void {
  if (depth >= MAX_DEPTH)
    throw new GatewayError('unsupported_parameter', `'${path}' is nested too deeply.`, { param: path })
  for (const [name, value] of Object.entries(object)) {
    const plain = plainName(name)
    const param = `${path}.${name}`
    const field = BY_PLAIN_NAME.get(plain)
    if (field !== undefined && (isContainer || UNMISTAKABLE.has(plain)) && value !== null && !field.isFree(value)) {
      throw unpriced(param, field)
    }
    if (isContainer && OURS.has(plain)) {
      throw new GatewayError('unsupported_parameter', `'${param}' is not supported; send it at the top level.`, {
        param,
      })
    }
    if (DATA.has(plain)) continue
    if (Array.isArray(value)) refuseServerTools(param, value)
    else if (isObject(value)) {
      refuseMembers(param, value, { isContainer: isContainer || CONTAINERS.has(plain), depth: depth + 1 })
    }
  }
}

/** A list of tools that run at the provider, wherever it is. */
function refuseServerTools(path: string, list: readonly unknown[]): void {
  if (!/tools?$/i.test(path)) return
  const position = list.findIndex((tool) => isObject(tool) && 'type' in tool && tool.type !== 'function')
  if (position >= 0) throw unpriced(`${path}[${position}]`, TOOLS_AT_THE_PROVIDER)
}

function unpriced(param: string, { cost, instead }: CostField): GatewayError {
  const hint = instead === undefined ? '' : ` ${instead}`
  const message = `'${param}' is not supported: it would cost ${cost}, for which this model has no price.${hint}`
  return new GatewayError('unsupported_parameter', message, { param })
}

function isSearchOff(value: unknown): boolean {
  return isObject(value) && 'mode' in value && value.mode === 'off'
}

/** @param isPriced Of the members beside `text`. */
function isListOf(value: unknown, isPriced: (member: unknown) => boolean): boolean {
  return Array.isArray(value) && value.every((member) => member === 'text' || isPriced(member))
}

/** Whether the price knows what cache writes with this lifetime cost. Without a lifetime they are the ordinary ones. */
export function isCacheLifetimePriced(wish: unknown, price: Price | undefined): boolean {
  const ttl = isObject(wish) && 'ttl' in wish ? wish.ttl : undefined
  if (ttl === '1h') return price?.cacheWrite1hMicroUsd !== undefined
  if (ttl === '12h' || ttl === '24h') return price?.cacheWrite12hMicroUsd !== undefined
  return ttl === undefined || ttl === null || ttl === '5m' || ttl === '30m'
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
