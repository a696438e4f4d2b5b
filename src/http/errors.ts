/** Renders all errors in one format: those that routes throw, and Fastify's own. */
import type { FastifyContextConfig, FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type ErrorCode, GatewayError, renderErrorBody, retryAfterSeconds } from '../domain/errors.ts'
import { ownerOf, type Rejection } from '../domain/rejection.ts'
import { isRecord } from '../lib/json.ts'

/** The `Retry-After` of retryable errors without their own. */
const DEFAULT_RETRY_AFTER_MS = 1_000
const MAX_RETRY_AFTER_MS = 60_000

interface ErrorListeners {
  readonly onError: (error: GatewayError, request: { readonly id: string; readonly traceId?: string }) => void
  readonly onRejection?: ((rejection: Rejection) => void) | undefined
}

/** Installs the error handler. */
export function renderErrors(app: FastifyInstance, { onError, onRejection }: ErrorListeners): void {
  app.setErrorHandler((error: FastifyError | GatewayError, request, reply) => {
    const ours = toGatewayError(error)
    request.entry?.failed(isRejection(ours) && request.raw.socket?.destroyed !== true)
    const { id, trace } = request
    if (trace === undefined) onError(ours, { id })
    else {
      trace.errorCode = ours.code
      onError(ours, { id, traceId: trace.context.traceId })
    }
    if (onRejection !== undefined && isRejectedModelRequest(request, ours)) onRejection(rejectionOf(request, ours))
    return sendError(reply, ours)
  })
}

/**
 * Returns whether a request to a model was rejected before a provider was called; calls of providers are completions,
 * whatever their outcome.
 */
function isRejectedModelRequest({ routeOptions: { config }, raw }: FastifyRequest, error: GatewayError): boolean {
  if (config?.isChat !== true || raw.socket?.destroyed === true) return false
  const status = statusOf(config, error)
  return status >= 400 && status < 500 && (error.headers?.['x-turnpike-attempts'] ?? '0') === '0'
}

function rejectionOf(
  { caller, id, trace, body, routeOptions: { config, url } }: FastifyRequest,
  error: GatewayError,
): Rejection {
  const { model } = (body ?? {}) as { readonly model?: unknown } // any JSON
  return {
    caller: caller ?? ownerOf(error),
    requestId: id,
    traceId: trace?.context.traceId,
    endpoint: url ?? '',
    model: typeof model === 'string' && model !== '' ? model : undefined,
    status: statusOf(config, error),
    code: error.code,
  }
}

/** Returns the status in the API that the client uses. */
function statusOf(config: Partial<FastifyContextConfig> | undefined, error: GatewayError): number {
  return config?.api?.statusOf(error) ?? error.status
}

/**
 * Returns whether the request's content was rejected, which no correct client causes. Verdicts of providers do not
 * count.
 */
function isRejection({ status, code }: GatewayError): boolean {
  if (status !== 400 && status !== 413 && status !== 415 && status !== 422) return false
  return code !== 'content_filter' && code !== 'provider_rejected' && code !== 'context_length_exceeded'
}

const MAX_SHOWN_PATH = 200

/** Returns 405 with `Allow` where the path has other methods, else 404. */
export function routeNotFound(method: string, path: string, allowed: readonly string[]): GatewayError {
  const shown = path.slice(0, MAX_SHOWN_PATH)
  if (allowed.length === 0) {
    return new GatewayError('not_found', `Unknown path: ${method} ${shown}. GET /openapi.json lists all paths.`)
  }
  const allow = allowed.join(', ')
  const message = `${method} is not allowed on ${shown}. Allowed methods: ${allow}.`
  return new GatewayError('method_not_allowed', message, { headers: { allow } })
}

/** Handles what Fastify rejects before routes and hooks: undecodable paths, IDs that are too long. */
export function frameworkErrors(onError: (error: GatewayError, request: { readonly id: string }) => void) {
  return (error: FastifyError, request: FastifyRequest, reply: FastifyReply): void => {
    const ours = toGatewayError(error)
    onError(ours, { id: request.id })
    sendError(reply.header('x-request-id', request.id), ours)
  }
}

/** Returns the headers of an error response. */
export function errorHeaders(error: GatewayError): Record<string, string> {
  const headers = { ...error.headers, ...(!error.retryable && { 'x-should-retry': 'false' }) }
  const seconds = retryAfterSeconds(error)
  if (seconds === undefined) return headers
  const milliseconds = Math.min(error.retryAfterMs ?? DEFAULT_RETRY_AFTER_MS, MAX_RETRY_AFTER_MS)
  return { ...headers, 'retry-after': String(seconds), 'retry-after-ms': String(Math.ceil(milliseconds)) }
}

/** Sends an error in the form of the API that the client uses. */
function sendError(reply: FastifyReply, error: GatewayError): FastifyReply {
  const { api } = reply.request.routeOptions.config ?? {}
  return reply
    .code(statusOf(reply.request.routeOptions.config, error))
    .headers(errorHeaders(error))
    .type('application/json; charset=utf-8')
    .send((api?.renderError ?? renderErrorBody)(error, reply.request.id))
}

