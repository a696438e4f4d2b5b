/** What the API answers instead of what was asked for. */

export class ApiProblem extends Error {
  override readonly name = 'ApiProblem'
  /** HTTP status; 0: there was no answer. */
  readonly status: number
  readonly type: string
  readonly code: string | undefined
  /** The parameter that is at fault. */
  readonly param: string | undefined
  readonly requestId: string | undefined
  readonly retryAfterMs: number | undefined

  constructor(message: string, details: ProblemDetails) {
    super(message)
    this.status = details.status
    this.type = details.type
    this.code = details.code
    this.param = details.param
    this.requestId = details.requestId
    this.retryAfterMs = details.retryAfterMs
  }
}

export interface ProblemDetails {
  readonly status: number
  readonly type: string
  readonly code?: string | undefined
  readonly param?: string | undefined
  readonly requestId?: string | undefined
  readonly retryAfterMs?: number | undefined
}

/** Whatever was thrown, as a problem: without an answer, that the gateway was not reached. */
export function problemOf(error: unknown): ApiProblem {
  if (error instanceof ApiProblem) return error
  if (error instanceof TypeError) return new ApiProblem(UNREACHABLE, { status: 0, type: 'unreachable' })
  return new ApiProblem(error instanceof Error ? error.message : String(error), { status: 0, type: 'unexpected' })
}

/** @param body As the server sent it: `{"error": {...}}`, or anything at all. */
export function parseProblem(response: Response, body: unknown): ApiProblem {
  const error = fieldsOf(fieldsOf(body)['error'])
  const wait = Number(response.headers.get('retry-after'))
  return new ApiProblem(textOf(error['message']) ?? `The gateway answered ${response.status}.`, {
    status: response.status,
    type: textOf(error['type']) ?? 'unexpected',
    code: textOf(error['code']),
    param: textOf(error['param']),
    requestId: textOf(error['request_id']) ?? response.headers.get('x-request-id') ?? undefined,
    retryAfterMs: wait > 0 ? wait * 1000 : undefined,
  })
}

const UNREACHABLE = 'The gateway cannot be reached.'

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? { ...value } : {}
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}
