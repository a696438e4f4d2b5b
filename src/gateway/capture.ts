/**
 * Captures the prompt and the answer for accounts that store them. Collects the events of the answer, as guardrails leave
 * them, while they are rendered for the client. The recorder renders, seals and stores them after the request.
 */

import type { ChatEvent, ChatRequest } from '../domain/chat.ts'
import type { CapturePort, CompletionRecord } from '../domain/completion.ts'
import { isCaptured } from '../domain/identity/caller.ts'
import { usdNumber } from '../domain/money.ts'
import type { AnswerStream, ClientApi, WholeAnswer } from '../protocols/client-api.ts'
import { chatCompletionsApi } from '../protocols/openai-chat/client/index.ts'
import type { Incoming } from './admit.ts'
import type { Completion } from './completion.ts'

export interface Capture {
  /** The API of the request, extended to collect the answer. */
  readonly api: ClientApi
  /** Hands the captured completion to the port. Call it once the completion has ended. */
  end(completion: Completion): void
}

/**
 * Returns undefined if the request is not captured.
 * @param bodyBytes The bytes of the received body. Undefined if they were not measured.
 */
export function beginCapture(
  port: CapturePort | undefined,
  { api, caller, body }: Incoming,
  bodyBytes: number | undefined,
): Capture | undefined {
  const { contentCapture: settings } = caller
  if (port === undefined || settings === undefined || api.kind !== undefined) return undefined
  if (!isCaptured(settings, caller)) return undefined
  const gathered: Gathered = { answer: undefined }
  return {
    api: { ...api, ...gatheringApi(api, gathered) },
    end({ admitted: { trace }, outcome: { record } }) {
      if (record === undefined) return
      const { userId } = caller
      const renderAnswer = (): string | undefined => gathered.answer?.render(headOf(record))
      const content = { endpoint: api.endpoint, body, bodyBytes, renderAnswer }
      port.add({ record, userId, ...content })
      if (trace !== undefined) trace.content = content
    },
  }
}

interface Gathered {
  /** The answer of the last attempt that sent an event. Undefined before the first event. */
  answer: WholeAnswer | undefined
}

function gatheringApi(api: ClientApi, gathered: Gathered): Pick<ClientApi, 'createAnswer' | 'createStream'> {
  return {
    createAnswer(request, id) {
      const answer = api.createAnswer(request, id)
      const gather = gatherer(gathered, request)
      return {
        push(event) {
          gather(event)
          answer.push(event)
        },
        render: (head) => answer.render(head),
      }
    },
    createStream(start) {
      const stream = api.createStream(start)
      const gather = gatherer(gathered, start.request)
      const gathering: AnswerStream = {
        push(event) {
          gather(event)
          return stream.push(event)
        },
        close: (bill) => stream.close(bill),
      }
      if (stream.whole !== undefined) gathering.whole = (bill) => stream.whole?.(bill) ?? ''
      if (stream.fail !== undefined) gathering.fail = (end) => stream.fail?.(end) ?? ''
      return gathering
    },
  }
}

function gatherer(gathered: Gathered, request: ChatRequest): (event: ChatEvent) => void {
  let own: WholeAnswer | undefined
  return (event) => {
    if (own === undefined) {
      own = chatCompletionsApi.createAnswer(request)
      gathered.answer = own
    }
    own.push(event)
  }
}

function headOf({ id, createdAt, model, promptTokens, completionTokens, costNanoUsd }: CompletionRecord) {
  const usage = { promptTokens, completionTokens }
  return { id, created: Math.floor(createdAt / 1000), model, usage, costUsd: usdNumber(costNanoUsd) }
}
