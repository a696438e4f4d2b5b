/**
 * An API that clients call: how its requests become a `ChatRequest`, and how answers and errors are rendered. The
 * pipeline and the ledger do not know which one a client uses.
 */
import type { ChatEvent, ChatRequest, ToolCallEvent, Usage } from '../domain/chat.ts'
import type { RecordedApi } from '../domain/completion.ts'
import { type GatewayError, renderErrorBody } from '../domain/errors.ts'
import { type BrokenEnd, brokenEnd } from '../domain/kept-events.ts'
import type { ModelKind } from '../domain/model.ts'
import { isRecord, parseJson } from '../lib/json.ts'
import { brokenAnswer, MAX_WAITING_CALLS } from './protocol.ts'

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
  fail?(end: BrokenEnd): string
}

export interface StreamStart extends AnswerHead {
  readonly request: ChatRequest
  /** The expected tokens before the provider counts. */
  readonly promptTokens: number
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
  renderBroken(end: BrokenEnd): string
  /** Fills silences of a stream: a whole event or comment. Absent: a comment. */
  readonly keepAlive?: string
}

/** What a call that waits for another one counts as, in addition to its characters. */
const CALL_SIZE = 100

/** Passes on the events of an answer so that its tool calls follow one another. */
export interface CallSequence {
  push(event: ChatEvent): void
  /** Passes on the calls that wait. */
  end(): void
}

/**
 * For streams whose parts come one after another, while providers may interleave the pieces of parallel calls. A call
 * that begins before the arguments of the current one are complete waits until the answer goes on with something else.
 * @param next Receives the events. @throws ProviderError from `push` if too much waits.
 */
export function createCallSequence(next: (event: ChatEvent) => void): CallSequence {
  let current = -1
  let text = ''
  let isEnded = true
  let size = 0
  const waiting = new Map<number, ToolCallEvent>()
  const begin = ({ toolIndex, arguments: piece }: ToolCallEvent): void => {
    current = toolIndex
    text = piece
    isEnded = false
  }
  const wait = (event: ToolCallEvent): void => {
    const { toolIndex, arguments: piece } = event
    const before = waiting.get(toolIndex)
    size += piece.length + (before === undefined ? CALL_SIZE : 0)
    if (size > MAX_WAITING_CALLS) throw brokenAnswer('The provider interleaves tool calls that are too large.')
    waiting.set(toolIndex, before === undefined ? event : { ...before, arguments: before.arguments + piece })
  }
  const end = (): void => {
    if (waiting.size === 0) return
    for (const event of waiting.values()) {
      begin(event)
      next(event)
    }
    waiting.clear()
    size = 0
  }
  return {
    push(event) {
      if (event.type === 'tool-call') {
        const { toolIndex, arguments: piece } = event
        if (toolIndex > current) {
          if (waiting.size > 0 || !(isEnded || isRecord(parseJson(text)))) return wait(event)
          begin(event)
        } else if (toolIndex === current) text += piece
        else if (piece === '') return
      } else if (endsCall(event)) {
        end()
        isEnded = true
      }
      next(event)
    },
    end,
  }
}

/** Returns whether an event begins another part of the answer, or ends it. */
function endsCall(event: ChatEvent): boolean {
  if (event.type === 'usage' || event.type === 'extension') return false
  return event.type === 'finish' || event.type === 'native' || event.type === 'reasoning' || textIn(event) !== ''
}

function textIn(event: ChatEvent): string {
  return event.type === 'text' || event.type === 'refusal' ? event.text : ''
}

/** The conventions that OpenAI's APIs share. */
export const OPENAI_CONVENTIONS = {
  requestIdHeader: 'x-request-id',
  renderError: renderErrorBody,
  statusOf: ({ status }) => status,
  renderBroken: brokenEnd,
} satisfies Partial<ClientApi>
