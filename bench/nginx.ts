/** The least that a reverse proxy costs: nginx with `proxy_pass`, in one process, with kept connections, unbuffered. */
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../test/support/process/free-port.ts'
import type { BenchProcess } from './processes.ts'

const READY_POLL_MS = 20
const READY_WITHIN_MS = 5_000

/** Returns the version of the nginx on the PATH; undefined if there is none. */
export function nginxVersion(): string | undefined {
  return /nginx\/(\S+)/.exec(spawnSync('nginx', ['-v'], { encoding: 'utf8' }).stderr ?? '')?.[1]
}

/** Rejects if nginx does not listen within 5 s. */
export async function startNginx(upstreamPort: number): Promise<BenchProcess> {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-nginx-'))
  const port = await freePort()
  const file = join(folder, 'nginx.conf')
  writeFileSync(file, configOf({ folder, port, upstreamPort }))
  execFileSync('nginx', ['-t', '-q', '-e', 'stderr', '-c', file], { stdio: 'inherit' })
  const child = spawn('nginx', ['-e', 'stderr', '-c', file], { stdio: ['ignore', 'inherit', 'inherit'] })
  const stop = (): void => {
    child.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  }
  process.once('exit', stop)
  for (const until = performance.now() + READY_WITHIN_MS; !(await isOpen(port)); await sleep(READY_POLL_MS)) {
    if (performance.now() > until) throw new Error(`nginx does not listen on port ${port}.`)
  }
  return { pid: child.pid ?? 0, port, stop }
}

interface NginxInput {
  readonly folder: string
  readonly port: number
  readonly upstreamPort: number
}

/** Every path is in the folder: nginx needs no rights of root then. */
function configOf({ folder, port, upstreamPort }: NginxInput): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  return `daemon off; master_process off; worker_processes 1; pid ${folder}/pid; error_log stderr error;
events { worker_connections 4096; }
http {
  access_log off; keepalive_requests 1000000;
  ${temporary.map((name) => `${name}_temp_path ${folder}/${name};`).join(' ')}
  upstream provider { server 127.0.0.1:${upstreamPort}; keepalive 512; keepalive_requests 1000000; }
  server {
    listen 127.0.0.1:${port} backlog=1024;
    location / {
      proxy_pass http://provider; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_buffering off;
    }
  }
}
`
}

async function isOpen(port: number): Promise<boolean> {
  const socket = connect({ port, host: '127.0.0.1' })
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}
