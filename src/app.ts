/**
 * The composition: the only place that connects gateway, features, database and HTTP. It opens no database and listens on
 * nothing; that is `main.ts`.
 */

import { channel } from 'node:diagnostics_channel'
import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { type Agents, createAgents } from './app/agents.ts'
import { createIdentity, type Identity } from './app/identity.ts'
import { createLimits, type Limits } from './app/limits.ts'
import { createMoney, type Money, type Role } from './app/money.ts'
import { addressOf, createStreams, type Streams } from './app/streams.ts'
import { createUsage, type Usage } from './app/usage.ts'
import { createWebhooks, type Webhooks } from './app/webhooks.ts'
import { createWorld, type World } from './app/world.ts'
import type { Config } from './config/schema.ts'
import { deriveKey } from './config/secret.ts'
import type { OpenedDatabase } from './db/open.ts'
import { endingPrices } from './domain/price-ends.ts'
import type { LastAudit } from './domain/signals.ts'
import { COMPLETION_CHANNEL, type CompletionSignal } from './domain/signals.ts'
import { accountRoutes, accountsAdminRoutes } from './features/accounts/routes.ts'
import { creditAdminRoutes } from './features/credit/admin-routes.ts'
import { auditJobs } from './features/credit/audit/jobs.ts'
import { auditStatus } from './features/credit/audit/status.ts'
import { LEASE_MS } from './features/credit/instance-lease.ts'
import { ledgerRoutes } from './features/credit/ledger-routes.ts'
import type { FeatureDeps } from './features/deps.ts'
import { agentsStateRoute } from './features/instances/agents-state.ts'
import { instancesRoutes } from './features/instances/routes.ts'
import { invoicesRoutes } from './features/invoices/routes.ts'
import { keysRoutes } from './features/keys/routes.ts'
import { modelsRoutes } from './features/models/routes.ts'
import { providersRoutes } from './features/providers/routes.ts'
import { providerTrialRoute } from './features/providers/trial-route.ts'
import { DEFAULT_UNLIMITED_CREDIT_USD } from './features/usage/report-routes.ts'
import { createGateway, type Gateway } from './gateway/pipeline.ts'
import { probeProvider } from './gateway/provider-probe.ts'
import { createTokenCounter, type TokenCounter } from './gateway/token-counter.ts'
import { callerOf, requireCaller } from './http/caller.ts'
import { chatRoute } from './http/chat-route.ts'
import { docsRoute } from './http/docs-page.ts'
import { type Log, logError } from './http/log.ts'
import { createMetrics, type Metrics, metricsRoute } from './http/metrics.ts'
import { documentErrors, serveOpenApi } from './http/openapi.ts'
import { metricsGuard, probeRoutes } from './http/operator-routes.ts'
import { createPressure } from './http/pressure.ts'
import { createHttpServer, type ServerInput } from './http/server.ts'
import { type Sockets, watchSockets } from './http/sockets.ts'

export interface AppInput {
  readonly config: Config
  readonly database: OpenedDatabase
  readonly log: Log
  readonly version: string
  readonly role?: Role
  /** The installation's secret. */
  readonly secret: Uint8Array
  /** Folder of the built dashboard; the package's own unless set. */
  readonly dashboardFolder?: string
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
  /** For a process that is about to end as it is: what was settled is on the disk when it resolves. */
  rescue(): Promise<void>
  /** Writes what is in memory and closes what the app opened. The server is to be closed before. */
  close(): Promise<void>
}

