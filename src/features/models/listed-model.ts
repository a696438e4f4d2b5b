/**
 * Models on the wire, with their prices (under the names of the configuration file, as JSON numbers) and their
 * providers; and models as Codex reads them.
 */
import { type Static, type TProperties, Type } from 'typebox'
import {
  type Deployment,
  isDeprecated,
  MODEL_KINDS,
  type Model,
  type ModelBook,
  type ModelKind,
  type PricePeriod,
  VIRTUAL_STICKINESS,
  VIRTUAL_STRATEGIES,
  type VirtualModel,
} from '../../domain/model.ts'
import { usdNumber } from '../../domain/money.ts'
import type { DiscountRates, Price, PriceTier, RateOverrides, TokenRates } from '../../domain/price/tariff.ts'
import type { ProviderStatus } from '../../domain/provider-status.ts'
import { isoTime } from '../../lib/time.ts'
import { mapValues, RATE_NAMES } from './price.ts'

const orNull = <Schema extends Parameters<typeof Type.Optional>[0]>(schema: Schema) => Type.Union([schema, Type.Null()])

const rate = (description: string) => Type.Optional(Type.Number({ description: `USD per million ${description}` }))

const OPTIONAL_RATES = {
  cached_input_per_million: rate('prompt tokens read from the cache. Absent: as input.'),
  cache_write_per_million: rate('prompt tokens written to the cache. Absent: as input.'),
  cache_write_1h_per_million: rate('prompt tokens written to the cache for an hour. Absent: as cache_write.'),
  cache_write_12h_per_million: rate('prompt tokens written to the cache for 12 hours. Absent: as cache_write_1h.'),
  audio_input_per_million: rate('prompt tokens of audio. Absent: as input.'),
  cached_audio_input_per_million: rate('prompt tokens of audio read from the cache. Absent: as cached_input.'),
  audio_output_per_million: rate('completion tokens of audio. Absent: as output.'),
  image_output_per_million: rate('completion tokens of images. Absent: as output.'),
  reasoning_output_per_million: rate('completion tokens of reasoning. Absent: as output.'),
}
const INPUT = Type.Number({ description: 'USD per million prompt tokens.' })
const OUTPUT = Type.Number({ description: 'USD per million completion tokens.' })
const RATES = { input_per_million: Type.Optional(INPUT), output_per_million: Type.Optional(OUTPUT), ...OPTIONAL_RATES }

const byName = <Properties extends TProperties>(properties: Properties, description: string) =>
  Type.Optional(Type.Record(Type.String(), Type.Object(properties), { description }))

const TIERS = Type.Array(
  Type.Object({
    above_prompt_tokens: Type.Integer({
      description: 'Threshold that the prompt must exceed, including cached tokens.',
    }),
    applies_to: Type.Enum(['request', 'excess'], {
      description:
        'request: the tier prices the whole request. excess: the prompt above the threshold, and the output.',
    }),
    ...RATES,
  }),
  { description: 'Rates of long prompts: the highest tier whose threshold the prompt exceeds applies.' },
)

const TARIFF = {
  input_per_million: INPUT,
  output_per_million: OUTPUT,
  ...OPTIONAL_RATES,
  tiers: Type.Optional(TIERS),
  service_tiers: byName(
    { ...RATES, tiers: Type.Optional(TIERS) },
    'Rates by the service tier of the answer. Absent rates are those of the price.',
  ),
  discounts: Type.Optional(
    Type.Array(
      Type.Object({
        from: Type.String({ description: 'Time of day, UTC.' }),
        until: Type.String({
          description: 'Time of day, UTC, exclusive. If it is before `from`, it is on the next day.',
        }),
        ...RATES,
      }),
      { description: 'Rates by the time of day at which a request is admitted.' },
    ),
  ),
  per_request_usd: Type.Optional(Type.Number({ description: 'USD per call of a provider.' })),
  per_image_usd: Type.Optional(Type.Number({ description: 'USD per image in the request.' })),
  server_tools: Type.Optional(
    Type.Record(Type.String(), Type.Number(), { description: 'USD per 1,000 uses of a tool that the provider runs.' }),
  ),
  starts: Type.Optional(Type.String({ description: 'Start of the price, ISO 8601 UTC.' })),
  ends: Type.Optional(Type.String({ description: 'End of the price, ISO 8601 UTC, exclusive.' })),
}

