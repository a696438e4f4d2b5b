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
    dropped: ['user', 'metadata', 'store', 'prediction', 'seed'],
    refused: ['tools', 'logprobs', 'top_logprobs', 'logit_bias', 'parallel_tool_calls', 'modalities'],
    refusedParts: ['input_audio', 'file'],
    serviceTiers: {},
    forwards: {
      fields: [
        'top_k',
        'search_mode',
        'search_domain_filter',
        'search_language_filter',
        'search_recency_filter',
        'search_after_date_filter',
        'search_before_date_filter',
        'last_updated_after_filter',
        'last_updated_before_filter',
        'return_images',
        'return_related_questions',
        'disable_search',
        'enable_search_classifier',
        'web_search_options',
      ],
      source: { url: 'https://docs.perplexity.ai/docs/sonar/openai-compatibility', read: '2026-11-23' },
    },
  }),
  authorize: bearer,
  source: { url: 'https://docs.perplexity.ai/docs/sonar/openai-compatibility', read: '2026-11-20' },
}
