import { openaiChat } from '../protocols/openai-chat/index.ts'
import type { FailureKind, UpstreamProtocol, WireError } from '../protocols/protocol.ts'
import { bearer, type Provider } from './provider.ts'

const codec = openaiChat({
  severalChoices: false,
  streamOptions: false,
  temperatureRange: [0, 1],
  reasoningEfforts: { minimal: 'low', medium: 'high', xhigh: 'high' },
  effortFields: (effort) => (effort === 'none' ? { thinking: { type: 'disabled' } } : undefined),
  toolChoices: [],
  toolParameters: true,
  namedRoles: [],
  responseFormats: ['json_object'],
  dropped: ['user', 'metadata', 'store', 'prediction'],
  refused: [
    'logprobs',
    'top_logprobs',
    'logit_bias',
    'frequency_penalty',
    'presence_penalty',
    'parallel_tool_calls',
    'modalities',
  ],
  refusedParts: ['input_audio', 'file'],
  serviceTiers: {},
  forwards: {
    fields: ['thinking', 'do_sample', 'tool_stream', 'request_id', 'user_id'],
    source: { url: 'https://docs.z.ai/guides/capabilities/thinking-mode', read: '2026-11-23' },
  },
})

/** The host's own codes, in `error.code`. Source: https://docs.z.ai/api-reference/api-code */
const CODES: ReadonlyMap<unknown, FailureKind> = new Map([
  ['1113', 'quota'],
  ['1261', 'context_length'],
  ['1301', 'content_filter'],
])

const protocol: UpstreamProtocol = {
  ...codec,
  parseError(error, now) {
    const failure = codec.parseError(error, now)
    const kind = CODES.get(codeOf(error))
    return kind === undefined ? failure : { ...failure, kind }
  },
}

/** Undefined for bodies of any other form. */
function codeOf({ body }: WireError): unknown {
  try {
    const { error }: { readonly error?: { readonly code?: unknown } } = JSON.parse(body)
    return error?.code
  } catch {
    return undefined
  }
}

/** Leaves the choice of tools to the model: it supports `auto` only. Usage is always reported. */
export const zai: Provider = {
  id: 'zai',
  name: 'Z.ai',
  baseUrl: 'https://api.z.ai/api/paas/v4',
  apiKeyVariable: 'ZAI_API_KEY',
  protocol,
  authorize: bearer,
  source: { url: 'https://docs.z.ai/api-reference/llm/chat-completion', read: '2026-11-20' },
}
