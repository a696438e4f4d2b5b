import { openaiChat } from '../protocols/openai-chat/index.ts'
import { bearer, type Provider } from './provider.ts'

/**
 * A router over many hosts; it reports its own errors, and those of the hosts, also within streams. Reasoning comes
 * in details, signed or encrypted by the host behind it, and is wanted back in them.
 */
export const openrouter: Provider = {
  id: 'openrouter',
  name: 'OpenRouter',
  baseUrl: 'https://openrouter.ai/api/v1',
  apiKeyVariable: 'OPENROUTER_API_KEY',
  protocol: openaiChat({
    maxTokensField: 'max_completion_tokens',
    severalChoices: false,
    developerRole: true,
    originalDetail: true,
    reasoningField: 'reasoning',
    reasoningDetails: true,
    reasoningEfforts: { max: 'xhigh' },
    effortFields: (effort) => ({ reasoning: { effort } }),
    dropped: ['store'],
    forwards: {
      fields: [
        'top_k',
        'top_a',
        'min_p',
        'repetition_penalty',
        'verbosity',
        'reasoning',
        'include_reasoning',
        'safe_prompt',
        'raw_mode',
        'cache_control',
      ],
      source: { url: 'https://openrouter.ai/docs/api_reference/parameters', read: '2026-11-23' },
    },
  }),
  authorize: bearer,
  source: { url: 'https://openrouter.ai/docs/use-cases/reasoning-tokens', read: '2026-11-20' },
}
