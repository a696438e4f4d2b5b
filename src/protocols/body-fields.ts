/**
 * Which body fields beyond the gateway's own reach a provider: an allow-list for each host that is known by name, every
 * field on hosts of the operator's own, and in both cases nothing that costs what the model's price does not cover.
 *
 * One table lists the fields that cost, for every protocol and host. A value without cost is dropped with a warning; one
 * that the price covers is sent where the host knows the field; any other is rejected with 422 `unsupported_parameter`.
 */
import type { ChatRequest, TokenField, Usage } from '../domain/chat.ts'
import type { GatewayError } from '../domain/errors.ts'
import type { Price } from '../domain/price/tariff.ts'
import { isRecord, type Json } from '../lib/json.ts'
import { unsupportedParameter } from './parameters.ts'

/** The documented extension fields of one host. */
export interface ForwardedFields {
  readonly fields: readonly string[]
  /** The page that documents them, and the day it was read; by default the provider's own. */
  readonly source?: { readonly url: string; readonly read: string }
}

export interface Forwarding {
  /** The fields that the host or its codec knows. */
  readonly known: ReadonlySet<string>
  readonly target: { readonly price?: Price | undefined; readonly forwardUnknown?: boolean | undefined }
  /** The names of parameters that were dropped or adjusted. */
  readonly warnings: Set<string>
}

export type Fields = Readonly<Record<string, unknown>>

const NO_FIELDS: Fields = Object.freeze(Object.create(null))

/**
 * Returns the extension fields of a request that are to be sent; the others are named in `warnings`. Null means absent.
 * @throws GatewayError `unsupported_parameter` for fields that cost and have no price.
 */
export function forwardedFields(
  { extra, isTranslated = false }: Pick<ChatRequest, 'extra' | 'isTranslated'>,
  { known, target, warnings }: Forwarding,
): Fields {
  let sent: Record<string, unknown> | undefined
  for (const name in extra) {
    const value = extra[name]
    if (value === null || value === undefined) continue
    const cost = costFieldOf(name)
    if (cost !== undefined) {
      if (judgeCost(name, value, cost, target.price) === 'drop') {
        warnings.add(name)
        continue
      }
      if (!known.has(name) && (target.forwardUnknown !== true || cost.ofKnownHosts === true))
        throw unsupportedParameter(name)
    } else if (!known.has(name)) {
      refuseNestedCost(name, value)
      if (target.forwardUnknown !== true || isTranslated) {
        warnings.add(name)
        continue
      }
    }
    sent ??= Object.create(null) as Record<string, unknown>
    sent[name] = value
  }
  return sent ?? NO_FIELDS
}

/** Adds unknown fields to the body. Where both have a field, the body's wins and the other is named in `warnings`. */
export function withOthers(body: object, others: Fields, warnings: Set<string>): object {
  for (const name in others) if (name in body) warnings.add(name)
  return { ...others, ...body }
}

/**
 * Returns a field of the gateway's own that costs; undefined for a value without cost, which is named in `warnings`.
 * @throws GatewayError `unsupported_parameter` for a value whose cost the price does not cover.
 */
export function pricedField<Value>(
  name: 'service_tier' | 'modalities',
  value: Value | undefined,
  { target, warnings }: Pick<Forwarding, 'target' | 'warnings'>,
): Value | undefined {
  const cost = value === undefined ? undefined : costFieldOf(name)
  if (cost === undefined) return value
  if (judgeCost(name, value, cost, target.price) === 'send') return value
  warnings.add(name)
  return undefined
}

/** The name of a lifetime in `x-turnpike-warnings`. */
export const CACHE_LIFETIME_PARAM = 'messages[].content[].cache_control.ttl'
const BREAKPOINT_FIELDS = ['prompt_cache_breakpoint', 'cache_control'] as const
/** A field of a content part that asks to cache the prompt up to it: OpenAI's, or Anthropic's. */
export type CacheMark = (typeof BREAKPOINT_FIELDS)[number]

/** The fields of content parts that ask the host for something besides their content. */
const MARKS = [...BREAKPOINT_FIELDS, 'citable'] as const

export function hasMark(part: unknown): part is Json {
  return isRecord(part) && MARKS.some((name) => part[name] !== undefined)
}

/**
 * The part without the marks that its host does not know, which are named in `warnings`.
 * @param known Marks that the host knows.
 */
export function withKnownMarks(part: Json, known: readonly CacheMark[], warnings: Set<string>): Json {
  let kept = part
  for (const name of MARKS) {
    if ((name !== 'citable' && known.includes(name)) || part[name] === undefined) continue
    if (part[name] !== null) warnings.add(`messages[].content[].${name === 'citable' ? 'citations' : name}`)
    const { [name]: _, ...rest } = kept
    kept = rest
  }
  return kept
}

