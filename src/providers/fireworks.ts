import { openaiChat } from '../protocols/openai-chat/index.ts'
import { openaiCompletions } from '../protocols/openai-completions.ts'
import { openaiEmbeddings } from '../protocols/openai-embeddings.ts'
import { rerank } from '../protocols/rerank.ts'
import { bearer, type Provider } from './provider.ts'

/** Models are named `accounts/…/models/…`. */
export const fireworks: Provider = {
  id: 'fireworks',
  name: 'Fireworks AI',
  baseUrl: 'https://api.fireworks.ai/inference/v1',
  apiKeyVariable: 'FIREWORKS_API_KEY',
  protocol: openaiChat({
    reasoningEfforts: { minimal: 'low', xhigh: 'high', max: 'high' },
    dropped: ['store'],
    refused: ['modalities'],
    refusedParts: ['input_audio', 'file'],
    forwards: {
      fields: [
        'top_k',
        'min_p',
        'typical_p',
        'repetition_penalty',
        'mirostat_lr',
        'mirostat_target',
        'thinking',
        'reasoning_history',
        'prompt_cache_key',
        'prompt_cache_isolation_key',
        'prompt_truncate_len',
        'context_length_exceeded_behavior',
        'ignore_eos',
      ],
      source: { url: 'https://docs.fireworks.ai/api-reference/post-chatcompletions', read: '2026-11-23' },
    },
  }),
  tasks: {
    completion: openaiCompletions(),
    embedding: openaiEmbeddings({ encodingField: 'none', tokenIds: true, user: true }),
    rerank: rerank(),
  },
  authorize: bearer,
  source: { url: 'https://docs.fireworks.ai/api-reference/post-chatcompletions', read: '2026-11-20' },
}
