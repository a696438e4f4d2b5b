/**
 * The Converse API of Amazon Bedrock as an upstream protocol. A pure codec; `providers/` has the hosts and signs requests.
 *
 * Signed reasoning, which a later turn needs and the client's format lacks, travels in the extension field
 * `provider_context` of the assistant's message (`context.ts`). Clients that return it get exact replay; for others the
 * request stays valid.
 */
import type { UpstreamProtocol } from '../protocol.ts'
import { parseError } from './errors.ts'
import { FORWARDS, renderRequest } from './request.ts'
import { parseResponse } from './response.ts'
import { streamParser } from './stream.ts'

export function bedrockConverse(): UpstreamProtocol {
  return {
    id: 'bedrock',
    forwards: FORWARDS,
    framing: 'aws-event-stream',
    severalChoices: false,
    renderRequest,
    parseResponse,
    streamParser,
    parseError,
  }
}
