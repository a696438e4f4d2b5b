/**
 * How git in its jail reaches its remote: not at all, through a relay (https, http), or through pipes to a git in a second
 * jail that serves a repository of this machine (file).
 */
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { statSync } from 'node:fs'
import {
  request as httpRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type ServerResponse,
} from 'node:http'
import { tmpdir } from 'node:os'
import { type Destination, FORWARDER_PORT, forwarderTo, lookupOf, openProxy, RefusedError } from '../sandbox/egress.ts'
import type { SystemUser } from '../sandbox/folders.ts'
import type { ReadOnlyPath } from '../sandbox/launch.ts'
import { GitError, type GitErrorCode } from './error.ts'
import {
  connectPeers,
  endGroup,
  type GitConnection,
  type Jail,
  PEER_PREPARE,
  PEER_PROGRAM,
  SERVER_ENVIRONMENT,
  startInJail,
} from './jail.ts'
import type { GitSettings } from './settings.ts'

export interface Route extends Pick<Jail, 'prepare' | 'unixSockets' | 'hasPeer' | 'readOnly'> {
  /** Arguments of git before its command. */
  readonly settings: readonly string[]
  /** Adapts the command and its arguments to this route. */
  readonly routedArguments: (args: readonly string[]) => readonly string[]
  readonly connect: (child: ChildProcess) => void
  /** Standard error of the server. */
  readonly stderr: () => string
  /** Resolves when all of its processes have ended. */
  readonly close: () => Promise<void>
}

export const DIRECT: Route = {
  prepare: '',
  unixSockets: false,
  hasPeer: false,
  readOnly: [],
  settings: [],
  routedArguments: (args) => args,
  connect: () => undefined,
  stderr: () => '',
  close: async () => undefined,
}

interface RouteRequest {
  readonly settings: GitSettings
  readonly connection?: GitConnection
  /** Code of the error if there is no route. */
  readonly code?: GitErrorCode
}

/** @throws GitError `not_found` if a repository of this machine does not exist. */
export async function openRoute(request: RouteRequest): Promise<Route> {
  const { connection, settings, code = 'internal_error' } = request
  if (connection === undefined) return DIRECT
  if (connection.localPath === undefined) return await relayRoute(connection, settings.user)
  const { localPath, isPush } = connection
  const owner = statSync(localPath, { throwIfNoEntry: false })
  if (owner === undefined) throw new GitError({ code, reason: 'not_found', detail: `there is no ${localPath}` })
  return peerRoute({ localPath, isPush, owner }, settings.limits)
}

async function relayRoute(connection: GitConnection, user: SystemUser | undefined): Promise<Route> {
  const { readOnly, prepare, close } = await openRelay(new URL(connection.url), connection.addresses, user)
  const settings = ['-c', PROXY_SETTING]
  return { ...DIRECT, readOnly, prepare, unixSockets: true, settings, close: async () => close() }
}

/** Kept part of the server's standard error: the reason is at its end. */
const STDERR_LENGTH = 8 * 1024

interface LocalRepository {
  readonly localPath: string
  readonly isPush: boolean
  readonly owner: SystemUser
}

/** A git process of the repository's owner serves it in its own jail; the run's git never reads its files. */
function peerRoute(repository: LocalRepository, limits: GitSettings['limits']): Route {
  const { localPath, isPush } = repository
  const service = isPush ? 'receive-pack' : 'upload-pack'
  const server = startInJail({
    ...DIRECT,
    argv: ['git', service, localPath],
    environment: SERVER_ENVIRONMENT,
    user: switchedUser(repository.owner),
    writable: isPush ? [localPath] : [],
    readOnly: isPush ? [] : [{ from: localPath, to: localPath }],
    hasCredential: false,
    limits: { fileBytes: limits.packBytes, memoryBytes: limits.memoryBytes },
  })
  let stderr = ''
  server.stderr?.on('data', (chunk: Buffer) => {
    stderr = `${stderr}${chunk.toString('utf8')}`.slice(-STDERR_LENGTH)
  })
  const closed = once(server, 'close').catch(() => undefined)
  return {
    ...DIRECT,
    prepare: PEER_PREPARE,
    hasPeer: true,
    routedArguments: ([command = '', ...rest]) => [command, `--${service}=${PEER_PROGRAM}`, ...rest],
    connect: (child) => connectPeers(child, server),
    stderr: () => stderr,
    async close() {
      endGroup(server)
      await closed
    },
  }
}

