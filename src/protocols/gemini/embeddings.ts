/**
 * Embeddings of Google's models: `batchEmbedContents` of the Gemini API, which reports no tokens in older models, and
 * `predict` of Vertex AI.
 *
 * Sources, read 2026-11-24: https://ai.google.dev/api/embeddings,
 * https://cloud.google.com/vertex-ai/generative-ai/docs/model-reference/text-embeddings-api
 */
import type { ChatEvent, ChatRequest, EmbeddingTask } from '../../domain/chat.ts'
import { isRecord } from '../../lib/json.ts'
import { count, type Fields, forwardedFields } from '../body-fields.ts'
import { vectorEvents } from '../openai-embeddings.ts'
import { brokenAnswer, type RenderTarget, type UpstreamProtocol, type WireRequest } from '../protocol.ts'
import { parseAnswerObject, taskOf, textInputs, wholeAnswers } from '../whole-answers.ts'
import { failureOf, parseError } from './errors.ts'

const FORWARDS = { fields: ['task_type', 'title'] } as const
const KNOWN: ReadonlySet<string> = new Set(FORWARDS.fields)

/** Creates the protocol of the Gemini API. */
export function geminiEmbeddings(): UpstreamProtocol {
  return wholeAnswers({
    id: 'gemini-embeddings',
    forwards: FORWARDS,
    parseError,
    renderRequest: (request, target) => {
      const { texts, task, fields, warnings } = read(request, target)
      const model = target.model.includes('/') ? target.model : `models/${target.model}`
      const { task_type: taskType, title, ...others } = fields
      const options = { taskType, title, outputDimensionality: task.dimensions }
      const requests = texts.map((text) => ({ model, content: { parts: [{ text }] }, ...options }))
      const path = `/v1beta/${model.split('/').map(encodeURIComponent).join('/')}:batchEmbedContents`
      return { path, body: JSON.stringify({ ...others, requests }), warnings }
    },
    parseResponse(body) {
      const { embeddings, usageMetadata } = parseAnswerObject(body, failureOf)
      const values = listOf(embeddings).map((embedding) => isRecord(embedding) && embedding['values'])
      return vectorEvents(values, isRecord(usageMetadata) ? count(usageMetadata['promptTokenCount']) : undefined)
    },
  })
}

/** Creates the protocol of Vertex AI. @param pathPrefix The path up to the publisher. */
export function predictEmbeddings(pathPrefix: string): UpstreamProtocol {
  return wholeAnswers({
    id: 'gemini-predict',
    forwards: FORWARDS,
    parseError,
    renderRequest(request, target): WireRequest {
      const { texts, task, fields, warnings } = read(request, target)
      const { task_type, title, ...others } = fields
      const instances = texts.map((content) => ({ content, task_type, title }))
      const parameters = task.dimensions === undefined ? undefined : { outputDimensionality: task.dimensions }
      const path = `${pathPrefix}/models/${encodeURIComponent(target.model)}:predict`
      return { path, body: JSON.stringify({ ...others, instances, parameters }), warnings }
    },
    parseResponse: parsePredictions,
  })
}

interface Read {
  readonly task: EmbeddingTask
  readonly texts: readonly string[]
  readonly fields: Fields
  readonly warnings: readonly string[]
}

function read(request: ChatRequest, target: RenderTarget): Read {
  const warnings = new Set<string>()
  const task = taskOf(request, 'embedding')
  const fields = forwardedFields(request, { known: KNOWN, target, warnings })
  if (request.user !== undefined) warnings.add('user')
  return { task, texts: textInputs(task), fields, warnings: [...warnings] }
}

function parsePredictions(body: string): ChatEvent[] {
  const { predictions } = parseAnswerObject(body, failureOf)
  const embeddings = listOf(predictions).map((prediction) => {
    const embedding = isRecord(prediction) ? prediction['embeddings'] : undefined
    return isRecord(embedding) ? embedding : {}
  })
  let tokens: number | undefined = 0
  for (const { statistics } of embeddings) {
    const own = isRecord(statistics) ? count(statistics['token_count']) : undefined
    tokens = tokens === undefined || own === undefined ? undefined : tokens + own
  }
  return vectorEvents(
    embeddings.map(({ values }) => values),
    tokens,
  )
}

function listOf(value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw brokenAnswer('The provider answered without embeddings.')
  return value
}
