/** The registry of providers, the protocols that the configuration can name, and their resolution with an operator's entry. */
import { trimEndOf } from '../lib/text.ts'
import { openaiChat } from '../protocols/openai-chat/index.ts'
import { openaiCompletions } from '../protocols/openai-completions.ts'
import { openaiEmbeddings } from '../protocols/openai-embeddings.ts'
import { openaiResponses } from '../protocols/openai-responses/index.ts'
import { rerank } from '../protocols/rerank.ts'
import { alibaba } from './alibaba.ts'
import { anthropic } from './anthropic.ts'
import { azure } from './azure.ts'
import { bedrock } from './bedrock.ts'
import { cerebras } from './cerebras.ts'
import { deepseek } from './deepseek.ts'
import { fireworks } from './fireworks.ts'
import { google } from './google.ts'
import { groq } from './groq.ts'
import { huggingface } from './huggingface.ts'
import { llamaCpp } from './llama-cpp.ts'
import { mistral } from './mistral.ts'
import { moonshot } from './moonshot.ts'
import { ollama } from './ollama.ts'
import { openai } from './openai.ts'
import { openrouter } from './openrouter.ts'
import { perplexity } from './perplexity.ts'
import { bearer, type Provider, type ProviderSettings } from './provider.ts'
import { cohere } from './retrieval/cohere.ts'
import { jina } from './retrieval/jina.ts'
import { voyage } from './retrieval/voyage.ts'
import { sglang } from './sglang.ts'
import { simulator } from './simulator.ts'
import { together } from './together.ts'
import { vertex } from './vertex.ts'
import { vllm } from './vllm.ts'
import { xai } from './xai.ts'
import { zai } from './zai.ts'

/** By id, which is also the name in the configuration. */
export const PROVIDERS: Readonly<Record<string, Provider>> = Object.fromEntries(
  [
    openai,
    anthropic,
    google,
    deepseek,
    mistral,
    groq,
    xai,
    together,
    fireworks,
    openrouter,
    cerebras,
    perplexity,
    moonshot,
    zai,
    alibaba,
    huggingface,
    cohere,
    voyage,
    jina,
    ollama,
    vllm,
    sglang,
    llamaCpp,
    azure,
    bedrock,
    vertex,
    simulator,
  ].map((provider) => [provider.id, provider]),
)

/** Any server of the protocol that is not known by name. */
const compatible: Provider = {
  id: 'openai-compatible',
  name: 'OpenAI-compatible',
  protocol: openaiChat({ originalDetail: true, cacheMarks: ['prompt_cache_breakpoint', 'cache_control'] }),
  tasks: {
    completion: openaiCompletions(),
    embedding: openaiEmbeddings({ tokenIds: true, user: true }),
    rerank: rerank(),
  },
  authorize: bearer,
  source: { url: 'https://platform.openai.com/docs/api-reference/chat', read: '2026-11-20' },
}
/** Any server of the Responses API. */
const compatibleByResponses: Provider = {
  ...compatible,
  protocol: openaiResponses(),
  source: { url: 'https://platform.openai.com/docs/api-reference/responses', read: '2026-11-24' },
}

/** By the name in the configuration's `protocol`: hosts without a dialect of their own. */
export const PROTOCOLS: Readonly<Record<string, Provider>> = {
  openai: compatible,
  'openai-responses': compatibleByResponses,
  anthropic,
  gemini: google,
  bedrock,
  simulator,
}

const DEFAULT_FIRST_BYTE_MS = 60_000

/** An operator's entry under `providers`. */
export interface ProviderConfig {
  /** Id of the host whose dialect this is. Default: the entry's name. */
  readonly kind?: string | undefined
  readonly protocol?: string | undefined
  readonly base_url?: string | undefined
  readonly api_key?: string | undefined
  readonly api_keys?: readonly string[] | undefined
  readonly region?: string | undefined
  readonly project?: string | undefined
  readonly api_version?: string | undefined
  readonly credentials_file?: string | undefined
  readonly timeout_ms: {
    readonly connect: number
    /** Default: 60 s for streams, `total` for whole answers. */
    readonly first_byte?: number | undefined
    readonly idle: number
    readonly total: number
  }
  /** The most concurrent calls. */
  readonly max_in_flight?: number | undefined
  readonly disabled?: boolean | undefined
  readonly data_collection?: 'allow' | 'deny' | undefined
  readonly zdr?: boolean | undefined
  /** Default: as it fits the model. */
  readonly on_disconnect?: 'cancel' | 'drain' | undefined
  /** Default: true on hosts of the operator's own. */
  readonly forward_unknown?: boolean | undefined
}

/** A provider with its settings, as the gateway calls it. */
export interface ResolvedProvider {
  /** The operator's name for it. */
  readonly name: string
  readonly provider: Provider
  /** Without trailing slash. */
  readonly baseUrl: string
  /** At least one; [''] for hosts without keys. */
  readonly credentials: readonly string[]
  /** Milliseconds. */
  readonly timeouts: {
    readonly connect: number
    readonly firstByte: number
    /** Of an answer that is not streamed, whose first byte comes when it is complete. */
    readonly wholeAnswer: number
    readonly idle: number
    readonly total: number
  }
  /** Undefined: as it fits the model. */
  readonly onDisconnect: 'cancel' | 'drain' | undefined
  readonly maxInFlight: number | undefined
  /** Whether unknown body fields are sent unchanged. */
  readonly forwardUnknown: boolean
  /** Whether it is the registry's host of that name, at its own address. */
  readonly isBuiltIn: boolean
}

