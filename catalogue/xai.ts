import {
  ALL_CAPABILITIES,
  type CataloguePricing,
  CHAT_PARAMETERS,
  catalogueEntries,
  collection,
  HYBRID_PARAMETERS,
  type Rates,
  rates,
  released,
  TEXT_AND_IMAGES,
} from './entry.ts'

const COMMON = {
  provider: 'xai',
  owned_by: 'xai',
  capabilities: ALL_CAPABILITIES,
  input_modalities: TEXT_AND_IMAGES,
  supported_parameters: HYBRID_PARAMETERS,
  source: collection('litellm'),
} as const

/** Prompts of 200 000 tokens and more cost twice as much. */
function prices({ input, output, cached }: Required<Pick<Rates, 'input' | 'output' | 'cached'>>): CataloguePricing {
  const doubled = rates({ input: input * 2, output: output * 2, cached: cached * 2 })
  return { ...rates({ input, output, cached }), tiers: [{ above_prompt_tokens: 199_999, ...doubled }] }
}

const NO_LOWER_LIMIT = {
  max_output_tokens:
    'the provider’s own list of models, which litellm read, sets no limit below the window; 30 000 is older',
} as const

export const XAI = catalogueEntries(COMMON, [
  {
    id: 'grok-4.7',
    name: 'Grok 4.7',
    created: released('2026-09-21'),
    context_window: 500_000,
    max_output_tokens: 500_000,
    pricing: prices({ input: 2, output: 6, cached: 0.5 }),
  },
  {
    id: 'grok-4.6',
    name: 'Grok 4.6',
    created: released('2026-08-07'),
    context_window: 500_000,
    max_output_tokens: 500_000,
    pricing: prices({ input: 2, output: 6, cached: 0.5 }),
  },
  {
    id: 'grok-4.5',
    name: 'Grok 4.5',
    created: released('2026-07-09'),
    context_window: 500_000,
    max_output_tokens: 500_000,
    pricing: prices({ input: 2, output: 6, cached: 0.3 }),
  },
  {
    id: 'grok-4.3',
    name: 'Grok 4.3',
    created: released('2026-04-17'),
    context_window: 1_000_000,
    max_output_tokens: 1_000_000,
    pricing: prices({ input: 1.25, output: 2.5, cached: 0.2 }),
    settled: NO_LOWER_LIMIT,
  },
  {
    id: 'grok-4.20-0309-reasoning',
    name: 'Grok 4.20',
    created: released('2026-03-09'),
    context_window: 1_000_000,
    max_output_tokens: 1_000_000,
    pricing: prices({ input: 1.25, output: 2.5, cached: 0.2 }),
    settled: NO_LOWER_LIMIT,
  },
  {
    id: 'grok-4.20-0309-non-reasoning',
    name: 'Grok 4.20, without reasoning',
    created: released('2026-03-09'),
    context_window: 1_000_000,
    max_output_tokens: 1_000_000,
    pricing: prices({ input: 1.25, output: 2.5, cached: 0.2 }),
    supported_parameters: CHAT_PARAMETERS,
    settled: NO_LOWER_LIMIT,
  },
  {
    id: 'grok-build-0.1',
    name: 'Grok Build 0.1',
    created: released('2026-04-16'),
    context_window: 256_000,
    max_output_tokens: 256_000,
    pricing: prices({ input: 1, output: 2, cached: 0.2 }),
  },
])
