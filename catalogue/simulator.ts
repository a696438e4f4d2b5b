import { ALL_CAPABILITIES, type CatalogueEntry, released, TEXT_IMAGES_AND_FILES } from './entry.ts'

/** The built-in model. Its price is made up, so that credit, limits and usage can be tried without an account. */
export const SIMULATOR: readonly CatalogueEntry[] = [
  {
    id: 'turnpike-simulator',
    name: 'Turnpike Simulator',
    owned_by: 'turnpike',
    created: released('2026-11-20'),
    capabilities: ALL_CAPABILITIES,
    context_window: 128_000,
    max_output_tokens: 4_096,
    pricing: { input_per_million: 0.1, output_per_million: 0.4, cached_input_per_million: 0.01 },
    aliases: [],
    deprecation_date: null,
    input_modalities: TEXT_IMAGES_AND_FILES,
    supported_parameters: [
      'logprobs',
      'max_tokens',
      'n',
      'parallel_tool_calls',
      'response_format',
      'stop',
      'structured_outputs',
      'tool_choice',
      'tools',
      'top_logprobs',
    ],
    deployments: [{ provider: 'simulator', model: 'turnpike-simulator' }],
    source: { url: 'docs/simulator.md', read: '2026-11-20' },
  },
]
