import { openaiChat } from '../protocols/openai-chat/index.ts'
import { bearer, type Provider } from './provider.ts'

/**
 * In tokens. The vendor publishes no maximum; a longer thought is topped up while the answer runs. (xAI, "Best Practices
 * Guide": an answer may have 128,000 tokens by default.)
 */
const LONGEST_THOUGHT = 32_768

/** Counts reasoning beside the completion, which its totals show. */
export const xai: Provider = {
  id: 'xai',
  telemetryName: 'x_ai',
  name: 'xAI',
  baseUrl: 'https://api.x.ai/v1',
  apiKeyVariable: 'XAI_API_KEY',
  protocol: openaiChat({
    toolMedia: true,
    maxTokensField: 'max_completion_tokens',
    severalChoices: false,
    reasoningEfforts: { minimal: 'low', xhigh: 'high', max: 'high' },
    dropped: ['metadata', 'store', 'prediction'],
    refused: ['logit_bias', 'modalities'],
    refusedParts: ['input_audio'],
    serviceTiers: {},
    forwards: {
      fields: ['prompt_cache_key'],
      source: { url: 'https://docs.x.ai/developers/model-capabilities/text/best-practices', read: '2026-11-23' },
    },
  }),
  authorize: bearer,
  hiddenReasoning: 'unasked',
  outputLimit: {
    // Its documentation does not say that the limit covers reasoning, and its usage counts it beside the completion
    // (Google Cloud, "Reasoning for Grok Models": `reasoning_tokens` are separate from `completion_tokens`).
    reasoningOutside: ({ reasoningEffort }, { contextWindow, maxOutputTokens = contextWindow }) =>
      reasoningEffort === 'none' ? 0 : Math.min(maxOutputTokens, LONGEST_THOUGHT),
  },
  source: { url: 'https://docs.x.ai/developers/model-capabilities/text/reasoning', read: '2026-11-20' },
}
