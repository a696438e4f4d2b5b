import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { renderErrorBody, retryAfterSeconds } from '../domain/error-body.ts'
import { GatewayError } from '../domain/errors.ts'

/** Told to clients that are to come back and were not told when. */
const DEFAULT_RETRY_AFTER_MS = 1_000
const MAX_RETRY_AFTER_MS = 60_000

/** One error shape everywhere: for what routes throw, for what Fastify refuses. */
export function renderErrors(app: FastifyInstance, onError: (error: GatewayError, requestId: string) => void): void {
  app.setErrorHandler((error: FastifyError | GatewayError, request, reply) => {
    const ours = toGatewayError(error)
    onError(ours, request.id)
    return sendError(reply, ours)
  })
}

const MAX_SHOWN_PATH = 200

/** Of a request that no route matches: 405 with `Allow` where the path has other methods, else 404. */
export function routeNotFound(method: string, path: string, allowed: readonly string[]): GatewayError {
  const shown = path.slice(0, MAX_SHOWN_PATH)
  if (allowed.length === 0) {
    return new GatewayError('not_found', `Unknown path: ${method} ${shown}. GET /openapi.json lists all paths.`)
  }
  const allow = allowed.join(', ')
  const message = `${method} is not allowed on ${shown}. Allowed methods: ${allow}.`
  return new GatewayError('method_not_allowed', message, { headers: { allow } })
}

/** For what Fastify refuses before any route and hook: a path that cannot be decoded, an id that is too long. */
export function frameworkErrors(onError: (error: GatewayError, requestId: string) => void) {
  return (error: FastifyError, request: FastifyRequest, reply: FastifyReply): void => {
    const ours = toGatewayError(error)
    onError(ours, request.id)
    sendError(reply.header('x-request-id', request.id), ours)
  }
}

/** Headers of an error answer beside the usual ones. */
export function errorHeaders(error: GatewayError): Record<string, string> {
  const headers = { ...error.headers, ...(!error.retryable && { 'x-should-retry': 'false' }) }
  const seconds = retryAfterSeconds(error)
  if (seconds === undefined) return headers
  const milliseconds = Math.min(error.retryAfterMs ?? DEFAULT_RETRY_AFTER_MS, MAX_RETRY_AFTER_MS)
  return { ...headers, 'retry-after': String(seconds), 'retry-after-ms': String(Math.ceil(milliseconds)) }
}

function sendError(reply: FastifyReply, error: GatewayError): FastifyReply {
  return reply
    .code(error.status)
    .headers(errorHeaders(error))
    .type('application/json; charset=utf-8')
    .send(renderErrorBody(error, reply.request.id))
}

const FASTIFY_CODES: Readonly<Record<string, () => GatewayError>> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: () =>
    new GatewayError('unsupported_media_type', "The body must be JSON, sent with 'content-type: application/json'."),
  FST_ERR_CTP_BODY_TOO_LARGE: () => new GatewayError('body_too_large', 'The request body is too large.'),
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: () =>
    new GatewayError('invalid_header', 'The body is not as long as its content-length says.'),
  FST_ERR_BAD_URL: () => new GatewayError('not_found', 'The path is not a valid URL path.'),
  FST_ERR_MAX_PARAM_LENGTH: () => new GatewayError('not_found', 'ID exceeds 512 characters.'),
}

/** What any error of a request comes to: ours as they are, those of the framework in our words. */
export function toGatewayError(error: FastifyError | GatewayError): GatewayError {
  if (error instanceof GatewayError) return error
  const [problem] = error.validation ?? []
  if (problem !== undefined) return fromValidation(problem, error.validationContext)
  const known = FASTIFY_CODES[error.code]
  return known === undefined ? GatewayError.from(error) : known()
}

type Problem = NonNullable<FastifyError['validation']>[number]

/** Turns the first complaint of the schema validator into a path and a code. */
function fromValidation({ instancePath, keyword, params, message }: Problem, context = 'body'): GatewayError {
  const path = toPath(instancePath)
  const within = (name: unknown): string => (path === '' ? String(name) : `${path}.${String(name)}`)
  const where = path === '' ? `The ${context}` : `'${path}'`
  switch (keyword) {
    case 'required': {
      const param = within(params['missingProperty'])
      return new GatewayError('missing_field', `'${param}' is required.`, { param })
    }
    case 'additionalProperties': {
      const param = within(params['additionalProperty'])
      return new GatewayError('unknown_field', `'${param}' is not a known field.`, { param })
    }
    case 'type':
      return new GatewayError('invalid_type', `${where} ${message ?? 'has the wrong type'}.`, optional(path))
    case 'minimum':
    case 'maximum':
    case 'exclusiveMinimum':
    case 'exclusiveMaximum':
    case 'minItems':
    case 'maxItems':
    case 'minLength':
    case 'maxLength':
      return new GatewayError('out_of_range', `${where} ${message ?? 'is out of range'}.`, optional(path))
    default:
      return new GatewayError('invalid_value', `${where} ${message ?? 'is not valid'}.`, optional(path))
  }
}

function optional(param: string): { param?: string } {
  return param === '' ? {} : { param }
}

/** `/scopes/0/name` becomes `scopes[0].name`. */
function toPath(pointer: string): string {
  return pointer
    .split('/')
    .slice(1)
    .map((part) => (/^\d+$/.test(part) ? `[${part}]` : `.${part.replaceAll('~1', '/').replaceAll('~0', '~')}`))
    .join('')
    .replace(/^\./, '')
}
