/**
 * Composes the application: the only place that connects gateway, features, database and HTTP. `main.ts` opens the
 * database and the port.
 */
import { channel } from 'node:diagnostics_channel'
import type { Http2SecureServer } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { getHeapStatistics } from 'node:v8'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { createAgents } from './app/agents.ts'
import { type AnalyticsExports, createAnalyticsExports, type Role } from './app/background-work.ts'
import { auditOfPull, catalogueJobs } from './app/catalogue.ts'
import { createContentCapture } from './app/content.ts'
import { addControlPlane, type ControlPlaneParts } from './app/control-plane.ts'
import { createGuardrails } from './app/guardrails.ts'
import { createIdentity } from './app/identity.ts'
import { createLimits, type Limits } from './app/limits.ts'
import { closeParts, createMoney, createPayments } from './app/money.ts'
import {
  createProviderCredentials,
  createProviderWatch,
  type ProviderSummary,
  summarizeProviders,
} from './app/providers.ts'
import { createStoredResponses, responseKeys, type StoredResponses } from './app/responses.ts'
import { createRuntime, type Runtime } from './app/runtime.ts'
import { addressOf, createStreams, type Streams } from './app/streams.ts'
import { createTelemetry } from './app/telemetry.ts'
import { createWebhooks } from './app/webhooks.ts'
import type { Config } from './config/schema.ts'
import type { OpenedDatabase } from './db/database.ts'
import { COMPLETION_CHANNEL } from './domain/completion.ts'
import type { ParseLargeBody } from './domain/json-body.ts'
import { endingPrices } from './domain/model.ts'
import { releaseTrace, type TracingSwitch } from './domain/trace.ts'
import { auditJobs } from './features/credit/audit/run.ts'
import { auditStatus } from './features/credit/audit/store.ts'
import { watchBudgetFills } from './features/credit/budgets/store.ts'
import { modelsRoutes } from './features/models/routes.ts'
import { resealJobs } from './features/responses/store.ts'
import { createRejectionRecorder } from './features/usage/rejections.ts'
import { createLargeBodies } from './gateway/large-bodies.ts'
import { createGateway, type Gateway } from './gateway/pipeline.ts'
import { createTokenCounter, type TokenCounter } from './gateway/usage/token-counter.ts'
import { callerOf, requireCaller } from './http/caller.ts'
import { type ApiRouteInput, chatRoute } from './http/chat-route.ts'
import { createEventStreams } from './http/event-stream.ts'
import { followCertificate, type Sockets, watchSockets } from './http/listener.ts'
import { messagesRoute } from './http/messages-route.ts'
import { documentErrors, serveOpenApi } from './http/openapi.ts'
import { metricsRoute, probeRoutes } from './http/operator-routes.ts'
import { type BodyBudget, bodyCaps, createBodyBudget } from './http/request-body.ts'
import { responsesRoute } from './http/responses-route.ts'
import { createHttpServer, type ServerInput } from './http/server.ts'
import { completionsRoute, embeddingsRoute, rerankRoute } from './http/task-routes.ts'
import type { JobKind } from './jobs/job.ts'
import { messagesApi } from './protocols/anthropic-messages/client/index.ts'
import type { ClientApi } from './protocols/client-api.ts'
import { chatCompletionsApi } from './protocols/openai-chat/client/index.ts'
import { completionsApi } from './protocols/openai-completions.ts'
import { embeddingsApi } from './protocols/openai-embeddings.ts'
import { responsesApi } from './protocols/openai-responses/client/index.ts'
import { rerankApi } from './protocols/rerank.ts'
import type { Provider } from './providers/provider.ts'
import { type Log, logError } from './telemetry/log.ts'
import { createMetrics, type Metrics, type MetricsInput } from './telemetry/metrics.ts'
import { createPressure } from './telemetry/pressure.ts'

interface AppInput {
  readonly config: Config
  readonly database: OpenedDatabase
  readonly log: Log
  readonly version: string
  readonly role?: Role
  /** From 1; undefined: no other process shares the port. */
  readonly processNumber?: number | undefined
  /** The secret of the installation. */
  readonly secret: Uint8Array
  /** Folder of the built dashboard; the package's own unless set. */
  readonly dashboardFolder?: string
}

