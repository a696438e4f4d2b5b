/**
 * The HTTP server: limits of the parser and of connections, request IDs, one error format, JSON bodies, CORS. It knows no
 * route.
 */

import { readFileSync } from 'node:fs'
import { type IncomingMessage, type Server, type ServerOptions, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import fastifyCors from '@fastify/cors'
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify'
import { type ErrorCode, GatewayError, renderErrorBody } from '../domain/errors.ts'
import type { RequestId } from '../domain/ids.ts'
import type { Rejection } from '../domain/rejection.ts'
import { type RequestTrace, releaseTrace, type Tracing, type TracingSwitch } from '../domain/trace.ts'
import { errorHeaders, frameworkErrors, renderErrors, routeNotFound } from './errors.ts'
import { createTlsServer, cutSlowReaders, type TlsFiles } from './listener.ts'
import { acceptJsonBodies, type BodyReading } from './request-body.ts'
import { schemaController, VALIDATION } from './validation.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Undefined if the request is not traced. */
    trace: RequestTrace | undefined
  }
}

/** A failed request, for the log. */
export interface FailedRequest {
  readonly id: string
  readonly traceId?: string | undefined
}

export interface ServerInput {
  readonly newRequestId: () => RequestId
  /** Proxies whose `X-Forwarded-For` is trusted: addresses and CIDR ranges. */
  readonly trustProxy: readonly string[]
  /** Origins that browsers may call from; `*` for all. */
  readonly corsOrigins: readonly string[]
  /** Errors as clients see them, for the log. */
  readonly onError: (error: GatewayError, request: FailedRequest) => void
  /** Receives rejected requests to models. */
  readonly onRejection?: (rejection: Rejection) => void
  /** Traces requests while it has a receiver. */
  readonly tracing?: TracingSwitch
  /** While true, new requests are rejected. */
  readonly draining: () => boolean
  /** Returns the exhausted resource; new requests to the API are rejected meanwhile. */
  readonly strain?: () => string | undefined
  readonly bodies?: BodyReading
  /** Undefined serves HTTP/1.1 without TLS. */
  readonly tls?: TlsFiles | undefined
}

/** Fastify knows the type of one server only; both handle requests alike. */
function tlsFactory(tls: TlsFiles) {
  return (handler: (request: IncomingMessage, response: ServerResponse) => void) =>
    createTlsServer(tls, SERVER_OPTIONS, handler) as unknown as Server
}

export async function createHttpServer(input: ServerInput): Promise<FastifyInstance> {
  const { tls } = input
  const app = fastify({
    http: SERVER_OPTIONS,
    ...(tls !== undefined && { serverFactory: tlsFactory(tls) }),
    // Fastify sets these on the server itself, over what `http` says.
    requestTimeout: EDGE_LIMITS.requestTimeoutMs,
    keepAliveTimeout: EDGE_LIMITS.keepAliveTimeoutMs,
    maxRequestsPerSocket: EDGE_LIMITS.maxRequestsPerSocket,
    forceCloseConnections: false,
    return503OnClosing: false,
    logger: false,
    genReqId: input.newRequestId,
    trustProxy: input.trustProxy.length === 0 ? false : [...input.trustProxy],
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: 512 },
    ajv: { customOptions: VALIDATION },
    schemaController,
    frameworkErrors: frameworkErrors(input.onError),
    clientErrorHandler: (error, socket) => answerClientError(error, socket, input.newRequestId()),
  })
  app.server.maxHeadersCount = EDGE_LIMITS.maxHeaders
  app.server.maxConnections = connectionsFor(openFileLimit(), EDGE_LIMITS.maxConnections)
  renderErrors(app, {
    onError(error, request) {
      if (error !== OVERLOADED) input.onError(error, request) // logging each would add load
    },
    onRejection: input.onRejection,
  })
  app.decorateRequest('trace', undefined)
  acceptJsonBodies(app, input.bodies)
  cutSlowReaders(app.server)
  checkHeads(app, input)
  if (input.corsOrigins.length > 0) await allowOrigins(app, input.corsOrigins)
  return app
}

/** Answers requests that end with their head: while draining or overloaded, malformed ones, and those without a route. */
function checkHeads(app: FastifyInstance, { draining, strain = () => undefined, tracing, tls }: ServerInput): void {
  const methodsOf = recordPathMethods(app)
  app.addHook('onRequest', (request, reply, done) => {
    addRequestId(request, reply)
    if (tracing?.current !== undefined) traceRequest(tracing.current, request, reply)
    if (draining()) {
      closeAfter(request, reply)
      // Other processes have already admitted the requests of internal routes.
      if (!PROBES.has(pathOf(request.url)) && request.routeOptions.url?.startsWith('/internal/') !== true) {
        return done(new GatewayError('shutting_down', SHUTTING_DOWN))
      }
    }
    if (strain() !== undefined && isShed(request.routeOptions.url)) return done(OVERLOADED)
    const fault = requestFault(request.raw, tls !== undefined)
    if (fault !== undefined) {
      closeAfter(request, reply)
      return done(fault)
    }
    if (!request.is404) return done()
    request.raw.resume() // a client that is still writing its body does not read the response
    const path = pathOf(request.url)
    return done(routeNotFound(request.method, path, methodsOf(path)))
  })
}

