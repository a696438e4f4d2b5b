/**
 * Gemini's generateContent, as the Gemini API and Vertex AI speak it. A pure codec; who is spoken to, and with which
 * options, is in `providers/`.
 */
import type { UpstreamProtocol } from '../protocol.ts'
import { parseError } from './errors.ts'
import { FORWARDS, type GeminiOptions, renderRequest } from './request.ts'
import { parseResponse, streamParser } from './stream.ts'
import { toolUses } from './tools.ts'

export type { GeminiOptions } from './request.ts'

/**
 * Several choices are several calls: the API gives at most 8 candidates a call, fewer than may be asked for, and on
 * many models only one. An answer that has several all the same is read.
 */
export function gemini(options: GeminiOptions = {}): UpstreamProtocol {
  return {
    id: 'gemini',
    forwards: FORWARDS,
    framing: 'sse',
    severalChoices: false,
    toolUses,
    // Recorded streams begin with a prompt of 169 tokens and end with 79.
    lastUsageCounts: true,
    renderRequest: (request, target) => renderRequest(request, target, options),
    parseResponse,
    streamParser,
    parseError,
  }
}
