/**
 * An API that clients call: how its requests become a `ChatRequest`, and how answers and errors are rendered. The
 * pipeline and the ledger do not know which one a client uses.
 */
import type { ChatEvent, ChatRequest, Usage } from '../domain/chat.ts'
import type { RecordedApi } from '../domain/completion.ts'
import { type GatewayError, renderErrorBody } from '../domain/errors.ts'
import { brokenEnd } from '../domain/kept-events.ts'
import type { ModelKind } from '../domain/model.ts'

/** Identifies an answer, in each of its chunks too. */
export interface AnswerHead {
  readonly id: string
  /** Unix seconds. */
  readonly created: number
  /** The model ID that the client requested. */
  readonly model: string
}

/** Known only at the end of a completion. */
export interface Bill {
  /** The usage with both totals, from the provider or by the gateway's own count. */
  readonly usage: Usage & Required<Pick<Usage, 'promptTokens' | 'completionTokens'>>
  /** Undefined omits `cost`. */
  readonly costUsd: number | undefined
  /** When the answer was complete, in Unix seconds. */
  readonly completedAt?: number | undefined
  /** False if the answer was to be stored but could not be. */
  readonly isStored?: boolean | undefined
}

/** Collects a whole answer. Ignores usage events, because the caller has the bill. */
export interface WholeAnswer {
  push(event: ChatEvent): void
  /** Returns JSON text. */
  render(head: AnswerHead & Bill): string
}

/** Renders one stream. Every method returns the text to send, which may be empty. */
export interface AnswerStream {
  push(event: ChatEvent): string
  /**
   * A complete answer as JSON text, where one that is delivered as a stream may be stored; `close` must follow. Absent:
   * no answer of this API is stored.
   */
  whole?(bill: Bill): string
  /** Ends a complete answer, whose choices have all finished. */
  close(bill: Bill): string
  /**
   * The end of a stream that broke off, where it depends on what came before; otherwise `renderBroken`. Changes
   * nothing.
   */
  fail?(end: BrokenStream): string
}

export interface StreamStart extends AnswerHead {
  readonly request: ChatRequest
  /** The expected tokens before the provider counts. */
  readonly promptTokens: number
}

/** An error as the end of a stream that has begun. */
export interface BrokenStream {
  readonly code: string
  readonly message: string
  readonly requestId?: string | undefined
}

export interface ClientApi {
  /** The kind of models that it calls. Absent: chat. */
  readonly kind?: Exclude<ModelKind, 'chat'>
  /** The API's name in usage. Absent for chat completions. */
  readonly recordedAs?: RecordedApi
  /** `METHOD /path`, the scope of idempotency keys. */
  readonly endpoint: string
  /** The header in which its SDKs look for the id of a request. */
  readonly requestIdHeader: string
  /** Lower-case names of request headers that hosts of the same protocol receive. */
  readonly passedHeaders?: readonly string[]
  /**
   * @param headers Those of `passedHeaders` that the request has.
   * @throws GatewayError for the first fault.
   */
  parse(body: unknown, headers?: Readonly<Record<string, string>>): ChatRequest
  /** @param id Of the completion, for APIs whose parts of an answer have IDs. */
  createAnswer(request: ChatRequest, id?: string): WholeAnswer
  createStream(start: StreamStart): AnswerStream
  /** The body of an error response, as JSON text. */
  renderError(error: GatewayError, requestId: string): string
  /** The status of an error response. */
  statusOf(error: GatewayError): number
  renderBroken(end: BrokenStream): string
  /** Fills silences of a stream: a whole event or comment. Absent: a comment. */
  readonly keepAlive?: string
}

/** The conventions that OpenAI's APIs share. */
export const OPENAI_CONVENTIONS = {
  requestIdHeader: 'x-request-id',
  renderError: renderErrorBody,
  statusOf: ({ status }) => status,
  renderBroken: brokenEnd,
} satisfies Partial<ClientApi>