/** HTTP/2 ends connections by a frame of its own. */
function closeAfter({ raw }: FastifyRequest, reply: FastifyReply): void {
  if (raw.httpVersionMajor === 1) reply.header('connection', 'close')
}

function addRequestId({ id, routeOptions: { config } }: FastifyRequest, reply: FastifyReply): void {
  reply.header('x-request-id', id)
  if (config.api !== undefined) reply.header(config.api.requestIdHeader, id)
}

/** Begins the trace of a request to the API. Probes, metrics and the dashboard's files have none. */
function traceRequest(tracing: Tracing, request: FastifyRequest, { raw }: FastifyReply): void {
  const { url, config } = request.routeOptions
  if (config.scope === undefined && url?.startsWith('/v1/') !== true) return
  const trace = tracing.begin(request.headers)
  trace.route = url === undefined ? request.method : `${request.method} ${url}`
  request.trace = trace
  raw.once('close', () => {
    if (raw.headersSent) trace.status = raw.statusCode
    releaseTrace(trace)
  })
}

const SHUTTING_DOWN = 'The gateway is shutting down; try again in 1 s.'
/** The routes that are served while the process drains. */
const PROBES: ReadonlySet<string> = new Set(['/healthz', '/readyz', '/metrics'])

const OVERLOADED = new GatewayError('overloaded', 'The gateway is overloaded.', {
  retryAfterMs: 2_000,
})

/**
 * Returns whether overload rejects a route: the whole API except for operators.
 * @param route The path as registered.
 */
function isShed(route: string | undefined): boolean {
  if (route === undefined || route.startsWith('/v1/admin/')) return false
  return (
    route.startsWith('/v1/') ||
    /^\/(?:chat\/completions|completions|messages|embeddings|rerank|v2\/rerank|models)/.test(route)
  )
}

function pathOf(url: string): string {
  return url.split('?', 1)[0]?.replace(/(?<=.)\/$/, '') ?? ''
}

/** Allows requests of browsers with bearer keys: no cookies; only the headers that the official SDKs send and read. */
async function allowOrigins(app: FastifyInstance, origins: readonly string[]): Promise<void> {
  await app.register(fastifyCors, {
    origin: origins.includes('*') ? '*' : [...origins],
    credentials: false,
    methods: ['GET', 'POST', 'PATCH', 'DELETE'],
    // Without a list the answer allows what the browser asks for; the SDKs send a dozen of their own.
    exposedHeaders: [
      'x-request-id',
      'request-id',
      'x-next-cursor',
      'retry-after',
      'retry-after-ms',
      'x-should-retry',
      'x-turnpike-attempts',
      'x-turnpike-cost-usd',
      'x-turnpike-guardrails',
      'x-turnpike-overhead-ms',
      'x-turnpike-provider',
      'x-turnpike-route',
      'x-turnpike-truncated',
      'x-turnpike-warnings',
      'x-ratelimit-limit-requests',
      'x-ratelimit-remaining-requests',
      'x-ratelimit-reset-requests',
      'x-ratelimit-limit-tokens',
      'x-ratelimit-remaining-tokens',
      'x-ratelimit-reset-tokens',
      'idempotent-replayed',
      'deprecation',
      'sunset',
    ],
    maxAge: 7200,
    strictPreflight: false,
  })
}

/**
 * Records the routes that `app` registers from now on: the router matches one method only, and `Allow` lists them all.
 * @returns The methods of a path without its query, sorted; empty where no route matches.
 */
function recordPathMethods(app: FastifyInstance): (path: string) => readonly string[] {
  const routes: { readonly url: string; readonly method: string | string[] }[] = []
  let patterns: readonly RegExp[] | undefined // not before a path is unknown: no route is added then
  app.addHook('onRoute', ({ url, method }) => {
    if (url === '*' || url === '/*') return // preflight of every path, no route of one
    routes.push({ url, method })
  })
  return (path) => {
    patterns ??= routes.map(({ url }) => patternOf(url))
    const methods = routes.filter((_, at) => patterns?.[at]?.test(path)).flatMap(({ method }) => method)
    return [...new Set(methods)].sort()
  }
}

/** A parameter matches one segment that is not empty, a final `*` the rest of the path. */
function patternOf(route: string): RegExp {
  const source = route
    .replace(/(?<=.)\/$/, '')
    .replaceAll('.', '\\.')
    .replaceAll(/:[^/]+/g, '[^/]+')
    .replace(/\*$/, '.*')
  return new RegExp(`^${source}$`)
}

