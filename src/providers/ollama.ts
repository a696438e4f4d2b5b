import { openaiChat } from '../protocols/openai-chat/index.ts'
import { bearer, type Provider } from './provider.ts'

/**
 * Runs on one's own machine, or at ollama.com with a key. Parameters it does not know it ignores without a word. It
 * fetches no images: many of its versions read data URLs alone.
 */
export const ollama: Provider = {
  id: 'ollama',
  name: 'Ollama',
  baseUrl: 'http://127.0.0.1:11434/v1',
  protocol: openaiChat({
    maxStops: 64,
    severalChoices: false,
    reasoningField: 'reasoning',
    reasoningEfforts: { minimal: 'low', xhigh: 'high', max: 'high' },
    toolChoices: [],
    dropped: ['user', 'metadata', 'store', 'prediction'],
    refused: ['parallel_tool_calls', 'logit_bias', 'modalities'],
    refusedParts: ['input_audio', 'file'],
    remoteImages: false,
    serviceTiers: {},
    forwards: {
      fields: ['reasoning'],
      source: { url: 'https://docs.ollama.com/api/openai-compatibility', read: '2026-11-23' },
    },
  }),
  authorize: bearer,
  source: { url: 'https://docs.ollama.com/api/openai-compatibility', read: '2026-11-20' },
}
