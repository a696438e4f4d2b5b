/** Facts, prices and weights of an entry of LiteLLM's `model_list`. */
import type { Json } from '../../lib/json.ts'

const PER_TOKEN: Readonly<Record<string, string>> = {
  input_cost_per_token: 'input_per_million',
  output_cost_per_token: 'output_per_million',
  cache_read_input_token_cost: 'cached_input_per_million',
  cache_creation_input_token_cost: 'cache_write_per_million',
}
const CAPABILITIES: Readonly<Record<string, string>> = {
  supports_vision: 'vision',
  supports_function_calling: 'function_calling',
  supports_response_schema: 'json_mode',
}

/** Returns the settings of a model that the entry states, in either of its two mappings. */
export function modelFacts(params: Json, info: Json): Json {
  const all = { ...info, ...params }
  const prices = renamed(all, PER_TOKEN, (value) => perMillion(value))
  const hasPrice = prices['input_per_million'] !== undefined || prices['output_per_million'] !== undefined
  const capabilities = renamed(info, CAPABILITIES, (value) => (typeof value === 'boolean' ? value : undefined))
  const window = wholeNumber(info['max_input_tokens']) ?? wholeNumber(info['max_tokens'])
  const output = wholeNumber(info['max_output_tokens'])
  return {
    ...(Object.keys(capabilities).length > 0 && { capabilities: { streaming: true, ...capabilities } }),
    ...(window !== undefined && { context_window: window }),
    ...(output !== undefined && { max_output_tokens: output }),
    ...(hasPrice && { pricing: { input_per_million: 0, output_per_million: 0, ...prices } }),
  }
}

function renamed(from: Json, names: Readonly<Record<string, string>>, read: (value: unknown) => unknown): Json {
  const fields = Object.entries(names).map(([old, name]) => [name, read(from[old])] as const)
  return Object.fromEntries(fields.filter(([, value]) => value !== undefined))
}

/** Dollars a token, as a number or as YAML's text `3e-6`, become dollars a million with at most 6 decimals. */
function perMillion(value: unknown): number | undefined {
  const usd = Number(value)
  const isPrice = (typeof value === 'number' || typeof value === 'string') && Number.isFinite(usd) && usd >= 0
  return isPrice ? Number((usd * 1e6).toFixed(6)) : undefined
}

export function wholeNumber(value: unknown): number | undefined {
  const number = Number(value)
  const isGiven = (typeof value === 'number' || typeof value === 'string') && value !== ''
  return isGiven && Number.isSafeInteger(number) && number > 0 ? number : undefined
}

/** LiteLLM spreads requests by `weight`, else by `rpm`, else by `tpm`. */
export function routingWeight(params: Json, entry: Json): number | undefined {
  for (const name of ['weight', 'rpm', 'tpm']) {
    const weight = Number(params[name] ?? entry[name])
    if (Number.isFinite(weight) && weight > 0) return Math.min(weight, 1_000_000)
  }
  return undefined
}
