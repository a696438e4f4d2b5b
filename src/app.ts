/**
 * The composition: the only place that connects gateway, features, database and HTTP. It opens no database and listens on
 * nothing; that is `main.ts`.
 */
import { channel } from 'node:diagnostics_channel'
import type { FastifyInstance } from 'fastify'
import { createLimits, type Limits } from './app/limits.ts'
import { createMoney, type Money, type Role } from './app/money.ts'
import { createWorld, type World } from './app/world.ts'
import type { Config } from './config/schema.ts'
import { deriveKey } from './config/secret.ts'
import type { OpenedDatabase } from './db/open.ts'
import { GatewayError } from './domain/errors.ts'
import { COMPLETION_CHANNEL, type CompletionSignal } from './domain/signals.ts'
import { accountRoutes, accountsAdminRoutes } from './features/accounts/routes.ts'
import { creditAdminRoutes } from './features/credit/admin-routes.ts'
import { LEASE_MS } from './features/credit/instance-lease.ts'
import { ledgerRoutes } from './features/credit/ledger-routes.ts'
import type { FeatureDeps } from './features/deps.ts'
import { instancesRoutes } from './features/instances/routes.ts'
import { invoicesRoutes } from './features/invoices/routes.ts'
import { type Authenticator, createAuthenticator } from './features/keys/authenticator.ts'
import { keysRoutes } from './features/keys/routes.ts'
import { modelsRoutes } from './features/models/routes.ts'
import { usageRoutes } from './features/usage/routes.ts'
import { createGateway, type Gateway } from './gateway/pipeline.ts'
import { createTokenCounter, type TokenCounter } from './gateway/token-counter.ts'
import { callerOf, requireCaller } from './http/caller.ts'
import { chatRoute } from './http/chat-route.ts'
import { docsRoute } from './http/docs-page.ts'
import { type Log, logError } from './http/log.ts'
import { createMetrics, type Metrics, metricsRoute } from './http/metrics.ts'
import { documentErrors, serveOpenApi } from './http/openapi.ts'
import { metricsGuard, probeRoutes } from './http/operator-routes.ts'
import { createHttpServer } from './http/server.ts'
import { type Sockets, watchSockets } from './http/sockets.ts'
import { welcomeRoutes } from './http/welcome.ts'

export interface AppInput {
  readonly config: Config
  readonly database: OpenedDatabase
  readonly log: Log
  readonly version: string
  readonly role?: Role
  /** The installation's secret. */
  readonly secret: Uint8Array
}

export interface App {
  readonly server: FastifyInstance
  readonly gateway: Gateway
  readonly metrics: Metrics
  readonly sockets: Sockets
  /** Takes over providers, models, plans and routing. Rejects, and changes nothing, when they do not fit together. */
  reload(config: Config): Promise<void>
  /** From now on new requests are turned away. */
  drain(): void
  /** Writes what is in memory and closes what the app opened. The server is to be closed before. */
  close(): Promise<void>
}

export async function createApp(input: AppInput): Promise<App> {
  const { database, log, config, version, role = 'all' } = input
  const world = await createWorld(input)
  let draining = false
  const { db, batch, onChange } = database
  const { public_url: address } = config.server
  const money = createMoney({ world, database, log, version, role, dataDirectory: config.data_dir, address })
  const tokens = createTokenCounter()
  const limits = await createLimits({ world, redisUrl: config.redis_url, processes: money.processes, log })
  const gateway = createDataPlane({ world, money, tokens, limits })
  const authenticator = createAuthenticator({
    db,
    batch,
    onChange,
    onRevoked: (keys) => gateway.interrupt(REVOKED, ({ keyId }) => keys.has(keyId)),
    now: world.now,
  })
  const metrics = createMetrics({ active: () => gateway.active, unwritten: money.committer.pending })
  const server = await createHttpServer({
    newRequestId: world.ids.request,
    trustProxy: config.server.trust_proxy,
    corsOrigins: config.server.cors_origins,
    draining: () => draining,
    onError: (error, requestId) => logError(log, error, requestId),
  })
  await addRoutes(server, input, { world, money, limits, authenticator, gateway, metrics, draining: () => draining })
  await Promise.all([money.start(gateway), limits.started()])
  return {
    server,
    gateway,
    metrics,
    sockets: watchSockets(server.server),
    reload: world.reload,
    drain() {
      draining = true
    },
    async close() {
      metrics.close()
      // Each in its own right: what cannot be written of one must not cost the others.
      const ends = await Promise.allSettled(
        [money, limits, authenticator, world.upstreams, tokens].map((part) => part.close()),
      )
      for (const end of ends) if (end.status === 'rejected') throw end.reason
    },
  }
}

