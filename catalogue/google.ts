import {
  AGREED,
  ALL_CAPABILITIES,
  type CatalogueEntry,
  type CatalogueTariff,
  CHAT_PARAMETERS,
  collection,
  HYBRID_PARAMETERS,
  released,
} from './entry.ts'

const COMMON = {
  owned_by: 'google',
  capabilities: ALL_CAPABILITIES,
  context_window: 1_048_576,
  max_output_tokens: 65_536,
  input_modalities: ['text', 'image', 'audio', 'video', 'file'],
  supported_parameters: HYBRID_PARAMETERS,
  aliases: [],
  deprecation_date: null,
} as const

const INTRODUCTORY = 'An introductory price; from 2027-01-01 the provider asks twice as much.'

/** genai-prices cites the provider's price page for both. */
const FROM_2027: CatalogueTariff = {
  starts: '2027-01-01',
  input_per_million: 1.5,
  output_per_million: 7.5,
  cached_input_per_million: 0.15,
  server_tools: { web_search: 14 },
}

const upstream = (model: string) => [{ provider: 'google', model }] as const

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
export const GOOGLE: readonly CatalogueEntry[] = [
  {
    ...COMMON,
    id: 'gemini-3.8-flash',
    name: 'Gemini 3.8 Flash',
    created: released('2026-09-02'),
    pricing: {
      input_per_million: 0.75,
      output_per_million: 3.75,
      cached_input_per_million: 0.075,
      server_tools: { web_search: 14 },
      successors: [FROM_2027],
    },
    price_ends: '2026-12-31',
    deployments: upstream('gemini-3.8-flash'),
    source: collection('litellm'),
    note: INTRODUCTORY,
  },
  {
    ...COMMON,
    id: 'gemini-3.7-flash',
    name: 'Gemini 3.7 Flash',
    created: released('2026-08-13'),
    pricing: {
      input_per_million: 0.75,
      output_per_million: 3.75,
      cached_input_per_million: 0.075,
      server_tools: { web_search: 14 },
      successors: [FROM_2027],
    },
    price_ends: '2026-12-31',
    deployments: upstream('gemini-3.7-flash'),
    source: collection('litellm'),
    note: INTRODUCTORY,
  },
  {
    ...COMMON,
    id: 'gemini-3.6-flash',
    name: 'Gemini 3.6 Flash',
    created: released('2026-07-21'),
    pricing: {
      input_per_million: 0.75,
      output_per_million: 3.75,
      cached_input_per_million: 0.075,
      server_tools: { web_search: 14 },
      successors: [FROM_2027],
    },
    price_ends: '2026-12-31',
    deployments: upstream('gemini-3.6-flash'),
    source: collection('litellm'),
    note: INTRODUCTORY,
  },
  {
    ...COMMON,
    id: 'gemini-3.5-flash-lite',
    name: 'Gemini 3.5 Flash-Lite',
    created: released('2026-07-21'),
    pricing: {
      input_per_million: 0.3,
      output_per_million: 2.5,
      cached_input_per_million: 0.03,
      server_tools: { web_search: 14 },
    },
    deployments: upstream('gemini-3.5-flash-lite'),
    source: collection('litellm'),
  },
  {
    ...COMMON,
    id: 'gemini-3.5-flash',
    name: 'Gemini 3.5 Flash',
    created: released('2026-05-19'),
    pricing: {
      input_per_million: 1.5,
      output_per_million: 9,
      cached_input_per_million: 0.15,
      server_tools: { web_search: 14 },
    },
    aliases: [],
    deprecation_date: '2027-05-19',
    deployments: upstreams('gemini-3.5-flash'),
    source: collection('litellm'),
  },
  {
    ...COMMON,
    id: 'gemini-3.1-pro-preview',
    name: 'Gemini 3.1 Pro Preview',
    created: released('2026-02-19'),
    pricing: {
      input_per_million: 2,
      output_per_million: 12,
      cached_input_per_million: 0.2,
      server_tools: { web_search: 14 },
      tiers: [
        { above_prompt_tokens: 200_000, input_per_million: 4, output_per_million: 18, cached_input_per_million: 0.4 },
      ],
    },
    deployments: upstreams('gemini-3.1-pro-preview'),
    source: collection('litellm'),
    settled: {
      'above_200k.cache_write_per_million':
        'no answer reports cache writes; the provider charges the storage of explicit caches, which the gateway does not create',
    },
  },
  {
    ...COMMON,
    id: 'gemini-3.1-flash-lite',
    name: 'Gemini 3.1 Flash-Lite',
    created: released('2026-05-07'),
    pricing: {
      input_per_million: 0.25,
      output_per_million: 1.5,
      cached_input_per_million: 0.025,
      audio_input_per_million: 0.5,
      cached_audio_input_per_million: 0.05,
      server_tools: { web_search: 14 },
    },
    deprecation_date: '2027-05-07',
    deployments: upstreams('gemini-3.1-flash-lite'),
    source: collection('litellm'),
  },
  {
    ...COMMON,
    id: 'gemini-3-flash-preview',
    name: 'Gemini 3 Flash Preview',
    created: released('2025-12-17'),
    pricing: {
      input_per_million: 0.5,
      output_per_million: 3,
      cached_input_per_million: 0.05,
      audio_input_per_million: 1,
      cached_audio_input_per_million: 0.1,
      server_tools: { web_search: 14 },
    },
    deployments: upstreams('gemini-3-flash-preview'),
    source: collection('litellm'),
  },
  {
    ...COMMON,
    id: 'gemini-2.5-flash-lite',
    name: 'Gemini 2.5 Flash-Lite',
    created: released('2025-07-22'),
    pricing: {
      input_per_million: 0.1,
      output_per_million: 0.4,
      cached_input_per_million: 0.01,
      audio_input_per_million: 0.3,
      cached_audio_input_per_million: 0.03,
      server_tools: { web_search: 35 },
    },
    aliases: [],
    deprecation_date: null,
    deployments: upstreams('gemini-2.5-flash-lite'),
    source: collection('litellm'),
  },
  {
    ...COMMON,
    id: 'gemini-2.5-pro',
    name: 'Gemini 2.5 Pro',
    created: released('2025-06-17'),
    pricing: {
      input_per_million: 1.25,
      output_per_million: 10,
      cached_input_per_million: 0.125,
      server_tools: { web_search: 35 },
      tiers: [
        {
          above_prompt_tokens: 200_000,
          input_per_million: 2.5,
          output_per_million: 15,
          cached_input_per_million: 0.25,
        },
      ],
    },
    aliases: [],
    deprecation_date: '2026-12-01',
    deployments: upstreams('gemini-2.5-pro'),
    source: collection('litellm'),
  },
  {
    ...COMMON,
    id: 'gemini-2.5-flash',
    name: 'Gemini 2.5 Flash',
    created: released('2025-06-17'),
    pricing: {
      input_per_million: 0.3,
      output_per_million: 2.5,
      cached_input_per_million: 0.03,
      audio_input_per_million: 1,
      cached_audio_input_per_million: 0.1,
      server_tools: { web_search: 35 },
    },
    aliases: [],
    deprecation_date: '2026-12-01',
    deployments: upstream('gemini-2.5-flash'),
    source: collection('litellm'),
  },
  {
    ...COMMON,
    id: 'gemini-2.5-flash-preview-04-17',
    name: 'Gemini 2.5 Flash Preview 04-17',
    created: released('2025-04-17'),
    pricing: { input_per_million: 0.15, output_per_million: 0.6, server_tools: { web_search: 35 } },
    aliases: ['gemini-2.5-flash-preview'],
    deprecation_date: '2025-07-15',
    deployments: upstream('gemini-2.5-flash-preview-04-17'),
    source: collection('genai-prices'),
    note: 'The one Flash release at this price, without thinking; the general release costs 0.30 and 2.50 dollars.',
    settled: { sources: 'shut down; the price list keeps its row for the service interface' },
  },
  {
    ...COMMON,
    id: 'gemini-2.0-flash-001',
    name: 'Gemini 2.0 Flash',
    created: released('2025-02-05'),
    max_output_tokens: 8_192,
    pricing: {
      input_per_million: 0.1,
      output_per_million: 0.4,
      cached_input_per_million: 0.025,
      audio_input_per_million: 0.7,
      cached_audio_input_per_million: 0.175,
      server_tools: { web_search: 35 },
    },
    aliases: ['gemini-2.0-flash'],
    deprecation_date: '2026-06-01',
    supported_parameters: CHAT_PARAMETERS,
    deployments: upstream('gemini-2.0-flash-001'),
    source: collection('genai-prices'),
    settled: { sources: AGREED },
  },
]
