/**
 * The composition: the only file that connects gateway, features, database and HTTP. It opens nothing and listens on
 * nothing; that is `main.ts`.
 */
import { randomBytes } from 'node:crypto'
import { channel } from 'node:diagnostics_channel'
import type { FastifyInstance } from 'fastify'
import { CATALOGUE } from '../catalogue/index.ts'
import type { Config } from './config/schema.ts'
import { deriveKey } from './config/secret.ts'
import type { OpenedDatabase } from './db/open.ts'
import { GatewayError } from './domain/errors.ts'
import { createIdSource, type IdSource } from './domain/ids.ts'
import { COMPLETION_CHANNEL, type CompletionSignal } from './domain/signals.ts'
import type { FeatureDeps } from './features/deps.ts'
import { type Authenticator, createAuthenticator } from './features/keys/authenticator.ts'
import { keysRoutes } from './features/keys/routes.ts'
import { createLimiter } from './features/limits/limiter.ts'
import { buildModelBook } from './features/models/book.ts'
import { modelsRoutes } from './features/models/routes.ts'
import { recordPriceVersions } from './features/usage/queries.ts'
import { createUsageRecorder, type UsageRecorder } from './features/usage/recorder.ts'
import { usageRoutes } from './features/usage/routes.ts'
import { createGateway, type Gateway } from './gateway/pipeline.ts'
import type { ModelBook } from './gateway/ports.ts'
import { createTokenCounter, type TokenCounter } from './gateway/token-counter.ts'
import { type ConfiguredProvider, createUpstreams, type Upstreams } from './gateway/upstreams.ts'
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
import { resolveProvider } from './providers/index.ts'

export interface AppInput {
  readonly config: Config
  readonly database: OpenedDatabase
  readonly log: Log
  readonly version: string
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
  const { database, log } = input
  const world = await createWorld(input)
  let draining = false
  const { db, batch, onChange } = database
  const gateway = createDataPlane(world)
  const authenticator = createAuthenticator({
    db,
    batch,
    onChange,
    onRevoked: (keys) => gateway.interrupt(REVOKED, ({ keyId }) => keys.has(keyId)),
    now: world.now,
  })
  const metrics = createMetrics({ active: () => gateway.active, unwritten: world.recorder.pending })
  const { server: settings } = input.config
  const server = await createHttpServer({
    newRequestId: world.ids.request,
    trustProxy: settings.trust_proxy,
    corsOrigins: settings.cors_origins,
    draining: () => draining,
    onError: (error, requestId) => logError(log, error, requestId),
  })
  await addRoutes(server, input, { world, authenticator, gateway, metrics, draining: () => draining })
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
      const parts = [world.recorder, authenticator, world.upstreams, world.tokens]
      const ends = await Promise.allSettled(parts.map((part) => part.close()))
      for (const end of ends) if (end.status === 'rejected') throw end.reason
    },
  }
}

/** What a revoked key's requests under way are told. */
const REVOKED = new GatewayError('invalid_credential', 'The API key was revoked.')

interface Parts {
  readonly world: World
  readonly authenticator: Authenticator
  readonly gateway: Gateway
  readonly metrics: Metrics
  readonly draining: () => boolean
}

async function addRoutes(server: FastifyInstance, input: AppInput, parts: Parts): Promise<void> {
  const { config, database, version } = input
  const { authenticator, metrics, draining } = parts
  const { public_url: publicUrl, metrics_port: metricsPort } = config.server
  await serveOpenApi(server, { version, publicUrl })
  probeRoutes(server, { version, checks: { database: database.ping }, draining })
  if (metricsPort === undefined) metricsRoute(server, metrics, metricsGuard(authenticator.authenticate))
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
  const { world, authenticator } = parts
  const deps: FeatureDeps = { db: database.db, now: world.now, ids: world.ids, callerOf }
  documentErrors(app)
  await addModelApi(app, input, parts)
  const cursorKey = deriveKey(secret, 'cursors')
  await app.register(keysRoutes({ ...deps, cursorKey, changed: authenticator.refresh }))
  await app.register(usageRoutes({ ...deps, cursorKey }))
}

/** What OpenAI's clients call. */
async function addModelApi(app: FastifyInstance, { config }: AppInput, parts: Parts): Promise<void> {
  const { world, authenticator, gateway } = parts
  requireCaller(app, authenticator.authenticate)
  const { body_limit_bytes: bodyLimitBytes } = config.server
  chatRoute(app, { bodyLimitBytes, clock: world.clock, complete: gateway.complete })
  await app.register(modelsRoutes({ callerOf, models: world.models }))
}

/** What the data plane works with, and what a reload replaces of it. */
interface World {
  readonly ids: IdSource
  readonly now: () => number
  readonly clock: () => number
  readonly upstreams: Upstreams
  readonly models: () => ModelBook
  readonly config: () => Config
  readonly recorder: UsageRecorder
  readonly tokens: TokenCounter
  reload(config: Config): Promise<void>
}

async function createWorld({ config, database, log }: AppInput): Promise<World> {
  const { db, batch } = database
  let current = config
  const upstreams = createUpstreams(configuredProviders(config, log))
  let book = buildBook(config, upstreams.names)
  await recordPriceVersions(db, book.all, Date.now())
  return {
    ids: createIdSource(Date.now, randomBytes),
    now: Date.now,
    clock: () => performance.now(),
    upstreams,
    models: () => book,
    config: () => current,
    recorder: createUsageRecorder({ db, batch, log }),
    tokens: createTokenCounter(),
    async reload(next) {
      const providers = configuredProviders(next, log)
      const nextBook = buildBook(next, new Set(providers.map(({ name }) => name)))
      await recordPriceVersions(db, nextBook.all, Date.now())
      upstreams.replace(providers)
      book = nextBook
      current = next
    },
  }
}

function createDataPlane({ ids, now, clock, recorder, tokens, upstreams, models, config }: World): Gateway {
  const limiter = createLimiter({
    limitsOf: (name) => {
      const plan = config().plans[name]
      return {
        requestsPerMinute: plan?.requests_per_minute,
        tokensPerMinute: plan?.tokens_per_minute,
        maxInFlight: plan?.max_in_flight ?? DEFAULT_MAX_IN_FLIGHT,
      }
    },
    clock,
  })
  const completions = channel(COMPLETION_CHANNEL)
  return createGateway(
    {
      admit: limiter.admit,
      models,
      provider: upstreams.find,
      meter(record, overheadMs) {
        recorder.record(record)
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

/** Of an account whose plan is no longer in the configuration. */
const DEFAULT_MAX_IN_FLIGHT = 500

/** A provider that cannot be spoken to is left out, with a word in the log: the others must serve. */
function configuredProviders(config: Config, log: Log): readonly ConfiguredProvider[] {
  const providers: ConfiguredProvider[] = []
  for (const [name, settings] of Object.entries({ simulator: SIMULATOR, ...config.providers })) {
    try {
      providers.push(resolveProvider(name, settings))
    } catch (error) {
      log.warn({ provider: name, reason: error instanceof Error ? error.message : String(error) }, 'provider left out')
    }
  }
  return providers
}

/** Always there, so that the first request needs no account anywhere. */
const SIMULATOR = {
  protocol: 'simulator',
  timeout_ms: { connect: 5_000, idle: 120_000, total: 1_800_000 },
  on_disconnect: 'cancel',
} as const

function buildBook({ models }: Config, providers: ReadonlySet<string>): ModelBook {
  return buildModelBook({ catalogue: CATALOGUE, models, providers })
}
