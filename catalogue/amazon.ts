import { catalogueEntries, collection, rates, released, TEXT } from './entry.ts'

const COMMON = {
  provider: 'bedrock',
  owned_by: 'amazon',
  capabilities: { streaming: true, function_calling: true, vision: true, json_mode: false },
  // PDF: litellm 1.110.2 (`supports_pdf_input`), of the models that read images.
  input_modalities: ['text', 'image', 'video', 'file'],
  supported_parameters: ['max_tokens', 'stop', 'temperature', 'tool_choice', 'tools', 'top_p'],
  source: collection('litellm'),
} as const

const REGIONAL = 'the regional price, as genai-prices and pi-ai have it; litellm has that of the global profile'

const upstream = (model: string) => [{ provider: 'bedrock', model }] as const

/** Prices of the region us-east-1. */
export const AMAZON = catalogueEntries(COMMON, [
  {
    id: 'nova-2-lite',
    name: 'Amazon Nova 2 Lite',
    created: released('2025-12-02'),
    context_window: 1_000_000,
    max_output_tokens: 64_000,
    pricing: rates({ input: 0.33, output: 2.75, cached: 0.0825 }),
    deployments: upstream('amazon.nova-2-lite-v1:0'),
    source: collection('genai-prices'),
    settled: {
      input_per_million: REGIONAL,
      output_per_million: REGIONAL,
      cached_input_per_million: REGIONAL,
    },
  },
  {
    id: 'nova-pro',
    name: 'Amazon Nova Pro',
    created: released('2024-12-03'),
    context_window: 300_000,
    max_output_tokens: 10_000,
    pricing: rates({ input: 0.8, output: 3.2, cached: 0.2 }),
    deployments: upstream('amazon.nova-pro-v1:0'),
  },
  {
    id: 'nova-lite',
    name: 'Amazon Nova Lite',
    created: released('2024-12-03'),
    context_window: 300_000,
    max_output_tokens: 10_000,
    pricing: rates({ input: 0.06, output: 0.24, cached: 0.015 }),
    deployments: upstream('amazon.nova-lite-v1:0'),
  },
  {
    id: 'nova-micro',
    name: 'Amazon Nova Micro',
    created: released('2024-12-03'),
    capabilities: { streaming: true, function_calling: true, vision: false, json_mode: false },
    context_window: 128_000,
    max_output_tokens: 10_000,
    pricing: rates({ input: 0.035, output: 0.14, cached: 0.00875 }),
    input_modalities: TEXT,
    deployments: upstream('amazon.nova-micro-v1:0'),
  },
])
