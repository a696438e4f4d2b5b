import type { FastifyInstance, FastifyRequest } from 'fastify'
import { GatewayError } from '../domain/errors.ts'
import type { Authenticate } from './caller.ts'

export interface ProbeInput {
  readonly version: string
  /** Rejects when a store does not answer. By name of the store. */
  readonly checks: Readonly<Record<string, () => Promise<void>>>
  readonly draining: () => boolean
}

/** `GET /healthz`: the process lives. `GET /readyz`: it can serve. Both without a credential, both without secrets. */
export function probeRoutes(app: FastifyInstance, { version, checks, draining }: ProbeInput): void {
  app.get('/healthz', { schema: { summary: 'Whether the process is alive', tags: ['Operation'] } }, () => ({
    status: 'ok',
    version,
  }))
  app.get(
    '/readyz',
    { schema: { summary: 'Whether requests can be served', tags: ['Operation'] } },
    async (_request, reply) => {
      const results: Record<string, string> = {}
      for (const [name, check] of Object.entries(checks)) results[name] = await outcome(check)
      const ready = !draining() && Object.values(results).every((result) => result === 'ok')
      const status = draining() ? 'draining' : ready ? 'ready' : 'unavailable'
      if (!ready) reply.code(503).header('retry-after', '1')
      return { status, checks: results }
    },
  )
}

async function outcome(check: () => Promise<void>): Promise<string> {
  try {
    await check()
    return 'ok'
  } catch {
    return 'unavailable'
  }
}

/** Metrics are for this machine and for operators: lets a request through or throws. */
export function metricsGuard(authenticate: Authenticate): (request: FastifyRequest) => Promise<void> {
  return async (request) => {
    const { authorization } = request.headers
    if (authorization === undefined && isLocal(request)) return
    const caller = await authenticate(authorization, request.ip)
    if (caller.scopes.has('operator')) return
    throw new GatewayError('insufficient_scope', "Metrics need a key with the scope 'operator'.")
  }
}

/** The peer is this machine, and not a proxy on it that speaks for somebody else. */
function isLocal({ socket, headers }: FastifyRequest): boolean {
  if (headers['x-forwarded-for'] !== undefined || headers['forwarded'] !== undefined) return false
  const address = socket.remoteAddress ?? ''
  return address === '::1' || address.replace(/^::ffff:/, '').startsWith('127.')
}