export interface App {
  readonly server: FastifyInstance
  readonly gateway: Gateway
  readonly metrics: Metrics
  readonly sockets: Sockets
  /** Publishes the port at which other processes reach this one. */
  publish(port: number): void
  /** Those that are configured, and those that cannot be used. */
  providers(): Promise<ProviderSummary>
  /** Applies providers, models, plans, routing and responses. Rejects without effect if they are inconsistent. */
  reload(config: Config): Promise<void>
  /** Rejects new requests from now on. */
  drain(): void
  /** Resolves when all settlements are on disk: for a process that exits without draining. */
  rescue(): Promise<void>
  /** Flushes memory and closes what the app opened. Close the server first. */
  close(): Promise<void>
}

export async function createApp(input: AppInput): Promise<App> {
  const { database, log, config, version, role = 'all' } = input
  const runtime = await createRuntime(input)
  let draining = false
  const webhooks = createWebhooks({ ...input, runtime })
  const completionStreams = createEventStreams()
  const agents = createAgents({ runtime, database, log, role, recordEvent: webhooks.recordEvent })
  const own = createOwn({ ...input, runtime, credit: () => money.creditService })
  const exports = createAnalyticsExports(input, runtime)
  const jobs = { ...webhooks.jobs, ...agents.jobs, ...exports.jobs, ...plainJobs(input, { runtime, webhooks, ...own }) }
  const money = createMoney({ runtime, database, log, version, role, dataDirectory: config.data_dir, jobs })
  const tokens = createTokenCounter()
  const limits = await createLimits({ runtime, redisUrl: config.redis_url, processes: money, log })
  const streams = createStreams({ ...input, runtime, instanceId: money.instanceId })
  const telemetry = await createTelemetry({ ...input, runtime, instanceId: money.instanceId })
  const base = { runtime, money, limits, streams, ...own, telemetry, bodies: createBodies(config) }
  const gateway = createDataPlane({ ...base, tokens })
  const identity = await createIdentity({ ...input, runtime, interrupt: gateway.interrupt })
  const pressure = createPressure({ clock: runtime.clock, active: () => gateway.active, log })
  const providers = createProviderWatch(input, { runtime, money, webhooks })
  const parts = { ...base, identity, webhooks, agents, completionStreams, gateway, providers }
  const metrics = createAppMetrics(parts, { ...storedMetrics(database, runtime, exports), strain: pressure.strain })
  const server = await openServer(input, parts, { draining: () => draining, strain: pressure.strain })
  await addRoutes(server, input, { ...parts, metrics, draining: () => draining })
  await Promise.all([money.start(gateway), limits.started(), telemetry.exportMetrics(metrics)])
  agents.start({ complete: tracedComplete(gateway.complete, telemetry.tracing), wake: money.wake })
  return {
    ...{ server, gateway, metrics },
    sockets: watchSockets(server.server),
    providers: async () => summarizeProviders(runtime.config(), await providers.recentCalls()),
    publish: (port) => money.moveTo(addressOf({ ...config.server, port, isTls: config.server.tls !== undefined })),
    reload: runtime.reload,
    drain() {
      draining = true
      money.moveTo(undefined)
      for (const end of [agents.drain, webhooks.drain, completionStreams.endAll]) end()
    },
    rescue: money.rescue,
    async close() {
      for (const end of [metrics.close, pressure.close, agents.drain]) end()
      const open = [agents, telemetry, money, limits, streams, identity.authentication, runtime, tokens, providers]
      await closeParts([...open, own.byok, own.guardrails, own.content]).finally(webhooks.close)
    },
  }
}

/** The settings of accounts for their own requests. */
function createOwn(
  input: Parameters<typeof createProviderCredentials>[0] &
    Parameters<typeof createPayments>[0] &
    Parameters<typeof createContentCapture>[0],
): Pick<Parts, 'byok' | 'guardrails' | 'content' | 'payments'> {
  return {
    byok: createProviderCredentials(input),
    guardrails: createGuardrails(input),
    content: createContentCapture(input),
    payments: createPayments(input),
  }
}

/** Calls of the gateway itself, which arrive over no connection, begin their own trace. */
function tracedComplete(complete: Gateway['complete'], tracing: TracingSwitch): Gateway['complete'] {
  return async (incoming, client) => {
    const trace = tracing.current?.begin({})
    if (trace === undefined) return await complete(incoming, client)
    try {
      return await complete({ ...incoming, trace }, client)
    } finally {
      releaseTrace(trace)
    }
  }
}

