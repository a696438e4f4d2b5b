import { openaiChat } from '../../protocols/openai-chat/index.ts'
import { openaiEmbeddings } from '../../protocols/openai-embeddings.ts'
import { rerank } from '../../protocols/rerank.ts'
import { bearer, type Provider } from '../provider.ts'

const SOURCE = { url: 'https://docs.voyageai.com/reference/embeddings-api', read: '2026-11-24' } as const

/** Embeddings and ranking alone. Numbers are what it sends where no encoding is named. */
export const voyage: Provider = {
  id: 'voyage',
  name: 'Voyage AI',
  baseUrl: 'https://api.voyageai.com/v1',
  apiKeyVariable: 'VOYAGE_API_KEY',
  hasChat: false,
  protocol: openaiChat(),
  tasks: {
    embedding: openaiEmbeddings({
      dimensionsField: 'output_dimension',
      encodings: ['base64'],
      forwards: { fields: ['input_type', 'truncation'], source: SOURCE },
    }),
    rerank: rerank({ topField: 'top_k', forwards: { fields: ['truncation'] } }),
  },
  authorize: bearer,
  source: SOURCE,
}
