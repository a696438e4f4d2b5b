/**
 * OpenAI's Responses as an API for clients: `POST /v1/responses`.
 *
 * Source: the Open Responses specification (https://www.openresponses.org), and the types of the official SDK.
 */
import { type GatewayError, renderErrorBody } from '../../../domain/errors.ts'
import type { ClientApi } from '../../client-api.ts'
import { createResponse } from './answer.ts'
import { parseResponsesRequest } from './request.ts'
import type { StoredContext } from './stored.ts'
import { createResponseStream, renderBroken } from './stream.ts'

export const responsesApi: ClientApi = {
  recordedAs: 'responses',
  endpoint: 'POST /v1/responses',
  requestIdHeader: 'x-request-id',
  passedHeaders: ['openai-beta'],
  parse: (body, headers) => parseResponsesRequest(body, headers),
  createAnswer: createResponse,
  createStream: createResponseStream,
  renderError: (error, requestId) => renderErrorBody(withOwnParam(error), requestId),
  statusOf: ({ status }) => status,
  renderBroken,
}

/** The API for a request of an account whose responses are stored. */
export function storingResponsesApi(context: StoredContext): ClientApi {
  return { ...responsesApi, parse: (body, headers) => parseResponsesRequest(body, headers, context) }
}

/** The names of chat completions and their counterparts in this API. */
const PARAMS: Readonly<Record<string, string>> = {
  max_completion_tokens: 'max_output_tokens',
  max_tokens: 'max_output_tokens',
  response_format: 'text.format',
  reasoning_effort: 'reasoning.effort',
  verbosity: 'text.verbosity',
}

/** Checks shared with chat completions name fields of `messages`, which have no meaning here. */
function withOwnParam(error: GatewayError): GatewayError {
  const { param } = error
  if (param === undefined) return error
  const own = param.startsWith('messages') ? 'input' : PARAMS[param]
  return own === undefined ? error : error.with({ param: own })
}
