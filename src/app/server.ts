/** The HTTP server with what it needs of others: ids, log, and where large bodies are parsed. */
import { getHeapStatistics } from 'node:v8'
import type { FastifyInstance } from 'fastify'
import type { Config } from '../config/schema.ts'
import { createLargeBodies } from '../gateway/large-bodies.ts'
import { ENDPOINT } from '../gateway/resumable/idempotency.ts'
import { bodyCaps, createBodyBudget } from '../http/body-budget.ts'
import { createHttpServer, type ServerInput } from '../http/server.ts'
import { type Log, logError } from '../telemetry/log.ts'
import type { Runtime } from './runtime.ts'

export interface OpenServerInput extends Pick<ServerInput, 'draining' | 'strain'> {
  readonly config: Config
  readonly log: Log
  readonly runtime: Runtime
}

/** Its `close` ends the thread of large bodies. */
export async function openServer({
  config,
  log,
  runtime,
  draining,
  strain,
}: OpenServerInput): Promise<FastifyInstance> {
  const caps = bodyCaps(getHeapStatistics().heap_size_limit, config.server.body_limit_bytes)
  const { parse, close } = createLargeBodies()
  const server = await createHttpServer({
    newRequestId: runtime.ids.request,
    trustProxy: config.server.trust_proxy,
    corsOrigins: config.server.cors_origins,
    onError: (error, requestId) => logError(log, error, requestId),
    bodies: { budget: createBodyBudget(caps), parseLarge: parse, chatEndpoint: ENDPOINT },
    draining,
    ...(strain && { strain }),
  })
  server.addHook('onClose', close)
  return server
}
