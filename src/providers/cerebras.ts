import { openaiChat } from '../protocols/openai-chat/index.ts'
import { bearer, type Provider } from './provider.ts'

export const cerebras: Provider = {
  id: 'cerebras',
  name: 'Cerebras',
  baseUrl: 'https://api.cerebras.ai/v1',
  apiKeyVariable: 'CEREBRAS_API_KEY',
  protocol: openaiChat({
    maxTokensField: 'max_completion_tokens',
    severalChoices: false,
    reasoningField: 'reasoning',
    reasoningEfforts: { minimal: 'low', xhigh: 'high', max: 'high' },
    dropped: ['metadata', 'store'],
    refused: ['frequency_penalty', 'presence_penalty', 'logit_bias', 'modalities'],
    refusedParts: ['input_audio', 'file'],
    serviceTiers: {},
    forwards: {
      fields: ['disable_reasoning', 'clear_thinking', 'reasoning_format', 'prompt_cache_key'],
      source: { url: 'https://inference-docs.cerebras.ai/api-reference/chat-completions', read: '2026-11-23' },
    },
  }),
  authorize: bearer,
  source: { url: 'https://inference-docs.cerebras.ai/api-reference/chat-completions', read: '2026-11-20' },
}
