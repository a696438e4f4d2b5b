/**
 * A Redis server of a test's own: on a free port of this machine, in a temporary folder, keeping nothing. Where there is
 * none, it is installed as root with apt-get; the package brings a service that is not started.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { SINCE_KEY } from '../../../src/features/limits/redis-scripts.ts'
import { freePort } from './free-port.ts'

const PROGRAMS = ['redis-server', 'valkey-server']
const INSTALL = 'apt-get install -y --no-install-recommends redis-server'
const READY_WITHIN_MS = 60_000
const PORT_ATTEMPTS = 3

export interface RedisServer {
  readonly url: string
  readonly port: number
  /** A connection beside those that are tested, closed with the server. */
  readonly client: Redis
  /** Sends a signal to the server's process, and to no other. */
  signal(name: NodeJS.Signals): void
  /** Ends it at once; what it held is gone. */
  kill(): Promise<void>
  /** Starts it again on the same port. */
  restart(): Promise<void>
  stop(): Promise<void>
}

export interface RedisServerOptions {
  /** More of the server's own settings, such as `--requirepass`. */
  readonly args?: readonly string[]
  readonly password?: string
}

/** Stopped when the test ends. As one that has counted for long: a new one begins with limits nearly spent. */
export async function temporaryRedis(test: TestContext, options: RedisServerOptions = {}): Promise<RedisServer> {
  const server = await startRedis(options)
  test.after(() => server.stop())
  return server
}

export async function startRedis({ args = [], password }: RedisServerOptions = {}): Promise<RedisServer> {
  const program = findProgram()
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-redis-'))
  const secret = password === undefined ? [] : ['--requirepass', password]
  const launch = (port: number) => launchRedis({ program, folder, port, args: [...secret, ...args] })
  const { port, child } = await onFreePort(launch)
  let running = child
  const url = `redis://${password === undefined ? '' : `:${password}@`}127.0.0.1:${port}`
  const client = new Redis(url, { retryStrategy: () => 50, lazyConnect: true })
  client.on('error', () => undefined) // killed servers are part of the tests
  await client.set(SINCE_KEY, 0)
  const kill = (): Promise<void> => ended(running)
  return {
    url,
    port,
    client,
    signal: (name) => void running.kill(name),
    kill,
    async restart() {
      await ended(running)
      running = await launch(port)
    },
    async stop() {
      client.disconnect()
      await kill()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

interface Launch {
  readonly program: string
  readonly folder: string
  readonly port: number
  readonly args: readonly string[]
}

/** Resolves when the server accepts connections. */
async function launchRedis({ program, folder, port, args }: Launch): Promise<ChildProcess> {
  const own = ['--bind', '127.0.0.1', '--port', String(port), '--dir', folder, '--save', '', '--appendonly', 'no']
  const child = spawn(program, [...own, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
  const orphan = (): void => void child.kill('SIGKILL')
  process.once('exit', orphan)
  child.once('exit', () => process.off('exit', orphan))
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (piece: Buffer) => {
      output += piece.toString()
    })
  }
  const until = performance.now() + READY_WITHIN_MS
  while (!/ready to accept connections/i.test(output)) {
    if (child.exitCode !== null || performance.now() > until) {
      child.kill('SIGKILL')
      throw new Error(`${program} did not start on port ${port}:\n${output}`)
    }
    await sleep(10)
  }
  return child
}

/** Another program may take the port between asking for it and using it. */
async function onFreePort(
  launch: (port: number) => Promise<ChildProcess>,
): Promise<{ readonly port: number; readonly child: ChildProcess }> {
  for (let attempt = 1; ; attempt += 1) {
    const port = await freePort()
    try {
      return { port, child: await launch(port) }
    } catch (error) {
      if (attempt === PORT_ATTEMPTS) throw error
    }
  }
}

function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve()
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  child.kill('SIGKILL')
  return exited
}

function findProgram(): string {
  const found = PROGRAMS.find(runs)
  if (found !== undefined) return found
  if (process.getuid?.() === 0) install()
  const installed = PROGRAMS.find(runs)
  if (installed === undefined) throw new Error(`These tests need a Redis server. Install it with: sudo ${INSTALL}`)
  return installed
}

function runs(program: string): boolean {
  try {
    execFileSync(program, ['--version'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

function install(): void {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' }
  try {
    execFileSync('apt-get', ['update'], { stdio: 'ignore', timeout: 120_000 })
    execFileSync('/bin/sh', ['-c', INSTALL], { stdio: 'ignore', env, timeout: 300_000 })
  } catch {
    // The caller says what to do.
  }
}
