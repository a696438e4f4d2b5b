/**
 * Anthropic's Messages API, spoken as a client. A pure codec; who is spoken to is in `providers/`.
 *
 * What a later turn needs and the client's format has no field for, signed thinking, travels in the extension field
 * `provider_context` of the assistant's message (`context.ts`). Clients that send it back get perfect replay; for those
 * that drop it the request stays valid.
 */
import type { UpstreamProtocol } from '../protocol.ts'
import { parseError } from './errors.ts'
import { FORWARDS, renderRequest } from './request.ts'
import { parseResponse } from './response.ts'
import { streamParser } from './stream.ts'
import { toolUses } from './tools.ts'

export function anthropicMessages(): UpstreamProtocol {
  return {
    id: 'anthropic',
    forwards: FORWARDS,
    framing: 'sse',
    severalChoices: false,
    toolUses,
    renderRequest,
    parseResponse,
    streamParser,
    parseError,
  }
}
