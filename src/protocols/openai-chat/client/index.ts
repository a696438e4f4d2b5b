/** Chat completions as an API for clients. */
import { type ClientApi, OPENAI_CONVENTIONS } from '../../client-api.ts'
import { createAnswer } from './answer.ts'
import { parseChatRequest } from './request.ts'
import { createStreamRenderer } from './stream.ts'

export const chatCompletionsApi: ClientApi = {
  endpoint: 'POST /v1/chat/completions',
  ...OPENAI_CONVENTIONS,
  parse: parseChatRequest,
  createAnswer,
  createStream: ({ request, ...head }) => createStreamRenderer({ ...request, ...head }),
}
