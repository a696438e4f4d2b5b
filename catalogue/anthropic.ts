import {
  ALL_CAPABILITIES,
  type CataloguePricing,
  CHAT_PARAMETERS,
  catalogueEntries,
  HYBRID_PARAMETERS,
  type Rates,
  REASONING_PARAMETERS,
  rates,
  released,
  TEXT_IMAGES_AND_FILES,
} from './entry.ts'

const PRICE_LIST = { url: 'https://platform.claude.com/docs/en/about-claude/pricing', read: '2026-11-23' } as const

const COMMON = {
  provider: 'anthropic',
  owned_by: 'anthropic',
  capabilities: ALL_CAPABILITIES,
  // PDF: https://platform.claude.com/docs/en/build-with-claude/pdf-support, all active models.
  input_modalities: TEXT_IMAGES_AND_FILES,
  supported_parameters: HYBRID_PARAMETERS,
  source: PRICE_LIST,
} as const

const REASONING_WITHOUT_FORCING = [
  'max_tokens',
  'reasoning_effort',
  'response_format',
  'structured_outputs',
  'tools',
] as const

/** Cache writes cost one and a quarter of input for five minutes, and twice for an hour. */
const ratesOf = (own: Rates) => rates({ ...own, cacheWrite: own.input * 1.25, cacheWrite1h: own.input * 2 })

/** Every model with the fee of a thousand web searches. */
const prices = (own: Rates): CataloguePricing => ({ ...ratesOf(own), server_tools: { web_search: 10 } })

/**
 * The maker first, then a cloud that asks the same (models.dev, 2026-07-01).
 * @param profile The cloud's own name: an inference profile, which says where the model may run.
 */
const upstreams = (model: string, profile: string) =>
  [
    { provider: 'anthropic', model },
    { provider: 'bedrock', model: profile, priority: 1 },
  ] as const

