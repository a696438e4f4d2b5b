/** Request fields that select the models that may answer, in OpenRouter's form. They are not sent to providers. */
import {
  type MaxPrice,
  type ProviderPreferences,
  type RequestedRouting,
  type RequestedSort,
  ROUTING_HEADER,
  SORT_ORDERS,
} from '../domain/chat.ts'
import { GatewayError } from '../domain/errors.ts'
import { isRecord, type Json, parseJson } from '../lib/json.ts'
import {
  arrayAt,
  booleanAt,
  isAbsent,
  objectAt,
  oneOf,
  refuse,
  refuseType,
  stringAt,
} from './openai-chat/client/checks.ts'

/** Providers that a request names in one list. */
const MAX_NAMED_PROVIDERS = 100
/** The models of one request. */
const MAX_REQUESTED_MODELS = 10

/** The names of the fields, for APIs that list the fields they know. */
export const ROUTING_FIELDS = ['models', 'provider', 'route'] as const

/** The fields of a body that is translated for the chat-completions parser. */
export function routingFields(body: Json): Json {
  const found: Record<string, unknown> = {}
  for (const name of ROUTING_FIELDS) if (!isAbsent(body[name])) found[name] = body[name]
  return found
}

/** Returns a body without them, for hosts that receive it unchanged. */
export function withoutRouting(body: Json): Json {
  if (ROUTING_FIELDS.every((name) => !(name in body))) return body
  const rest: Record<string, unknown> = { ...body }
  for (const name of ROUTING_FIELDS) delete rest[name]
  return rest
}

/** An empty list means none. @throws GatewayError */
export function readModels(value: unknown, name: string): readonly string[] {
  const ids = arrayAt(value, name)
  if (ids.length > MAX_REQUESTED_MODELS) {
    refuse('out_of_range', name, `\`${name}\` must have at most ${MAX_REQUESTED_MODELS} models, not ${ids.length}.`)
  }
  return ids.map((id, at) => {
    const path = `${name}[${at}]`
    const text = stringAt(id, path)
    return text === '' ? refuse('invalid_value', path, `\`${path}\` must not be empty.`) : text
  })
}

/** The first model of a request that names a list only. */
export function firstOf(models: unknown): unknown {
  if (!Array.isArray(models)) return undefined
  const [first] = models
  return first ?? refuse('invalid_value', 'models', '`models` must not be empty where there is no `model`.')
}

/** Accepts only `fallback`, the only valid value. */
export function checkRoute(value: unknown, name: string): void {
  oneOf(value, name, ['fallback'])
}

/** Includes `models`; undefined if there are none. */
export function withModels(
  routing: RequestedRouting | undefined,
  models: readonly string[],
): RequestedRouting | undefined {
  return models.length === 0 ? routing : { ...routing, models }
}

export interface ReadProvider {
  readonly preferences: ProviderPreferences
  /** Paths of members without effect here. */
  readonly ignoredParameters: readonly string[]
}

type Read = (value: unknown, name: string) => Partial<ProviderPreferences>

const MEMBERS: Readonly<Record<string, Read>> = {
  order: (value, name) => ({ order: namesAt(value, name) }),
  only: readOnly,
  ignore: (value, name) => ({ ignore: namesAt(value, name) }),
  sort: (value, name) => ({ sort: sortAt(value, name) }),
  max_price: (value, name) => ({ maxPrice: maxPriceAt(value, name) }),
  allow_fallbacks: (value, name) => ({ allowFallbacks: booleanAt(value, name) }),
  data_collection: (value, name) => ({ dataCollection: oneOf(value, name, ['allow', 'deny']) }),
  zdr: (value, name) => ({ zdr: booleanAt(value, name) }),
  regions: (value, name) => ({ regions: namesAt(value, name) }),
  require_parameters: (value, name) => ({ requireParameters: booleanAt(value, name) }),
}

function readOnly(value: unknown, name: string): Pick<ProviderPreferences, 'only'> {
  const only = namesAt(value, name)
  return { only }
}

/** @throws GatewayError for a member that cannot be read. */
export function readProvider(value: unknown, name: string): ReadProvider {
  const object = objectAt(value, name)
  let preferences: ProviderPreferences = {}
  const ignoredParameters: string[] = []
  for (const [member, wish] of Object.entries(object)) {
    if (isAbsent(wish)) continue
    const read = Object.hasOwn(MEMBERS, member) ? MEMBERS[member] : undefined
    if (read === undefined) ignoredParameters.push(`${name}.${member}`)
    else preferences = { ...preferences, ...read(wish, `${name}.${member}`) }
  }
  return { preferences, ignoredParameters }
}

function namesAt(value: unknown, name: string): readonly string[] {
  const names = arrayAt(value, name)
  if (names.length > MAX_NAMED_PROVIDERS) {
    refuse('out_of_range', name, `\`${name}\` must have at most ${MAX_NAMED_PROVIDERS} names, not ${names.length}.`)
  }
  return names.map((each, at) => stringAt(each, `${name}[${at}]`))
}

function sortAt(value: unknown, name: string): RequestedSort {
  if (!isRecord(value)) return { by: oneOf(value, name, SORT_ORDERS), acrossModels: false }
  const { by, partition } = value
  const isWhole = !isAbsent(partition) && oneOf(partition, `${name}.partition`, ['model', 'none']) === 'none'
  return { by: oneOf(by, `${name}.by`, SORT_ORDERS), acrossModels: isWhole }
}

/** USD per million tokens, or per request and image; numbers, or text with a number. */
function maxPriceAt(value: unknown, name: string): MaxPrice {
  const limits = objectAt(value, name)
  const found: { -readonly [Name in keyof MaxPrice]: number } = {}
  for (const [member, limit] of Object.entries(limits)) {
    if (isAbsent(limit)) continue
    const path = `${name}.${member}`
    const usd = usdAt(limit, path)
    if (member === 'input' || member === 'prompt') found.inputMicroUsd = usd * 1e6
    else if (member === 'output' || member === 'completion') found.outputMicroUsd = usd * 1e6
    else if (member === 'request') found.perRequestNanoUsd = usd * 1e9
    else if (member === 'image') found.perImageNanoUsd = usd * 1e9
    else
      refuse(
        'unknown_field',
        path,
        `\`${path}\` is unknown; allowed: input, output, prompt, completion, request, image.`,
      )
  }
  return found
}

function usdAt(value: unknown, path: string): number {
  const usd = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
  if (typeof usd !== 'number' || Number.isNaN(usd)) refuseType(value, path, 'a number')
  return usd < 0 ? refuse('out_of_range', path, `\`${path}\` must be at least 0, not ${usd}.`) : usd
}

/** @throws GatewayError `invalid_header` if it is not a JSON object; the errors of the fields for its members. */
export function readRoutingHeader(text: string): RequestedRouting & { readonly ignoredParameters: readonly string[] } {
  const value = parseJson(text)
  if (!isRecord(value)) {
    throw new GatewayError('invalid_header', `\`${ROUTING_HEADER}\` must be a JSON object.`, { param: ROUTING_HEADER })
  }
  const { models, provider, route, ...others } = value
  if (!isAbsent(route)) checkRoute(route, 'route')
  const read = isAbsent(provider) ? undefined : readProvider(provider, 'provider')
  const named = isAbsent(models) ? [] : readModels(models, 'models')
  return {
    ...(named.length > 0 && { models: named }),
    ...(read !== undefined && { provider: read.preferences }),
    ignoredParameters: [
      ...Object.keys(others).map((name) => `${ROUTING_HEADER}.${name}`),
      ...(read?.ignoredParameters ?? []),
    ],
  }
}
