/**
 * Cohere's own embeddings, `POST /v2/embed`, whose models require to know what a text is for.
 *
 * Source: https://docs.cohere.com/reference/embed, read 2026-11-24.
 */
import type { ChatEvent, ChatRequest } from '../domain/chat.ts'
import { isRecord } from '../lib/json.ts'
import { count, forwardedFields } from './body-fields.ts'
import { failureOf, parseError } from './openai-chat/errors.ts'
import { brokenAnswer, type RenderTarget, type UpstreamProtocol, type WireRequest } from './protocol.ts'
import { vectorEvents } from './vectors.ts'
import { parseAnswerObject, taskOf, textInputs, wholeAnswers } from './whole-answers.ts'

const FORWARDS = { fields: ['input_type', 'truncate'] } as const
const KNOWN: ReadonlySet<string> = new Set(FORWARDS.fields)

export function cohereEmbeddings(): UpstreamProtocol {
  return wholeAnswers({ id: 'cohere-embeddings', forwards: FORWARDS, parseError, renderRequest, parseResponse })
}

/** Numbers are always requested: the gateway encodes them. */
function renderRequest(request: ChatRequest, target: RenderTarget): WireRequest {
  const warnings = new Set<string>()
  const task = taskOf(request, 'embedding')
  const fields = forwardedFields(request, { known: KNOWN, target, warnings })
  if (request.user !== undefined) warnings.add('user')
  const body = {
    input_type: 'search_document',
    ...fields,
    model: target.model,
    texts: textInputs(task),
    embedding_types: ['float'],
    output_dimension: task.dimensions,
  }
  return { path: '/v2/embed', body: JSON.stringify(body), warnings: [...warnings] }
}

function parseResponse(body: string): ChatEvent[] {
  const { embeddings, meta } = parseAnswerObject(body, failureOf)
  const floats = isRecord(embeddings) ? embeddings['float'] : undefined
  if (!Array.isArray(floats)) throw brokenAnswer('The provider answered without embeddings.')
  const billed = isRecord(meta) ? meta['billed_units'] : undefined
  return vectorEvents(floats, isRecord(billed) ? count(billed['input_tokens']) : undefined)
}
