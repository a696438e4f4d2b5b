/**
 * A provider that does what a request asks for, reports it as its host does, and keeps a bill of its own: the tariff and
 * the arithmetic are written down here again, so that a charge can be compared with somebody else's sum.
 */
import { isDeepStrictEqual } from 'node:util'
import { isRecord } from '../../../src/lib/json.ts'

/** Nano-dollars for a token, or for one use; the same tariff as `RICH_PRICE`. */
const TARIFF = {
  input: { standard: 1_000n, flex: 500n, priority: 2_000n },
  output: 2_000n,
  cacheWrite: 1_250n,
  cacheWrite1h: 2_000n,
  cacheWrite12h: 3_000n,
  audioOutput: 8_000n,
  imageOutput: 9_000n,
  webSearch: 10_000_000n,
} as const

const PROMPT = 700
const WRITTEN = 300
const COMPLETION = 500
const AUDIO = 40
const IMAGES = 50
/** Searches that a model makes where it may make so many. */
const SEARCHES = 3
/** Of anything that the tariff does not know: whoever passes it on pays dearly. */
const UNKNOWN_FEE = 1_000_000_000n

type Tier = keyof (typeof TARIFF)['input']

/** What a request asks for that costs, wherever it is. */
interface Wishes {
  tier: Tier
  cache: '5m' | '1h' | '12h' | undefined
  audio: boolean
  images: boolean
  searches: number
  unknown: number
}

export interface Billed {
  /** The whole answer, as JSON of the host's format. */
  readonly answer: object
  readonly billNanoUsd: bigint
}

/** @param unknown What costs that the tariff does not know: names of fields, without `_` and in lower case, to the value that does. */
export function serveAndBill(
  body: unknown,
  host: string,
  { protocol, unknown }: { protocol: string; unknown: ReadonlyMap<string, unknown> },
): Billed {
  const wishes: Wishes = { tier: 'standard', cache: undefined, audio: false, images: false, searches: 0, unknown: 0 }
  readWishes(body, wishes, unknown)
  const { max_tool_calls: most } = isRecord(body) ? body : {}
  if (typeof most === 'number') wishes.searches = Math.min(wishes.searches, most)
  // Sonar models search for every request; so do OpenAI's models that can.
  const billedSearches = host === 'perplexity' ? 1 : host === 'openai' ? Math.min(wishes.searches, 1) : wishes.searches
  return { answer: answerOf(wishes, host, protocol), billNanoUsd: billOf(wishes, billedSearches) }
}

function billOf({ tier, cache, audio, images, unknown }: Wishes, searches: number): bigint {
  const written =
    cache === undefined
      ? 0n
      : { '5m': TARIFF.cacheWrite, '1h': TARIFF.cacheWrite1h, '12h': TARIFF.cacheWrite12h }[cache]
  const audioTokens = audio ? AUDIO : 0
  const imageTokens = images ? IMAGES : 0
  return (
    BigInt(PROMPT) * TARIFF.input[tier] +
    BigInt(WRITTEN) * written +
    BigInt(COMPLETION - audioTokens - imageTokens) * TARIFF.output +
    BigInt(audioTokens) * TARIFF.audioOutput +
    BigInt(imageTokens) * TARIFF.imageOutput +
    BigInt(searches) * TARIFF.webSearch +
    BigInt(unknown) * UNKNOWN_FEE
  )
}

const SEARCH_TOOLS: ReadonlySet<string> = new Set(['googlesearch', 'websearchoptions', 'enablesearch'])

function readWishes(value: unknown, wishes: Wishes, unknown: ReadonlyMap<string, unknown>): void {
  if (Array.isArray(value)) for (const member of value) readWishes(member, wishes, unknown)
  if (!isRecord(value)) return
  if (typeof value['type'] === 'string' && /^web_search/.test(value['type'])) {
    wishes.searches += Math.min(Number(value['max_uses'] ?? SEARCHES), SEARCHES)
  }
  for (const [name, member] of Object.entries(value)) {
    const plain = name.replaceAll('_', '').toLowerCase()
    if (plain === 'servicetier') wishes.tier = tierOf(isRecord(member) ? member['type'] : member)
    else if (SEARCH_TOOLS.has(plain) && member !== false) wishes.searches += SEARCHES
    else if (/cachecontrol|cachepoint|promptcacheoptions|promptcachebreakpoint/.test(plain))
      wishes.cache = lifetimeOf(member)
    else if (/modalities/.test(plain) && Array.isArray(member)) {
      wishes.audio ||= /audio/i.test(member.join())
      wishes.images ||= /image/i.test(member.join())
    } else if (unknown.has(plain) && isDeepStrictEqual(unknown.get(plain), member)) wishes.unknown += 1
    readWishes(member, wishes, unknown)
  }
}

function tierOf(name: unknown): Tier {
  return name === 'flex' || name === 'priority' ? name : 'standard'
}