const PricingView = Type.Object(
  {
    ...TARIFF,
    successors: Type.Optional(
      Type.Array(Type.Object(TARIFF), { description: 'Announced successors of the price, in order.' }),
    ),
  },
  {
    description:
      'Null: not known, or none applies now, and then the model cannot be called. The rules are those of docs/prices.md.',
  },
)

const Range = (description: string) =>
  Type.Object({ min: Type.Number(), max: Type.Number() }, { description: `USD per million ${description}` })

const VirtualView = Type.Object(
  {
    strategy: Type.Enum([...VIRTUAL_STRATEGIES]),
    sticky: Type.Enum([...VIRTUAL_STICKINESS]),
    candidates: Type.Array(Type.Object({ model: Type.String(), weight: Type.Number() })),
    price_range: Type.Union(
      [
        Type.Object({
          input_per_million: Range('prompt tokens.'),
          output_per_million: Range('completion tokens.'),
        }),
        Type.Null(),
      ],
      { description: 'Prices of the candidates now. Null: none has one.' },
    ),
  },
  { description: 'Only of a virtual model: what it stands for. Its `pricing` is that of the model that answers.' },
)

/** The wire shape of a model: the service interface's fields, and those that other tools read. */
export const ListedModelSchema = Type.Object(
  {
    id: Type.String(),
    object: Type.Literal('model'),
    created: Type.Integer({ description: 'Release date in Unix seconds; 0: unknown.' }),
    owned_by: Type.String({ description: 'Organisation that made the model.' }),
    name: Type.String({ description: 'Display name.' }),
    kind: Type.Enum([...MODEL_KINDS], {
      description: 'Which endpoint calls it: chat completions, embeddings or rerank.',
    }),
    capabilities: Type.Object({
      streaming: Type.Boolean(),
      function_calling: Type.Boolean(),
      vision: Type.Boolean(),
      json_mode: Type.Boolean(),
    }),
    context_window: Type.Integer({
      description:
        'Maximum number of tokens of prompt and answer together; of embedding and rerank models, of each input.',
    }),
    context_length: Type.Integer({ description: 'Same as `context_window`, under the name that other tools read.' }),
    max_output_tokens: orNull(Type.Integer({ description: 'Tokens. Null: not known.' })),
    max_inputs: Type.Optional(
      Type.Integer({ description: 'Maximum inputs or documents of one request. Absent: not limited, or not known.' }),
    ),
    pricing: orNull(PricingView),
    virtual: Type.Optional(VirtualView),
    alias_of: Type.Optional(Type.String({ description: 'ID of the model that this alias names.' })),
    architecture: Type.Object({
      input_modalities: Type.Array(Type.String()),
      output_modalities: Type.Array(Type.String()),
    }),
    supported_parameters: Type.Array(Type.String(), { description: 'Request fields that the model supports.' }),
    price_source: orNull(
      Type.Object(
        {
          url: Type.String({ description: 'Page that the price was read on.' }),
          read: Type.String({ description: 'ISO date on which the price was read.' }),
        },
        { description: 'Null: nowhere; the operator has set it, or it is not known.' },
      ),
    ),
    price_overridden: Type.Boolean({
      description: 'Whether the operator’s configuration overrides the price of the catalogue.',
    }),
    providers: Type.Array(
      Type.Object({
        name: Type.String({ description: 'Name of the provider in the configuration.' }),
        healthy: Type.Boolean({
          description: 'Whether the responding process would call this provider for the model now.',
        }),
      }),
      {
        description: 'Providers of the model, in the order in which the gateway tries them; unhealthy ones come last.',
      },
    ),
    deprecation_date: orNull(Type.String({ description: 'ISO date on which the provider shuts the model down.' })),
    deprecated: Type.Boolean({ description: 'Whether this date is past.' }),
    replacement: orNull(Type.String({ description: 'ID of the model to use instead; null: none is known.' })),
  },
  { description: 'A model that the key can use.' },
)
export type ListedModel = Type.Static<typeof ListedModelSchema>

/** Names of outputs, as other gateways list them. */
const OUTPUTS: Readonly<Record<ModelKind, string>> = { chat: 'text', embedding: 'embeddings', rerank: 'rerank' }

