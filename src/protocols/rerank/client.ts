/**
 * Ranking as an API for clients, `POST /v1/rerank`: the fields that Cohere's and Jina's clients send, and an answer that both
 * of them read.
 */
import type { ChatRequest } from '../../domain/chat.ts'
import type { RankedDocument, RerankTask } from '../../domain/task.ts'
import { isRecord } from '../../lib/json.ts'
import { type ClientApi, OPENAI_CONVENTIONS, type WholeAnswer } from '../client-api.ts'
import {
  arrayAt,
  bodyObject,
  booleanAt,
  integerIn,
  isAbsent,
  refuse,
  refuseType,
  stringAt,
} from '../openai-chat/client/checks.ts'
import { modelAt, neverStreamed } from '../openai-embeddings/client.ts'
import { unsupportedContent } from '../parameters.ts'
import { brokenAnswer } from '../protocol.ts'
import { taskOf } from '../whole-answers.ts'
import { rankingOf, SEARCH } from './index.ts'

export const rerankApi: ClientApi = {
  kind: 'rerank',
  recordedAs: 'rerank',
  endpoint: 'POST /v1/rerank',
  ...OPENAI_CONVENTIONS,
  parse: parseRerankRequest,
  createAnswer: createRanking,
  createStream: neverStreamed,
}

const TOP = { min: 1, max: Number.MAX_SAFE_INTEGER } as const
const KNOWN: ReadonlySet<string> = new Set(['model', 'query', 'documents', 'top_n', 'return_documents'])

/** @throws GatewayError for the first fault. */
function parseRerankRequest(value: unknown): ChatRequest {
  const body = bodyObject(value)
  const { top_n: top, return_documents: returned } = body
  const model = modelAt(body['model'])
  const query = stringAt(body['query'], 'query')
  if (query === '') refuse('invalid_value', 'query', '`query` must not be empty.')
  const documents = arrayAt(body['documents'], 'documents').map((document, at) => textAt(document, `documents[${at}]`))
  if (documents.length === 0) refuse('invalid_value', 'documents', '`documents` must not be empty.')
  const task: RerankTask = {
    type: 'rerank',
    query,
    documents,
    ...(isAbsent(top) ? {} : { topN: integerIn(top, 'top_n', TOP) }),
    returnDocuments: !isAbsent(returned) && booleanAt(returned, 'return_documents'),
  }
  return {
    model,
    messages: [query, ...documents].map((content) => ({ role: 'user', content })),
    stream: false,
    includeUsage: false,
    n: 1,
    task,
    extra: Object.fromEntries(Object.entries(body).filter(([name]) => !KNOWN.has(name))),
  }
}

/** A text, or an object with a `text`. */
function textAt(document: unknown, path: string): string {
  if (typeof document === 'string') return document
  if (!isRecord(document)) refuseType(document, path, 'a string or an object with a `text`')
  if (document['text'] === undefined && document['image'] !== undefined) throw unsupportedContent(path, 'images')
  return stringAt(document['text'], `${path}.text`)
}

function createRanking(request: ChatRequest): WholeAnswer {
  const { documents, topN, returnDocuments } = taskOf(request, 'rerank')
  let ranking: readonly RankedDocument[] = []
  return {
    push(event) {
      ranking = rankingOf(event) ?? ranking
    },
    render({ id, model, usage, costUsd }) {
      if (ranking.some(({ index }) => index >= documents.length))
        throw brokenAnswer('The provider ranked a document that it was not given.')
      const best = ranking.toSorted((one, other) => other.score - one.score).slice(0, topN)
      const results = best.map(({ index, score }) => ({
        index,
        relevance_score: score,
        ...(returnDocuments ? { document: { text: documents[index] } } : {}),
      }))
      const { promptTokens, serverToolUses } = usage
      const searches = serverToolUses?.[SEARCH]
      const billed = searches === undefined ? { input_tokens: promptTokens } : { search_units: searches }
      return JSON.stringify({
        id,
        object: 'list',
        model,
        results,
        usage: { prompt_tokens: promptTokens, total_tokens: promptTokens, cost: costUsd },
        meta: { api_version: { version: '2' }, billed_units: billed },
      })
    },
  }
}
