/**
 * The Converse API of Amazon Bedrock, spoken as a client. A pure codec; who is spoken to, and who signs, is in
 * `providers/`.
 *
 * What a later turn needs and the client's format has no field for, signed reasoning, travels in the extension field
 * `provider_context` of the assistant's message (`context.ts`). Clients that send it back get perfect replay; for those
 * that drop it the request stays valid.
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
