import {
  ALL_CAPABILITIES,
  CHAT_PARAMETERS,
  catalogueEntries,
  collection,
  HYBRID_PARAMETERS,
  modelsDev,
  rates,
  released,
  TEXT,
  TEXT_CAPABILITIES,
} from './entry.ts'

const VENDOR_PAGE = 'model-prices read it from the provider’s page of prices; the other collections leave the host out'

const CAMPAIGN = 'a campaign’s discount of a fifth in model-prices; litellm of 2026-11-12 has the price itself'

function cachedInputOfTiers(reason: string): Readonly<Record<string, string>> {
  const tiers = ['', 'above_32k.', 'above_128k.', 'above_256k.']
  return Object.fromEntries(tiers.map((tier) => [`${tier}cached_input_per_million`, reason]))
}

const COMMON = {
  provider: 'alibaba',
  owned_by: 'alibaba',
  capabilities: TEXT_CAPABILITIES,
  input_modalities: TEXT,
  supported_parameters: HYBRID_PARAMETERS,
  source: collection('litellm'),
} as const

const TEXT_IMAGES_AND_VIDEO = ['text', 'image', 'video'] as const

/** Prices of the international site (Singapore), for ordinary prompts. */
export const ALIBABA = catalogueEntries(COMMON, [
  {
    id: 'qwen3.8-max',
    name: 'Qwen3.8 Max',
    created: released('2026-08-03'),
    capabilities: ALL_CAPABILITIES,
    context_window: 1_000_000,
    max_output_tokens: 131_072,
    pricing: rates({ input: 2, output: 6, cached: 0.25, cacheWrite: 2.5 }),
    input_modalities: TEXT_IMAGES_AND_VIDEO,
    note: 'The day of the release is that of the week the source names.',
  },
  {
    id: 'qwen3.8-flash',
    name: 'Qwen3.8 Flash',
    created: released('2026-08-26'),
    capabilities: ALL_CAPABILITIES,
    context_window: 991_000,
    max_output_tokens: 128_000,
    pricing: rates({ input: 0.15, output: 0.47, cached: 0.016, cacheWrite: 0.2 }),
    input_modalities: TEXT_IMAGES_AND_VIDEO,
  },
  {
    id: 'qwen3.7-max',
    name: 'Qwen3.7 Max',
    created: released('2026-05-21'),
    context_window: 1_000_000,
    max_output_tokens: 65_536,
    pricing: rates({ input: 2.5, output: 7.5, cached: 0.5, cacheWrite: 3.125 }),
    aliases: ['qwen3.7-max-2026-05-20'],
    source: modelsDev('alibaba/models/qwen3.7-max'),
  },
  {
    id: 'qwen3.7-plus',
    name: 'Qwen3.7 Plus',
    created: released('2026-06-02'),
    capabilities: ALL_CAPABILITIES,
    context_window: 1_000_000,
    max_output_tokens: 65_536,
    pricing: {
      ...rates({ input: 0.4, output: 1.6, cached: 0.08, cacheWrite: 0.5 }),
      tiers: [
        {
          above_prompt_tokens: 256_000,
          ...rates({ input: 1.2, output: 4.8, cached: 0.24, cacheWrite: 1.5 }),
        },
      ],
    },
    input_modalities: TEXT_IMAGES_AND_VIDEO,
    note: 'Cache writes cost a quarter more than input, as for the provider’s other models.',
    settled: Object.fromEntries(
      ['input', 'output', 'cached_input', 'cache_write'].flatMap((name) =>
        ['', 'above_256k.'].map((tier) => [`${tier}${name}_per_million`, CAMPAIGN]),
      ),
    ),
  },
  {
    id: 'qwen3.6-plus',
    name: 'Qwen3.6 Plus',
    created: released('2026-04-02'),
    capabilities: ALL_CAPABILITIES,
    context_window: 1_000_000,
    max_output_tokens: 65_536,
    pricing: {
      ...rates({ input: 0.5, output: 3, cached: 0.05, cacheWrite: 0.625 }),
      tiers: [
        {
          above_prompt_tokens: 256_000,
          ...rates({ input: 2, output: 6, cached: 0.2, cacheWrite: 2.5 }),
        },
      ],
    },
    input_modalities: TEXT_IMAGES_AND_VIDEO,
    source: modelsDev('alibaba/models/qwen3.6-plus'),
    settled: { sources: 'models.dev has the same on 2026-07-01 and, as model-prices read it, on 2026-10-23' },
  },
  {
    id: 'qwen3.6-flash',
    name: 'Qwen3.6 Flash',
    created: released('2026-04-27'),
    capabilities: ALL_CAPABILITIES,
    context_window: 1_000_000,
    max_output_tokens: 65_536,
    pricing: {
      ...rates({ input: 0.25, output: 1.5, cached: 0.025, cacheWrite: 0.3125 }),
      tiers: [{ above_prompt_tokens: 256_000, ...rates({ input: 1, output: 4, cached: 0.1, cacheWrite: 1.25 }) }],
    },
    input_modalities: TEXT_IMAGES_AND_VIDEO,
    source: collection('model-prices'),
    settled: { sources: VENDOR_PAGE },
  },
  {
    id: 'qwen3.5-plus',
    name: 'Qwen3.5 Plus',
    created: released('2026-02-16'),
    capabilities: ALL_CAPABILITIES,
    context_window: 1_000_000,
    max_output_tokens: 65_536,
    pricing: {
      ...rates({ input: 0.4, output: 2.4, cached: 0.04, cacheWrite: 0.5 }),
      tiers: [{ above_prompt_tokens: 256_000, ...rates({ input: 0.5, output: 3, cached: 0.05, cacheWrite: 0.625 }) }],
    },
    input_modalities: TEXT_IMAGES_AND_VIDEO,
  },
  {
    id: 'qwen3-max',
    name: 'Qwen3 Max',
    created: released('2025-09-23'),
    context_window: 262_144,
    max_output_tokens: 65_536,
    pricing: {
      ...rates({ input: 1.2, output: 6, cached: 0.24, cacheWrite: 1.5 }),
      tiers: [
        { above_prompt_tokens: 32_000, ...rates({ input: 2.4, output: 12, cached: 0.48, cacheWrite: 3 }) },
        { above_prompt_tokens: 128_000, ...rates({ input: 3, output: 15, cached: 0.6, cacheWrite: 3.75 }) },
      ],
    },
    supported_parameters: CHAT_PARAMETERS,
  },
  {
    id: 'qwen3-coder-plus',
    name: 'Qwen3 Coder Plus',
    created: released('2025-07-23'),
    context_window: 1_048_576,
    max_output_tokens: 65_536,
    pricing: {
      ...rates({ input: 1, output: 5, cached: 0.2, cacheWrite: 1.25 }),
      tiers: [
        { above_prompt_tokens: 32_000, ...rates({ input: 1.8, output: 9, cached: 0.36, cacheWrite: 2.25 }) },
        { above_prompt_tokens: 128_000, ...rates({ input: 3, output: 15, cached: 0.6, cacheWrite: 3.75 }) },
        { above_prompt_tokens: 256_000, ...rates({ input: 6, output: 60, cached: 1.2, cacheWrite: 7.5 }) },
      ],
    },
    supported_parameters: CHAT_PARAMETERS,
    settled: cachedInputOfTiers('litellm has the price of hits of explicit caches; others cost twice that'),
  },
  {
    id: 'qwen3-coder-flash',
    name: 'Qwen3 Coder Flash',
    created: released('2025-07-28'),
    context_window: 1_000_000,
    max_output_tokens: 65_536,
    pricing: {
      ...rates({ input: 0.3, output: 1.5, cached: 0.06, cacheWrite: 0.375 }),
      tiers: [
        {
          above_prompt_tokens: 32_000,
          ...rates({ input: 0.5, output: 2.5, cached: 0.1, cacheWrite: 0.625 }),
        },
        { above_prompt_tokens: 128_000, ...rates({ input: 0.8, output: 4, cached: 0.16, cacheWrite: 1 }) },
        {
          above_prompt_tokens: 256_000,
          ...rates({ input: 1.6, output: 9.6, cached: 0.32, cacheWrite: 2 }),
        },
      ],
    },
    supported_parameters: CHAT_PARAMETERS,
    settled: cachedInputOfTiers('model-prices has a fifth of input from the provider’s page; litellm alone has more'),
  },
  {
    id: 'qwen-plus',
    name: 'Qwen Plus',
    created: released('2025-07-28'),
    context_window: 1_000_000,
    max_output_tokens: 32_768,
    pricing: {
      ...rates({ input: 0.4, output: 1.2, cached: 0.08, cacheWrite: 0.5, reasoning: 4 }),
      tiers: [
        {
          above_prompt_tokens: 256_000,
          ...rates({ input: 1.2, output: 3.6, cached: 0.24, cacheWrite: 1.5, reasoning: 12 }),
        },
      ],
    },
    note: 'Prices of its release of 2025-07-28, which the name stands for. Of an answer that thinks the provider charges all output as reasoning, which the price cannot say: what follows the reasoning is charged as output.',
    settled: {
      max_input_tokens: 'litellm’s is that of an older release of the same name; its dated release has 997 952',
      max_output_tokens: 'as max_input_tokens',
    },
  },
  {
    id: 'qwen-flash',
    name: 'Qwen Flash',
    created: released('2025-07-28'),
    context_window: 1_000_000,
    max_output_tokens: 32_768,
    pricing: {
      ...rates({ input: 0.05, output: 0.4, cached: 0.01, cacheWrite: 0.0625 }),
      tiers: [{ above_prompt_tokens: 256_000, ...rates({ input: 0.25, output: 2, cached: 0.05, cacheWrite: 0.3125 }) }],
    },
  },
])
