/**
 * Ranking of documents by their relevance to a query, as Cohere, Voyage, Jina, vLLM and others have it. A pure codec; hosts
 * differ by its options.
 *
 * Sources, read 2026-11-24: https://docs.cohere.com/reference/rerank, https://docs.voyageai.com/reference/reranker-api,
 * https://jina.ai/reranker/, https://docs.vllm.ai/en/stable/serving/openai_compatible_server/
 */
import { textTokenBound } from '../domain/bounds/token-bound.ts'
import type { ChatEvent, ChatRequest, RankedDocument, RerankTask, Usage } from '../domain/chat.ts'
import { isRecord, type Json } from '../lib/json.ts'
import { count, type ForwardedFields, forwardedFields, type MutableUsage } from './body-fields.ts'
import { type ClientApi, OPENAI_CONVENTIONS, type WholeAnswer } from './client-api.ts'
import {
  arrayAt,
  bodyObject,
  booleanAt,
  integerIn,
  isAbsent,
  refuse,
  refuseType,
  stringAt,
} from './openai-chat/client/checks.ts'
import { failureOf, parseError } from './openai-chat/errors.ts'
import { modelAt, neverStreamed } from './openai-embeddings.ts'
import { unsupportedContent } from './parameters.ts'
import { brokenAnswer, type RenderTarget, type UpstreamProtocol, type WireRequest } from './protocol.ts'
import type { ToolUses } from './server-tools.ts'
import { parseAnswerObject, taskOf, wholeAnswers } from './whole-answers.ts'

export interface RerankOptions {
  /** Default: `/rerank`. */
  readonly path?: string
  /** The name of the number of results. Default: `top_n`. */
  readonly topField?: 'top_n' | 'top_k'
  /**
   * The searches that the host charges for: `reported` in its answer, or `counted` here, at most as many as there can be.
   * Default: a call is one search.
   */
  readonly searches?: 'reported' | 'counted'
  /** The host's documented extension fields. Default: none. */
  readonly forwards?: ForwardedFields
  /** Modifies the request. */
  readonly request?: (body: Json) => { readonly path: string; readonly body: Json }
}

/** The name of a search in prices (`server_tools`). */
const SEARCH = 'search'
const FIELD = 'ranking'

export function rerank(options: RerankOptions = {}): UpstreamProtocol {
  const known = new Set(options.forwards?.fields)
  return wholeAnswers({
    id: 'rerank',
    forwards: options.forwards,
    toolUses: SEARCHES[options.searches ?? 'one'],
    renderRequest: (request, target) => renderRequest(request, target, { options, known }),
    parseResponse,
    parseError,
  })
}

const ONE_SEARCH: ToolUses = { [SEARCH]: { limit: 1, counted: 'always', param: 'documents' } }
const SEARCHES = {
  one: () => ONE_SEARCH,
  reported: (request: ChatRequest): ToolUses => ({ [SEARCH]: { limit: mostSearches(request), param: 'documents' } }),
  counted: (request: ChatRequest): ToolUses => ({
    [SEARCH]: { limit: mostSearches(request), counted: 'always', param: 'documents' },
  }),
} as const

/*
 * A search is a query with at most 100 documents; a document with more than 500 tokens, the query included, counts as
 * several. Source: https://cohere.com/pricing, read 2026-11-24.
 */
const SEARCH_DOCUMENTS = 100
const DOCUMENT_TOKENS = 500

function mostSearches(request: ChatRequest): number {
  const { query, documents } = taskOf(request, 'rerank')
  const queryTokens = textTokenBound(query)
  let chunks = 0
  for (const document of documents) chunks += Math.ceil((queryTokens + textTokenBound(document) + 1) / DOCUMENT_TOKENS)
  return Math.ceil(chunks / SEARCH_DOCUMENTS)
}

interface Dialect {
  readonly options: RerankOptions
  readonly known: ReadonlySet<string>
}

/** Documents are never requested back: the gateway has them. */
function renderRequest(request: ChatRequest, target: RenderTarget, { options, known }: Dialect): WireRequest {
  const { query, documents, topN }: RerankTask = taskOf(request, 'rerank')
  const { path = '/rerank', topField = 'top_n' } = options
  const warnings = new Set<string>()
  const fields = forwardedFields(request, { known, target, warnings })
  const plain = { ...fields, model: target.model, query, documents, [topField]: topN }
  const sent = options.request?.(plain) ?? { path, body: plain }
  return { path: sent.path, body: JSON.stringify(sent.body), warnings: [...warnings] }
}

function parseResponse(body: string): ChatEvent[] {
  const answer = parseAnswerObject(body, failureOf)
  const results = answer['results'] ?? answer['data']
  if (!Array.isArray(results)) throw brokenAnswer('The provider answered without results.')
  const events: ChatEvent[] = [{ type: 'extension', index: 0, field: FIELD, value: results.map(readResult) }]
  const usage = usageOf(answer)
  if (usage !== undefined) events.push({ type: 'usage', usage })
  events.push({ type: 'finish', index: 0, reason: 'stop', raw: 'stop' })
  return events
}

function readResult(result: unknown): RankedDocument {
  const { index, relevance_score: relevance, score = relevance } = isRecord(result) ? result : {}
  const position = count(index)
  if (position === undefined || typeof score !== 'number') throw brokenAnswer('The provider answered without scores.')
  return { index: position, score }
}

/** Undefined if nothing is reported. */
function usageOf({ usage, meta }: Json): Usage | undefined {
  const reported = isRecord(usage) ? usage : {}
  const { billed_units, tokens: counted } = isRecord(meta) ? meta : {}
  const billed = isRecord(billed_units) ? billed_units : {}
  const read = isRecord(counted) ? counted : {}
  const own = [reported['prompt_tokens'], reported['total_tokens'], billed['input_tokens'], read['input_tokens']]
  const promptTokens = own.map(count).find((tokens) => tokens !== undefined && tokens > 0)
  const searches = count(billed['search_units'])
  const found: MutableUsage = { completionTokens: 0 }
  if (promptTokens !== undefined) found.promptTokens = promptTokens
  if (searches !== undefined) found.serverToolUses = { [SEARCH]: searches }
  return promptTokens === undefined && searches === undefined ? undefined : found
}

/** The ranking of an event; undefined for other events. */
function rankingOf(event: ChatEvent): readonly RankedDocument[] | undefined {
  return event.type === 'extension' && event.field === FIELD ? (event.value as readonly RankedDocument[]) : undefined
}

/*
 * Ranking as an API for clients, `POST /v1/rerank`: the fields that Cohere's and Jina's clients send, and an answer
 * that both of them read.
 */

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
