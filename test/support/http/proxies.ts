/** Proxies in front of gateways, with the files of `deploy/proxies` and a certificate for 127.0.0.1. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { Agent, request } from 'undici'
import { findTool } from '../../../scripts/kit/machine-tools.ts'
import { eventually } from '../client.ts'
import { createTestAuthority } from '../identity/test-authority.ts'

const PROXIES = join(import.meta.dirname, '..', '..', '..', 'deploy', 'proxies')

/** Text of a file of `deploy/proxies` → what it is in the test. */
export type Replaced = readonly (readonly [from: string, to: string])[]

interface Proxy {
  readonly pid: number
  /** Without trailing slash. */
  readonly url: string
}

export interface Proxies {
  /** Accepts the certificates of the proxies. */
  readonly dispatcher: Agent
  /** Writes a file with parts replaced. @returns Its path. */
  prepare(name: string, replaced: Replaced): string
  /** @param replaced The servers. @returns Again with other servers, before `SIGHUP`. */
  startNginx(t: TestContext, port: number, replaced: Replaced): Promise<Proxy & { rewrite(replaced: Replaced): void }>
  startHaproxy(t: TestContext, port: number, replaced: Replaced): Promise<Proxy>
  /** @param path Of the program. */
  startEnvoy(t: TestContext, path: string, ports: { readonly proxy: number; readonly gateway: number }): Promise<Proxy>
  /** Resolves once the proxy answers. */
  start(t: TestContext, url: string, command: readonly string[]): Promise<Proxy>
}

/** @param after Of `node:test`. */
export function createProxies(after: (run: () => unknown) => void): Proxies {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-proxies-'))
  // A proxy that reloads ends HTTP/2 connections with GOAWAY, after which a client repeats what was not begun; undici fails.
  const options = { allowH2: false, pipelining: 0, connections: null }
  const dispatcher = new Agent({ ...options, connect: { rejectUnauthorized: false } })
  after(() => {
    rmSync(folder, { recursive: true })
    return dispatcher.close()
  })
  const write = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text)
    return join(folder, name)
  }
  const { cert, key } = createTestAuthority(after).certify('IP:127.0.0.1')
  const certificate = { cert: write('cert.pem', cert), key: write('key.pem', key), both: write('both.pem', cert + key) }

  const prepare = (name: string, replaced: Replaced): string => {
    let text = readFileSync(join(PROXIES, name), 'utf8')
    for (const [from, to] of replaced) {
      assert.ok(text.includes(from), `${name} has ${from}`)
      text = text.replaceAll(from, to)
    }
    return write(name, text)
  }

  const start = async (t: TestContext, url: string, [program = '', ...words]: readonly string[]): Promise<Proxy> => {
    const child = spawn(program, words, { cwd: folder, env: { PATH: '', HOME: folder } })
    const exited = new Promise((resolve) => child.once('exit', resolve))
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (piece) => (output += String(piece)))
    t.after(async () => {
      child.kill('SIGTERM')
      await exited
    })
    const status = () => {
      assert.equal(child.exitCode, null, output)
      return request(`${url}/healthz`, { dispatcher }).then(
        ({ statusCode, body }) => body.dump().then(() => statusCode),
        () => 0,
      )
    }
    await eventually(status, (code) => code === 200)
    return { pid: child.pid ?? assert.fail(), url }
  }

  return {
    dispatcher,
    prepare,
    start,
    async startNginx(t, port, replaced) {
      const rewrite = (servers: Replaced): string =>
        prepare('nginx.conf', [
          ['listen 443 ', `listen 127.0.0.1:${port} `],
          ['/etc/nginx/tls/ai.example.com.pem', certificate.cert],
          ['/etc/nginx/tls/ai.example.com.key', certificate.key],
          ...servers,
        ])
      const user = process.getuid?.() === 0 ? 'user root;' : ''
      const main = write(
        'main.conf',
        `${user} daemon off; worker_processes 1; error_log stderr; pid ${folder}/nginx.pid; events { worker_connections 4096; }
http { access_log off; client_body_temp_path ${folder}/body; proxy_temp_path ${folder}/proxy; include ${rewrite(replaced)}; }`,
      )
      const command = [findTool('nginx'), '-p', folder, '-c', main]
      return { ...(await start(t, `https://127.0.0.1:${port}`, command)), rewrite }
    },
    async startHaproxy(t, port, replaced) {
      const file = prepare('haproxy.cfg', [
        ['bind :443 ', `bind 127.0.0.1:${port} `],
        ['/etc/haproxy/tls/ai.example.com.pem', certificate.both],
        ...replaced,
      ])
      return start(t, `https://127.0.0.1:${port}`, [findTool('haproxy'), '-db', '-f', file])
    },
    async startEnvoy(t, path, ports) {
      const file = prepare('envoy.yaml', [
        ['0.0.0.0, port_value: 443 ', `127.0.0.1, port_value: ${ports.proxy} `],
        ['127.0.0.1, port_value: 7575 ', `127.0.0.1, port_value: ${ports.gateway} `],
        ['/etc/envoy/tls/ai.example.com.pem', certificate.cert],
        ['/etc/envoy/tls/ai.example.com.key', certificate.key],
      ])
      return start(t, `https://127.0.0.1:${ports.proxy}`, [path, '--use-dynamic-base-id', '-c', file])
    },
  }
}
