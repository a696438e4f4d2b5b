/**
 * OpenAI's embeddings as an API for clients: `POST /v1/embeddings`.
 *
 * Source: https://platform.openai.com/docs/api-reference/embeddings, and the types of the official SDK.
 */
import type { ChatRequest } from '../../domain/chat.ts'
import type { EmbeddingTask, Vector } from '../../domain/task.ts'
import { type AnswerStream, type ClientApi, OPENAI_CONVENTIONS, type WholeAnswer } from '../client-api.ts'
import { bodyObject, integerIn, isAbsent, oneOf, refuse, refuseType, stringAt } from '../openai-chat/client/checks.ts'
import { brokenAnswer } from '../protocol.ts'
import { vectorBase64, vectorJson, vectorsOf } from '../vectors.ts'
import { taskOf } from '../whole-answers.ts'

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
