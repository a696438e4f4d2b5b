import {
  ALL_CAPABILITIES,
  type CatalogueEntry,
  genaiPrices,
  modelsDev,
  REASONING_PARAMETERS,
  released,
} from './entry.ts'

const READ = '2026-11-20'

const COMMON = {
  owned_by: 'moonshot',
  capabilities: ALL_CAPABILITIES,
  input_modalities: ['text', 'image', 'video'],
  supported_parameters: REASONING_PARAMETERS,
  aliases: [],
  deprecation_date: null,
} as const

const upstream = (model: string) => [{ provider: 'moonshot', model }] as const

/** Cache writes are those that live five minutes. */
export const MOONSHOT: readonly CatalogueEntry[] = [
  {
    ...COMMON,
    id: 'kimi-k3.1-pro',
    name: 'Kimi K3.1 Pro',
    created: released('2026-10-24'),
    context_window: 1_048_576,
    max_output_tokens: null,
    pricing: {
      input_per_million: 2,
      output_per_million: 10,
      cached_input_per_million: 0.2,
      cache_write_per_million: 2,
    },
    deployments: upstream('kimi-k3.1-pro'),
    source: { url: 'https://docs.apiyi.com/ja/api-capabilities/kimi-k3-1/overview.md', read: READ },
  },
  {
    ...COMMON,
    id: 'kimi-k3.1-pro-highspeed',
    name: 'Kimi K3.1 Pro Highspeed',
    created: released('2026-10-24'),
    context_window: 1_048_576,
    max_output_tokens: null,
    pricing: {
      input_per_million: 4,
      output_per_million: 20,
      cached_input_per_million: 0.2,
      cache_write_per_million: 4,
    },
    deployments: upstream('kimi-k3.1-pro-highspeed'),
    source: { url: 'https://docs.apiyi.com/ja/api-capabilities/kimi-k3-1/overview.md', read: READ },
  },
  {
    ...COMMON,
    id: 'kimi-k3',
    name: 'Kimi K3',
    created: released('2026-07-16'),
    context_window: 1_048_576,
    max_output_tokens: 131_072,
    pricing: { input_per_million: 3, output_per_million: 15, cached_input_per_million: 0.3 },
    deployments: upstream('kimi-k3'),
    source: genaiPrices('moonshotai'),
  },
  {
    ...COMMON,
    id: 'kimi-k2.7-code',
    name: 'Kimi K2.7 Code',
    created: released('2026-06-12'),
    context_window: 262_144,
    max_output_tokens: 131_072,
    pricing: { input_per_million: 0.95, output_per_million: 4, cached_input_per_million: 0.19 },
    deployments: [
      { provider: 'moonshot', model: 'kimi-k2.7-code' },
      { provider: 'fireworks', model: 'accounts/fireworks/models/kimi-k2p7-code', priority: 1 },
    ],
    source: modelsDev('moonshotai/models/kimi-k2.7-code'),
    note: 'No deployment costs more; the limits are the smallest of them.',
  },
  {
    ...COMMON,
    id: 'kimi-k2.7-code-highspeed',
    name: 'Kimi K2.7 Code Highspeed',
    created: released('2026-06-12'),
    context_window: 262_144,
    max_output_tokens: 262_144,
    pricing: { input_per_million: 1.9, output_per_million: 8, cached_input_per_million: 0.38 },
    deployments: upstream('kimi-k2.7-code-highspeed'),
    source: modelsDev('moonshotai/models/kimi-k2.7-code-highspeed'),
  },
  {
    ...COMMON,
    id: 'kimi-k2.6',
    name: 'Kimi K2.6',
    created: released('2026-04-21'),
    context_window: 262_000,
    max_output_tokens: 262_000,
    pricing: { input_per_million: 0.95, output_per_million: 4, cached_input_per_million: 0.16 },
    deployments: [
      { provider: 'moonshot', model: 'kimi-k2.6' },
      { provider: 'fireworks', model: 'accounts/fireworks/models/kimi-k2p6', priority: 1 },
      { provider: 'openrouter', model: 'moonshotai/kimi-k2.6', priority: 2 },
    ],
    source: modelsDev('moonshotai/models/kimi-k2.6'),
    note: 'No deployment costs more; the limits are the smallest of them.',
  },
  {
    ...COMMON,
    id: 'kimi-k2.5',
    name: 'Kimi K2.5',
    created: released('2026-01-27'),
    context_window: 262_144,
    max_output_tokens: 262_144,
    pricing: { input_per_million: 0.6, output_per_million: 3, cached_input_per_million: 0.1 },
    deployments: upstream('kimi-k2.5'),
    source: modelsDev('moonshotai/models/kimi-k2.5'),
  },
]
