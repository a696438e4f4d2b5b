/**
 * Anthropic's Messages API as an upstream protocol. A pure codec; `providers/` has the hosts.
 *
 * Signed thinking, which a later turn needs and the client's format lacks, travels in the extension field `provider_context`
 * of the assistant's message (`context.ts`). Clients that return it get exact replay; for others the request stays valid.
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
