import type { ChatRequest } from '../domain/chat.ts'
import { openaiChat } from '../protocols/openai-chat/index.ts'
import type { UpstreamProtocol } from '../protocols/protocol.ts'
import { bearer, type Provider } from './provider.ts'

const codec = openaiChat({
  severalChoices: false,
  reasoningEfforts: { minimal: 'low', medium: 'high', xhigh: 'high' },
  responseFormats: ['json_object'],
  dropped: ['user', 'metadata', 'store', 'service_tier', 'prediction', 'seed'],
  refused: ['logit_bias', 'parallel_tool_calls', 'modalities'],
  refusedParts: ['image_url'],
})

/** Thinking is on unless switched off, and is switched off by a field of its own, not by an effort. */
const protocol: UpstreamProtocol = {
  ...codec,
  renderRequest: (request, target) => codec.renderRequest(withThinkingSwitch(request), target),
}

function withThinkingSwitch(request: ChatRequest): ChatRequest {
  if (request.reasoningEffort !== 'none') return request
  const { reasoningEffort: _, ...rest } = request
  return { ...rest, extra: { thinking: { type: 'disabled' }, ...request.extra } }
}

/** Reasoning must be sent back within a loop of tool calls, under the name it came. */
export const deepseek: Provider = {
  id: 'deepseek',
  name: 'DeepSeek',
  baseUrl: 'https://api.deepseek.com',
  apiKeyVariable: 'DEEPSEEK_API_KEY',
  protocol,
  authorize: bearer,
  source: { url: 'https://api-docs.deepseek.com/guides/thinking_mode', read: '2026-11-20' },
}
