import {
  ALL_CAPABILITIES,
  type CatalogueTariff,
  CHAT_PARAMETERS,
  catalogueEntries,
  collection,
  HYBRID_PARAMETERS,
  rates,
  released,
} from './entry.ts'

const COMMON = {
  provider: 'google',
  owned_by: 'google',
  capabilities: ALL_CAPABILITIES,
  context_window: 1_048_576,
  max_output_tokens: 65_536,
  input_modalities: ['text', 'image', 'audio', 'video', 'file'],
  supported_parameters: HYBRID_PARAMETERS,
  source: collection('litellm'),
} as const

const INTRODUCTORY = 'An introductory price; from 2027-01-01 the provider asks twice as much.'

/** genai-prices cites the provider's price page for both. */
const FROM_2027: CatalogueTariff = {
  starts: '2027-01-01',
  ...rates({ input: 1.5, output: 7.5, cached: 0.15 }),
  server_tools: { web_search: 14 },
}

const ONE_AUDIO_PRICE = {
  'above_200k.audio_input_per_million': 'litellm repeats the price of audio, which is the same for long prompts',
} as const

/** The maker's two doors, where they ask the same (models.dev, 2026-07-01). */
const upstreams = (model: string) =>
  [
    { provider: 'google', model },
    { provider: 'vertex', model, priority: 1 },
  ] as const

/**
 * Web searches have a free allowance, by day or month and over several models, which the price leaves out: it charges
 * every search. Audio costs what text does where no price of its own is given.
 */
