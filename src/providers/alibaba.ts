import type { ReasoningEffort } from '../domain/chat.ts'
import { openaiChat } from '../protocols/openai-chat/index.ts'
import { bearer, type Provider } from './provider.ts'

/** Tokens of thinking; efforts that are not here think as long as the model will. */
const BUDGETS: Readonly<Partial<Record<ReasoningEffort, number>>> = { minimal: 1024, low: 2048, medium: 10_000 }

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
    dropped: ['user', 'metadata', 'store', 'service_tier', 'prediction'],
    refused: ['logit_bias', 'frequency_penalty'],
    refusedParts: ['file'],
  }),
  authorize: bearer,
  source: { url: 'https://www.alibabacloud.com/help/en/model-studio/deep-thinking', read: '2026-11-20' },
}
