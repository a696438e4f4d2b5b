import type { ChatRequest } from '../domain/chat.ts'
import { openaiChat } from '../protocols/openai-chat/index.ts'
import { openaiCompletions } from '../protocols/openai-completions.ts'
import { openaiEmbeddings } from '../protocols/openai-embeddings.ts'
import { unsupportedContent } from '../protocols/parameters.ts'
import { bearer, type Provider } from './provider.ts'

/** Ollama fetches no images: many of its versions read data URLs alone. */
function refuseRemoteImages(request: ChatRequest): ChatRequest {
  for (const [position, { content }] of request.messages.entries()) {
    if (!Array.isArray(content)) continue
    const at = content.findIndex(({ type, image_url: image }) => type === 'image_url' && !/^data:/i.test(image.url))
    const param = `messages[${position}].content[${at}]`
    if (at >= 0) throw unsupportedContent(param, 'images by their address; send a data URL')
  }
  return request
}

/**
 * Runs on the operator's own machine, or at ollama.com with a key. Silently ignores unknown parameters.
 */
export const ollama: Provider = {
  id: 'ollama',
  name: 'Ollama',
  baseUrl: 'http://127.0.0.1:11434/v1',
  protocol: openaiChat({
    toolMedia: true,
    maxStops: 64,
    severalChoices: false,
    reasoningField: 'reasoning',
    reasoningEfforts: { minimal: 'low', xhigh: 'high', max: 'high' },
    toolChoices: [],
    dropped: ['user', 'metadata', 'store', 'prediction'],
    refused: ['parallel_tool_calls', 'logit_bias', 'modalities'],
    refusedParts: ['input_audio', 'file'],
    adaptRequest: refuseRemoteImages,
    serviceTiers: {},
    forwards: {
      fields: ['reasoning'],
      source: { url: 'https://docs.ollama.com/api/openai-compatibility', read: '2026-11-23' },
    },
  }),
  tasks: { completion: openaiCompletions({ maxStops: 64, severalChoices: false }), embedding: openaiEmbeddings() },
  authorize: bearer,
  source: { url: 'https://docs.ollama.com/api/openai-compatibility', read: '2026-11-20' },
}