export const GOOGLE = catalogueEntries(COMMON, [
  {
    id: 'gemini-3.8-flash',
    name: 'Gemini 3.8 Flash',
    created: released('2026-09-02'),
    pricing: {
      ...rates({ input: 0.75, output: 3.75, cached: 0.075 }),
      server_tools: { web_search: 14 },
      successors: [FROM_2027],
    },
    price_ends: '2026-12-31',
    note: INTRODUCTORY,
  },
  {
    id: 'gemini-3.7-flash',
    name: 'Gemini 3.7 Flash',
    created: released('2026-08-13'),
    pricing: {
      ...rates({ input: 0.75, output: 3.75, cached: 0.075 }),
      server_tools: { web_search: 14 },
      successors: [FROM_2027],
    },
    price_ends: '2026-12-31',
    note: INTRODUCTORY,
  },
  {
    id: 'gemini-3.6-flash',
    name: 'Gemini 3.6 Flash',
    created: released('2026-07-21'),
    pricing: {
      ...rates({ input: 0.75, output: 3.75, cached: 0.075 }),
      server_tools: { web_search: 14 },
      successors: [FROM_2027],
    },
    price_ends: '2026-12-31',
    note: INTRODUCTORY,
  },
  {
    id: 'gemini-3.5-flash-lite',
    name: 'Gemini 3.5 Flash-Lite',
    created: released('2026-07-21'),
    pricing: {
      ...rates({ input: 0.3, output: 2.5, cached: 0.03 }),
      server_tools: { web_search: 14 },
    },
  },
  {
    id: 'gemini-3.5-flash',
    name: 'Gemini 3.5 Flash',
    created: released('2026-05-19'),
    pricing: {
      ...rates({ input: 1.5, output: 9, cached: 0.15 }),
      server_tools: { web_search: 14 },
    },
    deprecation_date: '2027-05-19',
    deployments: upstreams('gemini-3.5-flash'),
  },
  {
    id: 'gemini-3.1-pro-preview',
    name: 'Gemini 3.1 Pro Preview',
    created: released('2026-02-19'),
    pricing: {
      ...rates({ input: 2, output: 12, cached: 0.2 }),
      server_tools: { web_search: 14 },
      tiers: [{ above_prompt_tokens: 200_000, ...rates({ input: 4, output: 18, cached: 0.4 }) }],
    },
    deployments: upstreams('gemini-3.1-pro-preview'),
    settled: {
      'above_200k.cache_write_per_million':
        'no answer reports cache writes; the provider charges the storage of explicit caches, which the gateway does not create',
    },
  },
  {
    id: 'gemini-3.1-flash-lite',
    name: 'Gemini 3.1 Flash-Lite',
    created: released('2026-05-07'),
    pricing: {
      ...rates({ input: 0.25, output: 1.5, cached: 0.025, audio: 0.5, cachedAudio: 0.05 }),
      server_tools: { web_search: 14 },
    },
    deprecation_date: '2027-05-07',
    deployments: upstreams('gemini-3.1-flash-lite'),
    settled: ONE_AUDIO_PRICE,
  },
  {
    id: 'gemini-3-flash-preview',
    name: 'Gemini 3 Flash Preview',
    created: released('2025-12-17'),
    pricing: {
      ...rates({ input: 0.5, output: 3, cached: 0.05, audio: 1, cachedAudio: 0.1 }),
      server_tools: { web_search: 14 },
    },
    deployments: upstreams('gemini-3-flash-preview'),
    settled: ONE_AUDIO_PRICE,
  },
  {
    id: 'gemini-2.5-flash-lite',
    name: 'Gemini 2.5 Flash-Lite',
    created: released('2025-07-22'),
    pricing: {
      ...rates({ input: 0.1, output: 0.4, cached: 0.01, audio: 0.3, cachedAudio: 0.03 }),
      server_tools: { web_search: 35 },
    },
    deployments: upstreams('gemini-2.5-flash-lite'),
  },
  {
    id: 'gemini-2.5-pro',
    name: 'Gemini 2.5 Pro',
    created: released('2025-06-17'),
    pricing: {
      ...rates({ input: 1.25, output: 10, cached: 0.125 }),
      server_tools: { web_search: 35 },
      tiers: [
        {
          above_prompt_tokens: 200_000,
          ...rates({ input: 2.5, output: 15, cached: 0.25 }),
        },
      ],
    },
    deprecation_date: '2026-12-01',
    replacement: 'gemini-3.8-flash',
    deployments: upstreams('gemini-2.5-pro'),
  },
  {
    id: 'gemini-2.5-flash',
    name: 'Gemini 2.5 Flash',
    created: released('2025-06-17'),
    pricing: {
      ...rates({ input: 0.3, output: 2.5, cached: 0.03, audio: 1, cachedAudio: 0.1 }),
      server_tools: { web_search: 35 },
    },
    deprecation_date: '2026-12-01',
    replacement: 'gemini-3.5-flash-lite',
  },
  {
    id: 'gemini-2.5-flash-preview-04-17',
    name: 'Gemini 2.5 Flash Preview 04-17',
    created: released('2025-04-17'),
    pricing: { ...rates({ input: 0.15, output: 0.6 }), server_tools: { web_search: 35 } },
    aliases: ['gemini-2.5-flash-preview'],
    deprecation_date: '2025-07-15',
    replacement: 'gemini-3.5-flash-lite',
    source: collection('genai-prices'),
    note: 'The one Flash release at this price, without thinking; the general release costs 0.30 and 2.50 dollars.',
    settled: { cached_input_per_million: 'shut down; the price list keeps its row for the service interface' },
  },
  {
    id: 'gemini-2.0-flash-001',
    name: 'Gemini 2.0 Flash',
    created: released('2025-02-05'),
    max_output_tokens: 8_192,
    pricing: {
      ...rates({ input: 0.1, output: 0.4, cached: 0.025, audio: 0.7, cachedAudio: 0.175 }),
      server_tools: { web_search: 35 },
    },
    aliases: ['gemini-2.0-flash'],
    deprecation_date: '2026-06-01',
    replacement: 'gemini-3.5-flash',
    supported_parameters: CHAT_PARAMETERS,
    source: collection('genai-prices'),
  },
])
