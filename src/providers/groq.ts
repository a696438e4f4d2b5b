import { isRecord, type Json, parseJson } from '../lib/json.ts'
import { openaiChat } from '../protocols/openai-chat/index.ts'
import { hasError } from '../protocols/openai-chat/response.ts'
import type { Frame, UpstreamProtocol } from '../protocols/protocol.ts'
import { bearer, type Provider } from './provider.ts'

/**
 * Reads usage and errors of a stream out of a field of the host's own, where chunks do not have them in the standard
 * fields. The field is only in the first and the last chunk, so that no other chunk is parsed twice.
 * @param field Exported for tests, which have fixtures of another name.
 */
export function withVendorField(protocol: UpstreamProtocol, field: string): UpstreamProtocol {
  const key = JSON.stringify(field)
  const standard = (frame: Frame): Frame => {
    const chunk = frame.data.includes(key) ? parseJson(frame.data) : undefined
    return isRecord(chunk) ? { ...frame, data: JSON.stringify(standardChunk(chunk, field)) } : frame
  }
  return {
    ...protocol,
    streamParser() {
      const parser = protocol.streamParser()
      return { push: (frame, events) => parser.push(standard(frame), events), end: (events) => parser.end(events) }
    },
  }
}

function standardChunk(chunk: Json, field: string): Json {
  const vendor = chunk[field]
  if (!isRecord(vendor) || hasError(chunk)) return chunk
  const { usage, ...rest } = vendor
  if (hasError(vendor)) return rest
  return isRecord(chunk['usage']) || !isRecord(usage) ? chunk : { ...chunk, usage }
}

const codec = openaiChat({
  maxTokensField: 'max_completion_tokens',
  severalChoices: false,
  reasoningField: 'reasoning',
  reasoningEfforts: { minimal: 'low', xhigh: 'high', max: 'high' },
  messageFields: ['role', 'content', 'tool_calls', 'tool_call_id', 'reasoning'],
  namedRoles: [],
  temperatureRange: [1e-8, 2],
  serviceTiers: { flex: 'flex', performance: 'performance' },
  dropped: ['metadata', 'store', 'prediction'],
  refused: ['logprobs', 'top_logprobs', 'logit_bias', 'frequency_penalty', 'presence_penalty', 'modalities'],
  refusedParts: ['input_audio', 'file'],
  forwards: {
    fields: ['reasoning_format', 'include_reasoning', 'disable_tool_validation', 'documents', 'citation_options'],
    source: { url: 'https://console.groq.com/docs/api-reference', read: '2026-11-23' },
  },
})

/**
 * Service tiers keep the host's own names, since answers report and prices use these. The host turns temperature 0 into
 * 1e-8; doing so here makes the change visible as a warning.
 */
export const groq: Provider = {
  id: 'groq',
  name: 'Groq',
  baseUrl: 'https://api.groq.com/openai/v1',
  apiKeyVariable: 'GROQ_API_KEY',
  protocol: withVendorField(codec, 'x_groq'),
  authorize: bearer,
  // 400, "must be less than or equal to 8000" (quoted in skapadia3214/groq-moa, issue 8).
  outputLimit: { refusesMore: true },
  source: { url: 'https://console.groq.com/docs/api-reference', read: '2026-11-20' },
}
