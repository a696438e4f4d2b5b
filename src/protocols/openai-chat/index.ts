/**
 * OpenAI chat completions as an upstream protocol: the format of OpenAI and most other hosts. A pure codec; `providers/` has
 * the hosts and their options.
 */
import type { UpstreamProtocol } from '../protocol.ts'
import { parseError } from './errors.ts'
import type { OpenAiChatOptions } from './options.ts'
import { requestRenderer } from './request.ts'
import { parseResponse } from './response.ts'
import { streamParser } from './stream.ts'

export type { OpenAiChatOptions } from './options.ts'

/** Creates the protocol; without options, for servers that only claim compatibility. */
export function openaiChat(options: OpenAiChatOptions = {}): UpstreamProtocol {
  return {
    id: 'openai-chat',
    framing: 'sse',
    severalChoices: options.severalChoices ?? true,
    forwards: options.forwards,
    toolUses: options.toolUses,
    renderRequest: requestRenderer(options),
    parseResponse,
    streamParser,
    parseError,
  }
}
