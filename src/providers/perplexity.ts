import { openaiChat } from '../protocols/openai-chat/index.ts'
import { bearer, type Provider } from './provider.ts'

/**
 * Its chat models search the web by themselves, and ignore tools. The host has announced the end of this interface,
 * in favour of one of another format, for 2026-09-27.
 */
export const perplexity: Provider = {
  id: 'perplexity',
  name: 'Perplexity',
  baseUrl: 'https://api.perplexity.ai',
  apiKeyVariable: 'PERPLEXITY_API_KEY',
  protocol: openaiChat({
    severalChoices: false,
    reasoningField: 'none',
    reasoningEfforts: { none: 'minimal', xhigh: 'high', max: 'high' },
    systemFirst: true,
    alternatingRoles: true,
    refusedRoles: ['tool'],
    messageFields: ['role', 'content'],
    namedRoles: [],
    responseFormats: ['json_schema'],
    dropped: ['user', 'metadata', 'store', 'service_tier', 'prediction', 'seed'],
    refused: ['tools', 'logprobs', 'top_logprobs', 'logit_bias', 'parallel_tool_calls', 'modalities'],
    refusedParts: ['input_audio', 'file'],
  }),
  authorize: bearer,
  source: { url: 'https://docs.perplexity.ai/docs/sonar/openai-compatibility', read: '2026-11-20' },
}
