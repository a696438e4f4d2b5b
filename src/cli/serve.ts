import { randomBytes } from 'node:crypto'
import { flushCompileCache } from 'node:module'
import { ConfigError } from '../config/error.ts'
import type { Config } from '../config/schema.ts'
import { createIdSource } from '../domain/ids.ts'
import { ensureFirstStart } from '../features/accounts/first-account.ts'
import { findAccount } from '../features/accounts/queries.ts'
import { createSignInLink, signInUrl } from '../features/accounts/sign-in-link.ts'
import { createKey, FULL_ACCESS } from '../features/keys/queries.ts'
import { type OpenedLog, openLog } from '../http/log.ts'
import { type Service, startService } from '../main.ts'
import { loadCliConfig } from './context.ts'
import { listenForCommands } from './control-socket.ts'
import { crashOnBrokenInvariants } from './crash.ts'
import { openLedger } from './ledger.ts'
import type { ServeOptions } from './program.ts'
import { explainStartError } from './start-errors.ts'

/** A second signal sooner than this is a copy of the first: process managers and shells both pass it on. */
const COPY_MS = 1_000

/**
 * Runs the service until it receives a signal to end. A signal that comes while it starts is obeyed once it has.
 * @param version Of the program.
 */
export async function serve(options: ServeOptions, version: string): Promise<void> {
  const config = await loadCliConfig(options)
  // Whoever reads what is printed may go: requests are served all the same.
  for (const output of [process.stdout, process.stderr]) output.on('error', () => {})
  const { role, migrate: mayMigrate } = options
  const log = await openLog({ level: config.log_level, terminal: process.stdout.isTTY === true })
  const started = Promise.withResolvers<Service>()
  let running: Service | undefined
  crashOnBrokenInvariants(log, () => running)
  endOnSignals(started.promise, log)
  reloadOnSignal(started.promise, options, log)
  const service = await startService({ config, log, version, role, mayMigrate }).catch((error: unknown) => {
    throw explainStartError(error, config)
  })
  running = service
  if (role !== 'worker') await welcome(service, config)
  await listenForCommands(config.data_dir, () => reload(service, options, log)).catch((error: unknown) => {
    log.log.info({ reason: String(error) }, "'turnpike reload' does not reach this process, SIGHUP does")
  })
  const { pid } = process
  log.log.info({ role, url: service.url, pid, data: config.data_dir, config: config.file }, 'Turnpike is listening')
  started.resolve(service)
  // Also a process that is killed leaves the next start a warm one.
  flushCompileCache()
}

/** One that comes while the service starts is obeyed once it has: without a handler it would end the process. */
function reloadOnSignal(started: Promise<Service>, options: ServeOptions, log: OpenedLog): void {
  process.on('SIGHUP', () => {
    started.then(
      (service) => reload(service, options, log),
      () => {}, // the start failed, and says so itself
    )
  })
}

/** @returns What is wrong with the configuration; nothing: it is in force. */
async function reload(service: Service, options: ServeOptions, { log }: OpenedLog): Promise<readonly string[]> {
  try {
    await service.reload(await loadCliConfig(options))
    log.info('configuration reloaded')
    return []
  } catch (error) {
    const problems = error instanceof ConfigError ? error.problems : [String(error)]
    log.error({ problems }, 'configuration not reloaded; the running one stays in force')
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
      log.warn({ signal }, 'ended at once')
      endProcess(1)
    }
  }
  const endProcess = (exitCode: number): void => void flush().finally(() => process.exit(exitCode))
  process.on('SIGTERM', end)
  process.on('SIGINT', end)
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

/** On an installation's first start: everything needed for a first request, this once. */
async function welcome({ database, port }: Service, config: Config): Promise<void> {
  const born = { now: Date.now, ids: createIdSource(Date.now, randomBytes) }
  const { accountId, secret } = await ensureFirstStart(
    database.db,
    {
      plan: config.accounts.default_plan,
      createFirstKey: async (inside, account) => {
        const { key, secret } = await createKey(inside, { ...FULL_ACCESS, accountId: account, name: 'First key' }, born)
        return { id: key.id, secret }
      },
    },
    born,
  )
  if (secret === undefined) return
  const account = await findAccount(database.db, accountId)
  if (account !== undefined) await openLedger(database, config).credit.read(account)
  const token = await createSignInLink(database.db, accountId, born.now())
  const url = config.server.public_url.replace(/:0$/, `:${port}`)
  process.stdout.write(firstStartText({ url, secret, token }))
}

function firstStartText({ url, secret, token }: { url: string; secret: string; token: string }): string {
  return `
  Turnpike is running at ${url}

  Your API key, shown this once:

    ${secret}

  A first request, ready to paste:

    curl ${url}/v1/chat/completions \\
      -H "Authorization: Bearer ${secret}" \\
      -H "Content-Type: application/json" \\
      -d '{"model": "turnpike-simulator", "messages": [{"role": "user", "content": "Hello!"}]}'

  Dashboard, a sign-in link for 15 minutes and one use:

    ${signInUrl(url, token)}

  This is process ${process.pid}. After a change of the configuration: turnpike reload, or kill -HUP ${process.pid}

`
}
