/** Chat completions as an API for clients. */
import { renderErrorBody } from '../../../domain/errors.ts'
import { brokenEnd } from '../../../domain/kept-events.ts'
import type { ClientApi } from '../../client-api.ts'
import { createAnswer } from './answer.ts'
import { parseChatRequest } from './request.ts'
import { createStreamRenderer } from './stream.ts'

export const chatCompletionsApi: ClientApi = {
  endpoint: 'POST /v1/chat/completions',
  requestIdHeader: 'x-request-id',
  parse: parseChatRequest,
  createAnswer,
  createStream: ({ id, created, model, request: { includeUsage, legacyFunctions } }) =>
    createStreamRenderer({ id, created, model, includeUsage, legacyFunctions }),
  renderError: renderErrorBody,
  statusOf: ({ status }) => status,
  renderBroken: brokenEnd,
}