/** @param providers Of the model, as `modelProviders` lists them. @param now Unix milliseconds. */
export function listModel(model: Model, providers: ListedModel['providers'], now: number): ListedModel {
  return {
    id: model.id,
    object: 'model',
    created: model.created,
    owned_by: model.ownedBy,
    name: model.name,
    kind: model.kind,
    capabilities: { ...model.capabilities },
    context_window: model.contextWindow,
    context_length: model.contextWindow,
    max_output_tokens: model.maxOutputTokens ?? null,
    ...(model.maxInputs === undefined ? {} : { max_inputs: model.maxInputs }),
    pricing: listPricing(model),
    ...(model.aliasOf === undefined ? {} : { alias_of: model.aliasOf }),
    architecture: { input_modalities: [...model.inputModalities], output_modalities: [OUTPUTS[model.kind]] },
    supported_parameters: [...model.supportedParameters],
    price_source: model.priceSource === undefined ? null : { ...model.priceSource },
    price_overridden: model.price !== undefined && model.priceSource === undefined,
    providers,
    deprecation_date: model.deprecationDate ?? null,
    deprecated: isDeprecated(model, now),
    replacement: model.replacement ?? null,
  }
}

/**
 * Returns a function that lists the providers of a model: healthy ones first, then by priority and weight.
 * @param statuses Of every configured provider, now.
 */
export function modelProviders(statuses: readonly ProviderStatus[]): (model: Model) => ListedModel['providers'] {
  const known = new Map(statuses.map((status) => [status.name, unavailableIn(status)]))
  return ({ deployments }) => {
    const all = deployments.toSorted((one, other) => one.priority - other.priority || other.weight - one.weight)
    const views = all.map((deployment) => ({
      name: deployment.provider,
      healthy: isHealthy(known.get(deployment.provider), deployment),
    }))
    return [...views.filter(({ healthy }) => healthy), ...views.filter(({ healthy }) => !healthy)]
  }
}

/** What a provider cannot be called for, by its own names of models. */
interface Unavailable {
  readonly open: ReadonlySet<string>
  /** Of each credential, the models in cooldown; `*` is every model. */
  readonly cooling: readonly Readonly<Record<string, number>>[]
}

function unavailableIn({ deployments, credentials }: ProviderStatus): Unavailable {
  return {
    open: new Set(deployments.filter(({ breaker }) => breaker === 'open').map(({ model }) => model)),
    cooling: credentials.map(({ coolingUntil }) => coolingUntil),
  }
}

/** A provider without a status has not been called yet, and counts as healthy. */
function isHealthy(unavailable: Unavailable | undefined, { model }: Deployment): boolean {
  if (unavailable === undefined) return true
  if (unavailable.open.has(model)) return false
  const { cooling } = unavailable
  return cooling.length === 0 || cooling.some((until) => until[model] === undefined && until['*'] === undefined)
}

/** The price of this moment and those to come. */
function listPricing({ price, priceVersion, pricePeriods = [] }: Model): Static<typeof PricingView> | null {
  if (price === undefined) return null
  const at = pricePeriods.findIndex(({ version, price: each }) => version === priceVersion && each === price)
  const successors = at < 0 ? [] : pricePeriods.slice(at + 1).map(listPeriod)
  const period = pricePeriods[at]
  return {
    ...(period === undefined ? listTariff(price) : listPeriod(period)),
    ...(successors.length === 0 ? {} : { successors }),
  }
}

function listPeriod({ price, startsAt, endsAt }: PricePeriod) {
  return {
    ...listTariff(price),
    ...(Number.isFinite(startsAt) ? { starts: isoTime(startsAt) } : {}),
    ...(Number.isFinite(endsAt) ? { ends: isoTime(endsAt) } : {}),
  }
}

function listTariff(price: Price) {
  const { tiers, serviceTiers, discounts, serverToolNanoUsd: tools, perRequestNanoUsd, perImageNanoUsd } = price
  return {
    ...listRates(price),
    input_per_million: price.inputMicroUsd / 1e6,
    output_per_million: price.outputMicroUsd / 1e6,
    ...(tiers === undefined ? {} : { tiers: tiers.map(listTier) }),
    ...(serviceTiers === undefined ? {} : { service_tiers: mapValues(serviceTiers, listServiceTier) }),
    ...(discounts === undefined ? {} : { discounts: discounts.map(listDiscount) }),
    ...(perRequestNanoUsd === undefined ? {} : { per_request_usd: usdNumber(BigInt(perRequestNanoUsd)) }),
    ...(perImageNanoUsd === undefined ? {} : { per_image_usd: usdNumber(BigInt(perImageNanoUsd)) }),
    // Nano-dollars a use are micro-dollars per 1,000 uses.
    ...(tools === undefined ? {} : { server_tools: mapValues(tools, (nanoUsd) => nanoUsd / 1e6) }),
  }
}

