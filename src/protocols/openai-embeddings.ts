/**
 * OpenAI's embeddings, for hosts, most of which have this format, and for clients. A pure codec; hosts differ by its
 * options.
 */
import type { ChatEvent, ChatRequest, EmbeddingTask, Usage, Vector } from '../domain/chat.ts'
import { isRecord, type Json } from '../lib/json.ts'
import { count, type ForwardedFields, forwardedFields } from './body-fields.ts'
import { type AnswerStream, type ClientApi, OPENAI_CONVENTIONS, type WholeAnswer } from './client-api.ts'
import { bodyObject, integerIn, isAbsent, oneOf, refuse, refuseType, stringAt } from './openai-chat/client/checks.ts'
import { failureOf, parseError } from './openai-chat/errors.ts'
import { unsupportedContent, unsupportedParameter } from './parameters.ts'
import { brokenAnswer, type RenderTarget, type UpstreamProtocol, type WireRequest } from './protocol.ts'
import { parseAnswerObject, taskOf, wholeAnswers } from './whole-answers.ts'

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

/*
 * OpenAI's embeddings as an API for clients: `POST /v1/embeddings`.
 * Source: https://platform.openai.com/docs/api-reference/embeddings, and the types of the official SDK.
 */

export const embeddingsApi: ClientApi = {
  kind: 'embedding',
  recordedAs: 'embeddings',
  endpoint: 'POST /v1/embeddings',
  ...OPENAI_CONVENTIONS,
  parse: parseEmbeddingRequest,
  createAnswer: createEmbeddings,
  createStream: neverStreamed,
}

/** Requests of APIs without streams have `stream: false`. */
export function neverStreamed(): AnswerStream {
  throw new Error('This API has no streams.')
}

const INPUT = 'a string, an array of strings, or an array of token IDs'
const DIMENSIONS = { min: 1, max: 1_000_000 } as const
const TOKEN_ID = { min: 0, max: Number.MAX_SAFE_INTEGER } as const
const KNOWN: ReadonlySet<string> = new Set(['model', 'input', 'dimensions', 'encoding_format', 'user'])

/** @throws GatewayError for the first fault. */
function parseEmbeddingRequest(value: unknown): ChatRequest {
  const body = bodyObject(value)
  const { dimensions, encoding_format: format, user } = body
  const model = modelAt(body['model'])
  const inputs = readInputs(body['input'])
  const task: EmbeddingTask = {
    type: 'embedding',
    inputs,
    ...(isAbsent(dimensions) ? {} : { dimensions: integerIn(dimensions, 'dimensions', DIMENSIONS) }),
    ...(isAbsent(format) ? {} : { encodingFormat: oneOf(format, 'encoding_format', ['float', 'base64']) }),
  }
  return {
    model,
    messages: inputs.flatMap((input) => (typeof input === 'string' ? [{ role: 'user', content: input }] : [])),
    stream: false,
    includeUsage: false,
    n: 1,
    task,
    ...(isAbsent(user) ? {} : { user: stringAt(user, 'user') }),
    extra: Object.fromEntries(Object.entries(body).filter(([name]) => !KNOWN.has(name))),
  }
}

export function modelAt(value: unknown): string {
  const model = stringAt(value, 'model')
  return model === '' ? refuse('invalid_value', 'model', '`model` must not be empty.') : model
}

function readInputs(value: unknown): EmbeddingTask['inputs'] {
  if (typeof value === 'string') return [value]
  if (!Array.isArray(value)) refuseType(value, 'input', INPUT)
  const [first] = value
  if (first === undefined) refuse('invalid_value', 'input', '`input` must not be empty.')
  if (typeof first === 'string') return value.map((text, at) => stringAt(text, `input[${at}]`))
  if (typeof first === 'number') return [tokensAt(value, 'input')]
  if (!Array.isArray(first)) refuseType(first, 'input[0]', 'a string, a token ID or an array of token IDs')
  return value.map((tokens, at) => tokensAt(tokens, `input[${at}]`))
}

function tokensAt(value: unknown, path: string): readonly number[] {
  if (!Array.isArray(value)) refuseType(value, path, 'an array of token IDs')
  if (value.length === 0) refuse('invalid_value', path, `\`${path}\` must not be empty.`)
  return value.map((token, at) => integerIn(token, `${path}[${at}]`, TOKEN_ID))
}

