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

/** Whatever was thrown, as a problem: for a broken connection, that the gateway was not reached. */
export function problemOf(error: unknown): ApiProblem {
  if (error instanceof ApiProblem) return error
  if (isBrokenConnection(error)) return new ApiProblem(UNREACHABLE, { status: 0, type: 'unreachable' })
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

/**
 * How the messages of TypeErrors begin with which browsers report requests without an answer, streams that broke off, and
 * files of the page that could not be loaded. The Fetch Standard gives errors in the page's own code the same class.
 */
const BROKEN_CONNECTION = [
  'Failed to fetch', // Chromium; also '… dynamically imported module'
  'network error', // Chromium, of a stream
  'NetworkError when attempting to fetch', // Firefox
  'Error in input stream', // Firefox, of a stream
  'error loading dynamically imported module', // Firefox
  'Load failed', // Safari, and below
  'Importing a module script failed',
  'The network connection was lost',
  'The Internet connection appears to be offline',
  'Could not connect to the server',
  'A server with the specified hostname could not be found',
  'The request timed out',
]

function isBrokenConnection(error: unknown): boolean {
  return error instanceof TypeError && BROKEN_CONNECTION.some((start) => error.message.startsWith(start))
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? { ...value } : {}
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}
