/**
 * The HTTP server: limits, request ids, one error shape, JSON bodies, CORS. It must not know any route's business.
 */
import fastifyCors from '@fastify/cors'
import { type FastifyInstance, fastify } from 'fastify'
import { GatewayError } from '../domain/errors.ts'
import type { RequestId } from '../domain/ids.ts'
import { answerClientError, EDGE_LIMITS, requestFault, SERVER_OPTIONS } from './edge.ts'
import { frameworkErrors, renderErrors, routeNotFound } from './errors.ts'
import { acceptJsonBodies } from './json-body.ts'
import { connectionsFor, openFileLimit } from './open-files.ts'
import { recordPathMethods } from './path-methods.ts'
import { cutSlowReaders } from './slow-readers.ts'

export interface ServerInput {
  readonly newRequestId: () => RequestId
  /** Peers whose `X-Forwarded-For` is believed: addresses and CIDR ranges. */
  readonly trustProxy: readonly string[]
  /** Origins that browsers may call from; `*` for all. */
  readonly corsOrigins: readonly string[]
  /** Errors as clients see them, for the log. */
  readonly onError: (error: GatewayError, requestId: string) => void
  /** While true, new requests are turned away. */
  readonly draining: () => boolean
  /** While it tells a strain, new requests to the API are turned away. */
  readonly strain?: () => string | undefined
}

export async function createHttpServer(input: ServerInput): Promise<FastifyInstance> {
  const app = fastify({
    http: SERVER_OPTIONS,
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
    ajv: { customOptions: { removeAdditional: false, coerceTypes: false, useDefaults: true, allErrors: false } },
    frameworkErrors: frameworkErrors(input.onError),
    clientErrorHandler: (error, socket) => answerClientError(error, socket, input.newRequestId()),
  })
  app.server.maxHeadersCount = EDGE_LIMITS.maxHeaders
  app.server.maxConnections = connectionsFor(openFileLimit(), EDGE_LIMITS.maxConnections)
  app.setSerializerCompiler(() => JSON.stringify) // compiled serialisers cost more at start than they ever save
  renderErrors(app, (error, requestId) => {
    if (error !== OVERLOADED) input.onError(error, requestId) // a line for each would be still more work
  })
  acceptJsonBodies(app)
  const methodsOf = recordPathMethods(app)
  cutSlowReaders(app.server)
  const { draining, strain = () => undefined } = input
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id)
    if (draining()) {
      reply.header('connection', 'close')
      if (!PROBES.has(pathOf(request.url)) && !isInternal(request.routeOptions.url)) {
        return done(new GatewayError('shutting_down', SHUTTING_DOWN))
      }
    }
    if (strain() !== undefined && isShed(request.routeOptions.url)) return done(OVERLOADED)
    const fault = requestFault(request.raw)
    if (fault !== undefined) {
      reply.header('connection', 'close')
      return done(fault)
    }
    if (!request.is404) return done()
    request.raw.resume() // a client that is still writing its body does not read the answer
    const path = pathOf(request.url)
    return done(routeNotFound(request.method, path, methodsOf(path)))
  })
  if (input.corsOrigins.length > 0) await allowOrigins(app, input.corsOrigins)
  return app
}

const SHUTTING_DOWN = 'The gateway is shutting down; try again in 1 s.'
/** Answered also while draining. */
const PROBES: ReadonlySet<string> = new Set(['/healthz', '/readyz', '/metrics'])

const OVERLOADED = new GatewayError('overloaded', 'The gateway has more work than it can do.', {
  retryAfterMs: 2_000,
})

/** Between processes of one installation: what one of them asks for was admitted by another. */
function isInternal(route: string | undefined): boolean {
  return route?.startsWith('/internal/') === true
}

/** The API but for operators, who are needed most when there is too much to do. @param route As it was registered. */
function isShed(route: string | undefined): boolean {
  if (route === undefined || route.startsWith('/v1/admin/')) return false
  return route.startsWith('/v1/') || route === '/chat/completions' || route.startsWith('/models')
}

function pathOf(url: string): string {
  return url.split('?', 1)[0]?.replace(/(?<=.)\/$/, '') ?? ''
}

/** For browsers with bearer keys: no cookies, the headers that the official SDKs send and read. */
async function allowOrigins(app: FastifyInstance, origins: readonly string[]): Promise<void> {
  await app.register(fastifyCors, {
    origin: origins.includes('*') ? '*' : [...origins],
    credentials: false,
    methods: ['GET', 'POST', 'PATCH', 'DELETE'],
    // Without a list the answer allows what the browser asks for; the SDKs send a dozen of their own.
    exposedHeaders: [
      'x-request-id',
      'x-next-cursor',
      'retry-after',
      'retry-after-ms',
      'x-should-retry',
      'x-turnpike-attempts',
      'x-turnpike-cost-usd',
      'x-turnpike-overhead-ms',
      'x-turnpike-provider',
      'x-turnpike-route',
      'x-turnpike-warnings',
      'x-ratelimit-limit-requests',
      'x-ratelimit-remaining-requests',
      'x-ratelimit-reset-requests',
      'x-ratelimit-limit-tokens',
      'x-ratelimit-remaining-tokens',
      'x-ratelimit-reset-tokens',
      'idempotent-replayed',
    ],
    maxAge: 7200,
    strictPreflight: false,
  })
}