/** Caps of the listener; `docs/limits.md` lists them. */
export const EDGE_LIMITS = {
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 60_000,
  checkIntervalMs: 1_000,
  /** Exceeds the idle timeout of common load balancers. */
  keepAliveTimeoutMs: 75_000,
  maxHeaderBytes: 16 * 1024,
  maxHeaders: 100,
  maxConnections: 20_000,
  maxRequestsPerSocket: 1_000_000,
} as const

const SERVER_OPTIONS: ServerOptions = {
  headersTimeout: EDGE_LIMITS.headersTimeoutMs,
  connectionsCheckingInterval: EDGE_LIMITS.checkIntervalMs,
  maxHeaderSize: EDGE_LIMITS.maxHeaderBytes,
  noDelay: true,
}

/** Headers that must not repeat: Node.js takes the first, a proxy may take the last (request smuggling). */
const ONCE = ['host', 'authorization', 'content-length', 'content-type', 'idempotency-key']
const ONCE_LENGTHS: ReadonlySet<number> = new Set(ONCE.map((name) => name.length))

/** Checks what the HTTP parser accepts. @returns The error; undefined when the request is valid. */
export function requestFault(
  { httpVersionMajor, rawHeaders }: IncomingMessage,
  allowsHttp2 = false,
): GatewayError | undefined {
  if (httpVersionMajor !== 1 && !(allowsHttp2 && httpVersionMajor === 2))
    return new GatewayError('invalid_header', 'Only HTTP/1.1 and HTTP/1.0 are supported on this port.')
  // The parser silently drops further headers, any of which may matter.
  if (rawHeaders.length > 2 * EDGE_LIMITS.maxHeaders) {
    return new GatewayError('headers_too_large', `Request exceeds ${EDGE_LIMITS.maxHeaders} headers.`)
  }
  const repeated = repeatedHeader(rawHeaders)
  if (repeated === undefined) return undefined
  return new GatewayError('invalid_header', `Header '${repeated}' must not be repeated.`)
}

function repeatedHeader(rawHeaders: readonly string[]): string | undefined {
  let seen = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const raw = rawHeaders[at]
    if (raw === undefined || !ONCE_LENGTHS.has(raw.length)) continue
    const name = raw.toLowerCase()
    const bit = 1 << (ONCE.indexOf(name) + 1) // bit 0: none of them
    if (bit === 1) continue
    if ((seen & bit) !== 0) return name
    seen |= bit
  }
  return undefined
}

/** Responds to what the HTTP parser rejected, in the usual error format, and closes the connection. */
function answerClientError(error: Error & { code?: string }, socket: Socket, requestId: string): void {
  if (!socket.writable || isAnswering(socket)) return void socket.destroy()
  const ours = new GatewayError(...(CLIENT_ERRORS[error.code ?? ''] ?? MALFORMED))
  const body = renderErrorBody(ours, requestId)
  const headers = {
    'content-type': 'application/json; charset=utf-8',
    'content-length': String(Buffer.byteLength(body)),
    'x-request-id': requestId,
    connection: 'close',
    ...errorHeaders(ours),
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  socket.end(`HTTP/1.1 ${ours.status} ${STATUS_CODES[ours.status]}\r\n${lines.join('\r\n')}\r\n\r\n${body}`)
}

/**
 * Whether a response has begun on this socket: another one would be read as part of it. Node.js exposes it nowhere else, and
 * its own handler uses the same field.
 */
function isAnswering(socket: Socket & { readonly _httpMessage?: ServerResponse | null }): boolean {
  return socket._httpMessage?.headersSent === true
}

type ClientError = readonly [code: ErrorCode, message: string]

const MALFORMED: ClientError = ['invalid_header', 'Malformed HTTP/1.1 request.']
const CLIENT_ERRORS: Readonly<Record<string, ClientError>> = {
  ERR_HTTP_REQUEST_TIMEOUT: ['request_timeout', 'The request was not received in time.'],
  HPE_HEADER_OVERFLOW: ['headers_too_large', `Request headers exceed ${EDGE_LIMITS.maxHeaderBytes} bytes.`],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: ['body_too_large', 'The chunk extensions of the body are too large.'],
}

/** The file descriptors reserved for the database, the spool, the log and the threads. */
const SPARE_FILES = 96
/** Minimum, so that an operator can connect. */
const LEAST_CONNECTIONS = 16

/**
 * Limits connections by the open files of the process: each may need another one to a provider, and the records of money need
 * theirs.
 * @param openFiles The system's limit; undefined: unknown.
 */
export function connectionsFor(openFiles: number | undefined, most: number): number {
  if (openFiles === undefined) return most
  return Math.min(Math.max(Math.floor((openFiles - SPARE_FILES) / 2), LEAST_CONNECTIONS), most)
}

/** Returns the soft limit of this process on Linux; undefined elsewhere. */
export function openFileLimit(): number | undefined {
  try {
    const soft = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1]
    return soft === undefined ? undefined : Number(soft)
  } catch {
    return undefined // not Linux
  }
}
