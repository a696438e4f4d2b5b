import { openaiChat } from '../protocols/openai-chat/index.ts'
import { bearer, type Provider } from './provider.ts'

/**
 * Its current models think unless told not to, which a field of its own says. Thinking, they refuse to be forced to
 * call a tool, and assistants without `reasoning_content` in a loop of tool calls: even an empty one, but not a space.
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
