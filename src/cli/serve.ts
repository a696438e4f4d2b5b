import { randomBytes } from 'node:crypto'
import { flushCompileCache } from 'node:module'
import { availableParallelism } from 'node:os'
import { processEnvironment, processNumber } from '../config/environment.ts'
import type { Config } from '../config/schema.ts'
import { ConfigError } from '../config/source-tree.ts'
import { createIdSource } from '../domain/ids.ts'
import { createSignInLink, ensureFirstStart } from '../features/accounts/bootstrap.ts'
import { findAccount } from '../features/accounts/queries.ts'
import { createKey, FULL_ACCESS } from '../features/keys/queries.ts'
import { BrokenInvariant } from '../lib/crash-point.ts'
import { type Service, startService } from '../main.ts'
import { type OpenedLog, openLog } from '../telemetry/log.ts'
import { loadCliConfig } from './configuration.ts'
import { listenForCommands } from './control-socket.ts'
import { openLedger } from './database.ts'
import { type BannerFacts, bannerText, explainStartError } from './start-messages.ts'

export interface ServeOptions {
  readonly config?: string
  readonly host?: string
  readonly port?: number
  readonly processes?: string
  readonly role: 'all' | 'api' | 'worker'
  readonly migrate: boolean
}

/** A second signal within this time is a copy of the first: process managers and shells both forward signals. */
const COPY_MS = 1_000

/** Runs the service until it receives SIGTERM or SIGINT. A signal during the start takes effect after it. */
export async function serve(options: ServeOptions, version: string): Promise<void> {
  const config = await loadCliConfig(options)
  // Serves requests even after the reader of the output has closed it.
  for (const output of [process.stdout, process.stderr]) output.on('error', () => {})
  const { role, migrate: mayMigrate } = options
  const log = await openLog({
    level: config.log_level,
    format: config.log.format,
    terminal: process.stdout.isTTY === true,
    processNumber,
  })
  if (processNumber === undefined) {
    const count = processCount(config.server.processes)
    if (count > 1) return supervise({ config, count, ...log })
  }
  const started = Promise.withResolvers<Service>()
  let running: Service | undefined
  crashOnBrokenInvariants(log, () => running)
  endOnSignals(started.promise, log)
  reloadOnSignal(started.promise, options, log)
  const service = await startService({ config, log, version, role, mayMigrate, processNumber }).catch(
    (error: unknown) => {
      throw explainStartError(error, config)
    },
  )
  running = service
  if (role !== 'worker' && (processNumber ?? 1) === 1) await welcome(service, config)
  await listenForCommands(config.data_dir, () => reload(service, options, log)).catch((error: unknown) => {
    log.log.info({ reason: String(error) }, "'turnpike reload' is unavailable for this process; send SIGHUP instead")
  })
  const { pid } = process
  log.log.info({ role, url: service.url, pid, data: config.data_dir, config: config.file }, 'Turnpike is listening')
  started.resolve(service)
  if (processNumber !== undefined) (await import('./processes.ts')).reportListening(service.port)
  // A process that is killed later still speeds up the next start.
  flushCompileCache()
}

async function supervise(input: { readonly config: Config; readonly count: number } & OpenedLog): Promise<void> {
  const { superviseProcesses } = await import('./processes.ts')
  onNpmGone(() => process.kill(process.pid, 'SIGTERM'))
  await superviseProcesses(input).catch((error: unknown) => {
    throw explainStartError(error, input.config)
  })
}

function processCount(setting: Config['server']['processes']): number {
  return setting === 'auto' ? availableParallelism() : setting
}

/** A signal during the start takes effect after it; without a handler it would end the process. */
function reloadOnSignal(started: Promise<Service>, options: ServeOptions, log: OpenedLog): void {
  process.on('SIGHUP', () => {
    started.then(
      (service) => reload(service, options, log),
      () => {}, // the start failed and reports it
    )
  })
}

/** @returns Problems of the configuration; none if it is in force. */
async function reload(service: Service, options: ServeOptions, { log }: OpenedLog): Promise<readonly string[]> {
  try {
    await service.reload(await loadCliConfig(options))
    log.info('configuration reloaded')
    return []
  } catch (error) {
    const problems = error instanceof ConfigError ? error.problems : [String(error)]
    log.error({ problems }, 'reload failed; the current configuration stays active')
    return problems
  }
}