export async function createApp(input: AppInput): Promise<App> {
  const { database, log, config, version, role = 'all' } = input
  const world = await createWorld(input)
  let draining = false
  const webhooks = createWebhooks({ ...input, world })
  const usage = createUsage(input)
  const agents = createAgents({ world, database, log, role, recordEvent: webhooks.recordEvent })
  const jobs = { ...webhooks.jobs, ...agents.jobs, ...auditJobs({ ...webhooks, db: database.db, now: world.now, log }) }
  const money = createMoney({ world, database, log, version, role, dataDirectory: config.data_dir, jobs })
  const tokens = createTokenCounter()
  const limits = await createLimits({ world, redisUrl: config.redis_url, processes: money.processes, log })
  const streams = createStreams({ ...input, world, instanceId: money.instanceId })
  const gateway = createDataPlane({ world, money, tokens, limits, streams })
  const identity = await createIdentity({ ...input, world, interrupt: gateway.interrupt })
  const pressure = createPressure({ clock: world.clock, active: () => gateway.active, log })
  const { strain } = pressure
  const audit = auditStatus(database.db, world.clock)
  const metrics = measured({ world, money, limits, agents, gateway, strain, audit })
  const server = await openServer(input, { world, draining: () => draining, strain })
  const plain = { world, money, limits, streams, identity, webhooks, agents, usage, gateway, metrics }
  await addRoutes(server, input, { ...plain, draining: () => draining })
  tellAddress(server, config.server.host, money)
  await Promise.all([money.start(gateway), limits.started()])
  agents.start({ complete: gateway.complete, wake: money.wake })
  return {
    server,
    gateway,
    metrics,
    sockets: watchSockets(server.server),
    reload: world.reload,
    drain() {
      draining = true
      money.moveTo(undefined)
      for (const part of [agents, webhooks, usage]) part.drain()
    },
    rescue: money.rescue,
    async close() {
      metrics.close()
      pressure.close()
      agents.drain()
      const parts = [agents, money, limits, streams, identity.authentication, world.upstreams, tokens]
      await closeAll(parts).finally(webhooks.close)
    },
  }
}

function measured({
  world,
  money,
  limits: { countedHere },
  agents,
  gateway,
  strain,
  audit,
}: Pick<Parts, 'world' | 'money' | 'limits' | 'agents' | 'gateway'> & {
  readonly strain: () => string | undefined
  readonly audit: () => LastAudit | undefined
}): Metrics {
  const { status: providers } = world.health
  const { pending: unwritten } = money.committer
  return createMetrics({
    active: () => gateway.active,
    unwritten,
    strain,
    providers,
    agents: agents.active,
    countedHere,
    audit,
    priceEnds: () => endingPrices(world.models().all, world.now()),
  })
}

function openServer(
  { config, log }: AppInput,
  { world, ...state }: Pick<ServerInput, 'draining' | 'strain'> & { readonly world: World },
): Promise<FastifyInstance> {
  return createHttpServer({
    newRequestId: world.ids.request,
    trustProxy: config.server.trust_proxy,
    corsOrigins: config.server.cors_origins,
    onError: (error, requestId) => logError(log, error, requestId),
    ...state,
  })
}

/** Others may reach this process as soon as it listens. */
function tellAddress({ server }: FastifyInstance, host: string, money: Money): void {
  server.once('listening', () => {
    const { port } = server.address() as AddressInfo // it listens on a port
    money.moveTo(addressOf(host, port))
  })
}

/** Each in its own right: what cannot be written of one must not cost the others. */
async function closeAll(parts: readonly { close(): Promise<void> }[]): Promise<void> {
  const ends = await Promise.allSettled(parts.map((part) => part.close()))
  for (const end of ends) if (end.status === 'rejected') throw end.reason
}

interface Parts {
  readonly world: World
  readonly money: Money
  readonly limits: Limits
  readonly streams: Streams
  readonly identity: Identity
  readonly webhooks: Webhooks
  readonly agents: Agents
  readonly usage: Usage
  readonly gateway: Gateway
  readonly metrics: Metrics
  readonly draining: () => boolean
}

