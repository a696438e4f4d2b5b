import { openaiChat } from '../protocols/openai-chat/index.ts'
import { bearer, type Provider } from './provider.ts'

/** Models are named `accounts/…/models/…`. */
export const fireworks: Provider = {
  id: 'fireworks',
  name: 'Fireworks AI',
  baseUrl: 'https://api.fireworks.ai/inference/v1',
  apiKeyVariable: 'FIREWORKS_API_KEY',
  protocol: openaiChat({
    reasoningEfforts: { minimal: 'low', xhigh: 'high', max: 'high' },
    dropped: ['store'],
    refused: ['modalities'],
    refusedParts: ['input_audio', 'file'],
  }),
  authorize: bearer,
  source: { url: 'https://docs.fireworks.ai/api-reference/post-chatcompletions', read: '2026-11-20' },
}
