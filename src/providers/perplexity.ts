import type { ChatRequest } from '../domain/chat.ts'
import { isRecord, type Json } from '../lib/json.ts'
import { openaiChat } from '../protocols/openai-chat/index.ts'
import { partsOf } from '../protocols/openai-chat/messages.ts'
import type { Body, Rendered } from '../protocols/openai-chat/options.ts'
import { unsupportedContent, unsupportedParameter } from '../protocols/parameters.ts'
import { DEFAULT_USE_LIMIT, type ToolUses } from '../protocols/server-tools.ts'
import { bearer, type Provider } from './provider.ts'

/**
 * A fee for each request by the size of the search's context, `web_search` (the smallest), `web_search_medium` and
 * `web_search_high` in prices; deep research is charged for each query. Source: Perplexity, "Pricing": "Request Pricing".
 */
function toolUses({ extra }: ChatRequest, model: string): ToolUses {
  if (/deep-research/.test(model)) return { web_search: { limit: DEFAULT_USE_LIMIT } }
  const { web_search_options: options } = extra
  const size = isRecord(options) ? options['search_context_size'] : undefined
  const name = size === 'medium' || size === 'high' ? `web_search_${size}` : 'web_search'
  return { [name]: { limit: 1, counted: 'always', param: 'web_search_options' } }
}

/** Tools that may not be called are dropped by `toolChoices`. */
function refuseTools(request: ChatRequest): ChatRequest {
  const at = request.messages.findIndex(({ role }) => role === 'tool')
  if (at >= 0) throw unsupportedContent(`messages[${at}].role`, "messages of role 'tool'")
  const { tools = [], toolChoice } = request
  if (tools.length > 0 && toolChoice !== 'none') throw unsupportedParameter('tools')
  return request
}

/** Joins successive messages of a user or an assistant, since roles must alternate. */
function alternateRoles(body: Body, { warnings }: Rendered): void {
  const messages = body['messages'] as readonly Json[]
  const runs: Json[][] = []
  for (const message of messages) {
    const run = runs.at(-1)
    const { role } = message
    if (run === undefined || run[0]?.['role'] !== role || (role !== 'user' && role !== 'assistant'))
      runs.push([message])
    else run.push(message)
  }
  if (runs.length === messages.length) return
  body['messages'] = runs.map(joinedMessage)
  warnings.add('messages')
}

function joinedMessage(run: readonly Json[]): Json {
  if (run.length === 1) return run[0] ?? {}
  const contents = run.map(({ content }) => content)
  const firstList = contents.findIndex((content) => typeof content !== 'string')
  const texts = firstList < 0 ? contents : contents.slice(0, firstList)
  const text = texts.filter(Boolean).join('\n\n')
  const others = contents.slice(texts.length).flatMap(partsOf)
  return { ...run[0], content: firstList < 0 ? text : [...partsOf(text), ...others] }
}

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
    toolUses,
    reasoningEfforts: { none: 'minimal', xhigh: 'high', max: 'high' },
    systemFirst: true,
    adaptRequest: refuseTools,
    toolChoices: [],
    adaptBody: alternateRoles,
    messageFields: ['role', 'content'],
    namedRoles: [],
    responseFormats: ['json_schema'],
    dropped: ['user', 'metadata', 'store', 'prediction', 'seed'],
    refused: ['logprobs', 'top_logprobs', 'logit_bias', 'parallel_tool_calls', 'modalities'],
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