function createEmbeddings(request: ChatRequest): WholeAnswer {
  const { inputs, encodingFormat } = taskOf(request, 'embedding')
  let vectors: readonly Vector[] = []
  return {
    push(event) {
      vectors = vectorsOf(event) ?? vectors
    },
    render({ id, model, usage, costUsd }) {
      if (vectors.length !== inputs.length)
        throw brokenAnswer(`The provider returned ${vectors.length} embeddings for ${inputs.length} inputs.`)
      const isBase64 = encodingFormat === 'base64'
      const data = vectors.map((vector, index) => {
        const embedding = isBase64 ? JSON.stringify(vectorBase64(vector)) : vectorJson(vector)
        return `{"object":"embedding","index":${index},"embedding":${embedding}}`
      })
      const { promptTokens } = usage
      const paid = JSON.stringify({ prompt_tokens: promptTokens, total_tokens: promptTokens, cost: costUsd })
      const head = JSON.stringify({ id, object: 'list', model }).slice(0, -1)
      return `${head},"data":[${data.join(',')}],"usage":${paid}}`
    },
  }
}

// Vectors of embeddings: as an event of the pipeline, and in the two forms of the wire, numbers and the base64 of 32-bit
// floats (little-endian). Conversions are exact: every 32-bit float is a JSON number, and hosts print their own floats.

const FIELD = 'embeddings'
const FLOAT_BYTES = 4

/**
 * The events of a whole answer.
 * @param values In the order of the inputs. @param promptTokens Undefined: not reported.
 * @throws ProviderError for what is no vector.
 */
export function vectorEvents(values: readonly unknown[], promptTokens: number | undefined): ChatEvent[] {
  const events: ChatEvent[] = [{ type: 'extension', index: 0, field: FIELD, value: values.map(readVector) }]
  if (promptTokens !== undefined) events.push({ type: 'usage', usage: inputUsage(promptTokens) })
  events.push({ type: 'finish', index: 0, reason: 'stop', raw: 'stop' })
  return events
}

/** Returns the usage of an answer without generated text. */
function inputUsage(promptTokens: number): Usage {
  return { promptTokens, completionTokens: 0 }
}

/** The vectors of an event of `vectorEvents`; undefined for other events. */
export function vectorsOf(event: ChatEvent): readonly Vector[] | undefined {
  return event.type === 'extension' && event.field === FIELD ? (event.value as readonly Vector[]) : undefined
}

function readVector(value: unknown): Vector {
  if (typeof value === 'string' && isBase64OfFloats(value)) return value
  if (Array.isArray(value) && value.length > 0 && value.every(isFiniteNumber)) return value
  throw brokenAnswer('The provider answered with an embedding that is no vector of numbers.')
}

function isFiniteNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value)
}

function isBase64OfFloats(text: string): boolean {
  const bytes = Buffer.byteLength(text, 'base64')
  return bytes > 0 && bytes % FLOAT_BYTES === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(text)
}

/** @returns The base64 of its 32-bit floats. */
export function vectorBase64(vector: Vector): string {
  if (typeof vector === 'string') return vector
  const bytes = Buffer.allocUnsafe(vector.length * FLOAT_BYTES)
  for (const [at, value] of vector.entries()) bytes.writeFloatLE(value, at * FLOAT_BYTES)
  return bytes.toString('base64')
}

/**
 * JSON text of its numbers; unlike `JSON.stringify`, keeps the sign of zero.
 * @throws ProviderError for floats that are no JSON numbers.
 */
export function vectorJson(vector: Vector): string {
  const numbers = typeof vector === 'string' ? floatsOf(vector) : vector
  if (!numbers.some((value) => Object.is(value, -0))) return JSON.stringify(numbers)
  return `[${numbers.map((value) => (Object.is(value, -0) ? '-0' : JSON.stringify(value))).join(',')}]`
}

function floatsOf(base64: string): readonly number[] {
  const bytes = Buffer.from(base64, 'base64')
  const floats: number[] = []
  for (let at = 0; at < bytes.length; at += FLOAT_BYTES) floats.push(bytes.readFloatLE(at))
  if (!floats.every(isFiniteNumber)) throw brokenAnswer('The provider answered with an embedding of no finite numbers.')
  return floats
}
