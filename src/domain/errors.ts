/**
 * All errors for clients: one class, one table, which a test compares with `docs/errors.md`, and the body of error responses
 * of all endpoints.
 */

const CATALOGUE = {
  invalid_json: { status: 400, type: 'invalid_request', retryable: false },
  missing_field: { status: 400, type: 'invalid_request', retryable: false },
  invalid_type: { status: 400, type: 'invalid_request', retryable: false },
  out_of_range: { status: 400, type: 'invalid_request', retryable: false },
  invalid_value: { status: 400, type: 'invalid_request', retryable: false },
  unknown_field: { status: 400, type: 'invalid_request', retryable: false },
  invalid_header: { status: 400, type: 'invalid_request', retryable: false },
  no_candidates: { status: 400, type: 'invalid_request', retryable: false },
  context_length_exceeded: { status: 400, type: 'invalid_request', retryable: false },
  content_blocked: { status: 400, type: 'invalid_request', retryable: false },
  content_filter: { status: 400, type: 'invalid_request', retryable: false },
  provider_rejected: { status: 400, type: 'invalid_request', retryable: false },
  previous_response_not_found: { status: 400, type: 'invalid_request', retryable: false },
  method_not_allowed: { status: 405, type: 'invalid_request', retryable: false },
  request_timeout: { status: 408, type: 'invalid_request', retryable: true },
  body_too_large: { status: 413, type: 'invalid_request', retryable: false },
  unsupported_media_type: { status: 415, type: 'invalid_request', retryable: false },
  headers_too_large: { status: 431, type: 'invalid_request', retryable: false },
  missing_credential: { status: 401, type: 'authentication_error', retryable: false },
  invalid_credential: { status: 401, type: 'authentication_error', retryable: false },
  insufficient_credit: { status: 402, type: 'payment_required', retryable: false },
  account_budget_exceeded: { status: 402, type: 'payment_required', retryable: false },
  team_budget_exceeded: { status: 402, type: 'payment_required', retryable: false },
  member_budget_exceeded: { status: 402, type: 'payment_required', retryable: false },
  key_budget_exceeded: { status: 402, type: 'payment_required', retryable: false },
  tag_budget_exceeded: { status: 402, type: 'payment_required', retryable: false },
  insufficient_scope: { status: 403, type: 'permission_denied', retryable: false },
  address_not_allowed: { status: 403, type: 'permission_denied', retryable: false },
  cross_site_request: { status: 403, type: 'permission_denied', retryable: false },
  policy_not_satisfiable: { status: 403, type: 'permission_denied', retryable: false },
  endpoint_not_allowed: { status: 403, type: 'permission_denied', retryable: false },
  model_not_allowed: { status: 403, type: 'permission_denied', retryable: false },
  own_credential_refused: { status: 403, type: 'permission_denied', retryable: false },
  not_found: { status: 404, type: 'not_found', retryable: false },
  conflict: { status: 409, type: 'conflict', retryable: false },
  idempotency_key_reused: { status: 409, type: 'conflict', retryable: false },
  idempotency_outcome_unknown: { status: 409, type: 'conflict', retryable: false },
  idempotency_result_expired: { status: 409, type: 'conflict', retryable: false },
  idempotency_result_too_large: { status: 409, type: 'conflict', retryable: false },
  client_left: { status: 409, type: 'conflict', retryable: false },
  model_not_found: { status: 422, type: 'unprocessable_entity', retryable: false },
  model_not_priced: { status: 422, type: 'unprocessable_entity', retryable: false },
  unsupported_parameter: { status: 422, type: 'unprocessable_entity', retryable: false },
  pull_request_refused: { status: 422, type: 'unprocessable_entity', retryable: false },
  unsupported_content: { status: 422, type: 'unprocessable_entity', retryable: false },
  rate_limit_exceeded: { status: 429, type: 'rate_limit_exceeded', retryable: true },
  internal_error: { status: 500, type: 'internal_error', retryable: true },
  provider_error: { status: 503, type: 'service_unavailable', retryable: true },
  provider_rate_limited: { status: 503, type: 'service_unavailable', retryable: true },
  provider_credentials: { status: 503, type: 'service_unavailable', retryable: false },
  database_unavailable: { status: 503, type: 'service_unavailable', retryable: true },
  overloaded: { status: 503, type: 'service_unavailable', retryable: true },
  agents_unavailable: { status: 503, type: 'service_unavailable', retryable: true },
  shutting_down: { status: 503, type: 'service_unavailable', retryable: true },
} as const

