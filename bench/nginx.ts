/** The least that a reverse proxy costs: nginx with `proxy_pass`, in one process, with kept connections, unbuffered. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../test/support/process/free-port.ts'
import { type BenchProcess, startServer } from './processes.ts'

/** Returns the version of the nginx on the PATH; undefined if there is none. */
export function nginxVersion(): string | undefined {
  return /nginx\/(\S+)/.exec(spawnSync('nginx', ['-v'], { encoding: 'utf8' }).stderr ?? '')?.[1]
}

export async function startNginx(upstreamPort: number): Promise<BenchProcess> {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-nginx-'))
  const port = await freePort()
  const file = join(folder, 'nginx.conf')
  writeFileSync(file, configOf({ folder, port, upstreamPort }))
  const args = ['-e', 'stderr', '-c', file]
  return await startServer({ command: 'nginx', args, port, readyPath: '/', logFile: join(folder, 'nginx.log') })
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