/** The request of a content part to cache the prompt up to it: `prompt_cache_breakpoint` or `cache_control`. */
export function cacheBreakpoint(part: object): Json | undefined {
  const fields: Readonly<Record<string, unknown>> = { ...part }
  const control = BREAKPOINT_FIELDS.map((name) => fields[name]).find((value) => value !== undefined && value !== null)
  return isRecord(control) ? control : undefined
}

/** Returns whether the price covers caching this part for the lifetime that it requests. */
export function isCachingPriced(part: unknown, price: Price | undefined): boolean {
  if (!isRecord(part)) return true
  return BREAKPOINT_FIELDS.every((name) => isCacheLifetimePriced(part[name], price))
}

/** Returns the same part, to be cached for the provider's ordinary lifetime. */
export function withoutLifetime(part: Json): Json {
  const kept: Record<string, unknown> = { ...part }
  for (const name of BREAKPOINT_FIELDS) {
    const control = kept[name]
    if (!isRecord(control)) continue
    const { ttl: _, ...rest } = control
    kept[name] = rest
  }
  return kept
}

export interface CostField {
  /** The cost that the field may cause at a provider, for the documentation. */
  readonly cost: string
  /** Returns whether a value causes no cost. */
  readonly isFree: (value: unknown) => boolean
  /** Returns whether the price covers the value. Absent if no price does. */
  readonly isPriced?: (value: unknown, price: Price) => boolean
  /** The setting of the price that covers it, as in the configuration; shown in the documentation. */
  readonly pricedBy?: string
  /** Sent only to hosts that are known to support it, since what others report of it is unknown. */
  readonly ofKnownHosts?: boolean
  /** The alternative, which ends the error's message. */
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
  ofKnownHosts: true,
}
const TOOLS_AT_THE_PROVIDER: CostField = { cost: 'fees of tools that run at the provider', isFree: isEmpty }

/** The fields by their names in the documentation. */
export const COST_FIELDS: Readonly<Record<string, CostField>> = {
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
  n_cmpl: MORE_ANSWERS,
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
    ofKnownHosts: true,
  },
  cache_control: {
    cost: 'cache writes with a longer lifetime',
    isFree: never,
    isPriced: (value, price) => isCacheLifetimePriced(value, price),
    pricedBy: '`cache_write_1h_per_million` for that lifetime',
    ofKnownHosts: true,
  },
  speed: { cost: 'a multiple of all rates', isFree: oneOf('standard') },
  inference_geo: { cost: 'a multiple of all rates', isFree: oneOf('global', 'not_available') },
  performance_config: { cost: 'the rates of faster inference', isFree: isEmpty },
}

