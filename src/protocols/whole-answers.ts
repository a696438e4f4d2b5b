/** Protocols of requests whose answers are never streamed: embeddings and rankings. */
import type { ChatRequest, EmbeddingTask } from '../domain/chat.ts'
import { isRecord, type Json, parseJson } from '../lib/json.ts'
import type { ForwardedFields } from './body-fields.ts'
import { unsupportedContent } from './parameters.ts'
import { brokenAnswer, ProviderError, type ProviderFailure, type UpstreamProtocol } from './protocol.ts'

export interface WholeAnswers extends Pick<UpstreamProtocol, 'id' | 'renderRequest' | 'parseResponse' | 'parseError'> {
  readonly forwards?: ForwardedFields | undefined
  readonly toolUses?: UpstreamProtocol['toolUses']
}

export function wholeAnswers(protocol: WholeAnswers): UpstreamProtocol {
  return {
    framing: 'sse',
    severalChoices: true,
    streamParser: () => {
      throw brokenAnswer('The provider streamed an answer that has no stream.')
    },
    ...protocol,
  }
}

/**
 * The object of a whole answer.
 * @param failureOf Reads an `error` in the body of a 200.
 * @throws ProviderError for an error in place of an answer, and for what is no JSON object.
 */
export function parseAnswerObject(body: string, failureOf: (body: unknown, status: number) => ProviderFailure): Json {
  const answer = parseJson(body)
  if (!isRecord(answer)) throw brokenAnswer('The provider answered with something that is not a JSON object.')
  const { error } = answer
  if (error !== undefined && error !== null && error !== '') throw new ProviderError(failureOf(answer, 200))
  return answer
}

/** The task of a request that came by its endpoint. */
export function taskOf<Type extends NonNullable<ChatRequest['task']>['type']>(
  { task }: ChatRequest,
  type: Type,
): Extract<ChatRequest['task'], { type: Type }> {
  if (task?.type !== type) throw new Error(`This protocol is for requests of the type '${type}'.`)
  return task as Extract<ChatRequest['task'], { type: Type }>
}

/** @throws GatewayError `unsupported_content` for token IDs. */
export function textInputs({ inputs }: EmbeddingTask): readonly string[] {
  return inputs.map((input) => {
    if (typeof input !== 'string') throw unsupportedContent('input', 'token IDs; send text')
    return input
  })
}