/** What a revoked key's requests under way are told. */
const REVOKED = new GatewayError('invalid_credential', 'The API key was revoked.')

interface Parts {
  readonly world: World
  readonly money: Money
  readonly limits: Limits
  readonly authenticator: Authenticator
  readonly gateway: Gateway
  readonly metrics: Metrics
  readonly draining: () => boolean
}

async function addRoutes(server: FastifyInstance, input: AppInput, parts: Parts): Promise<void> {
  const { config, database, version } = input
  const { authenticator, limits, metrics, draining } = parts
  const { public_url: publicUrl, metrics_port: metricsPort } = config.server
  await serveOpenApi(server, { version, publicUrl })
  probeRoutes(server, {
    version,
    checks: { database: database.ping, ...(limits.ping && { redis: limits.ping }) },
    draining,
  })
  if (metricsPort === undefined) metricsRoute(server, metrics, metricsGuard(authenticator.authenticate))
  if (input.role === 'worker') return
  welcomeRoutes(server, { publicUrl })
  docsRoute(server)
  await server.register(async (app) => addApi(app, input, parts), { prefix: '/v1' })
  // Clients are often given a base URL without /v1.
  await server.register(async (app) => {
    app.addHook('onRoute', (route) => {
      route.schema = { ...route.schema, hide: true }
    })
    await addModelApi(app, input, parts)
  })
}

async function addApi(app: FastifyInstance, input: AppInput, parts: Parts): Promise<void> {
  const { database, secret } = input
  const { world, money, authenticator } = parts
  const deps: FeatureDeps = { db: database.db, now: world.now, ids: world.ids, callerOf }
  const cursorKey = deriveKey(secret, 'cursors')
  const plans = () => ({ names: Object.keys(world.config().plans), standard: world.config().accounts.default_plan })
  documentErrors(app)
  await addModelApi(app, input, parts)
  await app.register(keysRoutes({ ...deps, cursorKey, changed: authenticator.refresh }))
  await app.register(usageRoutes({ ...deps, cursorKey, credit: money.desk }))
  await app.register(ledgerRoutes({ ...deps, cursorKey }))
  await app.register(invoicesRoutes({ ...deps, cursorKey }))
  await app.register(accountRoutes({ ...deps, credit: money.desk }))
  await app.register(
    accountsAdminRoutes({ ...deps, cursorKey, plans, credit: money.desk, changed: authenticator.refresh }),
  )
  await app.register(creditAdminRoutes({ ...deps, credit: money.desk }))
  await app.register(instancesRoutes({ ...deps, cursorKey, goneAfterMs: LEASE_MS }))
}

/** What OpenAI's clients call. */
async function addModelApi(app: FastifyInstance, { config }: AppInput, parts: Parts): Promise<void> {
  const { world, authenticator, gateway } = parts
  requireCaller(app, authenticator.authenticate)
  const { body_limit_bytes: bodyLimitBytes } = config.server
  chatRoute(app, { bodyLimitBytes, clock: world.clock, complete: gateway.complete })
  await app.register(modelsRoutes({ callerOf, models: world.models }))
}

interface DataPlaneInput {
  readonly world: World
  readonly money: Money
  readonly tokens: TokenCounter
  readonly limits: Limits
}

function createDataPlane({ world, money, tokens, limits }: DataPlaneInput): Gateway {
  const { ids, now, clock, upstreams, models, config } = world
  const completions = channel(COMPLETION_CHANNEL)
  return createGateway(
    {
      admit: limits.admit,
      credit: money.credit,
      idempotency: money.idempotency,
      models,
      provider: upstreams.find,
      report(record, overheadMs) {
        if (completions.hasSubscribers) completions.publish({ record, overheadMs } satisfies CompletionSignal)
      },
      countTokens: tokens.count,
      ids,
      now,
      clock,
      random: Math.random,
    },
    () => ({ maxAttempts: config().routing.max_attempts }),
  )
}
