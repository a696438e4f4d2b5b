import type { ChatMessage, ChatRequest } from '../domain/chat.ts'
import type { Json } from '../lib/json.ts'
import { openaiChat } from '../protocols/openai-chat/index.ts'
import { detailsIn, detailsOf } from '../protocols/openai-chat/response.ts'
import { DEFAULT_USE_LIMIT, type ToolUses } from '../protocols/server-tools.ts'
import { bearer, type Provider } from './provider.ts'

/** Models with this suffix search the web for every request. Source: OpenRouter, "Web search". */
function toolUses(_: ChatRequest, model: string): ToolUses {
  return model.endsWith(':online') ? { web_search: { limit: DEFAULT_USE_LIMIT, param: 'model' } } : {}
}

/** Returns the reasoning details of earlier answers, if the client sent them, instead of the reasoning's text. */
function returnDetails(request: ChatRequest): ChatRequest {
  return { ...request, messages: request.messages.map((message) => withDetails(message as ChatMessage & Json)) }
}

function withDetails(message: ChatMessage & Json): ChatMessage & Json {
  if (message.role !== 'assistant') return message
  const hasOwn = 'reasoning_details' in message
  const details = hasOwn ? detailsIn(message) : detailsOf(message.provider_context)
  if (details.length === 0) return message
  const { reasoning_content: _, reasoning: __, ...rest } = message
  return hasOwn ? rest : { ...rest, reasoning_details: details }
}

/**
 * A router over many hosts. Reports its own errors and those of the hosts, also within streams. Reasoning comes in
 * details, signed or encrypted by the host behind it, which follow-ups must return.
 */
export const openrouter: Provider = {
  id: 'openrouter',
  name: 'OpenRouter',
  baseUrl: 'https://openrouter.ai/api/v1',
  apiKeyVariable: 'OPENROUTER_API_KEY',
  protocol: openaiChat({
    maxTokensField: 'max_completion_tokens',
    severalChoices: false,
    developerRole: true,
    toolUses,
    originalDetail: true,
    cacheMarks: ['cache_control'],
    reasoningField: 'reasoning',
    adaptRequest: returnDetails,
    reasoningEfforts: { max: 'xhigh' },
    effortFields: (effort) => ({ reasoning: { effort } }),
    dropped: ['store'],
    forwards: {
      fields: [
        'top_k',
        'top_a',
        'min_p',
        'repetition_penalty',
        'verbosity',
        'reasoning',
        'include_reasoning',
        'safe_prompt',
        'raw_mode',
        'cache_control',
      ],
      source: { url: 'https://openrouter.ai/docs/api_reference/parameters', read: '2026-11-23' },
    },
  }),
  authorize: bearer,
  source: { url: 'https://openrouter.ai/docs/use-cases/reasoning-tokens', read: '2026-11-20' },
}