function lifetimeOf(wish: unknown): Wishes['cache'] {
  const ttl = isRecord(wish) ? wish['ttl'] : undefined
  return ttl === '1h' || ttl === '12h' ? ttl : '5m'
}

function answerOf(wishes: Wishes, host: string, protocol: string): object {
  if (protocol === 'anthropic') return anthropicAnswer(wishes)
  if (protocol === 'gemini') return geminiAnswer(wishes)
  if (protocol === 'bedrock') return bedrockAnswer(wishes)
  if (protocol === 'openai-responses') return responsesAnswer(wishes)
  return chatAnswer(wishes, host)
}

function writtenFor({ cache }: Wishes, ttl: Wishes['cache']): number {
  return cache === ttl ? WRITTEN : 0
}

/** Each search opens a page, which is free. */
function responsesAnswer(wishes: Wishes): object {
  const { tier, cache, searches } = wishes
  const action = (type: string) => ({ type: 'web_search_call', status: 'completed', action: { type } })
  return {
    status: 'completed',
    output: [
      ...Array.from({ length: searches }, () => [action('search'), action('open_page')]).flat(),
      { type: 'message', content: [{ type: 'output_text', text: 'Hi', annotations: [] }] },
    ],
    service_tier: tier === 'standard' ? 'default' : tier,
    usage: {
      input_tokens: PROMPT + (cache === undefined ? 0 : WRITTEN),
      input_tokens_details: {
        cache_write_tokens: cache === undefined ? 0 : WRITTEN,
        cache_write_tokens_details: { ttl_12h_tokens: writtenFor(wishes, '12h') },
      },
      output_tokens: COMPLETION,
    },
  }
}

function chatAnswer(wishes: Wishes, host: string): object {
  const { tier, cache, audio, images, searches } = wishes
  const written = cache === undefined ? 0 : WRITTEN
  const lifetimes = {
    ephemeral_5m_input_tokens: writtenFor(wishes, '5m'),
    ephemeral_1h_input_tokens: writtenFor(wishes, '1h'),
    ephemeral_12h_input_tokens: writtenFor(wishes, '12h'),
  }
  const reported =
    host === 'alibaba'
      ? { plugins: { search: { count: searches, strategy: 'turbo' } } }
      : host === 'perplexity'
        ? { num_search_queries: SEARCHES }
        : host === 'openai'
          ? {}
          : { server_tool_use: { web_search_requests: searches } }
  return {
    id: 'a',
    choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
    service_tier: tier === 'standard' ? 'default' : tier,
    usage: {
      prompt_tokens: PROMPT + written,
      completion_tokens: COMPLETION,
      prompt_tokens_details: { cache_write_tokens: written, cache_creation: lifetimes },
      completion_tokens_details: { audio_tokens: audio ? AUDIO : 0, image_tokens: images ? IMAGES : 0 },
      ...reported,
    },
  }
}

function anthropicAnswer(wishes: Wishes): object {
  const { tier, cache, searches } = wishes
  return {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    content: [{ type: 'text', text: 'Hi' }],
    stop_reason: 'end_turn',
    usage: {
      input_tokens: PROMPT,
      output_tokens: COMPLETION,
      cache_creation_input_tokens: cache === undefined ? 0 : WRITTEN,
      cache_creation: {
        ephemeral_5m_input_tokens: writtenFor(wishes, '5m'),
        ephemeral_1h_input_tokens: writtenFor(wishes, '1h'),
      },
      server_tool_use: { web_search_requests: searches },
      service_tier: tier,
    },
  }
}

function geminiAnswer({ tier, audio, images, searches }: Wishes): object {
  const queries = Array.from({ length: searches }, (_, at) => `query ${at}`)
  return {
    responseId: 'r1',
    candidates: [
      {
        content: { role: 'model', parts: [{ text: 'Hi' }] },
        finishReason: 'STOP',
        index: 0,
        // Empty queries are not billed, nor is one twice.
        groundingMetadata: { webSearchQueries: [...queries, '', ...queries.slice(0, 1)] },
      },
    ],
    usageMetadata: {
      promptTokenCount: PROMPT,
      candidatesTokenCount: COMPLETION,
      candidatesTokensDetails: [
        { modality: 'AUDIO', tokenCount: audio ? AUDIO : 0 },
        { modality: 'IMAGE', tokenCount: images ? IMAGES : 0 },
      ],
      serviceTier: tier,
    },
  }
}

function bedrockAnswer(wishes: Wishes): object {
  const { tier, cache } = wishes
  const written = cache === undefined ? 0 : WRITTEN
  return {
    output: { message: { role: 'assistant', content: [{ text: 'Hi' }] } },
    stopReason: 'end_turn',
    serviceTier: { type: tier === 'standard' ? 'default' : tier },
    usage: {
      inputTokens: PROMPT,
      outputTokens: COMPLETION,
      cacheWriteInputTokens: written,
      cacheDetails: [{ ttl: cache ?? '5m', inputTokens: written }],
    },
  }
}