function listTier({ abovePromptTokens, appliesTo, ...rates }: PriceTier) {
  return { above_prompt_tokens: abovePromptTokens, applies_to: appliesTo, ...listRates(rates) }
}

function listServiceTier({ tiers, ...rates }: RateOverrides & { readonly tiers?: readonly PriceTier[] | undefined }) {
  return { ...listRates(rates), ...(tiers === undefined ? {} : { tiers: tiers.map(listTier) }) }
}

function listDiscount({ fromMinute, untilMinute, ...rates }: DiscountRates) {
  return { from: timeOf(fromMinute), until: timeOf(untilMinute), ...listRates(rates) }
}

function listRates(rates: RateOverrides): { [Name in (typeof RATE_NAMES)[keyof TokenRates]]?: number } {
  const names = Object.entries(RATE_NAMES) as (readonly [keyof TokenRates, string])[]
  const entries = names.flatMap(([name, wireName]) => {
    const microUsd = rates[name]
    return microUsd === undefined ? [] : [[wireName, microUsd / 1e6]]
  })
  return Object.fromEntries(entries)
}

function timeOf(minute: number): string {
  return [Math.floor(minute / 60), minute % 60].map((part) => String(part).padStart(2, '0')).join(':')
}

export function listVirtual(
  { strategy, sticky, candidates }: VirtualModel,
  find: ModelBook['find'],
): Static<typeof VirtualView> {
  const prices = candidates.flatMap(({ model }) => find(model)?.price ?? [])
  const range = (rates: readonly number[]) => ({ min: Math.min(...rates) / 1e6, max: Math.max(...rates) / 1e6 })
  return {
    strategy,
    sticky,
    candidates: candidates.map(({ model, weight }) => ({ model, weight })),
    price_range:
      prices.length === 0
        ? null
        : {
            input_per_million: range(prices.map(({ inputMicroUsd }) => inputMicroUsd)),
            output_per_million: range(prices.map(({ outputMicroUsd }) => outputMicroUsd)),
          },
  }
}

/*
 * The models that Codex reads from `GET /models?client_version=…`, so that it knows their context windows. Source:
 * `ModelInfo` in codex-rs/protocol/src/openai_models.rs of https://github.com/openai/codex.
 */

/** In place of the instructions that Codex has for models it knows: none is sent with a model of this list. */
const INSTRUCTIONS = [
  'You are a coding agent that works in the terminal of the user, in the folder that the session was started in.',
  'Read the files that matter before you change them; search with `rg` where it is installed.',
  'Make the smallest change that solves the task, in the style of the code around it, and change nothing else.',
  'Keep changes of the user that you did not make. Commit, push or delete only when you are asked to.',
  'Run the tests or commands that show whether the change works, and repair what they find.',
  'Continue until the task is done. Ask only when you cannot find out what is meant.',
  'At the end say in a few sentences what you changed, in which files, and what you could not check.',
].join('\n')

/** Bytes of a tool's output that Codex keeps. */
const OUTPUT_LIMIT = 10_000

const LEVELS = ['low', 'medium', 'high'].map((effort) => ({ effort, description: `${effort} effort` }))

export const CodexModelsSchema = Type.Array(
  Type.Object({ slug: Type.String(), context_window: Type.Integer() }, { additionalProperties: true }),
  { description: 'With `client_version`: the chat models as Codex reads them.' },
)

export function codexModels(models: readonly Model[]) {
  const usable = models.filter(({ kind, capabilities }) => kind === 'chat' && capabilities.function_calling)
  return usable.map(({ id, name, contextWindow, capabilities, ownedBy }, priority) => ({
    slug: id,
    display_name: name,
    description: `${name}, by ${ownedBy}`,
    supported_reasoning_levels: LEVELS,
    shell_type: 'unified_exec',
    visibility: 'list',
    supported_in_api: true,
    priority,
    base_instructions: INSTRUCTIONS,
    supports_reasoning_summaries: false,
    support_verbosity: false,
    truncation_policy: { mode: 'bytes', limit: OUTPUT_LIMIT },
    supports_parallel_tool_calls: true,
    context_window: contextWindow,
    experimental_supported_tools: [],
    input_modalities: capabilities.vision ? ['text', 'image'] : ['text'],
  }))
}
