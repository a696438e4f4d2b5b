/** How an error looks in the body of a response: one shape for every endpoint. */
import type { GatewayError } from './errors.ts'

const MIN_WAIT_SECONDS = 1
const MAX_WAIT_SECONDS = 60

/**
 * Whole seconds, 1 to 60, that a 429 or 503 asks the client to wait, in the `retry-after` header and in the body alike;
 * 1 when the error does not know. Undefined for every other status.
 */
export function retryAfterSeconds(error: GatewayError): number | undefined {
  if (error.status !== 429 && error.status !== 503) return undefined
  if (error.retryAfterMs === undefined) return MIN_WAIT_SECONDS
  return Math.min(Math.max(Math.ceil(error.retryAfterMs / 1000), MIN_WAIT_SECONDS), MAX_WAIT_SECONDS)
}

/**
 * `{"error":{type, message, code, param?, retry_after?, request_id}}` and the error's own details, as JSON text. Where a repeat may help after a wait, the message
 * says "try again in N s", which some clients read instead of the header.
 */
export function renderErrorBody(error: GatewayError, requestId: string): string {
  const seconds = retryAfterSeconds(error)
  return JSON.stringify({
    error: {
      type: error.type,
      message: withWait(withoutSecrets(error.message), error.retryable ? seconds : undefined),
      code: error.code,
      param: error.param && withoutSecrets(error.param),
      retry_after: seconds,
      request_id: requestId,
      ...error.details,
    },
  })
}

/** Keys, tokens and links of ours, cut off ones, too, and signed tokens. */
const SECRETS = /(?<![A-Za-z])tp[a-z]?_[0-9A-Za-z]{16,}|eyJ[\w-]{10,}(\.[\w-]*)*/g

/** Errors quote what was sent, and end in the logs of those who sent it: a key in the place of a name must not. */
function withoutSecrets(text: string): string {
  return text.replaceAll(SECRETS, '[redacted]')
}

function withWait(message: string, seconds: number | undefined): string {
  if (seconds === undefined || /try again in \d/i.test(message)) return message
  return `${message} Please try again in ${seconds} s.`
}
