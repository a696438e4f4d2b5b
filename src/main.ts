/**
 * The process: opens what the configuration names, listens, and drains. No logic of its own.
 */
import { createServer, type Server } from 'node:http'
import { type AddressInfo, createServer as createListener, type Server as NetServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Role } from './app/background-work.ts'
import type { ProviderSummary } from './app/providers.ts'
import type { App } from './app.ts'
import { reloadable } from './config/load.ts'
import type { Config } from './config/schema.ts'
import { loadSecret } from './config/secret.ts'
import type { OpenedDatabase } from './db/database.ts'
import { makeDirectory } from './db/directory.ts'
import { ensureSchema } from './db/migrate.ts'
import { databaseLocation, openDatabase } from './db/open.ts'
import { GatewayError } from './domain/errors.ts'
import { LEDGER_PROGRAMS } from './features/credit/ledger/sqlite/store.ts'
import { logCompletions, type OpenedLog, warnOfBoundedUsage } from './telemetry/log.ts'
import type { Metrics } from './telemetry/metrics.ts'

export interface ServiceInput {
  readonly config: Config
  readonly log: OpenedLog
  readonly version: string
  readonly role: Role
  /** Whether the schema of a PostgreSQL database may be changed; SQLite's is. */
  readonly mayMigrate: boolean
  /** From 1; undefined: no other process shares the port. */
  readonly processNumber?: number | undefined
}

export interface Service {
  /** Without trailing slash. */
  readonly url: string
  readonly port: number
  readonly database: OpenedDatabase
  /** Returns the providers that were found, and those that cannot be used. */
  providers(): Promise<ProviderSummary>
  /** Applies the settings of `config` that can change at run time. Rejects, and changes nothing, if it is invalid. */
  reload(config: Config): Promise<void>
  /** For a process that is about to crash: stops accepting requests, and resolves when settlements are on disk. */
  abandon(): Promise<void>
  /** Shuts down gracefully, see `docs/operations.md`. All usage is written when it resolves. */
  drain(): Promise<void>
}

/** Rejects if a store or the port cannot be opened; closes the others then, and the caller exits. */
export async function startService(input: ServiceInput): Promise<Service> {
  const { config, log, mayMigrate } = input
  disablePretenuring()
  if (config.secret === undefined || config.database_url === undefined) makeDirectory(config.data_dir)
  // The database's threads start while this thread still loads the rest of the program.
  const [secret, database, { createApp }] = await Promise.all([
    loadSecret(config),
    openDatabase({ ...databaseLocation(config, LEDGER_PROGRAMS), startWithinMs: SERVER_WITHIN_MS }),
    import('./app.ts'),
  ])
  try {
    await ensureSchema(database, { mayMigrate, now: Date.now })
    const app = await createApp({ ...input, log: log.log, database, secret })
    return createService(input, { app, database, listening: await listen(app, input) })
  } catch (error) {
    await database.close()
    throw error
  }
}

interface Listening {
  readonly port: number
  readonly metricsServer: Server | undefined
  /** The listener at which other processes reach this one. Undefined if it shares its port with none. */
  readonly ownListener: NetServer | undefined
}

async function listen(app: App, { config, processNumber }: ServiceInput): Promise<Listening> {
  const { host, port } = config.server
  try {
    const metricsServer = await listenForMetrics(config, app.metrics, processNumber)
    const ownListener = processNumber === undefined ? undefined : await listenAlone(app, host)
    const address = { host, port, reusePort: processNumber !== undefined } // Fastify's types lack the last one
    await app.server.listen(address)
    const shared = portOf(app.server.server)
    app.publish(ownListener === undefined ? shared : portOf(ownListener))
    return { port: shared, metricsServer, ownListener }
  } catch (error) {
    await app.close()
    throw error
  }
}

/** Serves the same routes on a free port that belongs to this process alone. */
async function listenAlone({ server: { server } }: App, host: string): Promise<NetServer> {
  const listener = createListener({ allowHalfOpen: true, noDelay: true }, (socket) => server.emit('connection', socket))
  listener.maxConnections = server.maxConnections
  await listening(listener, { host, port: 0 })
  return listener
}

/** Rejects if the server cannot listen at the address. */
function listening(server: NetServer, address: { readonly host: string; readonly port: number }): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(address, resolve)
  })
}

function portOf(server: NetServer): number {
  return (server.address() as AddressInfo).port // of TCP, since it has a port
}