/** Background work that needs only the database. */
function plainJobs(
  { database, log, secret, config }: AppInput,
  { runtime, webhooks, byok, content, payments }: Pick<Parts, 'runtime' | 'webhooks' | 'byok' | 'content' | 'payments'>,
): Readonly<Record<string, JobKind>> {
  const { db } = database
  const keys = responseKeys({ secret, config })
  const { now, stored } = runtime
  return {
    ...auditJobs({ ...webhooks, db, now, log }),
    ...byok.jobs,
    ...payments.jobs,
    ...content.jobs,
    ...resealJobs({ db, keys }),
    ...catalogueJobs({ db, config, now, log, changed: stored.changed, audit: auditOfPull(runtime) }),
  }
}

/** Memory for request bodies, and the thread that parses large ones, until it is closed. */
interface Bodies {
  readonly budget: BodyBudget
  readonly parseLarge: ParseLargeBody
  readonly close: () => Promise<void>
}

function createBodies({ server }: Config): Bodies {
  const budget = createBodyBudget(bodyCaps(getHeapStatistics().heap_size_limit, server.body_limit_bytes))
  const { parse, close } = createLargeBodies()
  return { budget, parseLarge: parse, close }
}

/** Its `close` ends the thread that parses large bodies, and writes the rest of the rejections. */
async function openServer(
  { config, log, database: { db } }: AppInput,
  { runtime: { ids, now, models }, bodies, telemetry: { tracing } }: Pick<Parts, 'runtime' | 'bodies' | 'telemetry'>,
  state: Pick<ServerInput, 'draining' | 'strain'>,
): Promise<FastifyInstance> {
  const { trust_proxy: trustProxy, cors_origins: corsOrigins, tls } = config.server
  const { budget, parseLarge, close } = bodies
  const isModel = (id: string): boolean => models().find(id) !== undefined
  const rejections = createRejectionRecorder({ db, now, isModel, log })
  const server = await createHttpServer({
    ...state,
    onRejection: rejections.note,
    tracing,
    newRequestId: ids.request,
    trustProxy,
    corsOrigins,
    tls,
    onError: (error, request) => logError(log, error, request),
    bodies: { budget, parseLarge, chatEndpoint: chatCompletionsApi.endpoint },
  })
  server.addHook('onClose', close)
  server.addHook('onClose', rejections.close)
  if (tls !== undefined) {
    followCertificate(server.server as unknown as Http2SecureServer, tls, (err) => {
      if (err === undefined) log.info('certificate reloaded')
      else log.error({ err }, 'the certificate could not be reloaded; the current one stays active')
    })
  }
  return server
}

/** Metrics that are read from the database, and those of background work that does. */
function storedMetrics({ db }: OpenedDatabase, runtime: Runtime, { metrics }: AnalyticsExports): StoredMetrics {
  return { ...metrics, audit: auditStatus(db, runtime.clock), budgets: watchBudgetFills(db, runtime) }
}
type StoredMetrics = Pick<MetricsInput, 'audit' | 'budgets' | 'analyticsExports'>

function createAppMetrics(
  parts: Pick<Parts, 'runtime' | 'money' | 'limits' | 'agents' | 'gateway' | 'telemetry' | 'content'>,
  others: StoredMetrics & Pick<MetricsInput, 'strain'>,
): Metrics {
  const { runtime, money, limits, agents, gateway, telemetry, content } = parts
  return createMetrics({
    ...others,
    exports: () => [...telemetry.counts(), ...content.counts()],
    holds: gateway.holds,
    spoolBytes: money.spoolBytes,
    ledgerLagMs: money.committer.lagMs,
    providerName: (name) => telemetryName(runtime.upstreams.find(name)?.provider) ?? name,
    active: () => gateway.active,
    unwritten: money.committer.pending,
    providers: runtime.health.status,
    agents: agents.active,
    localFallback: limits.localFallback,
    priceEnds: () => endingPrices(runtime.models().all, runtime.now()),
  })
}

function telemetryName(provider: Provider | undefined): string | undefined {
  return provider?.telemetryName ?? provider?.id
}

