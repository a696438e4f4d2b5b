/** Reads litellm's `model_prices_and_context_window` file: dollars per token, rules as suffixes of the field's name. */
import { definedFacts, type FactsReader, type PriceFacts, thresholdName } from './facts.ts'

type LitellmModel = Readonly<Record<string, unknown>>

/** How litellm spells the hosts; its keys of OpenAI, Anthropic and Bedrock have no prefix. */
const PREFIXES: Readonly<Record<string, string>> = {
  openai: '',
  anthropic: '',
  bedrock: '',
  google: 'gemini/',
  vertex: 'vertex_ai/',
  alibaba: 'dashscope/',
  together: 'together_ai/',
  fireworks: 'fireworks_ai/',
}

const CLASSES: Readonly<Record<string, string>> = {
  input_cost_per_token: 'input_per_million',
  output_cost_per_token: 'output_per_million',
  cache_read_input_token_cost: 'cached_input_per_million',
  cache_creation_input_token_cost: 'cache_write_per_million',
  cache_creation_input_token_cost_above_1hr: 'cache_write_1h_per_million',
  cache_creation_input_token_cost_above_12hr: 'cache_write_12h_per_million',
  input_cost_per_audio_token: 'audio_input_per_million',
  cache_read_input_audio_token_cost: 'cached_audio_input_per_million',
  output_cost_per_audio_token: 'audio_output_per_million',
  output_cost_per_image_token: 'image_output_per_million',
  output_cost_per_reasoning_token: 'reasoning_output_per_million',
}

const RULE = /^(.+?)(?:_above_(\d+)k_tokens)?(?:_(flex|priority))?$/

export function litellmReader(file: Readonly<Record<string, LitellmModel>>): FactsReader {
  return ({ provider, names }) => {
    const prefix = PREFIXES[provider] ?? `${provider}/`
    const model = names.map((name) => file[prefix + name]).find((found) => found !== undefined)
    return model === undefined ? undefined : litellmFacts(model)
  }
}

function litellmFacts(model: LitellmModel): PriceFacts {
  const facts: Record<string, unknown> = {
    max_input_tokens: model['max_input_tokens'],
    max_output_tokens: model['max_output_tokens'],
    deprecation_date: model['deprecation_date'],
  }
  for (const [field, value] of Object.entries(model)) Object.assign(facts, classFact(field, value))
  const [standard, ...longer] = Array.isArray(model['tiered_pricing']) ? model['tiered_pricing'] : []
  Object.assign(facts, rangeFacts('', standard))
  for (const range of longer) Object.assign(facts, rangeFacts(`${thresholdName(range.range[0])}.`, range))
  return definedFacts({ ...facts, ...searchFacts(model) })
}

/** Zero for a class means that the model has none: nobody writes caches or reads audio for nothing. */
function classFact(field: string, value: unknown): Record<string, number> {
  const [, stem = '', threshold, service] = RULE.exec(field) ?? []
  const name = CLASSES[stem]
  if (name === undefined || typeof value !== 'number' || value === 0) return {}
  const tier = threshold === undefined ? '' : `above_${threshold}k.`
  return { [`${service === undefined ? '' : `${service}.`}${tier}${name}`]: value * 1e6 }
}

function rangeFacts(prefix: string, range: LitellmModel | undefined): Record<string, number> {
  const facts = Object.entries(range ?? {}).flatMap(([field, value]) => Object.entries(classFact(field, value)))
  return Object.fromEntries(facts.map(([name, value]) => [prefix + name, value]))
}

/** A fee of each search, where it is the same for every context size; else what a request costs at the smallest. */
function searchFacts(model: LitellmModel): Record<string, number> {
  const sizes = model['search_context_cost_per_query'] as Record<string, number> | undefined
  const low = sizes?.['search_context_size_low']
  if (sizes === undefined || low === undefined) return {}
  const isFlat = Object.values(sizes).every((fee) => fee === low)
  return isFlat ? { 'server_tools.web_search': low * 1000 } : { per_request_usd: low }
}
