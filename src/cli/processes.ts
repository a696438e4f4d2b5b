/**
 * `serve --processes`: starts gateway processes, restarts those that end, and passes signals on. It serves nothing and opens
 * no database: each process has a listening socket on the port, and the kernel spreads connections (`SO_REUSEPORT`).
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { PROCESS_VARIABLE, processEnvironment } from '../config/environment.ts'
import type { Config } from '../config/schema.ts'
import type { OpenedLog } from '../telemetry/log.ts'

/** The wait before a restart doubles with each failure in a row, up to the last value. */
const FIRST_RESTART_MS = 250
const LAST_RESTART_MS = 30_000
/** After a process has run for this time, its next restart waits `FIRST_RESTART_MS` again. */
const STABLE_MS = 60_000

interface SuperviseInput extends OpenedLog {
  readonly config: Config
  readonly count: number
}

/** Resolves when all processes listen; this process ends with them. Rejects if the port is not free. */
export async function superviseProcesses({ config, count, log, flush }: SuperviseInput): Promise<void> {
  await assertPortIsFree(config.server)
  if (config.redis_url === undefined) {
    log.warn({ processes: count }, 'each process counts rate limits by itself: set REDIS_URL to count them together')
  }
  const supervisor = createSupervisor({ log, flush })
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => supervisor.end(signal))
  process.on('SIGHUP', () => supervisor.signal('SIGHUP'))
  // The first process applies migrations and reports problems, so that this happens once; if it fails, the start fails.
  const port = await supervisor.start(1)
  const rest = Array.from({ length: count - 1 }, (_, index) => supervisor.start(index + 2, port))
  await Promise.all(rest)
  log.info({ processes: count, pid: process.pid }, 'all processes are listening')
}

/** Without this check, the processes would share the port with any program of the same user that sets `SO_REUSEPORT`. */
async function assertPortIsFree({ host, port }: Config['server']): Promise<void> {
  if (process.platform === 'darwin' || process.platform === 'win32') {
    throw new Error(`server.processes: ${process.platform} cannot share a port between processes; set it to 1.`)
  }
  const server = createServer().listen({ host, port })
  await once(server, 'listening')
  server.close()
  await once(server, 'close')
}

function createSupervisor({ log, flush }: Pick<SuperviseInput, 'log' | 'flush'>) {
  const running = new Map<number, ChildProcess>()
  let isStarted = false
  let isEnding = false
  let exitCode = 0
  const signal = (name: NodeJS.Signals): void => {
    for (const child of running.values()) child.kill(name)
  }
  const end = (name: NodeJS.Signals): void => {
    isEnding = true
    signal(name)
    endIfAlone()
  }
  const endIfAlone = (): void => {
    if (running.size === 0) void flush().finally(() => process.exit(exitCode))
  }
  /**
   * @param port The port of the processes that already listen; undefined: that of the configuration.
   * @param failures The number of early exits of this process in a row.
   * @returns The port on which it listens, also if it does so only after restarts.
   */
  const start = (number: number, port?: number, failures = 0): Promise<number> => {
    const { promise, resolve } = Promise.withResolvers<number>()
    const child = forkProcess(number, port)
    const startedAt = performance.now()
    running.set(number, child)
    child.once('exit', (code, killedBy) => {
      running.delete(number)
      if (isEnding || !isStarted) {
        exitCode ||= code ?? 1
        return isEnding ? endIfAlone() : end('SIGTERM')
      }
      const earlier = performance.now() - startedAt < STABLE_MS ? failures : 0
      const waitMs = Math.min(FIRST_RESTART_MS * 2 ** earlier, LAST_RESTART_MS)
      log.error({ process: number, code, signal: killedBy, restart_ms: waitMs }, 'a process ended and is restarted')
      setTimeout(() => isEnding || resolve(start(number, port, earlier + 1)), waitMs)
    })
    child.once('message', (listeningOn: number) => {
      isStarted = true
      port = listeningOn
      resolve(listeningOn)
    })
    return promise
  }
  return { start, signal, end }
}

function forkProcess(number: number, port: number | undefined): ChildProcess {
  const [, program = '', ...words] = process.argv
  const args = port === undefined ? words : [...(words.length === 0 ? ['serve'] : words), '--port', String(port)]
  // Detached, so that a terminal's Ctrl-C reaches each process once, from this one.
  return fork(program, args, { detached: true, env: { ...processEnvironment, [PROCESS_VARIABLE]: String(number) } })
}

/** Reports the port to the process that started this one. Drains when that one has ended, also before this call. */
export function reportListening(port: number): void {
  const drain = () => process.kill(process.pid, 'SIGTERM')
  if (process.connected === false) return void drain() // a message would be an uncaught error
  process.once('disconnect', drain)
  process.send?.(port)
}