/**
 * Applies the operator's settings to the registry's facts. Naming a `protocol` of the host keeps its dialect, and uses it
 * for every model; naming another one makes it a host of that protocol without a dialect.
 * @throws Error that names what is missing: a host or protocol of that name, or the address.
 */
export function resolveProvider(name: string, config: ProviderConfig): ResolvedProvider {
  const provider = configured(providerOf(name, config), config)
  const address = config.base_url || provider.baseUrl
  const baseUrl = address === undefined ? undefined : trimEndOf(address, '/')
  if (baseUrl === undefined && provider.transport === undefined) {
    throw new Error(`Provider '${name}' needs a base_url: no address is known for it.`)
  }
  const { connect, first_byte: firstByte, idle, total } = config.timeout_ms
  const waits = { firstByte: firstByte ?? DEFAULT_FIRST_BYTE_MS, wholeAnswer: firstByte ?? total }
  return {
    name,
    provider,
    baseUrl: baseUrl ?? '',
    credentials: credentialsOf(config),
    timeouts: { connect, ...waits, idle, total },
    onDisconnect: config.on_disconnect,
    maxInFlight: config.max_in_flight,
    ...(config.data_collection !== undefined && { dataCollection: config.data_collection }),
    ...(config.zdr !== undefined && { zdr: config.zdr }),
    forwardUnknown: isOwnHost(provider, config.base_url) && config.forward_unknown !== false,
    isBuiltIn: provider.id === name && !config.base_url,
  }
}

/** Ignores settings that the host does not know: they may come from the environment. */
function configured(provider: Provider, config: ProviderConfig): Provider {
  if (provider.configure === undefined) return provider
  const settings: { -readonly [Name in keyof ProviderSettings]: ProviderSettings[Name] } = {}
  if (config.base_url) settings.base_url = trimEndOf(config.base_url, '/')
  for (const name of provider.settings ?? []) {
    const value = config[name]
    if (value) settings[name] = value
  }
  return { ...provider, ...provider.configure(settings) }
}

function providerOf(name: string, config: ProviderConfig): Provider {
  const known = entry(PROVIDERS, config.kind ?? name)
  if (known === undefined && config.kind !== undefined) throw unknown('kind', config.kind, PROVIDERS)
  if (config.protocol === undefined) {
    if (known !== undefined) return known
    throw new Error(`Provider '${name}' is not known by name, so it needs a protocol and a base_url.`)
  }
  const template = entry(PROTOCOLS, config.protocol)
  if (template === undefined) throw unknown('protocol', config.protocol, PROTOCOLS)
  return (known && withOnly(known, config.protocol, template)) ?? { ...template, id: name, name }
}

/** The host with one of its own protocols alone; undefined: it has no such protocol. */
function withOnly(host: Provider, name: string, template: Provider): Provider | undefined {
  const { protocols, ...usual } = host
  const isUsual = host.protocol.id === template.protocol.id && host.transport === template.transport
  if (isUsual) return protocols === undefined ? host : usual
  const protocol = protocols?.[name]
  return protocol === undefined ? undefined : { ...usual, protocol }
}

function credentialsOf({ api_key: key, api_keys: keys }: ProviderConfig): readonly string[] {
  const given = [...(keys ?? []), ...(key === undefined ? [] : [key])].filter((secret) => secret !== '')
  return given.length === 0 ? [''] : [...new Set(given)]
}

function entry(table: Readonly<Record<string, Provider>>, name: string): Provider | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined
}

function unknown(setting: string, value: string, table: Readonly<Record<string, Provider>>): Error {
  return new Error(`Unknown ${setting} '${value}'; known are ${Object.keys(table).join(', ')}.`)
}

/** Domains of the vendors in the registry, with all their subdomains. */
const VENDOR_DOMAINS: readonly string[] = [
  'openai.com',
  'anthropic.com',
  'googleapis.com',
  'deepseek.com',
  'mistral.ai',
  'groq.com',
  'x.ai',
  'together.xyz',
  'together.ai',
  'fireworks.ai',
  'openrouter.ai',
  'cerebras.ai',
  'perplexity.ai',
  'moonshot.ai',
  'moonshot.cn',
  'z.ai',
  'bigmodel.cn',
  'aliyuncs.com',
  'huggingface.co',
  'cohere.com',
  'cohere.ai',
  'voyageai.com',
  'jina.ai',
  'ollama.com',
  'azure.com',
  'azure.us',
  'azure.cn',
  'amazonaws.com',
  'amazonaws.com.cn',
]

/**
 * Whether the host is the operator's own (vLLM, SGLang, llama.cpp, a proxy), not a vendor's.
 * @param address The operator's `base_url`; undefined or '': the registry's.
 */
function isOwnHost(provider: Provider, address: string | undefined): boolean {
  if (address === undefined || address === '' || provider.transport !== undefined) return false
  const host = new URL(address).hostname
  return !VENDOR_DOMAINS.some((domain) => host === domain || host.endsWith(`.${domain}`))
}
