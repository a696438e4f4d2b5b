/**
 * A PostgreSQL server of one's own: a new cluster in a temporary folder (in memory where there is room for it), on a free
 * port of this machine, gone with the process that started it, however that ends.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { chownSync, cpSync, existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { findTool } from '../../../scripts/kit/machine-tools.ts'
import { freePort } from './free-port.ts'

const MEMORY = '/dev/shm'
const PORT_ATTEMPTS = 3
const USER = 'turnpike'

export interface PostgresServerOptions {
  /** Beside those of the test servers, as in `postgresql.conf`. */
  readonly settings?: Readonly<Record<string, string>>
  /** A base backup, which is recovered to what `settings` say, in place of a new cluster. */
  readonly backup?: string
}

export interface PostgresServer {
  /** Of a superuser, without password, and the database `postgres`. */
  readonly url: string
  readonly port: number
  /** Of the server's main process, as of its last start. */
  readonly pid: () => number
  /** Ends it as a crash does, and starts it again on the same data and port. */
  readonly restart: () => Promise<void>
  /** Ends it as a crash does. `start` brings it back. */
  readonly crash: () => Promise<void>
  readonly start: () => Promise<void>
  /** Ends it and removes its data. */
  readonly stop: () => Promise<void>
}

/** Who runs the server, which refuses to be run by root. */
interface Runner {
  readonly uid?: number
  readonly gid?: number
}

export async function startPostgres({ settings = {}, backup }: PostgresServerOptions = {}): Promise<PostgresServer> {
  const bin = dirname(findTool('postgres'))
  const runner = findRunner()
  const folder = mkdtempSync(join(existsSync(MEMORY) ? MEMORY : tmpdir(), 'turnpike-postgres-'))
  if (runner.uid !== undefined && runner.gid !== undefined) chownSync(folder, runner.uid, runner.gid)
  const data = join(folder, 'data')
  const run = async (program: string, ...args: string[]): Promise<void> => {
    // What it leaves running must not hold our pipes open.
    const script = '"$@" > "$OUT" 2>&1 < /dev/null || { cat "$OUT" >&2; exit 1; }'
    const env = { ...process.env, OUT: join(folder, 'out'), LC_ALL: 'C' }
    await promisify(execFile)('sh', ['-c', script, 'sh', join(bin, program), ...args], { ...runner, cwd: folder, env })
  }
  if (backup === undefined) {
    await run('initdb', '-D', data, '-U', USER, '-A', 'trust', '-E', 'UTF8', '--no-sync', ...localeOf(bin))
  } else {
    cpSync(backup, data, { recursive: true })
    writeFileSync(join(data, 'recovery.signal'), '')
    if (runner.uid !== undefined) await promisify(execFile)('chown', ['-R', `${runner.uid}:${runner.gid}`, data])
  }
  const undertaker = watchOver({ bin, folder, runner })
  const start = async (port: number): Promise<void> => {
    const options = Object.entries({ ...SETTINGS, ...settings, port: String(port) })
    const flags = options.map(([name, value]) => `-c ${name}='${value}'`).join(' ')
    await run('pg_ctl', '-D', data, '-w', '-t', '60', '-l', join(folder, 'log'), '-o', flags, 'start')
  }
  const port = await onFreePort(start)
  const crash = () => run('pg_ctl', '-D', data, '-m', 'immediate', '-w', 'stop')
  return {
    url: `postgres://${USER}@127.0.0.1:${port}/postgres`,
    port,
    pid: () => Number(readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n')[0]),
    crash,
    start: () => start(port),
    async restart() {
      await crash()
      await start(port)
    },
    async stop() {
      const ended = new Promise((resolve) => undertaker.once('exit', resolve))
      undertaker.ref()
      undertaker.stdin?.end()
      await ended
    },
  }
}

/** Durable as our own start demands; in memory that costs next to nothing. */
const SETTINGS: Readonly<Record<string, string>> = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '400',
  fsync: 'on',
  // Statistics and clean-up that no test waits for, and compilation of queries whose costs are estimated without them.
  autovacuum: 'off',
  jit: 'off',
  shared_buffers: '64MB',
  max_wal_size: '256MB',
}

/** A language's order where the server can have one, so that what relies on the order of bytes has to ask for it. */
function localeOf(bin: string): readonly string[] {
  const major = Number(/\/(\d+)\/bin$/.exec(bin)?.[1] ?? 0)
  return major >= 15 ? ['--locale=C', '--locale-provider=icu', '--icu-locale=en-US'] : ['--locale=C']
}

function findRunner(): Runner {
  if (process.getuid?.() !== 0) return {}
  const users = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'))
  const [, , uid, gid] = users.find(([name]) => name === 'postgres') ?? users.find(([name]) => name === 'nobody') ?? []
  if (uid === undefined || gid === undefined) throw new Error('PostgreSQL needs a user other than root to run as.')
  return { uid: Number(uid), gid: Number(gid) }
}

/** Waits for the end of its input, which comes with the end of this process, then stops the server and cleans up. */
function watchOver(server: { readonly bin: string; readonly folder: string; readonly runner: Runner }): ChildProcess {
  const { bin, folder, runner } = server
  const script = 'cat > /dev/null; "$1/pg_ctl" -D "$2/data" -m immediate -w -t 10 stop; rm -rf "$2"/*; rmdir "$2"'
  const child = spawn('sh', ['-c', script, 'sh', bin, folder], {
    ...runner,
    cwd: '/',
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  child.unref()
  child.stdin?.on('error', () => undefined)
  if (child.stdin instanceof Socket) child.stdin.unref()
  return child
}

async function onFreePort(start: (port: number) => Promise<void>): Promise<number> {
  for (let attempt = 1; ; attempt++) {
    const port = await freePort()
    try {
      await start(port)
      return port
    } catch (error) {
      if (attempt === PORT_ATTEMPTS) throw error
    }
  }
}
