/** Routes for those who run the service: probes and metrics. */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { GatewayError } from '../domain/errors.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { Authenticate } from './caller.ts'

export interface ProbeInput {
  readonly version: string
  /** The checks by name of the store. Each rejects if its store does not respond. */
  readonly checks: Readonly<Record<string, () => Promise<void>>>
  readonly draining: () => boolean
}

const withoutCredential = { tags: ['Operation'], security: [] as [] }
const aliveSchema = {
  ...withoutCredential,
  summary: 'Check whether the process is alive',
  description: 'Returns 200 while the process runs. Requires no credential.',
  response: { 200: Type.Object({ status: Type.Literal('ok'), version: Type.String() }) },
}
const ReadyView = Type.Object({
  status: Type.Unsafe<string>({ type: 'string', enum: ['ready', 'draining', 'unavailable'] }),
  checks: Type.Record(Type.String(), Type.Unsafe<string>({ type: 'string', enum: ['ok', 'unavailable'] }), {
    description: 'Status by store: `database`, and `redis` if it is configured.',
  }),
})
const readySchema = {
  ...withoutCredential,
  summary: 'Check whether requests can be served',
  description: 'Returns 503 while the process shuts down or a store does not respond. Requires no credential.',
  response: { 200: ReadyView, 503: ReadyView },
}

/** Serves `GET /healthz` (liveness) and `GET /readyz` (readiness), without a credential. */
export function probeRoutes(app: FastifyInstance, { version, checks, draining }: ProbeInput): void {
  app.get('/healthz', { schema: aliveSchema }, () => ({ status: 'ok', version }))
  app.get('/readyz', { schema: readySchema }, async (_request, reply) => {
    const results: Record<string, string> = {}
    for (const [name, check] of Object.entries(checks)) results[name] = await outcome(check)
    const ready = !draining() && Object.values(results).every((result) => result === 'ok')
    const status = draining() ? 'draining' : ready ? 'ready' : 'unavailable'
    if (!ready) reply.code(503).header('retry-after', '1')
    return { status, checks: results }
  })
}

async function outcome(check: () => Promise<void>): Promise<string> {
  try {
    await check()
    return 'ok'
  } catch {
    return 'unavailable'
  }
}

interface MetricsRouteInput {
  readonly metrics: Pick<Metrics, 'render' | 'contentType'>
  readonly authenticate: Authenticate
  /** Whether peers on this machine need no key (`server.metrics_open`). */
  readonly open: boolean
  /** Whether other processes share the port of the request. */
  readonly isShared: (request: FastifyRequest) => boolean
}

const SHARED =
  'Each process on this port has its own metrics: scrape the ports from server.metrics_port on, or the addresses of GET /v1/admin/instances.'

/** Serves `GET /metrics` for operators. */
export function metricsRoute(app: FastifyInstance, { metrics, authenticate, open, isShared }: MetricsRouteInput): void {
  app.get('/metrics', { schema: { hide: true } }, async (request, reply) => {
    const { authorization } = request.headers
    if (!(open && authorization === undefined && isLocal(request))) {
      const { scopes } = await authenticate(authorization, request.ip)
      if (!scopes.has('operator'))
        throw new GatewayError('insufficient_scope', "Metrics need a key with the scope 'operator'.")
    }
    if (isShared(request)) throw new GatewayError('not_found', SHARED)
    const { accept } = request.headers
    return reply.type(metrics.contentType(accept)).send(await metrics.render(accept))
  })
}

/** The headers that proxies add. */
const FORWARDING = ['x-forwarded-for', 'forwarded', 'x-forwarded-host', 'x-forwarded-proto', 'x-real-ip', 'via']

/** Returns whether the peer is this machine and not a proxy on it. */
function isLocal({ socket, headers }: FastifyRequest): boolean {
  if (FORWARDING.some((name) => headers[name] !== undefined)) return false
  const address = socket.remoteAddress ?? ''
  return address === '::1' || address.replace(/^::ffff:/, '').startsWith('127.')
}
