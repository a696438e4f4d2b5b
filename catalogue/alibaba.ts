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

const ONE_COLLECTION = 'genai-prices and pi-ai leave the host out; compared with models.dev of 2026-07-01 by hand'

const COMMON = {
  provider: 'alibaba',
  owned_by: 'alibaba',
  capabilities: TEXT_CAPABILITIES,
  input_modalities: TEXT,
  supported_parameters: HYBRID_PARAMETERS,
  settled: { sources: ONE_COLLECTION },
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
    pricing: rates({ input: 2, output: 6, cached: 0.25 }),
    input_modalities: TEXT_IMAGES_AND_VIDEO,
    note: 'The day of the release is that of the week the source names.',
    settled: {
      sources: 'genai-prices and pi-ai leave the host out; input and output as on dev.to, read on 2026-11-20',
    },
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
    settled: {
      sources: 'genai-prices and pi-ai leave the host out; input and output as at Vercel, read on 2026-11-20',
    },
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
      ...rates({ input: 0.4, output: 1.6, cached: 0.08 }),
      tiers: [
        {
          above_prompt_tokens: 256_000,
          ...rates({ input: 1.2, output: 4.8, cached: 0.24 }),
        },
      ],
    },
    input_modalities: TEXT_IMAGES_AND_VIDEO,
    note: 'What cache writes cost at this price was not found; they are charged as input.',
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
    settled: { sources: 'models.dev of 2026-07-01 alone has it' },
  },
  {
    id: 'qwen3.6-flash',
    name: 'Qwen3.6 Flash',
    created: released('2026-04-27'),
    capabilities: ALL_CAPABILITIES,
    context_window: 1_000_000,
    max_output_tokens: 65_536,
    pricing: rates({ input: 0.1875, output: 1.125, cacheWrite: 0.234375 }),
    input_modalities: TEXT_IMAGES_AND_VIDEO,
    source: modelsDev('alibaba/models/qwen3.6-flash'),
    settled: { sources: 'models.dev of 2026-07-01 alone has it' },
  },
  {
    id: 'qwen3.5-plus',
    name: 'Qwen3.5 Plus',
    created: released('2026-02-16'),
    capabilities: ALL_CAPABILITIES,
    context_window: 1_000_000,
    max_output_tokens: 65_536,
    pricing: {
      ...rates({ input: 0.4, output: 2.4 }),
      tiers: [{ above_prompt_tokens: 256_000, ...rates({ input: 0.5, output: 3 }) }],
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
      ...rates({ input: 1.2, output: 6 }),
      tiers: [
        { above_prompt_tokens: 32_000, ...rates({ input: 2.4, output: 12 }) },
        { above_prompt_tokens: 128_000, ...rates({ input: 3, output: 15 }) },
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
      ...rates({ input: 1, output: 5, cached: 0.1 }),
      tiers: [
        { above_prompt_tokens: 32_000, ...rates({ input: 1.8, output: 9, cached: 0.18 }) },
        { above_prompt_tokens: 128_000, ...rates({ input: 3, output: 15, cached: 0.3 }) },
        { above_prompt_tokens: 256_000, ...rates({ input: 6, output: 60, cached: 0.6 }) },
      ],
    },
    supported_parameters: CHAT_PARAMETERS,
  },
  {
    id: 'qwen3-coder-flash',
    name: 'Qwen3 Coder Flash',
    created: released('2025-07-28'),
    context_window: 1_000_000,
    max_output_tokens: 65_536,
    pricing: {
      ...rates({ input: 0.3, output: 1.5, cached: 0.08 }),
      tiers: [
        {
          above_prompt_tokens: 32_000,
          ...rates({ input: 0.5, output: 2.5, cached: 0.12 }),
        },
        { above_prompt_tokens: 128_000, ...rates({ input: 0.8, output: 4, cached: 0.2 }) },
        {
          above_prompt_tokens: 256_000,
          ...rates({ input: 1.6, output: 9.6, cached: 0.4 }),
        },
      ],
    },
    supported_parameters: CHAT_PARAMETERS,
  },
  {
    id: 'qwen-plus',
    name: 'Qwen Plus',
    created: released('2025-07-28'),
    context_window: 1_000_000,
    max_output_tokens: 32_768,
    pricing: {
      ...rates({ input: 0.4, output: 1.2, reasoning: 4 }),
      tiers: [
        {
          above_prompt_tokens: 256_000,
          ...rates({ input: 1.2, output: 3.6, reasoning: 12 }),
        },
      ],
    },
    note: 'Prices of its release of 2025-07-28, which the name stands for. Of an answer that thinks the provider charges all output as reasoning, which the price cannot say: what follows the reasoning is charged as output.',
    settled: {
      sources: ONE_COLLECTION,
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
      ...rates({ input: 0.05, output: 0.4 }),
      tiers: [{ above_prompt_tokens: 256_000, ...rates({ input: 0.25, output: 2 }) }],
    },
  },
])
