/**
 * The only way out of a sandbox with a network: `CONNECT` to hosts of a list, over a socket in the file system. It reads
 * a host once, resolves it itself, and connects to an address that it has checked; names and addresses that commands
 * choose go no further than here. What is then sent is encrypted, and not looked at.
 */
import { chmodSync, chownSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import { domainToASCII } from 'node:url'
import { isWithinReach, type Reach, reachOf, type TargetRule } from '../../lib/public-address.ts'
import { sandboxUser } from './user.ts'

export interface EgressOptions {
  /** Names; one that starts with a dot stands for all names below it. */
  readonly hosts: readonly string[]
  /** Every address of a name, at least one; rejects otherwise. What it answers is checked. */
  readonly resolve: (hostname: string) => Promise<readonly string[]>
  /** Public addresses, ports 443 and 8443, unless said. */
  readonly rule?: TargetRule
}

export interface EgressProxy {
  /** Holds the socket and nothing else. */
  readonly folder: string
  readonly close: () => void
}

export const SOCKET_NAME = 'proxy.sock'
const MAX_CONNECTIONS = 64
const MAX_HEADER_BYTES = 8 * 1024
const HEADERS_TIMEOUT_MS = 10_000
const CONNECT_TIMEOUT_MS = 10_000
const IDLE_MS = 300_000
const PUBLIC_ONLY: TargetRule = { allowPrivateNetworks: false }
/** Names and IPv4 addresses, as they are sent: no user, no zone, no brackets, no percent, nothing unseen. */
const AUTHORITY = /^([a-z0-9_](?:[a-z0-9_.-]{0,251}[a-z0-9_])?):(\d{1,5})$/i

interface Way {
  readonly address: string
  readonly port: number
}

class RefusedError extends Error {
  override readonly name = 'RefusedError'
}

/** @param inFolder Where the folder of the socket is made. */
export async function openEgressProxy(options: EgressOptions, inFolder: string): Promise<EgressProxy> {
  const isAllowed = hostMatcher(options.hosts)
  const tunnels = new Set<Duplex>()
  const server = createServer({ maxHeaderSize: MAX_HEADER_BYTES, headersTimeout: HEADERS_TIMEOUT_MS })
  server.maxConnections = MAX_CONNECTIONS
  server.on('request', (_, response) => {
    response.writeHead(403, { 'content-type': 'text/plain', connection: 'close' })
    response.end('Only https is let out of this sandbox, by CONNECT.\n')
  })
  server.on('connect', (request, socket, head) => {
    tunnels.add(socket)
    socket.on('error', () => socket.destroy()).on('close', () => tunnels.delete(socket))
    findWay(request, isAllowed, options).then(
      (way) => openTunnel(way, socket, head),
      (error) => refuse(socket, error instanceof RefusedError ? error.message : 'The name does not resolve.'),
    )
  })
  const folder = mkdtempSync(join(inFolder, 'egress-'))
  const user = sandboxUser()
  if (user !== undefined) chownSync(folder, user.uid, user.gid)
  await listen(server, join(folder, SOCKET_NAME))
  return {
    folder,
    close() {
      server.close()
      server.closeAllConnections()
      for (const socket of tunnels) socket.destroy()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Its folder is open to this process and to the sandbox's user alone. */
async function listen(server: ReturnType<typeof createServer>, path: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  server.once('error', reject).listen(path, resolve)
  await promise
  server.unref()
  chmodSync(path, 0o666)
}

/** @throws RangeError for an entry that is no name: what it was meant to allow is not guessed. */
export function hostMatcher(hosts: readonly string[]): (host: string) => boolean {
  const exact = new Set<string>()
  const suffixes: string[] = []
  for (const entry of hosts) {
    const isSuffix = entry.startsWith('.')
    const name = domainToASCII(isSuffix ? entry.slice(1) : entry).toLowerCase()
    if (!AUTHORITY.test(`${name}:1`)) throw new RangeError(`'${entry}' is no host name.`)
    if (isSuffix) suffixes.push(`.${name}`)
    else exact.add(name)
  }
  return (host) => exact.has(host) || suffixes.some((suffix) => host.endsWith(suffix))
}

async function findWay(
  { url = '' }: IncomingMessage,
  isAllowed: (host: string) => boolean,
  { resolve, rule = PUBLIC_ONLY }: EgressOptions,
): Promise<Way> {
  const [, name, digits] = AUTHORITY.exec(url) ?? []
  if (name === undefined || digits === undefined) throw new RefusedError('This is no host and port.')
  const host = name.toLowerCase()
  if (!isAllowed(host)) throw new RefusedError(`${host} is not among the hosts that may be reached from here.`)
  const port = Number(digits)
  const reach = port < 65_536 ? reachOf({ protocol: 'https:', port: String(port) }, rule) : undefined
  if (reach === undefined) throw new RefusedError('Only ports 443 and 8443 may be reached from here.')
  return { address: checkedAddress(await resolve(host), reach), port }
}

/** One address that is refused refuses the name. */
function checkedAddress(addresses: readonly string[], reach: Reach): string {
  const [first] = addresses
  if (first === undefined || !addresses.every((address) => isWithinReach(address, reach))) {
    throw new RefusedError('The name leads to an address that may not be reached from here.')
  }
  return first
}

function refuse(socket: Duplex, message: string): void {
  const text = `${message}\n`
  const head = `HTTP/1.1 403 Forbidden\r\ncontent-type: text/plain\r\ncontent-length: ${text.length}\r\nconnection: close`
  socket.end(`${head}\r\n\r\n${text}`)
}

function openTunnel({ address, port }: Way, socket: Duplex, head: Buffer): void {
  const target: Socket = connect({ host: address, port, timeout: CONNECT_TIMEOUT_MS })
  let isOpen = false
  target.on('timeout', () => target.destroy())
  target.on('error', () => {
    if (isOpen) socket.destroy()
    else refuse(socket, 'The host does not answer.')
  })
  target.on('close', () => socket.end())
  socket.on('close', () => target.destroy())
  target.on('connect', () => {
    isOpen = true
    target.setTimeout(IDLE_MS)
    socket.write('HTTP/1.1 200 Connection established\r\n\r\n')
    if (head.length > 0) target.write(head)
    target.pipe(socket).pipe(target)
  })
}
