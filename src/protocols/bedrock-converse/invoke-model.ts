/**
 * Embeddings and ranking by InvokeModel, whose bodies are those of each maker: Titan (one text a call) and Cohere; Amazon's
 * Rerank has the body of Cohere's.
 *
 * Sources, read 2026-11-24: https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-titan-embed-text.html,
 * https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-embed.html,
 * https://docs.aws.amazon.com/bedrock/latest/userguide/rerank-supported.html
 */
import type { ChatEvent, ChatRequest, EmbeddingTask } from '../../domain/chat.ts'
import { GatewayError } from '../../domain/errors.ts'
import { isRecord, type Json } from '../../lib/json.ts'
import { count, type Fields, forwardedFields } from '../body-fields.ts'
import { unsupportedParameter } from '../parameters.ts'
import { brokenAnswer, type RenderTarget, type UpstreamProtocol, type WireRequest } from '../protocol.ts'
import { rerank } from '../rerank.ts'
import { vectorEvents } from '../vectors.ts'
import { parseAnswerObject, taskOf, textInputs, wholeAnswers } from '../whole-answers.ts'
import { failureOf, parseError } from './errors.ts'

const FORWARDS = { fields: ['input_type', 'truncate', 'normalize'] } as const
const KNOWN: ReadonlySet<string> = new Set(FORWARDS.fields)

export function bedrockEmbeddings(): UpstreamProtocol {
  return wholeAnswers({ id: 'bedrock-embeddings', forwards: FORWARDS, parseError, renderRequest, parseResponse })
}

function renderRequest(request: ChatRequest, target: RenderTarget): WireRequest {
  const warnings = new Set<string>()
  const task = taskOf(request, 'embedding')
  const fields = forwardedFields(request, { known: KNOWN, target, warnings })
  if (request.user !== undefined) warnings.add('user')
  const body = bodyOf(target.model, task, fields)
  return { path: invokePath(target.model), body: JSON.stringify(body), warnings: [...warnings] }
}

function invokePath(model: string): string {
  return `/model/${encodeURIComponent(model)}/invoke`
}

/** @param model May begin with a region, or be the name of a profile. */
function bodyOf(model: string, task: EmbeddingTask, fields: Fields): object {
  const texts = textInputs(task)
  const { dimensions } = task
  const { input_type: inputType = 'search_document', truncate, normalize, ...others } = fields
  if (model.includes('cohere.')) {
    return { ...others, texts, input_type: inputType, truncate, output_dimension: dimensions }
  }
  if (!model.includes('titan-embed-text')) throw unsupportedParameter('model', 'The format of this model is not known.')
  const [inputText] = texts
  if (texts.length !== 1) {
    const message = `\`input\` must have one entry for this model, not ${texts.length}. Send several requests.`
    throw new GatewayError('out_of_range', message, { param: 'input' })
  }
  return { ...others, inputText, dimensions, normalize }
}

function parseResponse(body: string): ChatEvent[] {
  const answer = parseAnswerObject(body, (error, status) => failureOf({ status, type: '', body: error }))
  const { embedding, embeddings, inputTextTokenCount: tokens } = answer
  if (embedding !== undefined) return vectorEvents([embedding], count(tokens))
  const floats = isRecord(embeddings) ? embeddings['float'] : embeddings
  if (!Array.isArray(floats)) throw brokenAnswer('The provider answered without embeddings.')
  return vectorEvents(floats, undefined)
}

export function bedrockRerank(): UpstreamProtocol {
  return { ...rerank({ searches: 'counted', request: invocation }), id: 'bedrock-rerank', parseError }
}

/** @param model May begin with a region, or be the name of a profile. */
function invocation({ model, ...body }: Json): { readonly path: string; readonly body: Json } {
  const name = String(model)
  const version = name.includes('cohere.') ? { api_version: 2 } : {}
  return { path: invokePath(name), body: { ...body, ...version } }
}
