import { cohereEmbeddings } from '../../protocols/cohere-embeddings.ts'
import { openaiChat } from '../../protocols/openai-chat/index.ts'
import type { UpstreamProtocol } from '../../protocols/protocol.ts'
import { rerank } from '../../protocols/rerank.ts'
import { bearer, type Provider } from '../provider.ts'

const SOURCE = { url: 'https://docs.cohere.com/docs/compatibility-api', read: '2026-11-24' } as const

const chat = openaiChat({
  severalChoices: false,
  reasoningField: 'none',
  dropped: ['user', 'metadata', 'store', 'prediction'],
  refused: ['logit_bias', 'top_logprobs', 'parallel_tool_calls', 'modalities'],
  refusedParts: ['input_audio', 'file'],
  serviceTiers: {},
  forwards: { fields: [], source: SOURCE },
})

const protocol: UpstreamProtocol = {
  ...chat,
  renderRequest: (request, target) => ({
    ...chat.renderRequest(request, target),
    path: '/compatibility/v1/chat/completions',
  }),
}

/** Chat models by its compatibility API, embeddings and ranking by its own. */
export const cohere: Provider = {
  id: 'cohere',
  name: 'Cohere',
  baseUrl: 'https://api.cohere.com',
  apiKeyVariable: 'COHERE_API_KEY',
  protocol,
  tasks: {
    embedding: cohereEmbeddings(),
    rerank: rerank({ path: '/v2/rerank', searches: 'reported', forwards: { fields: ['max_tokens_per_doc'] } }),
  },
  authorize: bearer,
  source: SOURCE,
}
