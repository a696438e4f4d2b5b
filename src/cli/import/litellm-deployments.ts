/**
 * LiteLLM's deployments: the names of their providers, their settings in `litellm_params`, and their facts, prices and
 * weights.
 */
import type { Json } from '../../lib/json.ts'
import { PROVIDERS } from '../../providers/index.ts'
import { addProvider, type ImportDraft, literal, reference } from './draft.ts'

/** LiteLLM's prefix → built-in provider, where the names differ. */
const NAMES: Readonly<Record<string, string>> = {
  azure_text: 'azure',
  bedrock_converse: 'bedrock',
  vertex_ai: 'vertex',
  vertex_ai_beta: 'vertex',
  gemini: 'google',
  together_ai: 'together',
  fireworks_ai: 'fireworks',
  ollama_chat: 'ollama',
  hosted_vllm: 'vllm',
  cohere_chat: 'cohere',
  jina_ai: 'jina',
  dashscope: 'alibaba',
  'text-completion-openai': 'openai',
}
/** Servers with OpenAI's API at an address of their own. */
const COMPATIBLE: ReadonlySet<string> = new Set([
  ...['openai', 'openai_like', 'custom_openai', 'azure_ai', 'litellm_proxy', 'lm_studio', 'llamafile', 'xinference'],
])
/** Names that LiteLLM knows without a prefix. */
const UNPREFIXED: readonly (readonly [RegExp, string])[] = [
  [/^(gpt-|o\d|chatgpt-|text-embedding-|ft:)/, 'openai'],
  [/^claude-/, 'anthropic'],
  [/^(gemini-|text-bison|chat-bison)/, 'vertex'],
  [/^(command-|embed-|rerank-)/, 'cohere'],
  [/^(mistral-|codestral-)/, 'mistral'],
  [/^deepseek-/, 'deepseek'],
]
/** Parts of a model name that select one of LiteLLM's own ways to call a provider. */
const ROUTES = /^(converse|invoke|converse_like|responses|chat)\//

export interface NamedModel {
  /** A built-in provider, or `openai-compatible`. */
  readonly kind: string
  /** The provider's own name of the model. */
  readonly model: string
}

/** Undefined for a provider that is neither built in nor compatible with OpenAI at an address. */
export function parseModelName(params: Json): NamedModel | undefined {
  const written = String(params['model'] ?? '')
  const slash = written.indexOf('/')
  const prefix = params['custom_llm_provider'] ?? (slash < 0 ? undefined : written.slice(0, slash))
  const hasAddress = addressOf(params) !== undefined
  if (typeof prefix === 'string') {
    const model = written.startsWith(`${prefix}/`) ? written.slice(prefix.length + 1) : written
    const kind = NAMES[prefix] ?? prefix
    if (COMPATIBLE.has(prefix) && hasAddress) return { kind: 'openai-compatible', model }
    if (PROVIDERS[kind] !== undefined) return { kind, model: model.replace(ROUTES, '') }
  }
  const [, kind] = UNPREFIXED.find(([pattern]) => pattern.test(written)) ?? []
  if (kind !== undefined && !(kind === 'openai' && hasAddress)) return { kind, model: written }
  return hasAddress ? { kind: 'openai-compatible', model: written } : undefined
}

function addressOf(params: Json): unknown {
  return params['api_base'] ?? params['base_url'] ?? undefined
}

/** Returns the name of the provider with the settings of these parameters, adding it to the draft. */
export function providerOf(draft: ImportDraft, { kind }: NamedModel, params: Json): string {
  const address = settingText(draft, addressOf(params))
  const region = params['aws_region_name'] ?? params['vertex_location'] ?? params['region_name']
  const needsRegion = kind === 'bedrock' || kind === 'vertex'
  const timeout = Number(params['timeout'])
  const settings = {
    ...(kind === 'openai-compatible' && { protocol: 'openai' }),
    ...given('base_url', address),
    ...given('api_key', credentialOf(draft, kind, params)),
    ...given('region', needsRegion ? settingText(draft, region) : undefined),
    ...given('project', settingText(draft, params['vertex_project'])),
    ...given('api_version', kind === 'azure' ? settingText(draft, params['api_version']) : undefined),
    ...given('credentials_file', credentialsFile(draft, params)),
    ...(timeout > 0 && { timeout_ms: { total: Math.min(Math.ceil(timeout * 1000), 2_147_483_647) } }),
  }
  return addProvider(draft, kind === 'openai-compatible' ? hostOf(address) : kind, settings)
}

function credentialOf(draft: ImportDraft, kind: string, params: Json): string | undefined {
  const secret = params['api_key']
  const text = settingText(draft, secret)
  if (text !== undefined) {
    if (!isReference(secret)) {
      const advice = 'Move it to an environment variable, and refer to that in its place.'
      const subject = `model_list: ${String(params['model'])}`
      draft.findings.push({ status: 'changed', subject, text: 'Its API key is in clear text in the file.', advice })
    }
    return text
  }
  const parts = ['aws_access_key_id', 'aws_secret_access_key', 'aws_session_token'].map((name) => params[name])
  if (kind !== 'bedrock' || parts[0] === undefined || parts[1] === undefined) return undefined
  return parts.flatMap((part) => settingText(draft, part) ?? []).join(':')
}

function credentialsFile(draft: ImportDraft, params: Json): string | undefined {
  const credentials = params['vertex_credentials']
  return typeof credentials === 'string' && !credentials.trimStart().startsWith('{')
    ? settingText(draft, credentials)
    : undefined
}

const REFERENCE = 'os.environ/'

function isReference(value: unknown): boolean {
  return typeof value === 'string' && value.startsWith(REFERENCE)
}

/** `os.environ/NAME` becomes `${NAME}`; an empty value is none. */
export function settingText(draft: ImportDraft, value: unknown): string | undefined {
  if (value === undefined || value === null || value === '') return undefined
  const text = String(value)
  return isReference(text) ? reference(draft, text.slice(REFERENCE.length).trim()) : literal(text)
}

function hostOf(address: string | undefined): string {
  if (address !== undefined && URL.canParse(address)) return new URL(address).hostname
  return address?.replaceAll(/[${}]|_?(API_)?BASE(_URL)?/g, '') || 'compatible'
}

function given(name: string, value: unknown): Json {
  return value === undefined ? {} : { [name]: value }
}

/* Facts, prices and weights of an entry of LiteLLM's `model_list`. */

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
