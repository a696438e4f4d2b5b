import { openaiChat } from '../protocols/openai-chat/index.ts'
import { bearer, type Provider } from './provider.ts'

/** Its `logprobs` is a number and answers in another shape. */
export const together: Provider = {
  id: 'together',
  name: 'Together AI',
  baseUrl: 'https://api.together.xyz/v1',
  apiKeyVariable: 'TOGETHER_API_KEY',
  protocol: openaiChat({
    dropped: ['user', 'metadata', 'store', 'service_tier', 'prediction'],
    refused: ['logprobs', 'top_logprobs', 'modalities'],
  }),
  authorize: bearer,
  source: { url: 'https://docs.together.ai/reference/chat-completions-1', read: '2026-11-20' },
}
