import { openaiChat } from '../protocols/openai-chat/index.ts'
import { bearer, type Provider } from './provider.ts'

/** Refuses fields it does not know, in the request and in its messages; usage comes without asking. */
export const mistral: Provider = {
  id: 'mistral',
  name: 'Mistral AI',
  baseUrl: 'https://api.mistral.ai/v1',
  apiKeyVariable: 'MISTRAL_API_KEY',
  protocol: openaiChat({
    severalChoices: false,
    streamOptions: false,
    reasoningField: 'none',
    messageFields: ['role', 'content', 'tool_calls', 'tool_call_id', 'name', 'prefix'],
    namedRoles: ['tool'],
    renamed: { seed: 'random_seed' },
    requiredToolChoice: 'any',
    dropped: ['user', 'metadata', 'store', 'service_tier'],
    refused: ['logprobs', 'top_logprobs', 'logit_bias', 'modalities'],
  }),
  authorize: bearer,
  source: { url: 'https://docs.mistral.ai/api/', read: '2026-11-20' },
}
