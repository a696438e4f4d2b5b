/**
 * The HTTP server: limits, request IDs, one error format, JSON bodies, CORS. It knows no route.
 */
import fastifyCors from '@fastify/cors'
import { type FastifyInstance, fastify } from 'fastify'
import { GatewayError } from '../domain/errors.ts'
import type { RequestId } from '../domain/ids.ts'
import { answerClientError, connectionsFor, EDGE_LIMITS, openFileLimit, requestFault, SERVER_OPTIONS } from './edge.ts'
import { frameworkErrors, renderErrors, routeNotFound } from './errors.ts'
import { acceptJsonBodies, type BodyReading } from './request-body.ts'
import { cutSlowReaders } from './sockets.ts'

export interface ServerInput {
  readonly newRequestId: () => RequestId
  /** Proxies whose `X-Forwarded-For` is trusted: addresses and CIDR ranges. */
  readonly trustProxy: readonly string[]
  /** Origins that browsers may call from; `*` for all. */
  readonly corsOrigins: readonly string[]
  /** Errors as clients see them, for the log. */
  readonly onError: (error: GatewayError, requestId: string) => void
  /** While true, new requests are rejected. */
  readonly draining: () => boolean
  /** Returns the exhausted resource; new requests to the API are rejected meanwhile. */
  readonly strain?: () => string | undefined
  readonly bodies?: BodyReading
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
    ajv: { customOptions: VALIDATION },
    frameworkErrors: frameworkErrors(input.onError),
    clientErrorHandler: (error, socket) => answerClientError(error, socket, input.newRequestId()),
  })
  app.server.maxHeadersCount = EDGE_LIMITS.maxHeaders
  app.server.maxConnections = connectionsFor(openFileLimit(), EDGE_LIMITS.maxConnections)
  app.setSerializerCompiler(() => JSON.stringify) // compiled serialisers cost more at start than they ever save
  renderErrors(app, (error, requestId) => {
    if (error !== OVERLOADED) input.onError(error, requestId) // logging each would add load
  })
  acceptJsonBodies(app, input.bodies)
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
    request.raw.resume() // a client that is still writing its body does not read the response
    const path = pathOf(request.url)
    return done(routeNotFound(request.method, path, methodsOf(path)))
  })
  if (input.corsOrigins.length > 0) await allowOrigins(app, input.corsOrigins)
  return app
}

/** `verbose`: errors then carry the schema, whose example is shown. */
const VALIDATION = {
  removeAdditional: false,
  coerceTypes: false,
  useDefaults: true,
  allErrors: false,
  verbose: true,
} as const

const SHUTTING_DOWN = 'The gateway is shutting down; try again in 1 s.'
/** Served while draining. */
const PROBES: ReadonlySet<string> = new Set(['/healthz', '/readyz', '/metrics'])

const OVERLOADED = new GatewayError('overloaded', 'The gateway is overloaded.', {
  retryAfterMs: 2_000,
})

/** Requests of another process of the installation, which admitted them. */
function isInternal(route: string | undefined): boolean {
  return route?.startsWith('/internal/') === true
}

/** Whether overload rejects a route: the API except for operators. @param route As registered. */
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

/** @returns The methods of a path, sorted; empty where no route has it. `path` is without query. */
type PathMethods = (path: string) => readonly string[]

interface Pattern {
  readonly segments: readonly string[]
  readonly methods: Set<string>
}

/** Records the routes that `app` registers from now on: the router matches one method only, and `Allow` lists them all. */
function recordPathMethods(app: FastifyInstance): PathMethods {
  const patterns = new Map<string, Pattern>()
  app.addHook('onRoute', ({ url, method }) => {
    if (url === '*' || url === '/*') return // preflight of every path, no route of one
    const pattern = patterns.get(url) ?? { segments: segmentsOf(url), methods: new Set<string>() }
    patterns.set(url, pattern)
    for (const each of [method].flat()) pattern.methods.add(each.toUpperCase())
  })
  return (path) => {
    const segments = segmentsOf(path)
    const methods = new Set<string>()
    for (const pattern of patterns.values()) {
      if (matches(pattern.segments, segments)) for (const method of pattern.methods) methods.add(method)
    }
    return [...methods].sort()
  }
}

function segmentsOf(path: string): readonly string[] {
  return path.replace(/(?<=.)\/$/, '').split('/')
}

function matches(pattern: readonly string[], path: readonly string[]): boolean {
  const isOpen = pattern.at(-1) === '*'
  if (isOpen ? path.length < pattern.length : path.length !== pattern.length) return false
  return pattern.every((segment, at) => segment === '*' || matchesSegment(segment, path[at] ?? ''))
}

/** A parameter matches one segment that is not empty. */
function matchesSegment(pattern: string, segment: string): boolean {
  return pattern.startsWith(':') ? segment !== '' : pattern === segment
}
