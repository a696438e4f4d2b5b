import { openaiChat } from '../../protocols/openai-chat/index.ts'
import { openaiEmbeddings } from '../../protocols/openai-embeddings.ts'
import { rerank } from '../../protocols/rerank.ts'
import { bearer, type Provider } from '../provider.ts'

const SOURCE = { url: 'https://jina.ai/embeddings/', read: '2026-11-24' } as const

/** Embeddings and ranking alone. */
export const jina: Provider = {
  id: 'jina',
  name: 'Jina AI',
  baseUrl: 'https://api.jina.ai/v1',
  apiKeyVariable: 'JINA_API_KEY',
  hasChat: false,
  protocol: openaiChat(),
  tasks: {
    embedding: openaiEmbeddings({
      encodingField: 'none',
      forwards: { fields: ['task', 'late_chunking', 'truncate', 'normalized'], source: SOURCE },
    }),
    rerank: rerank(),
  },
  authorize: bearer,
  source: SOURCE,
}
