/** A whole response: its request's fields, the output items of an answer, and its usage. */
import type { ChatRequest, FinishReason } from '../../../domain/chat.ts'
import type { Json } from '../../../lib/json.ts'
import type { AnswerHead, Bill, WholeAnswer } from '../../client-api.ts'
import { createOutput } from './output.ts'
import { detailsOf } from './request.ts'

export function createResponse(request: ChatRequest, id = ''): WholeAnswer {
  const { echo, forms, isStored } = detailsOf(request)
  const output = createOutput({ id: tailOf(id), forms, isStored, emit: undefined })
  return {
    push: output.push,
    render(head) {
      output.end()
      const { usage } = head
      return responseText(createFrame(head, echoWhen(echo, head)), {
        ...endOf(output.finish()),
        completedAt: head.completedAt,
        serviceTier: usage.serviceTier,
        usage: renderUsage(head),
        output: output.render(),
      })
    },
  }
}

/** Returns the echo. A response that could not be stored has `store: false`, whatever the request requested. */
export function echoWhen(echo: Json, { isStored }: Pick<Bill, 'isStored'>): Json {
  return isStored === false ? { ...echo, store: false } : echo
}

/** The random part of an id of a completion. */
export function tailOf(id: string): string {
  return id.replace(/^[a-z]+[_-]/, '')
}

/** The constant parts of a response as JSON text: the beginning and the end. */
export interface Frame {
  readonly head: string
  readonly tail: string
}

export function createFrame({ id, created, model }: AnswerHead, echo: Json): Frame {
  const head = JSON.stringify({ id: `resp_${tailOf(id)}`, object: 'response', created_at: created, model })
  return { head: head.slice(0, -1), tail: JSON.stringify(echo).slice(1) }
}

export interface ResponseState {
  readonly status: 'in_progress' | 'completed' | 'incomplete' | 'failed'
  /** Undefined for a complete response. */
  readonly reason?: string | undefined
  /** Unix seconds. */
  readonly completedAt?: number | undefined
  readonly serviceTier?: string | undefined
  readonly error?: { readonly code: string; readonly message: string } | undefined
  readonly usage?: object | undefined
  /** JSON text of a list. */
  readonly output: string
}

export function responseText({ head, tail }: Frame, state: ResponseState): string {
  const { status, reason, completedAt, serviceTier, error, usage, output } = state
  const own = JSON.stringify({
    status,
    completed_at: status === 'completed' ? (completedAt ?? null) : null,
    incomplete_details: reason === undefined ? null : { reason },
    error: error ?? null,
    service_tier: serviceTier ?? (status === 'in_progress' ? 'auto' : 'default'),
    usage: usage ?? null,
  })
  return `${head},${own.slice(1, -1)},"output":${output},${tail}`
}

const REASONS: Readonly<Partial<Record<FinishReason, string>>> = {
  length: 'max_output_tokens',
  content_filter: 'content_filter',
}

export function endOf(finish: FinishReason | undefined): Pick<ResponseState, 'status' | 'reason'> {
  const reason = finish === undefined ? undefined : REASONS[finish]
  return reason === undefined ? { status: 'completed' } : { status: 'incomplete', reason }
}

export function renderUsage({ usage, costUsd }: Bill): object {
  const { promptTokens, completionTokens, cachedTokens = 0, cacheWriteTokens = 0, reasoningTokens = 0 } = usage
  return {
    input_tokens: promptTokens,
    input_tokens_details: { cached_tokens: cachedTokens, cache_write_tokens: cacheWriteTokens },
    output_tokens: completionTokens,
    output_tokens_details: { reasoning_tokens: reasoningTokens },
    total_tokens: promptTokens + completionTokens,
    cost: costUsd,
  }
}
