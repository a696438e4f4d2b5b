/**
 * OpenAI's Responses API, spoken as a client: OpenAI's newest models have their tools and reasoning there alone, and
 * other servers offer the same format. A pure codec; who is spoken to, and with which options, is in `providers/`.
 *
 * Nothing is stored at the host (`store: false`), so that encrypted reasoning travels in `provider_context`
 * (`context.ts`). Clients that send it back get perfect replay; for those that drop it the request stays valid.
 */
import { parseError } from '../openai-chat/errors.ts'
import type { UpstreamProtocol } from '../protocol.ts'
import { FORWARDS, type OpenAiResponsesOptions, requestRenderer } from './request.ts'
import { parseResponse } from './response.ts'
import { streamParser } from './stream.ts'
import { toolUses } from './tools.ts'

export type { OpenAiResponsesOptions } from './request.ts'

/** Without options: what a server takes that claims no more than compatibility. */
export function openaiResponses(options: OpenAiResponsesOptions = {}): UpstreamProtocol {
  return {
    id: 'openai-responses',
    framing: 'sse',
    severalChoices: false,
    forwards: FORWARDS,
    toolUses: options.searches ? toolUses : undefined,
    renderRequest: requestRenderer(options),
    parseResponse,
    streamParser,
    parseError,
  }
}