export const ANTHROPIC = catalogueEntries(COMMON, [
  {
    id: 'claude-fable-5-1',
    name: 'Claude Fable 5.1',
    created: released('2026-09-01'),
    context_window: 1_000_000,
    max_output_tokens: 128_000,
    pricing: prices({ input: 10, output: 50, cached: 0.25 }),
    supported_parameters: REASONING_WITHOUT_FORCING,
    note: 'It refuses tool choices that force a call.',
  },
  {
    id: 'claude-opus-5-5',
    name: 'Claude Opus 5.5',
    created: released('2026-09-22'),
    context_window: 1_000_000,
    max_output_tokens: 128_000,
    pricing: prices({ input: 4, output: 20, cached: 0.2 }),
    supported_parameters: REASONING_PARAMETERS,
    source: { url: 'https://github.com/TheKrush/PromptFuel/releases/tag/v1.0.21', read: '2026-11-20' },
  },
  {
    id: 'claude-sonnet-5-5',
    name: 'Claude Sonnet 5.5',
    created: released('2026-09-29'),
    context_window: 1_000_000,
    max_output_tokens: 128_000,
    pricing: prices({ input: 2, output: 10, cached: 0.1 }),
    supported_parameters: REASONING_PARAMETERS,
    source: { url: 'https://github.com/TheKrush/PromptFuel/releases/tag/v1.0.23', read: '2026-11-20' },
    note: 'The cache-read price is the one since 2026-10-07.',
  },
  {
    id: 'claude-haiku-5-5',
    name: 'Claude Haiku 5.5',
    created: released('2026-10-07'),
    context_window: 1_000_000,
    max_output_tokens: 128_000,
    pricing: {
      ...prices({ input: 0.1, output: 0.5, cached: 0.01 }),
      tiers: [{ above_prompt_tokens: 100_000, ...ratesOf({ input: 0.5, output: 2.5, cached: 0.05 }) }],
    },
    supported_parameters: REASONING_PARAMETERS,
    source: { url: 'https://platform.claude.com/docs/en/models/haiku-5-5/overview.md', read: '2026-11-23' },
    note: 'For prompts above 100 000 tokens the provider asks five times as much, which this price list cannot say.',
  },
  {
    id: 'claude-opus-5',
    name: 'Claude Opus 5',
    created: released('2026-07-24'),
    context_window: 1_000_000,
    max_output_tokens: 128_000,
    pricing: prices({ input: 5, output: 25, cached: 0.5 }),
    supported_parameters: REASONING_PARAMETERS,
  },
  {
    id: 'claude-sonnet-5',
    name: 'Claude Sonnet 5',
    created: released('2026-06-30'),
    context_window: 1_000_000,
    max_output_tokens: 128_000,
    pricing: prices({ input: 2, output: 10, cached: 0.2 }),
    supported_parameters: REASONING_PARAMETERS,
    deployments: upstreams('claude-sonnet-5', 'global.anthropic.claude-sonnet-5'),
    source: { url: 'https://platform.claude.com/docs/en/models/sonnet-5/overview.md', read: '2026-11-23' },
  },
  {
    id: 'claude-fable-5',
    name: 'Claude Fable 5',
    created: released('2026-06-09'),
    context_window: 1_000_000,
    max_output_tokens: 128_000,
    pricing: prices({ input: 10, output: 50, cached: 1 }),
    supported_parameters: REASONING_PARAMETERS,
    deployments: upstreams('claude-fable-5', 'global.anthropic.claude-fable-5'),
  },
  {
    id: 'claude-opus-4-8',
    name: 'Claude Opus 4.8',
    created: released('2026-05-28'),
    context_window: 1_000_000,
    max_output_tokens: 128_000,
    pricing: prices({ input: 5, output: 25, cached: 0.5 }),
    supported_parameters: REASONING_PARAMETERS,
    deployments: upstreams('claude-opus-4-8', 'global.anthropic.claude-opus-4-8'),
  },
  {
    id: 'claude-opus-4-7',
    name: 'Claude Opus 4.7',
    created: released('2026-04-16'),
    context_window: 1_000_000,
    max_output_tokens: 128_000,
    pricing: prices({ input: 5, output: 25, cached: 0.5 }),
    supported_parameters: REASONING_PARAMETERS,
    deployments: upstreams('claude-opus-4-7', 'global.anthropic.claude-opus-4-7'),
  },
  {
    id: 'claude-sonnet-4-6',
    name: 'Claude Sonnet 4.6',
    created: released('2026-02-17'),
    context_window: 1_000_000,
    max_output_tokens: 128_000,
    pricing: prices({ input: 3, output: 15, cached: 0.3 }),
    deployments: upstreams('claude-sonnet-4-6', 'global.anthropic.claude-sonnet-4-6'),
    settled: {
      max_output_tokens: 'the provider’s own; litellm gives 64 000 for the partner cloud, pi-ai 128 000 for both',
    },
  },
  {
    id: 'claude-opus-4-6',
    name: 'Claude Opus 4.6',
    created: released('2026-02-05'),
    context_window: 1_000_000,
    max_output_tokens: 128_000,
    pricing: prices({ input: 5, output: 25, cached: 0.5 }),
    deployments: upstreams('claude-opus-4-6', 'global.anthropic.claude-opus-4-6-v1'),
  },
  {
    id: 'claude-opus-4-5-20251101',
    name: 'Claude Opus 4.5',
    created: released('2025-11-24'),
    context_window: 200_000,
    max_output_tokens: 64_000,
    pricing: prices({ input: 5, output: 25, cached: 0.5 }),
    aliases: ['claude-opus-4-5'],
    deployments: upstreams('claude-opus-4-5-20251101', 'global.anthropic.claude-opus-4-5-20251101-v1:0'),
  },
  {
    id: 'claude-haiku-4-5-20251001',
    name: 'Claude Haiku 4.5',
    created: released('2025-10-15'),
    context_window: 200_000,
    max_output_tokens: 64_000,
    pricing: prices({ input: 1, output: 5, cached: 0.1 }),
    aliases: ['claude-haiku-4-5'],
    deployments: upstreams('claude-haiku-4-5-20251001', 'global.anthropic.claude-haiku-4-5-20251001-v1:0'),
  },
  {
    id: 'claude-sonnet-4-5-20250929',
    name: 'Claude Sonnet 4.5',
    created: released('2025-09-29'),
    context_window: 200_000,
    max_output_tokens: 64_000,
    pricing: {
      ...prices({ input: 3, output: 15, cached: 0.3 }),
      tiers: [{ above_prompt_tokens: 200_000, ...ratesOf({ input: 6, output: 22.5, cached: 0.6 }) }],
    },
    aliases: ['claude-sonnet-4-5'],
    deprecation_date: '2026-11-30',
    replacement: 'claude-sonnet-5-5',
    deployments: upstreams('claude-sonnet-4-5-20250929', 'global.anthropic.claude-sonnet-4-5-20250929-v1:0'),
  },
  {
    id: 'claude-opus-4-1-20250805',
    name: 'Claude Opus 4.1',
    created: released('2025-08-05'),
    context_window: 200_000,
    max_output_tokens: 32_000,
    pricing: prices({ input: 15, output: 75, cached: 1.5 }),
    aliases: ['claude-opus-4-1'],
    deprecation_date: '2026-08-05',
    replacement: 'claude-opus-4-8',
    deployments: upstreams('claude-opus-4-1-20250805', 'us.anthropic.claude-opus-4-1-20250805-v1:0'),
    note: 'The last release at this price; partner clouds serve it longer than the provider itself.',
    settled: { deprecation_date: 'litellm gives the day of the partner cloud; the provider’s own came first' },
  },
  {
    id: 'claude-sonnet-4-20250514',
    name: 'Claude Sonnet 4',
    created: released('2025-05-22'),
    context_window: 200_000,
    max_output_tokens: 16_000,
    pricing: prices({ input: 3, output: 15, cached: 0.3 }),
    aliases: ['claude-sonnet-4', 'claude-sonnet-4-0'],
    deprecation_date: '2026-06-15',
    replacement: 'claude-sonnet-4-6',
    note: 'The provider allowed 64 000 output tokens; 16 000 is what the service interface promises for this row.',
    settled: { max_output_tokens: 'what the service interface promises' },
  },
  {
    id: 'claude-3-5-haiku-20241022',
    name: 'Claude Haiku 3.5',
    created: released('2024-10-22'),
    context_window: 200_000,
    max_output_tokens: 8_192,
    pricing: prices({ input: 0.8, output: 4, cached: 0.08 }),
    aliases: ['claude-3-5-haiku', 'claude-3-5-haiku-latest'],
    deprecation_date: '2026-02-19',
    replacement: 'claude-haiku-4-5-20251001',
    supported_parameters: CHAT_PARAMETERS,
    settled: { sources: 'shut down; the price list keeps its row for the service interface' },
  },
])
