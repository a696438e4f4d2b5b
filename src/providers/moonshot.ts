import { openaiChat } from '../protocols/openai-chat/index.ts'
import { bearer, type Provider } from './provider.ts'

/**
 * Its current models think unless a field of its own disables it. While thinking, they reject forced tool calls, and in tool
 * loops assistant messages without `reasoning_content` or with an empty one; a space is accepted.
 */
export const moonshot: Provider = {
  id: 'moonshot',
  name: 'Moonshot AI',
  baseUrl: 'https://api.moonshot.ai/v1',
  apiKeyVariable: 'MOONSHOT_API_KEY',
  protocol: openaiChat({
    severalChoices: false,
    reasoningEfforts: { minimal: 'low', medium: 'high', xhigh: 'high' },
    effortFields: (effort) => (effort === 'none' ? { thinking: { type: 'disabled' } } : undefined),
    missingReasoning: ' ',
    forcedWith: { thinking: { type: 'disabled' } },
    toolParameters: true,
    dropped: ['user', 'metadata', 'store', 'prediction', 'seed'],
    refused: ['logprobs', 'top_logprobs', 'logit_bias', 'modalities'],
    refusedParts: ['input_audio', 'file'],
    joinedText: true,
    serviceTiers: {},
    forwards: {
      fields: ['thinking', 'prompt_cache_key', 'safety_identifier'],
      source: { url: 'https://platform.moonshot.ai/docs/guide/use-kimi-k2-thinking-model', read: '2026-11-23' },
    },
  }),
  authorize: bearer,
  source: { url: 'https://platform.moonshot.ai/docs/guide/use-kimi-k2-thinking-model', read: '2026-11-20' },
}
