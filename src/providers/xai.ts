import { openaiChat } from '../protocols/openai-chat/index.ts'
import { bearer, type Provider } from './provider.ts'

/** Counts reasoning beside the completion, which its totals show. */
export const xai: Provider = {
  id: 'xai',
  name: 'xAI',
  baseUrl: 'https://api.x.ai/v1',
  apiKeyVariable: 'XAI_API_KEY',
  protocol: openaiChat({
    maxTokensField: 'max_completion_tokens',
    severalChoices: false,
    reasoningEfforts: { minimal: 'low', xhigh: 'high', max: 'high' },
    dropped: ['metadata', 'store', 'service_tier', 'prediction'],
    refused: ['logit_bias', 'modalities'],
    refusedParts: ['input_audio'],
  }),
  authorize: bearer,
  source: { url: 'https://docs.x.ai/developers/model-capabilities/text/reasoning', read: '2026-11-20' },
}
