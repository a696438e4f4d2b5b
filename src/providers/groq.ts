import { isRecord, type Json } from '../lib/json.ts'
import { openaiChat } from '../protocols/openai-chat/index.ts'
import { hasError } from '../protocols/openai-chat/response.ts'
import { bearer, type Provider } from './provider.ts'

/**
 * Reads usage and errors out of a field of the host's own, where chunks do not have them in the standard fields.
 * @param field Exported for tests, which have fixtures of another name.
 */
export function vendorFieldReader(field: string): (chunk: Json) => Json {
  return (chunk) => {
    const vendor = chunk[field]
    if (!isRecord(vendor) || hasError(chunk)) return chunk
    const { usage, ...rest } = vendor
    if (hasError(vendor)) return rest
    return isRecord(chunk['usage']) || !isRecord(usage) ? chunk : { ...chunk, usage }
  }
}

/**
 * Service tiers keep the host's own names, since answers report and prices use these. The host turns temperature 0 into
 * 1e-8; doing so here makes the change visible as a warning.
 */
export const groq: Provider = {
  id: 'groq',
  name: 'Groq',
  baseUrl: 'https://api.groq.com/openai/v1',
  apiKeyVariable: 'GROQ_API_KEY',
  protocol: openaiChat({
    maxTokensField: 'max_completion_tokens',
    severalChoices: false,
    reasoningField: 'reasoning',
    reasoningEfforts: { minimal: 'low', xhigh: 'high', max: 'high' },
    messageFields: ['role', 'content', 'tool_calls', 'tool_call_id', 'reasoning'],
    namedRoles: [],
    temperatureRange: [1e-8, 2],
    serviceTiers: { flex: 'flex', performance: 'performance' },
    adaptChunk: vendorFieldReader('x_groq'),
    dropped: ['metadata', 'store', 'prediction'],
    refused: ['logprobs', 'top_logprobs', 'logit_bias', 'frequency_penalty', 'presence_penalty', 'modalities'],
    refusedParts: ['input_audio', 'file'],
    forwards: {
      fields: ['reasoning_format', 'include_reasoning', 'disable_tool_validation', 'documents', 'citation_options'],
      source: { url: 'https://console.groq.com/docs/api-reference', read: '2026-11-23' },
    },
  }),
  authorize: bearer,
  // 400, "must be less than or equal to 8000" (quoted in skapadia3214/groq-moa, issue 8).
  outputLimit: { refusesMore: true },
  source: { url: 'https://console.groq.com/docs/api-reference', read: '2026-11-20' },
}
