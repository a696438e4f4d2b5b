import { openaiChat } from '../protocols/openai-chat/index.ts'
import { bearer, type Provider } from './provider.ts'

/** The originator of the format. Its reasoning models refuse `max_tokens`; all its models take the newer name. */
export const openai: Provider = {
  id: 'openai',
  name: 'OpenAI',
  baseUrl: 'https://api.openai.com/v1',
  apiKeyVariable: 'OPENAI_API_KEY',
  protocol: openaiChat({
    maxTokensField: 'max_completion_tokens',
    developerRole: true,
    allowedTools: true,
    customTools: true,
    originalDetail: true,
    refusals: true,
    reasoningField: 'none',
    forwards: {
      fields: [
        'verbosity',
        'prompt_cache_key',
        'prompt_cache_options',
        'prompt_cache_retention',
        'safety_identifier',
        'web_search_options',
        'audio',
      ],
      source: { url: 'https://platform.openai.com/docs/api-reference/chat/create', read: '2026-11-23' },
    },
  }),
  authorize: bearer,
  outputLimit: { refusesMore: true },
  source: { url: 'https://platform.openai.com/docs/api-reference/chat/create', read: '2026-11-20' },
}