interface Running {
  readonly app: App
  readonly database: OpenedDatabase
  readonly listening: Listening
}

function createService({ config, log }: ServiceInput, { app, database, listening }: Running): Service {
  const { host } = config.server
  const { port, metricsServer, ownListener } = listening
  let running = config
  const stopLogging = [logCompletions(log.log, config.log.sample), warnOfBoundedUsage(log.log)]
  const shrinking = setTimeout(() => app.gateway.active === 0 && shrinkHeap(), SHRINK_AFTER_MS)
  return {
    url: `http${config.server.tls === undefined ? '' : 's'}://${host.includes(':') ? `[${host}]` : host}:${port}`,
    port,
    database,
    providers: app.providers,
    async reload(next) {
      const merged = reloadable(running, next)
      await app.reload(merged)
      running = merged
    },
    abandon() {
      app.drain()
      void app.sockets.stopListening()
      return app.rescue()
    },
    async drain() {
      clearTimeout(shrinking)
      await drainServer(app, config.server, ownListener)
      metricsServer?.close()
      await app.close()
      await database.close()
      for (const stop of stopLogging) stop()
      await log.flush()
    },
  }
}

/** Loading the program leaves garbage that nothing would collect for a long time. */
const SHRINK_AFTER_MS = 800
/** Retries while PostgreSQL may be starting, less than 10 s in total. */
const SERVER_WITHIN_MS = 5_000
const DRAIN_POLL_MS = 10
/** The time for interrupted requests to send their error to clients. */
const INTERRUPTION_MS = 2_000
/** The time for a new connection to send its first request. */
const FIRST_REQUEST_MS = 500

/** Rejects new requests, waits for those in flight, interrupts the rest after `drain_ms`. */
async function drainServer(
  app: App,
  times: Pick<Config['server'], 'drain_ms' | 'drain_delay_ms'>,
  ownListener: NetServer | undefined,
): Promise<void> {
  const { sockets, gateway } = app
  app.drain()
  sockets.closeIdle()
  await untilEnded(app, times.drain_delay_ms, () => false)
  const closed = sockets.stopListening()
  ownListener?.close()
  await untilEnded(app, times.drain_ms, () => gateway.active === 0)
  gateway.interrupt(new GatewayError('shutting_down', 'The gateway is shutting down.'))
  await untilEnded(app, INTERRUPTION_MS, () => gateway.active === 0)
  await untilEnded(app, FIRST_REQUEST_MS, () => sockets.unanswered() === 0)
  app.server.server.closeIdleConnections()
  await Promise.race([closed, sleep(INTERRUPTION_MS, undefined, { ref: false })])
  app.sockets.closeAll()
  await app.server.close()
}

/** Waits for `ended`, at most `waitMs`, and closes connections as they become idle. */
async function untilEnded(app: App, waitMs: number, ended: () => boolean): Promise<void> {
  const until = performance.now() + waitMs
  while (!ended() && performance.now() < until) {
    await sleep(DRAIN_POLL_MS)
    app.sockets.closeIdle()
  }
}

async function listenForMetrics({ server: { host, metrics_port: first } }: Config, metrics: Metrics, number = 1) {
  if (first === undefined) return undefined
  const server: Server = createServer((request, response) => {
    if (request.url !== '/metrics') return void response.writeHead(404).end()
    const { accept } = request.headers
    metrics.render(accept).then(
      (text) => response.writeHead(200, { 'content-type': metrics.contentType(accept) }).end(text),
      () => response.writeHead(500).end(),
    )
  })
  await listening(server, { host, port: first === 0 ? 0 : first + number - 1 })
  server.unref()
  return server
}

/**
 * Stops V8 from allocating in the old generation what lives as long as a stream, which it does in one process of three and
 * which costs a quarter of a stream's CPU time (docs/decisions/0027).
 */
function disablePretenuring(): void {
  setFlagsFromString('--no-allocation-site-pretenuring')
}

/**
 * Collects the garbage of this thread and returns memory to the system. Blocks the thread for tens of milliseconds, so
 * call it only while idle.
 */
export function shrinkHeap(): void {
  setFlagsFromString('--expose-gc')
  const collect: unknown = runInNewContext('gc')
  setFlagsFromString('--no-expose-gc')
  if (typeof collect === 'function') collect({ type: 'major', execution: 'sync', flavor: 'last-resort' })
}
