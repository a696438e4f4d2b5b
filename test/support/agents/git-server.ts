/** A git server over HTTP: the system's `git http-backend` behind Node's server, with tokens, and with what may go wrong. */
import { execFileSync, spawn } from 'node:child_process'
import { createServer as createPlainServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { join } from 'node:path'
import type { ServerCertificate } from '../identity/test-authority.ts'

export interface GitServerOptions {
  /** Folder of bare repositories, `organisation/name.git` each. */
  readonly root: string
  /** The password that is asked for, of whatever user. Undefined: everybody may read and write. */
  readonly token?: string
  /** Where it sends everybody instead of answering. */
  readonly redirectTo?: string
  /** Takes requests of this method and never answers. */
  readonly hangsOn?: 'GET' | 'POST'
  readonly certificate?: ServerCertificate
  /** Answers what is below `/api/`. */
  readonly api?: (request: IncomingMessage, response: ServerResponse) => void
}

export interface GitRequest {
  readonly method: string
  /** With its query. */
  readonly path: string
  readonly host: string
  readonly authorization: string | undefined
}

export interface GitServer {
  /** Without a slash at its end. */
  readonly url: string
  readonly port: number
  readonly requests: readonly GitRequest[]
  close(): Promise<void>
}

export async function startGitServer(options: GitServerOptions): Promise<GitServer> {
  const requests: GitRequest[] = []
  const sockets = new Set<Socket>()
  const listener = (request: IncomingMessage, response: ServerResponse): void => {
    const { method = '', url: path = '', headers } = request
    requests.push({ method, path, host: headers.host ?? '', authorization: headers.authorization })
    if (options.api !== undefined && path.startsWith('/api/')) {
      options.api(request, response)
    } else if (options.redirectTo !== undefined) {
      response.writeHead(301, { location: options.redirectTo + path }).end()
    } else if (!mayEnter(headers.authorization, options.token)) {
      response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end()
    } else if (options.hangsOn !== method) {
      answer(request, response, options)
    }
  }
  const { certificate } = options
  const server = certificate === undefined ? createPlainServer(listener) : createSecureServer(certificate, listener)
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo // it listens on a port
  return {
    url: `${certificate === undefined ? 'http' : 'https'}://127.0.0.1:${port}`,
    port,
    requests,
    close: async () => {
      const closed = new Promise((resolve) => server.close(resolve))
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
}

function mayEnter(authorization: string | undefined, token: string | undefined): boolean {
  if (token === undefined) return true
  const [, encoded = ''] = /^Basic (.+)$/.exec(authorization ?? '') ?? []
  return Buffer.from(encoded, 'base64').toString().split(':').slice(1).join(':') === token
}

const BACKEND = join(execFileSync('git', ['--exec-path'], { encoding: 'utf8' }).trim(), 'git-http-backend')
const HEAD_END = '\r\n\r\n'

/** As a web server does for a CGI program (RFC 3875). */
function answer(request: IncomingMessage, response: ServerResponse, { root }: GitServerOptions): void {
  const url = new URL(request.url ?? '/', 'http://server')
  const backend = spawn(BACKEND, [], {
    stdio: ['pipe', 'pipe', 'ignore'],
    env: {
      PATH: process.env['PATH'],
      GIT_PROJECT_ROOT: root,
      GIT_HTTP_EXPORT_ALL: '1',
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_CONFIG_GLOBAL: '/dev/null',
      REMOTE_USER: 'tester', // without one it takes no pushes
      REMOTE_ADDR: '127.0.0.1',
      REQUEST_METHOD: request.method,
      PATH_INFO: decodeURIComponent(url.pathname),
      QUERY_STRING: url.search.slice(1),
      CONTENT_TYPE: request.headers['content-type'] ?? '',
      HTTP_CONTENT_ENCODING: request.headers['content-encoding'] ?? '',
      GIT_PROTOCOL: String(request.headers['git-protocol'] ?? ''),
    },
  })
  backend.stdin.on('error', () => {})
  request.pipe(backend.stdin)
  response.once('close', () => backend.kill())
  let head: Buffer | undefined = Buffer.alloc(0)
  backend.stdout.on('data', (chunk: Buffer) => {
    if (head === undefined) return void response.write(chunk)
    head = Buffer.concat([head, chunk])
    const end = head.indexOf(HEAD_END)
    if (end === -1) return
    writeHead(response, head.subarray(0, end).toString('latin1'))
    response.write(head.subarray(end + HEAD_END.length))
    head = undefined
  })
  backend.stdout.on('end', () => response.end())
}

function writeHead(response: ServerResponse, head: string): void {
  for (const line of head.split('\r\n')) {
    const [, name = '', value = ''] = /^([^:]+): *(.*)$/.exec(line) ?? []
    if (name.toLowerCase() === 'status') response.statusCode = Number.parseInt(value, 10)
    else if (name !== '') response.setHeader(name, value)
  }
}
