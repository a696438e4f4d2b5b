/**
 * Anthropic's Messages as an API for clients: `POST /v1/messages`.
 *
 * Source: https://platform.claude.com/docs/en/api/messages, and the types of the official SDK.
 */
import { type GatewayError, renderErrorBody } from '../../../domain/errors.ts'
import type { BrokenEnd } from '../../../domain/kept-events.ts'
import { parseJson } from '../../../lib/json.ts'
import type { ClientApi } from '../../client-api.ts'
import { createMessage } from './answer.ts'
import { parseMessagesRequest } from './request.ts'
import { createMessageStream } from './stream.ts'

export const messagesApi: ClientApi = {
  recordedAs: 'messages',
  endpoint: 'POST /v1/messages',
  requestIdHeader: 'request-id',
  passedHeaders: ['anthropic-beta'],
  parse: parseMessagesRequest,
  createAnswer: createMessage,
  createStream: createMessageStream,
  renderError: renderMessagesError,
  statusOf: messagesStatus,
  renderBroken,
  keepAlive: 'event: ping\ndata: {"type": "ping"}\n\n',
}

/** The types by HTTP status. */
const TYPES: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  500: 'api_error',
  504: 'timeout_error',
  529: 'overloaded_error',
}

/** The API has no 422, and 529 instead of 503. */
function messagesStatus({ code, status }: GatewayError): number {
  if (code === 'model_not_found') return 404
  if (status === 503) return 529
  if (status === 502) return 500
  if (status === 422) return 400
  return status
}

/** Renders `{"type":"error","error":{"type","message","code","param"},"request_id"}`. */
function renderMessagesError(error: GatewayError, requestId: string): string {
  const { error: ours } = parseJson(renderErrorBody(error, requestId)) as { error: Readonly<Record<string, unknown>> }
  const { type: _, request_id: __, ...others } = ours
  return JSON.stringify({
    type: 'error',
    error: { type: TYPES[messagesStatus(error)] ?? 'invalid_request_error', ...others },
    request_id: requestId,
  })
}

function renderBroken({ code, message, requestId }: BrokenEnd): string {
  const type = code === 'overloaded' ? 'overloaded_error' : 'api_error'
  const data = { type: 'error', error: { type, message, code }, request_id: requestId }
  return `event: error\ndata: ${JSON.stringify(data)}\n\n`
}
