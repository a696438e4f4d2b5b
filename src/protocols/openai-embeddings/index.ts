/** OpenAI's embeddings, spoken as a client: the format of most hosts. A pure codec; hosts differ by its options. */
import type { ChatEvent, ChatRequest } from '../../domain/chat.ts'
import type { Json } from '../../lib/json.ts'
import { isRecord } from '../../lib/json.ts'
import { type ForwardedFields, forwardedFields } from '../body-fields.ts'
import { failureOf, parseError } from '../openai-chat/errors.ts'
import { unsupportedContent, unsupportedParameter } from '../parameters.ts'
import { brokenAnswer, type RenderTarget, type UpstreamProtocol, type WireRequest } from '../protocol.ts'
import { count } from '../usage-fields.ts'
import { vectorEvents } from '../vectors.ts'
import { parseAnswerObject, taskOf, wholeAnswers } from '../whole-answers.ts'

export interface OpenAiEmbeddingsOptions {
  /** The name of the number of dimensions. Default: `dimensions`. `none`: rejected. */
  readonly dimensionsField?: 'dimensions' | 'output_dimension' | 'none'
  /**
   * The field in which the encoding is sent. Default: `encoding_format`. `none`: not sent; the gateway encodes the numbers of
   * the host.
   */
  readonly encodingField?: 'encoding_format' | 'embedding_type' | 'none'
  /** Encodings that the host knows by name. Default: both. Others are not sent, and are made by the gateway. */
  readonly encodings?: readonly ('float' | 'base64')[]
  /** Whether token IDs are accepted as input. Default: false. */
  readonly tokenIds?: boolean
  /** Whether `user` is accepted. Default: false, it is dropped with a warning. */
  readonly user?: boolean
  /** The host's documented extension fields. Default: none. */
  readonly forwards?: ForwardedFields
}

export function openaiEmbeddings(options: OpenAiEmbeddingsOptions = {}): UpstreamProtocol {
  const known = new Set(options.forwards?.fields)
  return wholeAnswers({
    id: 'openai-embeddings',
    forwards: options.forwards,
    renderRequest: (request, target) => renderRequest(request, target, { options, known }),
    parseResponse,
    parseError,
  })
}

interface Dialect {
  readonly options: OpenAiEmbeddingsOptions
  readonly known: ReadonlySet<string>
}

function renderRequest(request: ChatRequest, target: RenderTarget, { options, known }: Dialect): WireRequest {
  const { inputs, dimensions, encodingFormat } = taskOf(request, 'embedding')
  const { dimensionsField = 'dimensions', encodingField = 'encoding_format', encodings = BOTH } = options
  const warnings = new Set<string>()
  const body: Record<string, unknown> = { ...forwardedFields(request, { known, target, warnings }) }
  if (options.tokenIds !== true && inputs.some((input) => typeof input !== 'string'))
    throw unsupportedContent('input', 'token IDs; send text')
  body['model'] = target.model
  body['input'] = inputs
  if (dimensions !== undefined) {
    if (dimensionsField === 'none') throw unsupportedParameter('dimensions')
    body[dimensionsField] = dimensions
  }
  const isNamed = encodingFormat !== undefined && encodings.includes(encodingFormat)
  if (isNamed && encodingField !== 'none') body[encodingField] = encodingFormat
  if (request.user !== undefined) {
    if (options.user) body['user'] = request.user
    else warnings.add('user')
  }
  return { path: '/embeddings', body: JSON.stringify(body), warnings: [...warnings] }
}

const BOTH = ['float', 'base64'] as const

/** @throws ProviderError for what is no list of embeddings. */
function parseResponse(body: string): ChatEvent[] {
  const { data, usage } = parseAnswerObject(body, failureOf)
  if (!Array.isArray(data) || !data.every(isRecord)) throw brokenAnswer('The provider answered without embeddings.')
  const sorted = data.every(({ index }) => typeof index === 'number') ? data.toSorted(byIndex) : data
  const tokens = isRecord(usage) ? (count(usage['prompt_tokens']) ?? count(usage['total_tokens'])) : undefined
  return vectorEvents(
    sorted.map(({ embedding }) => embedding),
    tokens,
  )
}

function byIndex(one: Json, other: Json): number {
  return Number(one['index']) - Number(other['index'])
}
