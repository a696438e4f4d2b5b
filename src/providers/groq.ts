import { openaiChat } from '../protocols/openai-chat/index.ts'
import { bearer, type Provider } from './provider.ts'

/**
 * Service tiers keep the host's own names, since answers name them, and are priced by what answers name.
 * Temperature 0 is turned into 1e-8 by the host itself; saying so keeps the change visible.
 */
export const groq: Provider = {
  id: 'groq',
  name: 'Groq',
  baseUrl: 'https://api.groq.com/openai/v1',
  apiKeyVariable: 'GROQ_API_KEY',
  protocol: openaiChat({
    maxTokensField: 'max_completion_tokens',
    severalChoices: false,
    reasoningField: 'reasoning',
    reasoningEfforts: { minimal: 'low', xhigh: 'high', max: 'high' },
    messageFields: ['role', 'content', 'tool_calls', 'tool_call_id', 'reasoning'],
    namedRoles: [],
    minimumTemperature: 1e-8,
    serviceTiers: { flex: 'flex', performance: 'performance' },
    vendorField: 'x_groq',
    dropped: ['metadata', 'store', 'prediction'],
    refused: ['logprobs', 'top_logprobs', 'logit_bias', 'frequency_penalty', 'presence_penalty', 'modalities'],
    refusedParts: ['input_audio', 'file'],
    forwards: {
      fields: ['reasoning_format', 'include_reasoning', 'disable_tool_validation', 'documents', 'citation_options'],
      source: { url: 'https://console.groq.com/docs/api-reference', read: '2026-11-23' },
    },
  }),
  authorize: bearer,
  outputLimit: { refusesMore: true },
  source: { url: 'https://console.groq.com/docs/api-reference', read: '2026-11-20' },
}