async function addRoutes(server: FastifyInstance, input: AppInput, parts: Parts): Promise<void> {
  const { config, database, version } = input
  const { identity, limits, metrics, draining } = parts
  const { public_url: publicUrl, metrics_port: metricsPort } = config.server
  await serveOpenApi(server, { version, publicUrl })
  probeRoutes(server, {
    version,
    checks: { database: database.ping, ...(limits.ping && { redis: limits.ping }) },
    draining,
  })
  if (metricsPort === undefined) metricsRoute(server, metrics, metricsGuard(identity.authentication.authenticate))
  if (input.role === 'worker') return
  parts.streams.addRoute(server)
  docsRoute(server)
  await identity.addRoutes(server)
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
  const { world, money, identity, webhooks, agents, usage } = parts
  const { instanceId, wake } = money
  const { writeAudit } = identity
  const { authenticate, refresh: changed } = identity.authentication
  const deps: FeatureDeps = { db: database.db, now: world.now, ids: world.ids, callerOf }
  const cursorKey = deriveKey(secret, 'cursors')
  const plans = () => ({ all: world.config().plans, standard: world.config().accounts.default_plan })
  documentErrors(app)
  await addModelApi(app, input, parts)
  await app.register(keysRoutes({ ...deps, cursorKey, changed, writeAudit }))
  const unlimitedCreditUsd = (plan: string) =>
    world.config().plans[plan]?.unlimited_credit_usd ?? DEFAULT_UNLIMITED_CREDIT_USD
  await usage.addApiRoutes(app, { ...deps, cursorKey, credit: money.desk, unlimitedCreditUsd, authenticate })
  await app.register(ledgerRoutes({ ...deps, cursorKey }))
  await app.register(invoicesRoutes({ ...deps, cursorKey }))
  await app.register(accountRoutes({ ...deps, credit: money.desk, plans, writeAudit }))
  await app.register(accountsAdminRoutes({ ...deps, cursorKey, plans, credit: money.desk, changed, writeAudit }))
  await app.register(creditAdminRoutes({ ...deps, credit: money.desk, writeAudit }))
  await app.register(providersRoutes({ callerOf, cursorKey, status: world.health.status }))
  const probe = (name: string, waitMs: number) => {
    const target = world.upstreams.find(name)
    return target && probeProvider(target, waitMs)
  }
  await app.register(providerTrialRoute({ ...deps, probe, clock: world.clock, writeAudit }))
  await app.register(instancesRoutes({ ...deps, cursorKey, goneAfterMs: LEASE_MS }))
  const availability = input.role === 'api' ? undefined : agents.availability
  const { backend } = input.config.agents.sandbox
  await app.register(agentsStateRoute({ backend, availability, active: agents.active }))
  await identity.addApiRoutes(app, { ...deps, cursorKey })
  await agents.addApiRoutes(app, { ...deps, cursorKey, authenticate, instanceId, wake })
  await webhooks.addApiRoutes(app, { ...deps, cursorKey, writeAudit, authenticate, wake })
}

/** What OpenAI's clients call. */
async function addModelApi(app: FastifyInstance, { config }: AppInput, parts: Parts): Promise<void> {
  const { world, identity, gateway } = parts
  requireCaller(app, identity.authentication.authenticate)
  const { body_limit_bytes: bodyLimitBytes } = config.server
  chatRoute(app, { bodyLimitBytes, clock: world.clock, complete: gateway.complete })
  await app.register(modelsRoutes({ callerOf, models: world.models, status: world.health.status }))
}

interface DataPlaneInput {
  readonly world: World
  readonly money: Money
  readonly tokens: TokenCounter
  readonly limits: Limits
  readonly streams: Streams
}

function createDataPlane({ world, money, tokens, limits, streams }: DataPlaneInput): Gateway {
  const { ids, now, clock, upstreams, health, models, config } = world
  const completions = channel(COMPLETION_CHANNEL)
  return createGateway(
    {
      admit: limits.admit,
      credit: money.credit,
      idempotency: money.idempotency,
      models,
      provider: upstreams.find,
      health,
      report(record, overheadMs, reported) {
        if (completions.hasSubscribers) completions.publish({ record, overheadMs, reported } satisfies CompletionSignal)
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
