import type { ChatRequest, ReasoningEffort } from '../domain/chat.ts'
import { isRecord } from '../lib/json.ts'
import { openaiChat } from '../protocols/openai-chat/index.ts'
import { searchByStrategy } from '../protocols/openai-chat/response.ts'
import { DEFAULT_USE_LIMIT, type ToolUses } from '../protocols/server-tools.ts'
import { bearer, type Provider } from './provider.ts'

/** Thinking budgets in tokens; other efforts leave the length to the model. */
const BUDGETS: Readonly<Partial<Record<ReasoningEffort, number>>> = { minimal: 1024, low: 2048, medium: 10_000 }

/**
 * The longest chain of thought of any model here; `max_tokens` limits the answer behind it alone. Source: Model Studio, "Deep
 * thinking" (`thinking_budget`) and the maxima in its list of models; the page was not stored whole when it was last read.
 */
const LONGEST_THOUGHT = 81_920

/** Most tokens of thinking beside the output limit: the budget that is sent, or 0 if thinking is disabled. */
function reasoningOutside({ reasoningEffort: effort, extra }: ChatRequest): number {
  const budget = extra['thinking_budget']
  if (extra['enable_thinking'] === false) return 0
  if (Number.isSafeInteger(budget) && Number(budget) > 0) return Math.min(Number(budget), LONGEST_THOUGHT)
  if (effort === 'none') return 0
  return (effort === undefined ? undefined : BUDGETS[effort]) ?? LONGEST_THOUGHT
}

/**
 * Searches are charged each, by strategy; no maximum is published. Source: Alibaba Cloud Model Studio, "Web search".
 */
function toolUses({ extra }: ChatRequest): ToolUses {
  const { enable_search: asked, search_options: options } = extra
  if (asked !== true) return {}
  const name = searchByStrategy(isRecord(options) ? options['search_strategy'] : undefined)
  return { [name]: { limit: DEFAULT_USE_LIMIT, param: name === 'web_search' ? 'enable_search' : 'search_options' } }
}

/** Model Studio: thinking is a switch and a budget, not an effort. */
export const alibaba: Provider = {
  id: 'alibaba',
  name: 'Alibaba Cloud',
  baseUrl: 'https://dashscope-intl.aliyuncs.com/compatible-mode/v1',
  apiKeyVariable: 'DASHSCOPE_API_KEY',
  protocol: openaiChat({
    severalChoices: false,
    effortFields: (effort) =>
      effort === 'none' ? { enable_thinking: false } : { enable_thinking: true, thinking_budget: BUDGETS[effort] },
    toolParameters: true,
    toolUses,
    dropped: ['user', 'metadata', 'store', 'prediction'],
    refused: ['logit_bias', 'frequency_penalty'],
    refusedParts: ['file'],
    cacheMarks: ['cache_control'],
    serviceTiers: {},
    forwards: {
      fields: [
        'top_k',
        'repetition_penalty',
        'enable_thinking',
        'thinking_budget',
        'preserve_thinking',
        'enable_search',
        'search_options',
      ],
      source: { url: 'https://www.alibabacloud.com/help/en/model-studio/deep-thinking', read: '2026-11-23' },
    },
  }),
  authorize: bearer,
  // 400, "Range of max_tokens should be [1, 8192]" (quoted in open-webui/open-webui, issue 10507).
  outputLimit: { refusesMore: true, reasoningOutside },
  source: { url: 'https://www.alibabacloud.com/help/en/model-studio/deep-thinking', read: '2026-11-20' },
}
