/** The APIs that clients call. */
import { messagesApi } from './anthropic-messages/client/index.ts'
import type { ClientApi } from './client-api.ts'
import { chatCompletionsApi } from './openai-chat/client/index.ts'
import { completionsApi } from './openai-completions.ts'
import { embeddingsApi } from './openai-embeddings.ts'
import { responsesApi } from './openai-responses/client/index.ts'
import { rerankApi } from './rerank.ts'

const CLIENT_APIS: readonly ClientApi[] = [
  chatCompletionsApi,
  messagesApi,
  completionsApi,
  embeddingsApi,
  rerankApi,
  responsesApi,
]

/** @param endpoint Of a completion: `METHOD /path`. */
export function clientApiOf(endpoint: string): ClientApi | undefined {
  return CLIENT_APIS.find((api) => api.endpoint === endpoint)
}
