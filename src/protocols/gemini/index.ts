/**
 * Gemini's generateContent, the format of the Gemini API and Vertex AI. A pure codec; `providers/` has the hosts and their
 * options.
 */
import type { UpstreamProtocol } from '../protocol.ts'
import { parseError } from './errors.ts'
import { FORWARDS, type GeminiOptions, renderRequest } from './request.ts'
import { parseResponse, streamParser } from './stream.ts'
import { toolUses } from './tools.ts'

export type { GeminiOptions } from './request.ts'

/**
 * Several choices are several calls: the API returns at most 8 candidates a call, fewer than clients may request, and many
 * models return one. An answer with several candidates is read nevertheless.
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
