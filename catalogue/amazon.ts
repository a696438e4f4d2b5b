import { type CatalogueEntry, collection, released, TEXT } from './entry.ts'

const COMMON = {
  owned_by: 'amazon',
  capabilities: { streaming: true, function_calling: true, vision: true, json_mode: false },
  input_modalities: ['text', 'image', 'video'],
  supported_parameters: ['max_tokens', 'stop', 'temperature', 'tool_choice', 'tools', 'top_p'],
  aliases: [],
  deprecation_date: null,
} as const

const REGIONAL = 'the regional price, as genai-prices and pi-ai have it; litellm has that of the global profile'

const upstream = (model: string) => [{ provider: 'bedrock', model }] as const

/** Prices of the region us-east-1. */
export const AMAZON: readonly CatalogueEntry[] = [
  {
    ...COMMON,
    id: 'nova-2-lite',
    name: 'Amazon Nova 2 Lite',
    created: released('2025-12-02'),
    context_window: 1_000_000,
    max_output_tokens: 64_000,
    pricing: { input_per_million: 0.33, output_per_million: 2.75, cached_input_per_million: 0.0825 },
    deployments: upstream('amazon.nova-2-lite-v1:0'),
    source: collection('genai-prices'),
    settled: {
      input_per_million: REGIONAL,
      output_per_million: REGIONAL,
      cached_input_per_million: REGIONAL,
    },
  },
  {
    ...COMMON,
    id: 'nova-pro',
    name: 'Amazon Nova Pro',
    created: released('2024-12-03'),
    context_window: 300_000,
    max_output_tokens: 10_000,
    pricing: { input_per_million: 0.8, output_per_million: 3.2, cached_input_per_million: 0.2 },
    deployments: upstream('amazon.nova-pro-v1:0'),
    source: collection('litellm'),
  },
  {
    ...COMMON,
    id: 'nova-lite',
    name: 'Amazon Nova Lite',
    created: released('2024-12-03'),
    context_window: 300_000,
    max_output_tokens: 10_000,
    pricing: { input_per_million: 0.06, output_per_million: 0.24, cached_input_per_million: 0.015 },
    deployments: upstream('amazon.nova-lite-v1:0'),
    source: collection('litellm'),
  },
  {
    ...COMMON,
    id: 'nova-micro',
    name: 'Amazon Nova Micro',
    created: released('2024-12-03'),
    capabilities: { streaming: true, function_calling: true, vision: false, json_mode: false },
    context_window: 128_000,
    max_output_tokens: 10_000,
    pricing: { input_per_million: 0.035, output_per_million: 0.14, cached_input_per_million: 0.00875 },
    input_modalities: TEXT,
    deployments: upstream('amazon.nova-micro-v1:0'),
    source: collection('litellm'),
  },
]
