import { openaiChat } from '../protocols/openai-chat/index.ts'
import { openaiCompletions } from '../protocols/openai-completions.ts'
import { openaiEmbeddings } from '../protocols/openai-embeddings.ts'
import { rerank } from '../protocols/rerank.ts'
import { bearer, type Provider } from './provider.ts'

/** Its `logprobs` is a number, with results in another form. A field of its own disables thinking. */
export const together: Provider = {
  id: 'together',
  name: 'Together AI',
  baseUrl: 'https://api.together.xyz/v1',
  apiKeyVariable: 'TOGETHER_API_KEY',
  protocol: openaiChat({
    reasoningEfforts: { minimal: 'low', xhigh: 'high' },
    effortFields: (effort) => (effort === 'none' ? { reasoning: { enabled: false } } : undefined),
    dropped: ['user', 'metadata', 'store', 'prediction'],
    refused: ['logprobs', 'top_logprobs', 'modalities'],
    refusedParts: ['input_audio', 'file'],
    serviceTiers: {},
    forwards: {
      fields: ['top_k', 'min_p', 'repetition_penalty', 'reasoning', 'chat_template_kwargs'],
      source: { url: 'https://docs.together.ai/reference/chat-completions-1', read: '2026-11-23' },
    },
  }),
  tasks: {
    completion: openaiCompletions(),
    embedding: openaiEmbeddings({ dimensionsField: 'none', encodingField: 'none' }),
    rerank: rerank(),
  },
  authorize: bearer,
  source: { url: 'https://docs.together.ai/reference/chat-completions-1', read: '2026-11-20' },
}