interface Parts extends ControlPlaneParts {
  readonly limits: Limits
  readonly streams: Streams
  readonly gateway: Gateway
  readonly bodies: Bodies
  readonly metrics: Metrics
  readonly draining: () => boolean
}

interface ApiParts extends Parts {
  readonly responses: StoredResponses
}

async function addRoutes(server: FastifyInstance, input: AppInput, given: Parts): Promise<void> {
  const parts: ApiParts = { ...given, responses: createStoredResponses({ ...input, ...given.bodies, ...given }) }
  const { config, database, version } = input
  const { identity, limits, metrics, draining } = parts
  const { public_url: publicUrl, metrics_port: metricsPort, metrics_open: open } = config.server
  await serveOpenApi(server, { version, publicUrl })
  probeRoutes(server, {
    version,
    checks: { database: database.ping, ...(limits.ping && { redis: limits.ping }) },
    draining,
  })
  const { authenticate } = identity.authentication
  if (metricsPort === undefined) {
    // A server that drains has no address.
    const isShared = ({ socket }: FastifyRequest) =>
      input.processNumber !== undefined && socket.localPort === (server.server.address() as AddressInfo | null)?.port
    metricsRoute(server, { metrics, authenticate, open, isShared })
  }
  if (input.role === 'worker') return
  parts.streams.addRoute(server)
  await identity.addRoutes(server)
  await parts.payments.addWebhookRoute(server)
  await server.register(
    async (app) => {
      documentErrors(app)
      await addModelApi(app, input, parts)
      await addControlPlane(app, input, parts)
    },
    { prefix: '/v1' },
  )
  // Clients are often given a base URL without /v1.
  await server.register(async (app) => {
    app.addHook('onRoute', (route) => {
      route.schema = { ...route.schema, hide: true }
    })
    await addModelApi(app, input, parts)
  })
}

/** The endpoints of OpenAI clients. */
async function addModelApi(app: FastifyInstance, { config }: AppInput, parts: ApiParts): Promise<void> {
  const { runtime, identity, gateway, limits, responses } = parts
  requireCaller(app, identity.authentication.authenticate, { gate: limits.gate, inTeam: identity.inTeam })
  const { body_limit_bytes: bodyLimitBytes } = config.server
  const answeredBy = (api: ClientApi): ApiRouteInput => ({
    api,
    bodyLimitBytes,
    clock: runtime.clock,
    complete: (incoming, client) => gateway.complete({ ...incoming, api }, client),
    countTokens: (caller, body, findings) => gateway.countTokens({ api, caller, body, findings }),
  })
  const { api: _, ...chat } = answeredBy(chatCompletionsApi) // the default of all routes
  chatRoute(app, chat)
  messagesRoute(app, answeredBy(messagesApi))
  completionsRoute(app, answeredBy(completionsApi))
  embeddingsRoute(app, answeredBy(embeddingsApi))
  rerankRoute(app, answeredBy(rerankApi))
  const { complete, countTokens } = responses
  responsesRoute(app, { ...answeredBy(responsesApi), complete, countTokens })
  await responses.addRoutes(app)
  await app.register(
    modelsRoutes({ callerOf, models: runtime.modelsOf, status: runtime.health.status, now: runtime.now }),
  )
}

interface DataPlaneInput
  extends Pick<Parts, 'runtime' | 'money' | 'limits' | 'streams' | 'byok' | 'guardrails' | 'content'> {
  readonly tokens: TokenCounter
}

function createDataPlane(input: DataPlaneInput): Gateway {
  const { runtime, money, tokens, limits, streams, byok, guardrails, content } = input
  const { ids, now, clock, upstreams, health, modelsOf, config } = runtime
  const completions = channel(COMPLETION_CHANNEL)
  return createGateway(
    {
      admit: limits.admit,
      byok: byok.port,
      guardrails: guardrails.port,
      capture: content.port,
      credit: money.credit,
      idempotency: money.idempotency,
      models: modelsOf,
      provider: upstreams.find,
      health,
      report(signal) {
        if (completions.hasSubscribers) completions.publish(signal)
      },
      countTokens: tokens.count,
      countWhole: tokens.countWhole,
      ids,
      now,
      clock,
      random: Math.random,
    },
    () => ({ maxAttempts: config().routing.max_attempts }),
    streams.kept,
  )
}
