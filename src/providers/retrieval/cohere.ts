import type { ChatEvent, ChatRequest } from '../../domain/chat.ts'
import { isRecord } from '../../lib/json.ts'
import { count, forwardedFields } from '../../protocols/body-fields.ts'
import { failureOf, parseError } from '../../protocols/openai-chat/errors.ts'
import { openaiChat } from '../../protocols/openai-chat/index.ts'
import { vectorEvents } from '../../protocols/openai-embeddings.ts'
import { brokenAnswer, type RenderTarget, type UpstreamProtocol, type WireRequest } from '../../protocols/protocol.ts'
import { rerank } from '../../protocols/rerank.ts'
import { parseAnswerObject, taskOf, textInputs, wholeAnswers } from '../../protocols/whole-answers.ts'
import { bearer, type Provider } from '../provider.ts'

// Cohere's own embeddings, `POST /v2/embed`, whose models require to know what a text is for.
//
// Source: https://docs.cohere.com/reference/embed, read 2026-11-24.

const FORWARDS = { fields: ['input_type', 'truncate'] } as const
const KNOWN: ReadonlySet<string> = new Set(FORWARDS.fields)

function cohereEmbeddings(): UpstreamProtocol {
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

const SOURCE = { url: 'https://docs.cohere.com/docs/compatibility-api', read: '2026-11-24' } as const

const chat = openaiChat({
  severalChoices: false,
  reasoningField: 'none',
  dropped: ['user', 'metadata', 'store', 'prediction'],
  refused: ['logit_bias', 'top_logprobs', 'parallel_tool_calls', 'modalities'],
  refusedParts: ['input_audio', 'file'],
  serviceTiers: {},
  forwards: { fields: [], source: SOURCE },
})

const protocol: UpstreamProtocol = {
  ...chat,
  renderRequest: (request, target) => ({
    ...chat.renderRequest(request, target),
    path: '/compatibility/v1/chat/completions',
  }),
}

/** Chat models by its compatibility API, embeddings and ranking by its own. */
export const cohere: Provider = {
  id: 'cohere',
  name: 'Cohere',
  baseUrl: 'https://api.cohere.com',
  apiKeyVariable: 'COHERE_API_KEY',
  protocol,
  tasks: {
    embedding: cohereEmbeddings(),
    rerank: rerank({ path: '/v2/rerank', searches: 'reported', forwards: { fields: ['max_tokens_per_doc'] } }),
  },
  authorize: bearer,
  source: SOURCE,
}
