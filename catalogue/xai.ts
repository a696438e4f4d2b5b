import {
  ALL_CAPABILITIES,
  type CatalogueEntry,
  HYBRID_PARAMETERS,
  modelsDev,
  released,
  TEXT_AND_IMAGES,
} from './entry.ts'

const COMMON = {
  owned_by: 'xai',
  capabilities: ALL_CAPABILITIES,
  input_modalities: TEXT_AND_IMAGES,
  supported_parameters: HYBRID_PARAMETERS,
  aliases: [],
  deprecation_date: null,
  note: 'For prompts above 200 000 tokens the provider asks twice as much, which this price list cannot say.',
} as const

export const XAI: readonly CatalogueEntry[] = [
  {
    ...COMMON,
    id: 'grok-4.5',
    name: 'Grok 4.5',
    created: released('2026-07-09'),
    context_window: 500_000,
    max_output_tokens: null,
    pricing: { input_per_million: 2, output_per_million: 6, cached_input_per_million: 0.5 },
    deployments: [{ provider: 'xai', model: 'grok-4.5' }],
    source: { url: 'https://github.com/Zoo-Code-Org/Zoo-Code/issues/866', read: '2026-11-20' },
  },
  {
    ...COMMON,
    id: 'grok-4.3',
    name: 'Grok 4.3',
    created: released('2026-04-17'),
    context_window: 1_000_000,
    max_output_tokens: 30_000,
    pricing: { input_per_million: 1.25, output_per_million: 2.5, cached_input_per_million: 0.2 },
    deployments: [{ provider: 'xai', model: 'grok-4.3' }],
    source: modelsDev('xai/models/grok-4.3'),
  },
]
