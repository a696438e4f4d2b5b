/** What a repeat is told when it can neither run nor have the first answer. */

import type { SavedAnswer } from '../../domain/credit.ts'
import { GatewayError, renderErrorBody } from '../../domain/errors.ts'
import { brokenEnd, EVENT_STREAM_TYPE } from '../../domain/kept-events.ts'
import { type NanoUsd, usdText } from '../../domain/money.ts'

const STILL_RUNNING_RETRY_MS = 5_000
const OVERLOADED_RETRY_MS = 1_000

export function keyReused(): GatewayError {
  const message =
    'This Idempotency-Key was used with another body less than 24 hours ago. Use a new key for a new request.'
  return new GatewayError('idempotency_key_reused', message)
}

export function resultTooLarge(): GatewayError {
  const message =
    'The request with this Idempotency-Key was carried out, but its answer was too large to be kept. ' +
    'To run it again, send it with a new key.'
  return new GatewayError('idempotency_result_too_large', message)
}

export function resultExpired(): GatewayError {
  const message =
    'The stream with this Idempotency-Key has ended, and its events are no longer kept. ' +
    'To run it again, send it with a new key.'
  return new GatewayError('idempotency_result_expired', message)
}

/** 503 and not 409: clients repeat it by themselves, with the same key, and get the answer when it is there. */
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

/** Kept in place of an answer that was charged and then lost with its process. */
export function lostAnswer(subjectId: string, costNanoUsd: NanoUsd): SavedAnswer {
  const message =
    'The process that ran the request with this Idempotency-Key stopped before its answer was kept. ' +
    `It was charged $${usdText(costNanoUsd)} as ${subjectId}. To run it again, send it with a new key.`
  const error = new GatewayError('idempotency_outcome_unknown', message, { details: { completion_id: subjectId } })
  const headers = { 'content-type': 'application/json; charset=utf-8', 'x-should-retry': 'false' }
  // no request made this answer; what it is about is found in the log by the completion's id
  return { status: error.status, headers, body: renderErrorBody(error, subjectId) }
}

/**
 * The same for a stream, as an event stream: what its clients read when they come for the rest.
 * @param costNanoUsd Undefined: it is not settled yet.
 */
export function lostStream(subjectId: string, costNanoUsd: NanoUsd | undefined): SavedAnswer {
  const charge =
    costNanoUsd === undefined
      ? `What was generated until then is charged as ${subjectId}, within a minute.`
      : `What was generated until then was charged: $${usdText(costNanoUsd)} as ${subjectId}.`
  const message =
    `The process that ran the request with this Idempotency-Key stopped. ${charge} ` +
    'The partial response may be incomplete. To run it again, send it with a new key.'
  const headers = { 'content-type': EVENT_STREAM_TYPE }
  return { status: 200, headers, body: brokenEnd({ code: 'idempotency_outcome_unknown', message }) }
}
