/**
 * OpenAI chat completions, spoken as a client: the format of the originator and of most other hosts. A pure codec; who
 * is spoken to, and with which options, is in `providers/`.
 */
import type { UpstreamProtocol } from '../protocol.ts'
import { parseError } from './errors.ts'
import type { OpenAiChatOptions } from './options.ts'
import { requestRenderer } from './request.ts'
import { parseResponse } from './response.ts'
import { streamParser } from './stream.ts'

export type { OpenAiChatOptions } from './options.ts'

/** Without options: what a server says that claims no more than compatibility. */
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