/** Undefined: the user of this process. Only root can switch to another one. */
function switchedUser({ uid, gid }: SystemUser): SystemUser | undefined {
  return process.getuid?.() !== 0 || uid === 0 ? undefined : { uid, gid }
}

interface Relay {
  /** Files that the jail needs for it. */
  readonly readOnly: readonly ReadOnlyPath[]
  /** Shell code that runs in the jail before git: forwards connections from `PROXY_SETTING` to the socket. */
  readonly prepare: string
  readonly close: () => void
}

/** A setting of git. */
const PROXY_SETTING = `http.proxy=http://127.0.0.1:${FORWARDER_PORT}`

/** Forwarded headers. Node rejects some others when it writes the message. */
const REQUEST_HEADERS = ['accept', 'accept-encoding', 'accept-language', 'authorization', 'content-encoding']
const BODY_HEADERS = ['content-length', 'content-type', 'transfer-encoding']
const FORWARDED = [...REQUEST_HEADERS, ...BODY_HEADERS, 'git-protocol', 'pragma', 'user-agent']
const RETURNED = [...BODY_HEADERS, 'cache-control', 'content-encoding', 'location', 'www-authenticate']

/** @param addresses Checked addresses of the URL's host, the only ones that git can connect to. */
async function openRelay(url: URL, addresses: readonly string[], user: SystemUser | undefined): Promise<Relay> {
  const destination: Destination = {
    addresses,
    port: Number(url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : url.port),
  }
  const authority = `${url.hostname}:${destination.port}`
  const proxy = await openProxy(
    {
      async findDestination(wanted) {
        if (url.protocol === 'https:' && wanted.toLowerCase() === authority) return destination
        throw new RefusedError('Only the git server of this call is allowed.')
      },
      answer: (request, response) => passOn(request, response, { url, destination }),
    },
    tmpdir(),
    user,
  )
  return { ...forwarderTo(proxy.folder), close: proxy.close }
}

function passOn(
  request: IncomingMessage,
  response: ServerResponse,
  { url, destination }: { url: URL; destination: Destination },
): void {
  const wanted = URL.parse(request.url ?? '')
  if (url.protocol !== 'http:' || wanted?.origin !== url.origin) {
    response.writeHead(403, { connection: 'close' }).end('Only the git server of this call is allowed.\n')
    return
  }
  const headers = { ...only(FORWARDED, request.headers), host: url.host }
  const { method = 'GET' } = request
  const { pathname, search } = wanted
  const target = { host: 'target', port: destination.port, lookup: lookupOf(destination), agent: false } as const
  const upstream = httpRequest({ ...target, method, path: `${pathname}${search}`, headers })
  upstream.on('response', (answer) => {
    const { statusCode = 0 } = answer
    response.writeHead(statusCode >= 200 && statusCode < 600 ? statusCode : 502, only(RETURNED, answer.headers))
    answer.on('error', () => response.destroy()).pipe(response)
  })
  // Node reports a switch of protocols as neither a response nor an error.
  upstream.on('error', () => upstream.destroy()).on('upgrade', (_, socket) => socket.destroy())
  // A truncated response is an error of its own.
  upstream.on('close', () => {
    if (!response.headersSent) response.writeHead(502).end()
  })
  response.on('close', () => upstream.destroy())
  request.on('error', () => upstream.destroy()).pipe(upstream)
}

function only(names: readonly string[], headers: IncomingHttpHeaders): OutgoingHttpHeaders {
  return Object.fromEntries(names.flatMap((name) => (headers[name] === undefined ? [] : [[name, headers[name]]])))
}
