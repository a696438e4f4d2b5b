/**
 * OpenAI's Responses API as an upstream protocol: OpenAI's newest models offer tools with reasoning only there, and other
 * servers have the same format. A pure codec; `providers/` has the hosts and their options.
 *
 * Nothing is stored at the host (`store: false`), so that encrypted reasoning travels in `provider_context`
 * (`context.ts`). Clients that send it back get perfect replay; for those that drop it the request stays valid.
 */
import { parseError } from '../openai-chat/errors.ts'
import type { UpstreamProtocol } from '../protocol.ts'
import { FORWARDS, type OpenAiResponsesOptions, requestRenderer, toolUses } from './request.ts'
import { parseResponse } from './response.ts'
import { streamParser } from './stream.ts'

export type { OpenAiResponsesOptions } from './request.ts'

/** Creates the protocol; without options, for servers that only claim compatibility. */
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
