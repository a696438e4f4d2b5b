import {
  ALL_CAPABILITIES,
  CHAT_PARAMETERS,
  catalogueEntries,
  collection,
  HYBRID_PARAMETERS,
  JSON_MODE_PARAMETERS,
  rates,
  released,
  TEXT,
  TEXT_AND_IMAGES,
  TEXT_CAPABILITIES,
} from './entry.ts'

const READ = '2026-11-20'

const COMMON = {
  provider: 'deepseek',
  owned_by: 'deepseek',
  capabilities: TEXT_CAPABILITIES,
  input_modalities: TEXT,
  supported_parameters: HYBRID_PARAMETERS,
  source: { url: 'https://api-docs.deepseek.com/quick_start/pricing?check=20261115', read: READ },
} as const

const CONTRACT = {
  input_per_million: 'the price that the service interface promises',
  output_per_million: 'the price that the service interface promises',
  context_window: 'the window that the service interface promises',
} as const

const DEEPSEEK_2025 = { url: 'https://api-docs.deepseek.com/quick_start/pricing-details-usd', read: READ } as const

/** The maker has two prices by the hour: the higher one is the price, the other a discount of the hours outside its peak. */
export const DEEPSEEK = catalogueEntries(COMMON, [
  {
    id: 'deepseek-flash',
    supported_parameters: JSON_MODE_PARAMETERS,
    name: 'DeepSeek V4.1 Flash',
    created: released('2026-09-10'),
    capabilities: ALL_CAPABILITIES,
    context_window: 1_000_000,
    max_output_tokens: 384_000,
    pricing: {
      ...rates({ input: 0.3, output: 1.2, cached: 0.006 }),
      discounts: [
        {
          from: '10:00',
          until: '01:00',
          ...rates({ input: 0.15, output: 0.6, cached: 0.003 }),
        },
        {
          from: '04:00',
          until: '06:00',
          ...rates({ input: 0.15, output: 0.6, cached: 0.003 }),
        },
      ],
    },
    aliases: ['deepseek-v4.1-flash', 'deepseek-v4-flash'],
    input_modalities: TEXT_AND_IMAGES,
    note: 'The provider asks half outside its peak hours, and all day at weekends and on Chinese holidays, which the price cannot say: their peak hours are charged as those of other days. The provider serves it under the name of its predecessor too.',
  },
  {
    id: 'deepseek-v4-pro',
    supported_parameters: JSON_MODE_PARAMETERS,
    name: 'DeepSeek V4 Pro',
    created: released('2026-04-24'),
    context_window: 1_000_000,
    max_output_tokens: 384_000,
    pricing: {
      ...rates({ input: 1.32, output: 3.96, cached: 0.044 }),
      discounts: [
        {
          from: '10:00',
          until: '01:00',
          ...rates({ input: 0.66, output: 1.98, cached: 0.022 }),
        },
        {
          from: '04:00',
          until: '06:00',
          ...rates({ input: 0.66, output: 1.98, cached: 0.022 }),
        },
      ],
    },
    aliases: ['deepseek-v4-pro-0813'],
    note: 'The provider asks half outside its peak hours, and all day at weekends and on Chinese holidays, which the price cannot say: their peak hours are charged as those of other days. Hosts of the weights ask more.',
  },
  {
    id: 'deepseek-v3.2',
    name: 'DeepSeek V3.2',
    created: released('2025-12-01'),
    context_window: 163_840,
    max_output_tokens: 65_536,
    pricing: rates({ input: 0.28, output: 0.4 }),
    deployments: [
      { provider: 'openrouter', model: 'deepseek/deepseek-v3.2' },
      { provider: 'huggingface', model: 'deepseek-ai/DeepSeek-V3.2', priority: 1 },
    ],
    source: collection('pi-ai'),
    note: 'No deployment costs more; the limits are the smallest of them.',
  },
  {
    id: 'deepseek-v3-0324',
    name: 'DeepSeek V3 (0324)',
    created: released('2025-03-24'),
    context_window: 128_000,
    max_output_tokens: 16_384,
    pricing: rates({ input: 0.27, output: 1.1, cached: 0.11 }),
    aliases: ['deepseek-v3'],
    supported_parameters: CHAT_PARAMETERS,
    deployments: [{ provider: 'openrouter', model: 'deepseek/deepseek-chat-v3-0324' }],
    source: DEEPSEEK_2025,
    note: 'The maker’s own price while it served the release; it stopped on 2026-07-24. The deployment costs less.',
    settled: {
      ...CONTRACT,
      max_output_tokens:
        'models.dev of 2026-07-01, which read the host; pi-ai takes 90 % of the window where the host gives no limit',
    },
  },
  {
    id: 'deepseek-r1-0528',
    name: 'DeepSeek R1 (0528)',
    created: released('2025-05-28'),
    context_window: 128_000,
    max_output_tokens: 32_768,
    pricing: rates({ input: 0.55, output: 2.19, cached: 0.35 }),
    aliases: ['deepseek-r1'],
    deployments: [{ provider: 'openrouter', model: 'deepseek/deepseek-r1-0528' }],
    source: DEEPSEEK_2025,
    note: 'The maker’s own price while it served the release; it stopped on 2026-07-24.',
    settled: CONTRACT,
  },
])
