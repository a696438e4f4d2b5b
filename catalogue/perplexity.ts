import { catalogueEntries, collection, modelsDev, rates, released, TEXT, TEXT_AND_IMAGES } from './entry.ts'

const WITH_IMAGES = { streaming: true, function_calling: false, vision: true, json_mode: true } as const
const TEXT_ONLY = { ...WITH_IMAGES, vision: false } as const

const COMMON = {
  provider: 'perplexity',
  owned_by: 'perplexity',
  capabilities: WITH_IMAGES,
  input_modalities: TEXT_AND_IMAGES,
  supported_parameters: ['max_tokens', 'response_format', 'structured_outputs', 'temperature', 'top_p'],
  note: 'The fee of a request is that of the smallest search context, the provider’s default; larger ones cost up to 0.014 dollars. The provider ended Sonar chat completions on 2026-09-27 (genai-prices, 2026-10-19); these are its last prices.',
  deprecation_date: '2026-09-27',
  source: collection('litellm'),
} as const

const AGENT_API = 'model-prices has the price of the Agent API, where the name stands for another model'

/** Every answer is searched for; the provider charges each request beside its tokens. */
export const PERPLEXITY = catalogueEntries(COMMON, [
  {
    id: 'sonar',
    name: 'Sonar',
    created: released('2025-01-27'),
    capabilities: TEXT_ONLY,
    context_window: 128_000,
    max_output_tokens: 4_096,
    pricing: { ...rates({ input: 1, output: 1 }), per_request_usd: 0.005 },
    input_modalities: TEXT,
    settled: {
      max_output_tokens: 'litellm gives the window; models.dev of 2026-07-01 has the limit',
      input_per_million: AGENT_API,
      output_per_million: AGENT_API,
      cached_input_per_million: AGENT_API,
    },
  },
  {
    id: 'sonar-pro',
    name: 'Sonar Pro',
    created: released('2025-01-27'),
    context_window: 200_000,
    max_output_tokens: 8_192,
    pricing: { ...rates({ input: 3, output: 15 }), per_request_usd: 0.006 },
  },
  {
    id: 'sonar-reasoning-pro',
    name: 'Sonar Reasoning Pro',
    created: released('2025-02-19'),
    context_window: 128_000,
    max_output_tokens: 4_096,
    pricing: { ...rates({ input: 2, output: 8 }), per_request_usd: 0.006 },
    settled: { max_output_tokens: 'litellm gives the window; models.dev of 2026-07-01 has the limit' },
  },
  {
    id: 'sonar-deep-research',
    name: 'Sonar Deep Research',
    created: released('2025-02-14'),
    capabilities: TEXT_ONLY,
    context_window: 128_000,
    max_output_tokens: 32_768,
    pricing: null,
    input_modalities: TEXT,
    source: modelsDev('perplexity/models/sonar-deep-research'),
    note: 'Besides 2 and 8 dollars the provider charges citations, reasoning and searches, which this price list cannot say; set pricing in the configuration file.',
    settled: { max_output_tokens: 'litellm gives the window; models.dev of 2026-07-01 has the limit' },
  },
])
