/** Errors of a repeat that can neither run nor receive the first answer. */

import type { SavedAnswer } from '../../domain/credit.ts'
import { GatewayError, renderErrorBody } from '../../domain/errors.ts'
import { type BrokenEnd, brokenEnd, EVENT_STREAM_TYPE } from '../../domain/kept-events.ts'
import { type NanoUsd, usdText } from '../../domain/money.ts'

/** How an API renders the errors that are kept instead of its answers. */
export interface ErrorFormat {
  readonly renderError: (error: GatewayError, requestId: string) => string
  readonly statusOf: (error: GatewayError) => number
  readonly renderBroken: (end: BrokenEnd) => string
}

/** The rendering of the gateway's own API and of chat completions. */
export const OWN_ERRORS: ErrorFormat = {
  renderError: renderErrorBody,
  statusOf: ({ status }) => status,
  renderBroken: brokenEnd,
}

/** A request whose process died. */
export interface LostRequest {
  readonly subjectId: string
  /** Undefined: not settled yet. */
  readonly costNanoUsd: NanoUsd | undefined
  readonly stream: boolean
}

const STILL_RUNNING_RETRY_MS = 5_000
const OVERLOADED_RETRY_MS = 1_000

export function keyReused(): GatewayError {
  const message =
    'This Idempotency-Key was used with another body less than 24 hours ago. Use a new key for a new request.'
  return new GatewayError('idempotency_key_reused', message)
}

export function resultTooLarge(): GatewayError {
  const message =
    'The request with this Idempotency-Key ran, but its answer was too large to keep. ' +
    'To run it again, send it with a new key.'
  return new GatewayError('idempotency_result_too_large', message)
}

export function resultExpired(): GatewayError {
  const message =
    'The stream with this Idempotency-Key has ended, and its events are no longer kept. ' +
    'To run it again, send it with a new key.'
  return new GatewayError('idempotency_result_expired', message)
}

/** 503, not 409: clients retry it automatically with the same key, and receive the answer once it is available. */
export function stillRunning(): GatewayError {
  const message = 'Another request with this Idempotency-Key is still running. Repeat it with the same key.'
  return new GatewayError('overloaded', message, { retryAfterMs: STILL_RUNNING_RETRY_MS })
}

export function tooManyKeys(): GatewayError {
  const message = 'Too many requests with an Idempotency-Key are running.'
  return new GatewayError('overloaded', message, { retryAfterMs: OVERLOADED_RETRY_MS })
}

export function shuttingDown(): GatewayError {
  return new GatewayError('shutting_down', 'The server is shutting down.', { retryAfterMs: OVERLOADED_RETRY_MS })
}

export function outcomeUnknown(subjectId: string): GatewayError {
  const message =
    'The process that ran the request with this Idempotency-Key stopped before its outcome was known. ' +
    `It is being settled as ${subjectId}; retry in a minute.`
  return new GatewayError('idempotency_outcome_unknown', message, { details: { completion_id: subjectId } })
}

/** Kept instead of an answer that was charged and then lost with its process. */
export function lostAnswer(lost: LostRequest, format: ErrorFormat): SavedAnswer {
  return lost.stream ? lostStream(lost, format) : lostWhole(lost, format)
}

function lostWhole({ subjectId, costNanoUsd = 0n as NanoUsd }: LostRequest, format: ErrorFormat): SavedAnswer {
  const message =
    'The process that ran the request with this Idempotency-Key stopped before its answer was kept. ' +
    `It was charged $${usdText(costNanoUsd)} as ${subjectId}. To run it again, send it with a new key.`
  const error = new GatewayError('idempotency_outcome_unknown', message, { details: { completion_id: subjectId } })
  const headers = { 'content-type': 'application/json; charset=utf-8', 'x-should-retry': 'false' }
  // no request produced this answer; the completion's ID leads to the log
  return { status: format.statusOf(error), headers, body: format.renderError(error, subjectId) }
}

/** As an event stream, for clients that resume one. */
function lostStream({ subjectId, costNanoUsd }: LostRequest, format: ErrorFormat): SavedAnswer {
  const charge =
    costNanoUsd === undefined
      ? `The output until then is charged as ${subjectId} within a minute.`
      : `The output until then was charged: $${usdText(costNanoUsd)} as ${subjectId}.`
  const message =
    `The process that ran the request with this Idempotency-Key stopped. ${charge} ` +
    'The partial response may be incomplete. To run it again, send it with a new key.'
  const headers = { 'content-type': EVENT_STREAM_TYPE }
  const end = { code: 'idempotency_outcome_unknown', message, requestId: subjectId }
  return { status: 200, headers, body: format.renderBroken(end) }
}
