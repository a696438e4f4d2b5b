/** Models of embeddings and ranking, whose answers are no text: output costs nothing. */
import {
  type CatalogueEntry,
  catalogueEntries,
  collection,
  EMBEDDING_PARAMETERS,
  RERANK_PARAMETERS,
  released,
  TEXT,
} from './entry.ts'

/** Why one collection is enough. */
const SETTLED = {
  sources: 'of the collections compared, litellm alone has embeddings and ranking of most providers',
} as const

const COMMON = {
  capabilities: { streaming: false, function_calling: false, vision: false, json_mode: false },
  max_output_tokens: null,
  input_modalities: TEXT,
  source: collection('litellm'),
  settled: SETTLED,
} as const

const EMBEDDING = { ...COMMON, kind: 'embedding', supported_parameters: EMBEDDING_PARAMETERS } as const
const RERANK = { ...COMMON, kind: 'rerank', supported_parameters: RERANK_PARAMETERS } as const

/** @param input US dollars per million tokens. */
const byTokens = (input: number) => ({ input_per_million: input, output_per_million: 0 })
/** @param search US dollars per 1,000 searches. */
const bySearches = (search: number) => ({ ...byTokens(0), server_tools: { search } })

/** https://platform.openai.com/docs/api-reference/embeddings, read 2026-11-24. */
const OPENAI_LIMITS = {
  context_window: 8192,
  max_inputs: 2048,
  settled: { ...SETTLED, context_window: 'litellm gives 8191; the provider’s reference says 8192' },
} as const

const OPENAI = catalogueEntries({ ...EMBEDDING, ...OPENAI_LIMITS, provider: 'openai', owned_by: 'openai' }, [
  {
    id: 'text-embedding-3-small',
    name: 'Text Embedding 3 Small',
    created: released('2024-01-25'),
    pricing: byTokens(0.02),
  },
  {
    id: 'text-embedding-3-large',
    name: 'Text Embedding 3 Large',
    created: released('2024-01-25'),
    pricing: byTokens(0.13),
  },
  {
    id: 'text-embedding-ada-002',
    name: 'Text Embedding Ada 002',
    created: released('2022-12-15'),
    pricing: byTokens(0.1),
    supported_parameters: ['encoding_format'],
  },
])

const GOOGLE = catalogueEntries({ ...EMBEDDING, owned_by: 'google', context_window: 2048 }, [
  {
    id: 'gemini-embedding-001',
    name: 'Gemini Embedding',
    created: released('2025-07-14'),
    max_inputs: 100,
    pricing: byTokens(0.15),
    deprecation_date: '2028-05-14',
    deployments: [{ provider: 'google', model: 'gemini-embedding-001' }],
  },
])

const NEVER_CACHED = {
  ...SETTLED,
  cached_input_per_million: 'no answer of this endpoint reports cached tokens',
} as const

const MISTRAL = catalogueEntries({ ...EMBEDDING, provider: 'mistral', owned_by: 'mistral', context_window: 8192 }, [
  {
    id: 'mistral-embed',
    name: 'Mistral Embed',
    created: released('2023-12-11'),
    pricing: byTokens(0.1),
    settled: {
      ...NEVER_CACHED,
      output_per_million: 'genai-prices has the input price twice; an embedding has no output',
    },
  },
  {
    id: 'codestral-embed-2505',
    name: 'Codestral Embed',
    created: released('2025-05-28'),
    pricing: byTokens(0.15),
    aliases: ['codestral-embed'],
    settled: NEVER_CACHED,
  },
])

/** Of one call: https://docs.cohere.com/reference/embed, read 2026-11-24. */
const COHERE_TEXTS = 96

const COHERE = catalogueEntries({ ...EMBEDDING, provider: 'cohere', owned_by: 'cohere', max_inputs: COHERE_TEXTS }, [
  {
    id: 'embed-v4.0',
    name: 'Embed 4',
    created: released('2025-04-15'),
    context_window: 128_000,
    pricing: byTokens(0.12),
  },
  {
    id: 'embed-english-v3.0',
    name: 'Embed English 3',
    created: released('2023-11-02'),
    context_window: 512,
    pricing: byTokens(0.1),
  },
  {
    id: 'embed-multilingual-v3.0',
    name: 'Embed Multilingual 3',
    created: released('2023-11-02'),
    context_window: 512,
    pricing: byTokens(0.1),
  },
])

const COHERE_RERANK = catalogueEntries({ ...RERANK, provider: 'cohere', owned_by: 'cohere', max_inputs: 1000 }, [
  {
    id: 'rerank-v4.0-pro',
    name: 'Rerank 4 Pro',
    created: released('2025-12-11'),
    context_window: 32_768,
    pricing: bySearches(2.5),
  },
  {
    id: 'rerank-v3.5',
    name: 'Rerank 3.5',
    created: released('2024-12-02'),
    context_window: 4096,
    pricing: bySearches(2),
  },
])

/** https://docs.voyageai.com/reference/embeddings-api, read 2026-11-24. */
const VOYAGE_TEXTS = 1000

const VOYAGE_OWNER = { provider: 'voyage', owned_by: 'voyage', context_window: 32_000 } as const
const VOYAGE = catalogueEntries({ ...EMBEDDING, ...VOYAGE_OWNER, max_inputs: VOYAGE_TEXTS }, [
  { id: 'voyage-4-large', name: 'Voyage 4 Large', created: released('2026-01-15'), pricing: byTokens(0.12) },
  { id: 'voyage-4', name: 'Voyage 4', created: released('2026-01-15'), pricing: byTokens(0.06) },
  { id: 'voyage-4-lite', name: 'Voyage 4 Lite', created: released('2026-01-15'), pricing: byTokens(0.02) },
  { id: 'voyage-3.5', name: 'Voyage 3.5', created: released('2025-05-20'), pricing: byTokens(0.06) },
  { id: 'voyage-3.5-lite', name: 'Voyage 3.5 Lite', created: released('2025-05-20'), pricing: byTokens(0.02) },
  { id: 'voyage-code-3', name: 'Voyage Code 3', created: released('2024-12-04'), pricing: byTokens(0.18) },
])

const NO_OUTPUT = { ...SETTLED, max_output_tokens: 'litellm repeats the window; a ranking has no output' } as const

const VOYAGE_RERANK = catalogueEntries({ ...RERANK, ...VOYAGE_OWNER, max_inputs: 1000, settled: NO_OUTPUT }, [
  { id: 'rerank-2.5', name: 'Rerank 2.5', created: released('2025-08-11'), pricing: byTokens(0.05) },
  { id: 'rerank-2.5-lite', name: 'Rerank 2.5 Lite', created: released('2025-08-11'), pricing: byTokens(0.02) },
])

const AMAZON = catalogueEntries({ ...EMBEDDING, owned_by: 'amazon' }, [
  {
    id: 'titan-embed-text-v2',
    name: 'Titan Text Embeddings V2',
    created: released('2024-04-30'),
    context_window: 8192,
    max_inputs: 1,
    pricing: byTokens(0.02),
    deployments: [{ provider: 'bedrock', model: 'amazon.titan-embed-text-v2:0' }],
  },
])

export const RETRIEVAL: readonly CatalogueEntry[] = [
  ...OPENAI,
  ...GOOGLE,
  ...MISTRAL,
  ...COHERE,
  ...COHERE_RERANK,
  ...VOYAGE,
  ...VOYAGE_RERANK,
  ...AMAZON,
]