export type ErrorCode = keyof typeof CATALOGUE
type ErrorType = (typeof CATALOGUE)[ErrorCode]['type']

export interface GatewayErrorOptions extends ErrorOptions {
  /** The offending parameter as a path: `messages[2].role`. */
  readonly param?: string | undefined
  /** The wait before a retry. */
  readonly retryAfterMs?: number | undefined
  /** Code that determines status, type and retryability. */
  readonly as?: ErrorCode | undefined
  /** Additional fields of the body. */
  readonly details?: Readonly<Record<string, string | number | null>> | undefined
  /** Overrides the retryability of the code. */
  readonly retryable?: boolean | undefined
  /** Additional response headers. */
  readonly headers?: Readonly<Record<string, string>> | undefined
}

export class GatewayError extends Error {
  override readonly name = 'GatewayError'
  readonly code: ErrorCode
  readonly param: string | undefined
  readonly retryAfterMs: number | undefined
  readonly headers: Readonly<Record<string, string>> | undefined
  readonly details: Readonly<Record<string, string | number | null>> | undefined
  readonly #retryable: boolean | undefined
  readonly #as: ErrorCode

  /** @param message Shown to clients. Secrets and upstream bodies go in `options.cause`, which is only logged. */
  constructor(code: ErrorCode, message: string, options: GatewayErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.param = options.param
    this.retryAfterMs = options.retryAfterMs
    this.headers = options.headers
    this.details = options.details
    this.#retryable = options.retryable
    this.#as = options.as ?? code
  }
  get status(): number {
    return CATALOGUE[this.#as].status
  }
  get type(): ErrorType {
    return CATALOGUE[this.#as].type
  }
  /** Returns whether the same request may succeed later. */
  get retryable(): boolean {
    return this.#retryable ?? CATALOGUE[this.#as].retryable
  }
  /** Returns a copy with some options replaced. */
  with(options: GatewayErrorOptions): GatewayError {
    const { code, message, cause, param, retryAfterMs, details, headers } = this
    const own = { cause, param, retryAfterMs, details, headers, as: this.#as, retryable: this.#retryable }
    return new GatewayError(code, message, { ...own, ...options })
  }
  /** Returns the error for the client: a `GatewayError` unchanged, anything else as `internal_error`. */
  static from(error: unknown): GatewayError {
    if (error instanceof GatewayError) return error
    return new GatewayError('internal_error', 'Something went wrong on our side.', { cause: error })
  }
}

/** 404 for an ID that does not exist, or that belongs to another account. @param what Singular, such as `active key`. */
export function notFound(what: string, param?: string): GatewayError {
  return new GatewayError('not_found', `No ${what} has this ID.`, { param })
}

/** Codes with status, type and retryability, for the documentation and its test. */
export const ERROR_CATALOGUE: Readonly<
  Record<ErrorCode, { readonly status: number; readonly type: string; readonly retryable: boolean }>
> = CATALOGUE

const MIN_WAIT_SECONDS = 1
const MAX_WAIT_SECONDS = 60

/**
 * Returns the wait of a 429 or 503 in whole seconds, 1 to 60, for the `retry-after` header and the body; 1 if the error has
 * none. Undefined for other statuses.
 */
export function retryAfterSeconds(error: GatewayError): number | undefined {
  if (error.status !== 429 && error.status !== 503) return undefined
  if (error.retryAfterMs === undefined) return MIN_WAIT_SECONDS
  return Math.min(Math.max(Math.ceil(error.retryAfterMs / 1000), MIN_WAIT_SECONDS), MAX_WAIT_SECONDS)
}

/**
 * Renders `{"error":{type, message, code, param?, retry_after?, request_id, doc_url}}` with the details of the error. The message of a
 * retryable error ends in "try again in N s", which some clients parse instead of the header.
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
      doc_url: `/docs/errors#${error.code}`,
      ...error.details,
    },
  })
}

/** Keys, tokens and links of Turnpike, also truncated ones, and signed tokens. */
const SECRETS = /(?<![A-Za-z])tp[a-z]?_[0-9A-Za-z]{16,}|eyJ[\w-]{10,}(\.[\w-]*)*/g

/** Redacts keys: errors quote requests, and clients log errors. */
function withoutSecrets(text: string): string {
  return text.replaceAll(SECRETS, '[redacted]')
}

function withWait(message: string, seconds: number | undefined): string {
  if (seconds === undefined || /try again in \d/i.test(message)) return message
  return `${message} Please try again in ${seconds} s.`
}
