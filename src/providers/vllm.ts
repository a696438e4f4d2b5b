import { openaiChat } from '../protocols/openai-chat/index.ts'
import { bearer, type Provider } from './provider.ts'

/** Runs on one's own machines. Tools and reasoning depend on the flags the server was started with. */
export const vllm: Provider = {
  id: 'vllm',
  name: 'vLLM',
  baseUrl: 'http://127.0.0.1:8000/v1',
  protocol: openaiChat({ reasoningField: 'reasoning', dropped: ['metadata', 'store', 'service_tier', 'prediction'] }),
  authorize: bearer,
  source: { url: 'https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html', read: '2026-11-20' },
}
