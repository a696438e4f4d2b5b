import { GatewayError } from './errors.ts'
import type { Price } from './price/tariff.ts'

export const CAPABILITIES = ['streaming', 'function_calling', 'vision', 'json_mode'] as const
export type Capability = (typeof CAPABILITIES)[number]
export type Capabilities = Readonly<Record<Capability, boolean>>

/** The kinds of models, by the requests that they accept. */
export const MODEL_KINDS = ['chat', 'embedding', 'rerank'] as const
export type ModelKind = (typeof MODEL_KINDS)[number]

/** The endpoint of each kind, for error messages. */
const ENDPOINTS: Readonly<Record<ModelKind, string>> = {
  chat: 'POST /v1/chat/completions',
  embedding: 'POST /v1/embeddings',
  rerank: 'POST /v1/rerank',
}

/** Error for a model that another endpoint calls. */
export function wrongKind({ id, kind }: Pick<Model, 'id' | 'kind'>): GatewayError {
  const article = kind === 'embedding' ? 'an' : 'a'
  const message = `The model '${id}' is ${article} ${kind} model. Call it with ${ENDPOINTS[kind]}.`
  return new GatewayError('invalid_value', message, { param: 'model' })
}

/** A provider of a model. Routing prefers the lowest priority, and spreads by weight within a priority. */
export interface Deployment {
  /** The name of a configured provider. */
  readonly provider: string
  /** The provider's own name of the model. */
  readonly model: string
  readonly priority: number
  readonly weight: number
  /** One of the provider's additional protocols. Absent selects its usual one. */
  readonly protocol?: string | undefined
  /** Whether the provider may keep data for training. Absent: as configured for the provider, else as published. */
  readonly dataCollection?: 'allow' | 'deny' | undefined
  /** Zero data retention; absent: as the provider's own setting, then as published. */
  readonly zdr?: boolean | undefined
  /** The region, in the operator's words. */
  readonly region?: string | undefined
  /** The catalogue's facts, which apply at the provider's built-in address. */
  readonly published?: PublishedFacts | undefined
}

/** Absent facts are unknown. */
export interface PublishedFacts {
  readonly dataCollection?: 'allow' | 'deny' | undefined
  readonly zdr?: boolean | undefined
  readonly region?: string | undefined
}

/** A price of a model and when it applies, in Unix milliseconds. */
export interface PricePeriod {
  readonly price: Price
  readonly version: string
  /** `-Infinity` if the price has no start. */
  readonly startsAt: number
  /** Exclusive; `Infinity` if the price has no end. */
  readonly endsAt: number
  /** See `Model.basePrice`. */
  readonly base?: BasePrice | undefined
}

/** What providers charge, below the price of a plan with a markup. */
export interface BasePrice {
  readonly price: Price
  readonly version: string
}

export const VIRTUAL_STRATEGIES = ['priority', 'weighted', 'cheapest', 'fastest', 'least_busy'] as const
export const VIRTUAL_STICKINESS = ['conversation', 'user', 'none'] as const

/** The models behind a virtual model. */
export interface VirtualModel {
  /** IDs of models. */
  readonly candidates: readonly { readonly model: string; readonly weight: number }[]
  readonly strategy: (typeof VIRTUAL_STRATEGIES)[number]
  /** The key under which the choice is remembered. */
  readonly sticky: (typeof VIRTUAL_STICKINESS)[number]
}

/** A model of the price list. */
export interface Model {
  readonly id: string
  readonly name: string
  /** Provider name shown to clients. */
  readonly ownedBy: string
  /** Unix seconds. */
  readonly created: number
  readonly kind: ModelKind
  readonly capabilities: Capabilities
  /** Whether it reads PDF files. Absent leaves it to the provider. */
  readonly pdf?: boolean | undefined
  /** Whether its answers can follow a JSON schema. Absent leaves it to the provider. */
  readonly jsonSchema?: boolean | undefined
  /** The window in tokens; for an embedding or rerank model, of each input. */
  readonly contextWindow: number
  /** The most inputs or documents of one request. Undefined if unknown. */
  readonly maxInputs?: number | undefined
  /** Undefined if unknown. */
  readonly maxOutputTokens: number | undefined
  /** The price at the time of the lookup. Undefined if unknown, so that the model cannot be called. */
  readonly price: Price | undefined
  /** Permanent name of exactly this price; undefined without a price. */
  readonly priceVersion: string | undefined
  /** What `price` is raised from by the markup of a plan; absent: it is what providers charge. */
  readonly basePrice?: BasePrice | undefined
  /** All prices, the earliest first. Absent for a single price without start and end. */
  readonly pricePeriods?: readonly PricePeriod[] | undefined
  /** The source and ISO date of the price. Absent if the operator set it or there is none. */
  readonly priceSource?: { readonly url: string; readonly read: string } | undefined
  /** Set on an alias: the ID it stands for. */
  readonly aliasOf: string | undefined
  /** ISO date. */
  readonly deprecationDate: string | undefined
  /** ID of the model to use instead. */
  readonly replacement?: string | undefined
  readonly inputModalities: readonly string[]
  readonly supportedParameters: readonly string[]
  /** The IDs of its fallback models, in order, unless the request has its own. */
  readonly fallbacks?: readonly string[] | undefined
  /** Set on a virtual model, which has no price: one of its candidates answers. */
  readonly virtual?: VirtualModel | undefined
  readonly deployments: readonly Deployment[]
}