/** Hosts write `serviceTier` and `service-tier` for the same. */
const BY_PLAIN_NAME: ReadonlyMap<string, CostField> = new Map(
  Object.entries(COST_FIELDS).map(([name, field]) => [plainName(name), field]),
)
/** The names of the table that have no other meaning, wherever they occur. */
const UNMISTAKABLE: ReadonlySet<string> = new Set(
  ['service_tier', 'web_search_options', 'search_parameters', 'enable_search', 'best_of', 'mcp_servers'].map(plainName),
)
/** The fields that the gateway decides, holds credit for, or validates. They are rejected inside another object. */
const GATEWAY_FIELDS: ReadonlySet<string> = new Set(
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
const DATA_FIELDS: ReadonlySet<string> = new Set(
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
/** The depth of objects; deeper ones are rejected. */
const MAX_DEPTH = 8

function plainName(name: string): string {
  return name.length > 64 ? name : name.replaceAll(/[_-]/g, '').toLowerCase()
}

/** @returns undefined for fields that change no price. */
function costFieldOf(name: string): CostField | undefined {
  return BY_PLAIN_NAME.get(plainName(name))
}

/**
 * Decides whether to `send` a field of the table, where the host knows it, or to `drop` it with a warning.
 * @throws GatewayError `unsupported_parameter` for a value whose cost the price does not cover.
 */
function judgeCost(param: string, value: unknown, field: CostField, price: Price | undefined): 'send' | 'drop' {
  if (field.isFree(value)) return 'drop'
  if (price !== undefined && field.isPriced?.(value, price) === true) return 'send'
  throw unpriced(param, field)
}

/**
 * Rejects body fields of the table, and those that the gateway decides, inside an unknown object (`extra_body`, vendor
 * objects). Linear in the object's size.
 * @throws GatewayError `unsupported_parameter` with the path.
 */
function refuseNestedCost(name: string, value: unknown): void {
  if (DATA_FIELDS.has(plainName(name))) return
  if (Array.isArray(value)) refuseServerTools({ path: name, name }, value)
  else if (isRecord(value)) refuseMembers(name, value, { isContainer: CONTAINERS.has(plainName(name)), depth: 0 })
}

interface MemberScope {
  /** Every member is a body field; elsewhere only unmistakable names are taken for one. */
  readonly isContainer: boolean
  readonly depth: number
}

function refuseMembers(path: string, object: object, { isContainer, depth }: MemberScope): void {
  if (depth >= MAX_DEPTH) throw unsupportedParameter(path, `'${path}' is nested too deeply.`)
  for (const [name, value] of Object.entries(object)) {
    const plain = plainName(name)
    const param = `${path}.${name}`
    const field = BY_PLAIN_NAME.get(plain)
    if (field !== undefined && (isContainer || UNMISTAKABLE.has(plain)) && value !== null && !field.isFree(value)) {
      throw unpriced(param, field)
    }
    if (isContainer && GATEWAY_FIELDS.has(plain)) {
      throw unsupportedParameter(param, `'${param}' is not supported; send it at the top level.`)
    }
    if (DATA_FIELDS.has(plain)) continue
    if (Array.isArray(value)) refuseServerTools({ path: param, name }, value)
    else if (isRecord(value)) {
      refuseMembers(param, value, { isContainer: isContainer || CONTAINERS.has(plain), depth: depth + 1 })
    }
  }
}

interface Member {
  /** The path, which ends in `name`. */
  readonly path: string
  readonly name: string
}

/** Rejects a list of tools that run at the provider, at any path. */
function refuseServerTools({ path, name }: Member, list: readonly unknown[]): void {
  if (!/tools?$/i.test(name.slice(-'tools'.length))) return
  const position = list.findIndex((tool) => isRecord(tool) && 'type' in tool && tool['type'] !== 'function')
  if (position >= 0) throw unpriced(`${path}[${position}]`, TOOLS_AT_THE_PROVIDER)
}

function unpriced(param: string, { cost, instead }: CostField): GatewayError {
  const hint = instead === undefined ? '' : ` ${instead}`
  const message = `'${param}' is not supported: it would cost ${cost}, for which this model has no price.${hint}`
  return unsupportedParameter(param, message)
}

function isSearchOff(value: unknown): boolean {
  return isRecord(value) && value['mode'] === 'off'
}

/** @param isPriced Of the members beside `text`. */
function isListOf(value: unknown, isPriced: (member: unknown) => boolean): boolean {
  return Array.isArray(value) && value.every((member) => member === 'text' || isPriced(member))
}

/** Returns whether the price covers cache writes with this lifetime. Without a lifetime they are ordinary ones. */
function isCacheLifetimePriced(control: unknown, price: Price | undefined): boolean {
  const ttl = isRecord(control) ? control['ttl'] : undefined
  if (ttl === '1h') return price?.cacheWrite1hMicroUsd !== undefined
  if (ttl === '12h' || ttl === '24h') return price?.cacheWrite12hMicroUsd !== undefined
  return ttl === undefined || ttl === null || ttl === '5m' || ttl === '30m'
}

// Parts of usage that every wire format has under some name: token counts, uses of tools, service tiers.

export type MutableUsage = { -readonly [Name in keyof Usage]: Usage[Name] }

/** Reads a count of tokens or uses; undefined if it is absent, negative or not a whole number. */
export function count(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined
}

/** Omits an absent field, which is not zero. */
export function put(usage: MutableUsage, field: TokenField, value: number | undefined): void {
  if (value !== undefined) usage[field] = value
}

/** Omits zero as well: for token classes that most answers lack. */
export function putSome(usage: MutableUsage, field: TokenField, value: number | undefined): void {
  if (value !== undefined && value > 0) usage[field] = value
}

/**
 * The names of tools, more than any provider has. Their number is limited because usage is copied with every report.
 */
const MAX_TOOL_NAMES = 64

/** Returns the first 64 uses by the wire's names; undefined for other values than objects. */
export function firstToolUses(wire: unknown): Json | undefined {
  if (!isRecord(wire)) return undefined
  const names = Object.keys(wire)
  if (names.length <= MAX_TOOL_NAMES) return wire
  return Object.fromEntries(names.slice(0, MAX_TOOL_NAMES).map((name) => [name, wire[name]]))
}

/** @param wire Uses by the wire's names. @param nameOf The name in prices of each; undefined: it is not counted. */
export function putToolUses(usage: MutableUsage, wire: unknown, nameOf: (name: string) => string | undefined): void {
  for (const [name, value] of Object.entries(firstToolUses(wire) ?? {})) {
    const uses = count(value)
    const tool = nameOf(name)
    if (uses === undefined || uses === 0 || tool === undefined) continue
    usage.serverToolUses = { ...usage.serverToolUses, [tool]: (usage.serverToolUses?.[tool] ?? 0) + uses }
  }
}

/** Providers' names of the service at the standard price. */
const STANDARD_TIERS: ReadonlySet<string> = new Set(['', 'default', 'standard', 'on_demand', 'auto', 'unspecified'])
const LONGEST_TIER = 64

/** Returns the tier in lower case; undefined for the standard service and invalid values. */
export function serviceTierOf(value: unknown): string | undefined {
  if (typeof value !== 'string' || value.length > LONGEST_TIER) return undefined
  const name = value.toLowerCase()
  return STANDARD_TIERS.has(name) ? undefined : name
}
