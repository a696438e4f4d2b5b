import { openaiChat } from '../protocols/openai-chat/index.ts'
import { openaiCompletions } from '../protocols/openai-completions.ts'
import { bearer, type Provider } from './provider.ts'

/**
 * Thinks unless a field of its own disables it. While thinking, it rejects forced tool calls, and in tool loops assistant
 * messages without `reasoning_content`, which may be empty. Whether it reads images depends on the model.
 */
export const deepseek: Provider = {
  id: 'deepseek',
  name: 'DeepSeek',
  baseUrl: 'https://api.deepseek.com',
  apiKeyVariable: 'DEEPSEEK_API_KEY',
  protocol: openaiChat({
    severalChoices: false,
    maxStops: 16,
    reasoningEfforts: { minimal: 'low', medium: 'high', xhigh: 'high' },
    effortFields: (effort) => (effort === 'none' ? { thinking: { type: 'disabled' } } : undefined),
    missingReasoning: '',
    forcedWith: { thinking: { type: 'disabled' } },
    responseFormats: ['json_object'],
    dropped: ['user', 'metadata', 'store', 'prediction', 'seed'],
    refused: ['logit_bias', 'parallel_tool_calls', 'modalities'],
    refusedParts: ['input_audio', 'file'],
    joinedText: true,
    serviceTiers: {},
    forwards: {
      fields: ['thinking'],
      source: { url: 'https://api-docs.deepseek.com/guides/thinking_mode', read: '2026-11-23' },
    },
  }),
  // https://api-docs.deepseek.com/api/create-completion, read 2026-11-24: its beta, with `suffix`.
  tasks: { completion: openaiCompletions({ path: '/beta/completions', maxStops: 16, severalChoices: false }) },
  authorize: bearer,
  // 400, "the valid range of max_tokens is [1, 8192]" (quoted in deepseek-ai/DeepSeek-V3, issue 69).
  outputLimit: { refusesMore: true },
  source: { url: 'https://api-docs.deepseek.com/guides/thinking_mode', read: '2026-11-20' },
}
