/**
 * The only network access of a sandbox: `CONNECT` to allowed hosts, through a proxy on a Unix socket. The proxy parses the
 * host once, resolves it itself, and connects to an address that it has checked. The tunnel's contents are encrypted.
 * Inside, a forwarder carries connections from the proxy port to the socket.
 */
import { chmodSync, chownSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { connect, isIP, type LookupFunction, type Socket } from 'node:net'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import { domainToASCII } from 'node:url'
import { isWithinReach, type Reach, reachOf, type TargetRule } from '../../lib/ip-address.ts'
import { type SystemUser, sandboxUser } from './folders.ts'
import { EGRESS_FOLDER, FORWARDER_NODE, forwarderScript, type ReadOnlyPath } from './launch.ts'

export interface EgressOptions {
  /** Host names; one that starts with a dot matches all names below it. */
  readonly hosts: readonly string[]
  /** Returns all addresses of a name; rejects if there are none. The addresses are checked. */
  readonly resolve: (hostname: string) => Promise<readonly string[]>
  /** Public addresses, ports 443 and 8443 by default. */
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
/** Names and IPv4 addresses: without user, zone, brackets, percent-encoding and invisible characters. */
const AUTHORITY = /^([a-z0-9_](?:[a-z0-9_.-]{0,251}[a-z0-9_])?):(\d{1,5})$/i

/** Checked addresses; the connection goes to the first that accepts it. */
export interface Destination {
  readonly addresses: readonly string[]
  readonly port: number
}

export interface ProxyRules {
  /** @throws RefusedError, whose message the client reads. */
  readonly findDestination: (authority: string) => Promise<Destination>
  /** Answers what is not `CONNECT`. */
  readonly answer: (request: IncomingMessage, response: ServerResponse) => void
}

export class RefusedError extends Error {
  override readonly name = 'RefusedError'
}

/** @param inFolder Where the folder of the socket is made. */
export async function openEgressProxy(
  options: EgressOptions,
  inFolder: string,
  user = sandboxUser(),
): Promise<EgressProxy> {
  const isAllowed = hostMatcher(options.hosts)
  const rules: ProxyRules = {
    findDestination: (authority) => findDestination(authority, isAllowed, options),
    answer(_, response) {
      response.writeHead(403, { 'content-type': 'text/plain', connection: 'close' })
      response.end('This sandbox allows only https, through CONNECT.\n')
    },
  }
  return await openProxy(rules, inFolder, user)
}

/** Opens a proxy on a socket that only `user`, by default the user of this process, can connect to. */
export async function openProxy(
  rules: ProxyRules,
  inFolder: string,
  user: SystemUser | undefined,
): Promise<EgressProxy> {
  const tunnels = new Set<Duplex>()
  // The caller limits the duration of a whole request.
  const timeouts = { headersTimeout: HEADERS_TIMEOUT_MS, requestTimeout: 0 }
  const server = createServer({ maxHeaderSize: MAX_HEADER_BYTES, ...timeouts })
  server.maxConnections = MAX_CONNECTIONS
  server.on('request', rules.answer)
  server.on('connect', ({ url = '' }, socket, head) => {
    tunnels.add(socket)
    socket.on('error', () => socket.destroy()).on('close', () => tunnels.delete(socket))
    rules.findDestination(url).then(
      (destination) => openTunnel(destination, socket, head),
      (error) => refuse(socket, error instanceof RefusedError ? error.message : 'The name does not resolve.'),
    )
  })
  const folder = mkdtempSync(join(inFolder, 'egress-'))
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

/** Only this process and the sandbox's user can enter the folder of the socket. */
async function listen(server: ReturnType<typeof createServer>, path: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  server.once('error', reject).listen(path, resolve)
  await promise
  server.unref()
  chmodSync(path, 0o666)
}

/** @throws RangeError for an entry that is not a host name. */
export function hostMatcher(hosts: readonly string[]): (host: string) => boolean {
  const exact = new Set<string>()
  const suffixes: string[] = []
  for (const entry of hosts) {
    const isSuffix = entry.startsWith('.')
    const name = domainToASCII(isSuffix ? entry.slice(1) : entry).toLowerCase()
    if (!AUTHORITY.test(`${name}:1`)) throw new RangeError(`'${entry}' is not a host name.`)
    if (isSuffix) suffixes.push(`.${name}`)
    else exact.add(name)
  }
  return (host) => exact.has(host) || suffixes.some((suffix) => host.endsWith(suffix))
}

async function findDestination(
  authority: string,
  isAllowed: (host: string) => boolean,
  { resolve, rule = PUBLIC_ONLY }: EgressOptions,
): Promise<Destination> {
  const [, name, digits] = AUTHORITY.exec(authority) ?? []
  if (name === undefined || digits === undefined) throw new RefusedError('This is not a host and a port.')
  const host = name.toLowerCase()
  if (!isAllowed(host)) throw new RefusedError(`${host} is not an allowed host.`)
  const port = Number(digits)
  const reach = port < 65_536 ? reachOf({ protocol: 'https:', port: String(port) }, rule) : undefined
  if (reach === undefined) throw new RefusedError('Only ports 443 and 8443 are allowed.')
  return { addresses: [checkedAddress(await resolve(host), reach)], port }
}

/** Rejects a name if one of its addresses is not allowed. */
function checkedAddress(addresses: readonly string[], reach: Reach): string {
  const [first] = addresses
  if (first === undefined || !addresses.every((address) => isWithinReach(address, reach))) {
    throw new RefusedError('The name resolves to an address that is not allowed.')
  }
  return first
}

function refuse(socket: Duplex, message: string): void {
  const text = `${message}\n`
  const head = `HTTP/1.1 403 Forbidden\r\ncontent-type: text/plain\r\ncontent-length: ${text.length}\r\nconnection: close`
  socket.end(`${head}\r\n\r\n${text}`)
}

/** Resolves every host name to the addresses of a destination. */
export function lookupOf({ addresses }: Destination): LookupFunction {
  return (_hostname, _options, callback) =>
    callback(
      null,
      addresses.map((address) => ({ address, family: isIP(address) })),
    )
}

function openTunnel(destination: Destination, socket: Duplex, head: Buffer): void {
  const target: Socket = connect({
    host: 'target',
    port: destination.port,
    lookup: lookupOf(destination),
    timeout: CONNECT_TIMEOUT_MS,
  })
  let isOpen = false
  target.on('timeout', () => target.destroy())
  target.on('error', () => {
    if (isOpen) socket.destroy()
    else refuse(socket, 'The host does not respond.')
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

/**
 * Runs in the sandbox, as the source text of this function: forwards connections to the proxy that the environment names to
 * the socket of the proxy outside. It makes no decisions, and can use only built-in modules of Node.js.
 */
export const FORWARDER_PORT = 3128

function forward(socketPath: string, port: number): void {
  const net = process.getBuiltinModule('node:net')
  const server = net.createServer({ allowHalfOpen: true }, (client) => {
    const proxy = net.connect({ path: socketPath, allowHalfOpen: true })
    client.on('error', () => proxy.destroy()).on('close', () => proxy.destroy())
    proxy.on('error', () => client.destroy()).on('close', () => client.destroy())
    client.pipe(proxy).pipe(client)
  })
  server.listen(port, '127.0.0.1', () => {
    process.stdout.write('ready\n')
  })
}

/** What a sandbox needs so that its programs reach the socket in `folder` at `FORWARDER_PORT`. */
export function forwarderTo(folder: string): { readonly readOnly: readonly ReadOnlyPath[]; readonly prepare: string } {
  return {
    readOnly: [
      { from: folder, to: EGRESS_FOLDER },
      { from: process.execPath, to: FORWARDER_NODE },
    ],
    prepare: forwarderScript(forwarderSource(`${EGRESS_FOLDER}/${SOCKET_NAME}`)),
  }
}

function forwarderSource(socketPath: string): string {
  return `process.stdout.on('error', () => undefined); (${forward.toString()})(${JSON.stringify(socketPath)}, ${FORWARDER_PORT})`
}
