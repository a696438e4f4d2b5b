import { type OpenAiChatOptions, openaiChat } from '../protocols/openai-chat/index.ts'
import type { UpstreamProtocol } from '../protocols/protocol.ts'
import { bearer, type Provider } from './provider.ts'

const OPTIONS: OpenAiChatOptions = {
  severalChoices: false,
  streamOptions: false,
  reasoningField: 'none',
  reasoningEfforts: { minimal: 'none', low: 'high', medium: 'high', xhigh: 'high', max: 'high' },
  messageFields: ['role', 'content', 'tool_calls', 'tool_call_id', 'name', 'prefix'],
  namedRoles: ['tool'],
  systemFirst: true,
  shortToolIds: true,
  toolParameters: true,
  renamed: { seed: 'random_seed' },
  requiredToolChoice: 'any',
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
const thinking = openaiChat({ ...OPTIONS, reasoningField: 'thinking' })

/** The models whose templates have a place for earlier thinking; the others fail on it. */
const THINKING_MODELS = /^magistral-|^mistral-(small|medium)-(latest|26\d\d|[4-9]|3[.-]5)/

const protocol: UpstreamProtocol = {
  ...plain,
  renderRequest: (request, target) =>
    (THINKING_MODELS.test(target.model) ? thinking : plain).renderRequest(request, target),
}

/**
 * Refuses fields it does not know, in the request and in its messages; system messages behind others; and, for older
 * models, ids of tool calls of another form than its own. Usage comes without asking.
 */
export const mistral: Provider = {
  id: 'mistral',
  name: 'Mistral AI',
  baseUrl: 'https://api.mistral.ai/v1',
  apiKeyVariable: 'MISTRAL_API_KEY',
  protocol,
  authorize: bearer,
  source: { url: 'https://docs.mistral.ai/api/', read: '2026-11-20' },
}