type Dated = Pick<Model, 'deprecationDate'>

/** Returns whether the shutdown date is reached. @param now Unix milliseconds. */
export function isDeprecated({ deprecationDate: date }: Dated, now: number): boolean {
  return date !== undefined && Date.parse(date) <= now
}

/**
 * Returns headers of responses about or from a model: `Sunset` (RFC 8594, an HTTP date) as soon as the date is known,
 * `Deprecation` (RFC 9745, a structured date) from that date on. Undefined if no date is known.
 */
export function deprecationHeaders(model: Dated, now: number): Readonly<Record<string, string>> | undefined {
  if (model.deprecationDate === undefined) return undefined
  const at = Date.parse(model.deprecationDate)
  const sunset = new Date(at).toUTCString()
  return isDeprecated(model, now) ? { deprecation: `@${at / 1000}`, sunset } : { sunset }
}

/** Error for a model without a current price: 422 if it has no price at all, 503 if none applies now. */
export function notPriced({ id, pricePeriods }: Model): GatewayError {
  if (pricePeriods === undefined) {
    const message = `The model '${id}' has no price yet. The operator sets it in the configuration file.`
    return new GatewayError('model_not_priced', message, { param: 'model' })
  }
  const message = `No price of the model '${id}' applies now. The operator sets the next one in the configuration file.`
  return new GatewayError('model_not_priced', message, { param: 'model', as: 'provider_credentials' })
}

/** How long in advance the operator is alerted to a price that ends without a successor. */
const PRICE_ALERT_MS = 7 * 86_400_000

export interface PriceEnd {
  readonly model: string
  /** Unix milliseconds at which the price ends. */
  readonly endsAt: number
  readonly hasEnded: boolean
}

/** Returns models whose price has ended or ends within `PRICE_ALERT_MS` of `now` without a successor; omits aliases. */
export function endingPrices(models: readonly Model[], now: number): readonly PriceEnd[] {
  return models.flatMap(({ id, aliasOf, pricePeriods }) => {
    if (aliasOf !== undefined || pricePeriods === undefined) return []
    const endsAt = unpricedFrom(pricePeriods, now)
    return endsAt - now <= PRICE_ALERT_MS ? [{ model: id, endsAt, hasEnded: endsAt <= now }] : []
  })
}

/** Start of the first gap that has not ended; `Infinity`: there is none. */
function unpricedFrom(periods: readonly PricePeriod[], now: number): number {
  const [first] = periods
  if (first !== undefined && now < first.startsAt) return now
  for (const [at, { endsAt }] of periods.entries()) {
    const next = periods[at + 1]?.startsAt ?? Number.POSITIVE_INFINITY
    if (next > endsAt && next > now) return endsAt
  }
  return Number.POSITIVE_INFINITY
}

/** Returns `gpt-x ended on 2026-11-21` or `gpt-y ends on 2026-11-30`: the last day of the price, UTC. */
export function priceEndText({ model, endsAt, hasEnded }: PriceEnd): string {
  return `${model} ${hasEnded ? 'ended' : 'ends'} on ${new Date(endsAt - 1).toISOString().slice(0, 10)}`
}

/** The models that clients can use. */
export interface ModelBook {
  /** Returns a model by ID or alias, with its current price. */
  find(id: string): Model | undefined
  /** Returns the `count` nearest IDs, nearest first, for error messages. */
  nearest(id: string, count: number): readonly string[]
  /** All models, each followed by its aliases, with current prices. */
  readonly all: readonly Model[]
}