const FASTIFY_CODES: Readonly<Record<string, () => GatewayError>> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: () =>
    new GatewayError('unsupported_media_type', "The body must be JSON, sent with 'content-type: application/json'."),
  FST_ERR_CTP_BODY_TOO_LARGE: () => new GatewayError('body_too_large', 'The request body is too large.'),
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: () =>
    new GatewayError('invalid_header', 'The body length does not match content-length.'),
  FST_ERR_BAD_URL: () => new GatewayError('not_found', 'The path is not a valid URL path.'),
  FST_ERR_MAX_PARAM_LENGTH: () => new GatewayError('not_found', 'ID exceeds 512 characters.'),
}

/** Converts errors of the framework; returns a `GatewayError` unchanged. */
export function toGatewayError(error: FastifyError | GatewayError): GatewayError {
  if (error instanceof GatewayError) return error
  const problem = mostSpecific(error.validation ?? [])
  if (problem !== undefined) {
    return error.validationContext === 'headers'
      ? fromHeader(problem)
      : fromValidation(problem, error.validationContext)
  }
  const known = FASTIFY_CODES[error.code]
  return known === undefined ? GatewayError.from(error) : known()
}

/** Has `schema`, `parentSchema` and `data`, because the validator is `verbose`. */
type Problem = NonNullable<FastifyError['validation']>[number] & {
  readonly schema?: unknown
  readonly parentSchema?: { readonly examples?: readonly unknown[] }
  readonly data?: unknown
}

/**
 * Returns the first problem. Of a union of objects that a constant tells apart, that of the alternative which the value
 * names: the validator reports every alternative, and the others only that they are others.
 */
function mostSpecific(problems: readonly Problem[]): Problem | undefined {
  const [first] = problems
  const union = problems.at(-1)
  if (union?.keyword !== 'anyOf' || !isRecord(union.data)) return first
  const alternatives = (union.schema as readonly Alternative[]).map(({ properties = {} }) => properties)
  const tag = Object.keys(alternatives[0] ?? {}).find((name) =>
    alternatives.every((each) => 'const' in (each[name] ?? {})),
  )
  if (tag === undefined || !(tag in union.data)) return first
  const allowedValues = alternatives.map((each) => each[tag]?.const)
  const index = allowedValues.indexOf(union.data[tag])
  if (index >= 0)
    return problems.find(({ schemaPath }) => schemaPath.startsWith(`${union.schemaPath}/${index}/`)) ?? first
  return { ...union, keyword: 'enum', instancePath: `${union.instancePath}/${tag}`, params: { allowedValues } }
}

interface Alternative {
  readonly properties?: Readonly<Record<string, { readonly const?: unknown }>>
}

/** Names the header as documented: `Last-Event-ID` for `last-event-id`. */
function fromHeader({ instancePath, message }: Problem): GatewayError {
  const words = toPath(instancePath).split('-')
  const param = words.map((word) => (word === 'id' ? 'ID' : word.charAt(0).toUpperCase() + word.slice(1))).join('-')
  return new GatewayError('invalid_header', `${param} ${message ?? 'is not valid'}.`, { param })
}

const RANGE_KEYWORDS = /^(?:exclusive)?(?:min|max)(?:imum|Items|Length)$/i

/** Converts the first error of the schema validator to a path and a code. */
function fromValidation(
  { instancePath, keyword, params, message, parentSchema }: Problem,
  context = 'body',
): GatewayError {
  const path = toPath(instancePath)
  const field = [path, params['missingProperty'] ?? params['additionalProperty']]
    .filter((part) => part !== '')
    .join('.')
  const invalid = (code: ErrorCode, text: string) =>
    new GatewayError(code, `${path === '' ? `The ${context}` : `'${path}'`} ${text}.`, { param: path || undefined })
  if (keyword === 'required') return new GatewayError('missing_field', `'${field}' is required.`, { param: field })
  if (keyword === 'additionalProperties')
    return new GatewayError('unknown_field', `'${field}' is not a known field.`, { param: field })
  if (keyword === 'type') return invalid('invalid_type', message ?? 'has the wrong type')
  if (RANGE_KEYWORDS.test(keyword)) return invalid('out_of_range', message ?? 'is out of range')
  if (keyword === 'enum') {
    const allowed = params['allowedValues'] as readonly unknown[] // by the keyword's definition
    return invalid('invalid_value', `must be one of ${allowed.join(', ')}`)
  }
  if (keyword !== 'pattern') return invalid('invalid_value', message ?? 'is not valid')
  const [example] = parentSchema?.examples ?? []
  const hint = example === undefined ? '' : `, such as ${String(example)}`
  return invalid('invalid_value', `does not have the documented format${hint}`)
}

/** Converts `/scopes/0/name` to `scopes[0].name`. */
function toPath(pointer: string): string {
  return pointer
    .split('/')
    .slice(1)
    .map((part) => (/^\d+$/.test(part) ? `[${part}]` : `.${part.replaceAll('~1', '/').replaceAll('~0', '~')}`))
    .join('')
    .replace(/^\./, '')
}
