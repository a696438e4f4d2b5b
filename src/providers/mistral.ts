import { createHash } from 'node:crypto'
import type { ChatMessage, ChatRequest } from '../domain/chat.ts'
import type { Json } from '../lib/json.ts'
import { openaiChat } from '../protocols/openai-chat/index.ts'
import { partsOf } from '../protocols/openai-chat/messages.ts'
import type { Body, OpenAiChatOptions } from '../protocols/openai-chat/options.ts'
import { openaiCompletions } from '../protocols/openai-completions.ts'
import { openaiEmbeddings } from '../protocols/openai-embeddings.ts'
import { unsupportedParameter } from '../protocols/parameters.ts'
import type { UpstreamProtocol } from '../protocols/protocol.ts'
import { bearer, type Provider } from './provider.ts'

/** The form of ids that older models demand. */
const SHORT_ID = /^[A-Za-z0-9]{9}$/
const ID_LENGTH = 9
const ID_CHARACTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'

/** Replaces ids of tool calls by nine letters and digits, alike in calls and results and in every request. */
function shortenToolIds(request: ChatRequest): ChatRequest {
  if (!request.messages.some(({ tool_calls: calls }) => calls !== undefined)) return request
  const ids = shortIds(request.messages)
  return ids.size === 0 ? request : { ...request, messages: request.messages.map((message) => withIds(message, ids)) }
}

/** The replacement of every id of another form; no two share one. */
function shortIds(messages: readonly ChatMessage[]): ReadonlyMap<string, string> {
  const ids = new Set(
    messages.flatMap(({ tool_calls: calls = [], tool_call_id: id }) => [
      ...calls.map((call) => call.id),
      ...(id === undefined ? [] : [id]),
    ]),
  )
  const used = new Set([...ids].filter((id) => SHORT_ID.test(id)))
  const shortened = new Map<string, string>()
  for (const id of ids) {
    if (SHORT_ID.test(id)) continue
    let short = digest(id)
    for (let attempt = 1; used.has(short); attempt++) short = digest(`${id} ${attempt}`)
    used.add(short)
    shortened.set(id, short)
  }
  return shortened
}

function digest(text: string): string {
  const bytes = createHash('sha256').update(text).digest()
  return Array.from(bytes.subarray(0, ID_LENGTH), (byte) => ID_CHARACTERS[byte % ID_CHARACTERS.length]).join('')
}

function withIds(message: ChatMessage, ids: ReadonlyMap<string, string>): ChatMessage {
  const { tool_calls: calls, tool_call_id: id } = message
  const short = id === undefined ? undefined : ids.get(id)
  if (short !== undefined) return { ...message, tool_call_id: short }
  if (calls === undefined) return message
  return { ...message, tool_calls: calls.map((call) => ({ ...call, id: ids.get(call.id) ?? call.id })) }
}

function renameFields(body: Body): void {
  body['random_seed'] = body['seed']
  body['seed'] = undefined
  if (body['tool_choice'] === 'required') body['tool_choice'] = 'any'
}

const MESSAGE_FIELDS = ['role', 'content', 'tool_calls', 'tool_call_id', 'name', 'prefix'] as const
const OPTIONS: OpenAiChatOptions = {
  severalChoices: false,
  streamOptions: false,
  reasoningField: 'none',
  reasoningEfforts: { minimal: 'none', low: 'high', medium: 'high', xhigh: 'high', max: 'high' },
  messageFields: MESSAGE_FIELDS,
  namedRoles: ['tool'],
  systemFirst: true,
  toolMedia: true,
  assistantAfterResults: true,
  adaptRequest: shortenToolIds,
  toolParameters: true,
  adaptBody: renameFields,
  dropped: ['user', 'metadata', 'store'],
  refused: ['logprobs', 'top_logprobs', 'logit_bias', 'modalities'],
  refusedParts: ['input_audio', 'file'],
  serviceTiers: {},
  forwards: {
    fields: ['safe_prompt', 'prompt_mode', 'min_tokens', 'prompt_cache_key'],
    source: { url: 'https://docs.mistral.ai/api/', read: '2026-11-23' },
  },
}
const plain = openaiChat(OPTIONS)
const thinking = openaiChat({
  ...OPTIONS,
  reasoningField: 'reasoning_content',
  messageFields: [...MESSAGE_FIELDS, 'reasoning_content'],
  adaptBody(body, { warnings }) {
    renameFields(body)
    body['messages'] = (body['messages'] as readonly Json[]).map((message) => withThinking(message, warnings))
  },
})

/** Sends earlier reasoning as the first part of the content. */
function withThinking({ reasoning_content: text, ...message }: Json, warnings: Set<string>): Json {
  if (text === undefined) return message
  if (message['role'] !== 'assistant') {
    warnings.add('messages[].reasoning_content')
    return message
  }
  const thinking = { type: 'thinking', thinking: [{ type: 'text', text }] }
  return { ...message, content: [thinking, ...partsOf(message['content'])] }
}

/** Models whose templates accept earlier thinking; others fail on it. */
const THINKING_MODELS = /^magistral-|^mistral-(small|medium)-(latest|26\d\d|[4-9]|3[.-]5)/

const protocol: UpstreamProtocol = {
  ...plain,
  renderRequest: (request, target) =>
    (THINKING_MODELS.test(target.model) ? thinking : plain).renderRequest(request, target),
}

const fillIn = openaiCompletions({
  path: '/fim/completions',
  severalChoices: false,
  streamOptions: false,
  seedField: 'random_seed',
})

/** Models that fill in, at an endpoint whose answers are those of chat completions; others get a message. */
const completion: UpstreamProtocol = {
  ...fillIn,
  renderRequest(request, target) {
    if (/^codestral/.test(target.model)) return fillIn.renderRequest(request, target)
    if (request.task?.type === 'completion' && request.task.suffix !== undefined) throw unsupportedParameter('suffix')
    return protocol.renderRequest(request, target)
  },
}

/**
 * Rejects unknown fields in the request and in its messages, system messages after others, the user right after results of
 * tools, and, for older models, ids of tool calls of another form than its own. Always sends usage.
 */
export const mistral: Provider = {
  id: 'mistral',
  telemetryName: 'mistral_ai',
  name: 'Mistral AI',
  baseUrl: 'https://api.mistral.ai/v1',
  apiKeyVariable: 'MISTRAL_API_KEY',
  protocol,
  tasks: {
    completion,
    embedding: openaiEmbeddings({
      dimensionsField: 'output_dimension',
      forwards: {
        fields: ['output_dtype'],
        source: { url: 'https://docs.mistral.ai/api/endpoint/embeddings', read: '2026-11-24' },
      },
    }),
  },
  authorize: bearer,
  source: { url: 'https://docs.mistral.ai/api/', read: '2026-11-20' },
}
