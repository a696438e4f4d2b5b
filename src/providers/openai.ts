import type { ChatMessage, ChatRequest } from '../domain/chat.ts'
import type { Json } from '../lib/json.ts'
import { openaiChat } from '../protocols/openai-chat/index.ts'
import type { Body, Rendered } from '../protocols/openai-chat/options.ts'
import { openaiEmbeddings } from '../protocols/openai-embeddings.ts'
import { openaiResponses } from '../protocols/openai-responses/index.ts'
import { requestsSearch, type ToolUses } from '../protocols/server-tools.ts'
import { bearer, type Provider } from './provider.ts'
import { responsesForTools } from './responses-for-tools.ts'

/**
 * Models with built-in search search once for every call, requested or not, and do not report it.
 * Source: OpenAI, "Web search" (Chat Completions) and "Pricing".
 */
function toolUses(request: ChatRequest, model: string): ToolUses {
  if (!requestsSearch(request) && !/-search(?:-|$)/.test(model)) return {}
  return { web_search: { limit: 1, counted: 'always', param: 'web_search_options' } }
}

/** OpenAI pads streamed chunks unless this is disabled. */
function keepChunksUnpadded(body: Body, { request: { plainChunks } }: Rendered): void {
  if (body['stream'] && plainChunks) body['stream_options'] = { include_usage: true, include_obfuscation: false }
}

/** Sends refusals of earlier answers as such. The codec renders them as text, since no other host supports them. */
function keepRefusals(body: Body, { request: { messages } }: Rendered): void {
  if (!messages.some(hasRefusal)) return
  const rendered = body['messages'] as readonly Json[]
  body['messages'] = messages.map((message, at) => withRefusal(message, rendered[at] ?? {}))
}

function hasRefusal({ refusal, content }: ChatMessage): boolean {
  return refusal !== undefined || (Array.isArray(content) && content.some(({ type }) => type === 'refusal'))
}

function withRefusal(message: ChatMessage, rendered: Json): Json {
  if (message.role !== 'assistant' || !hasRefusal(message)) return rendered
  const { refusal, content } = message
  const { content: parts } = rendered
  if (!Array.isArray(content) || !Array.isArray(parts)) return { ...rendered, content, refusal }
  const kept = content.map((part, at) => (part.type === 'refusal' ? part : parts[at]))
  return { ...rendered, content: kept, refusal }
}

/** Its reasoning models refuse `max_tokens`; all its models take the newer name. */
const chat = openaiChat({
  maxTokensField: 'max_completion_tokens',
  developerRole: true,
  allowedTools: true,
  customTools: true,
  originalDetail: true,
  cacheMarks: ['prompt_cache_breakpoint'],
  toolMedia: true,
  reasoningField: 'none',
  toolUses,
  adaptBody(body, rendered) {
    keepChunksUnpadded(body, rendered)
    keepRefusals(body, rendered)
  },
  forwards: {
    fields: [
      'verbosity',
      'prompt_cache_key',
      'prompt_cache_options',
      'prompt_cache_retention',
      'safety_identifier',
      'web_search_options',
      'audio',
    ],
    source: { url: 'https://platform.openai.com/docs/api-reference/chat/create', read: '2026-11-23' },
  },
})

/** Models that do not reason: they reject requests for encrypted reasoning (400, "not supported with this model"). */
const WITHOUT_REASONING = /^(?:ft:)?(?:gpt-[34]|chatgpt-|gpt-[\d.]+-chat)/
const responses = openaiResponses({ searches: true, encryptsReasoning: (model) => !WITHOUT_REASONING.test(model) })

/** The originator of both formats. */
export const openai: Provider = {
  id: 'openai',
  name: 'OpenAI',
  baseUrl: 'https://api.openai.com/v1',
  apiKeyVariable: 'OPENAI_API_KEY',
  protocol: chat,
  protocols: { 'openai-responses': responses, 'openai-auto': responsesForTools(chat, responses) },
  tasks: { embedding: openaiEmbeddings({ tokenIds: true, user: true }) },
  authorize: bearer,
  hiddenReasoning: 'unasked',
  // 400 `invalid_value`, "This model supports at most 16384 completion tokens" (quoted in tailcallhq/forgecode, issue 1185).
  outputLimit: { refusesMore: true },
  source: { url: 'https://platform.openai.com/docs/api-reference/chat/create', read: '2026-11-20' },
}