function endOnSignals(started: Promise<Service>, { log, flush }: OpenedLog): void {
  let firstAt: number | undefined
  const end = (signal: NodeJS.Signals): void => {
    const now = performance.now()
    if (firstAt === undefined) {
      firstAt = now
      log.info({ signal }, 'draining')
      void drain(started, log).then(endProcess)
    } else if (now - firstAt >= COPY_MS) {
      log.warn({ signal }, 'terminated without draining')
      endProcess(1)
    }
  }
  const endProcess = (exitCode: number): void => void flush().finally(() => process.exit(exitCode))
  process.on('SIGTERM', end)
  process.on('SIGINT', end)
  onNpmGone(() => end('SIGTERM'))
}

const PARENT_EVERY_MS = 500

/**
 * Calls `end` when the parent has ended, if npm started this installation: npm sends signals to a shell in between, which
 * ends without forwarding them. Processes of `serve --processes` watch their own parent, see `reportListening`.
 */
function onNpmGone(end: () => void): void {
  if (processEnvironment['npm_command'] === undefined || processNumber !== undefined) return
  const parent = process.ppid
  const watch = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(watch)
    end()
  }, PARENT_EVERY_MS)
  watch.unref()
}

/** @returns the exit code. */
async function drain(started: Promise<Service>, log: OpenedLog['log']): Promise<number> {
  try {
    await (await started).drain()
    return 0
  } catch (error) {
    log.error({ err: error }, 'draining failed')
    return 1
  }
}

/** Prints the banner; on the first start of an installation with a key and a sign-in link. */
async function welcome(service: Service, config: Config): Promise<void> {
  const { port, providers } = service
  const first = await firstCredentials(service, config)
  const url = config.server.public_url.replace(/:0$/, `:${port}`)
  process.stdout.write(bannerText({ config, url, providers: await providers(), pid: primaryPid(), first }))
}

/** Returns the ID of the process that takes signals for all. */
function primaryPid(): number {
  return processNumber === undefined ? process.pid : process.ppid
}

/** Creates the first key and a sign-in link. Undefined on later starts. */
async function firstCredentials({ database }: Service, config: Config): Promise<BannerFacts['first']> {
  const clock = { now: Date.now, ids: createIdSource(Date.now, randomBytes) }
  const { accountId, secret } = await ensureFirstStart(
    database.db,
    {
      plan: config.accounts.default_plan,
      createFirstKey: async (inside, account) => {
        const { key, secret } = await createKey(
          inside,
          { ...FULL_ACCESS, accountId: account, name: 'First key' },
          clock,
        )
        return { id: key.id, secret }
      },
    },
    clock,
  )
  if (secret === undefined) return undefined
  const account = await findAccount(database.db, accountId)
  if (account !== undefined) await openLedger(database, config).credit.read(account)
  return { secret, token: await createSignInLink(database.db, accountId, clock.now()) }
}

/*
 * Crashes: an unhandled rejection is logged. An uncaught exception or a violated invariant ends the process, since its
 * memory may be corrupt while the data on disk is not.
 */

/** Time for flushing the spool and the log; then the process ends anyway. */
const CRASH_WITHIN_MS = 2_000

/** @param service Returns undefined until the service has started. */
function crashOnBrokenInvariants({ log, flush }: OpenedLog, service: () => Service | undefined): void {
  let crashing = false
  const crash = (error: unknown): void => {
    if (crashing) return
    crashing = true
    setTimeout(() => process.exit(1), CRASH_WITHIN_MS)
    log.fatal({ err: error }, 'unrecoverable error: terminating the process')
    const flushed = service()?.abandon() ?? Promise.resolve()
    void flushed
      .catch((failure: unknown) => log.fatal({ err: failure }, 'the spool could not be flushed to disk'))
      .then(flush)
      .finally(() => process.exit(1))
  }
  process.on('uncaughtException', crash)
  process.on('unhandledRejection', (reason) => {
    if (reason instanceof BrokenInvariant) crash(reason)
    else log.error({ err: reason }, 'unhandled promise rejection')
  })
}
