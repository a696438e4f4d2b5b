import { randomBytes } from 'node:crypto'
import { flushCompileCache } from 'node:module'
import { availableParallelism } from 'node:os'
import type { ProviderSummary } from '../app/providers.ts'
import { processEnvironment, processNumber } from '../config/environment.ts'
import type { Config } from '../config/schema.ts'
import { ConfigError } from '../config/source-tree.ts'
import { DatabaseError } from '../db/failure.ts'
import { databaseFile } from '../db/open.ts'
import { createIdSource } from '../domain/ids.ts'
import { createSignInLink, ensureFirstStart, signInUrl } from '../features/accounts/bootstrap.ts'
import { findAccount } from '../features/accounts/queries.ts'
import { createKey, FULL_ACCESS } from '../features/keys/queries.ts'
import { BrokenInvariant } from '../lib/crash-point.ts'
import { type Service, startService } from '../main.ts'
import { type OpenedLog, openLog } from '../telemetry/log.ts'
import { loadCliConfig } from './configuration.ts'
import { listenForCommands } from './control-socket.ts'
import { openLedger } from './database.ts'
import { invocation } from './invocation.ts'

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

// What a start prints: the banner, with addresses, providers, files, and how to sign in, reload and stop; or why it
// failed.

export interface BannerFacts {
  readonly config: Pick<Config, 'file' | 'data_dir' | 'database_url' | 'auth'>
  /** Public address without trailing slash. */
  readonly url: string
  readonly providers: ProviderSummary
  readonly pid: number
  /** The key and the token of the sign-in link, on the first start of an installation. */
  readonly first: { readonly secret: string; readonly token: string } | undefined
}

export function bannerText({ config, url, providers, pid, first }: BannerFacts): string {
  const rows = [
    ['API', `${url}/v1`],
    ['Dashboard', `${url}/app/`],
    ['Providers', foundText(providers)],
    ...providers.refused.map(({ name, reason }) => ['', `refused: ${name} (${reason})`] as const),
    ['Configuration', config.file ?? 'no file; the environment and what the dashboard stores'],
    ['Database', databaseText(config)],
    ['Sign in', signInText(config, first !== undefined)],
    ['Reload', `${invocation()} reload`],
    ['Stop', `Ctrl-C, or kill -TERM ${pid}`],
  ] as const
  const lines = rows.map(([name, value]) => `    ${name.padEnd(15)}${value}\n`).join('')
  const head = `\n  Turnpike is running at ${url}\n\n${lines}\n`
  return first === undefined ? head : head + firstStartText(url, first)
}

function foundText({ found }: ProviderSummary): string {
  if (found.length > 0) return found.join(', ')
  return 'none: add one in the dashboard, or set a key such as OPENAI_API_KEY. The simulator answers meanwhile'
}

function databaseText({ database_url: url, data_dir: folder }: BannerFacts['config']): string {
  if (url === undefined) return `SQLite, ${databaseFile(folder)}`
  const { host = '', pathname = '' } = URL.parse(url) ?? {}
  return `PostgreSQL, ${host}${pathname}`
}

function signInText({ auth }: BannerFacts['config'], isFirst: boolean): string {
  if (isFirst) return 'with the link below'
  const command = `${invocation()} login-link prints a one-time link for the owner`
  return auth.providers.length === 0 ? command : `in the dashboard, with ${names(auth.providers)}; ${command}`
}

function names(providers: readonly { readonly name: string }[]): string {
  return providers.map(({ name }) => name).join(', ')
}

function firstStartText(url: string, { secret, token }: NonNullable<BannerFacts['first']>): string {
  return `  Your API key, shown only once:

    ${secret}

  A first request, ready to paste:

    curl ${url}/v1/chat/completions \\
      -H "Authorization: Bearer ${secret}" \\
      -H "Content-Type: application/json" \\
      -d '{"model": "turnpike-simulator", "messages": [{"role": "user", "content": "Hello!"}]}'

  Dashboard, with a one-time sign-in link valid for 15 minutes:

    ${signInUrl(url, token)}

`
}

/* Explains why a start failed, what to do, and which setting to change. */

type Settings = Pick<Config, 'data_dir'> & { readonly server: Pick<Config['server'], 'host' | 'port'> }

/** Adds advice to errors with a known cause; the original error becomes the cause. */
export function explainStartError(error: unknown, { data_dir: folder, server: { host, port } }: Settings): unknown {
  const message = error instanceof Error ? error.message : String(error)
  if (/^The database .* cannot be (?:opened|used):/s.test(message))
    return new Error(`${message.replace(/\.$/, '')}. ${databaseAdvice(error)}`, { cause: error })
  const wanted = portOf(error) ?? port
  const setting = wanted === port ? 'PORT' : 'server.metrics_port'
  const advice = adviceFor(codeOf(error), { folder, host, port: wanted, setting })
  return advice === undefined ? error : new Error(advice, { cause: error })
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}

function portOf(error: unknown): number | undefined {
  return error instanceof Error && 'port' in error ? Number(error.port) : undefined
}

function databaseAdvice(error: unknown): string {
  const causes = causesOf(error)
  const state = causes.find((cause) => cause instanceof DatabaseError)?.sqlState ?? ''
  const text = causes.map(({ message }) => message).join(' ')
  if (/not a database/.test(text)) return 'Restore a backup, or move the file away to start with an empty database.'
  if (/database is locked/.test(text)) return 'Another program holds a lock on it: stop that program.'
  if (state.startsWith('28')) return 'Set the correct user and password in DATABASE_URL.'
  if (state === '3D000') return 'Create the database, or set another one in DATABASE_URL.'
  if (/ENOTFOUND|EAI_AGAIN/.test(text)) return 'Host not found: check DATABASE_URL.'
  if (/ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|timeout|terminated/i.test(text)) return UNREACHABLE
  return "Run 'turnpike doctor' for details."
}

const UNREACHABLE = 'Check that the server runs and is reachable, and that DATABASE_URL is correct.'

function causesOf(error: unknown): readonly Error[] {
  const causes: Error[] = []
  for (let cause = error; cause instanceof Error && causes.length < 10; cause = cause.cause) causes.push(cause)
  return causes
}

interface Facts {
  readonly folder: string
  readonly host: string
  readonly port: number
  /** The setting of the port. */
  readonly setting: string
}

function adviceFor(code: string, { folder, host, port, setting }: Facts): string | undefined {
  switch (code) {
    case 'EADDRINUSE':
      return `Port ${port} of ${host} is in use. Stop that program, or set ${setting} to another port.`
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return `${host} is not an address of this machine. Set HOST to one of its addresses, or to 0.0.0.0 for all.`
    case 'EACCES':
      return port > 0 && port < 1024
        ? `Port ${port} requires privileges that this user does not have. Set ${setting} to a port above 1023.`
        : `The data directory ${folder} is not writable. Change its owner, or set TURNPIKE_DATA_DIR.`
    case 'ENOENT':
    case 'EPERM':
    case 'EROFS':
      return `The data directory ${folder} is not writable. Change its owner, or set TURNPIKE_DATA_DIR.`
    case 'ENOSPC':
      return `The disk of the data directory ${folder} is full. Free disk space, or set TURNPIKE_DATA_DIR.`
    case 'EEXIST':
    case 'ENOTDIR':
      return `The data directory ${folder} is not a folder. Move that file away, or set TURNPIKE_DATA_DIR.`
    default:
      return undefined
  }
}
