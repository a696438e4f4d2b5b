/** The connections of a server: closing them in order, and cutting slow readers. */
import type { Server } from 'node:http'
import type { ServerHttp2Session } from 'node:http2'
import { Server as NetServer, type Socket } from 'node:net'
import { Server as TlsServer } from 'node:tls'

/** Closes the connections of a server in order. */
export interface Sockets {
  /** Accepts no new connections. Resolves when the last open one has ended. */
  stopListening(): Promise<void>
  /** Closes connections that were used and are idle. */
  closeIdle(): void
  /** Closes all connections, also those with requests in flight. */
  closeAll(): void
  /** Connections without a response yet: their first request may be in flight. */
  unanswered(): number
}

/**
 * Tracks connections. Node.js's own `closeIdleConnections`, also called by `close`, closes a connection that was just accepted
 * and whose request is not read yet.
 */
export function watchSockets(server: Server): Sockets {
  const sockets = new Set<Socket>()
  const sessions = new Set<ServerHttp2Session>()
  server.on(connectionEvent(server), (socket: Socket & { readonly alpnProtocol?: string }) => {
    if (socket.alpnProtocol === 'h2') return // a session, which counts its requests itself
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  server.on('session', (session: ServerHttp2Session) => {
    sessions.add(session)
    session.once('close', () => sessions.delete(session))
  })
  return {
    stopListening: () => new Promise((resolve) => void NetServer.prototype.close.call(server, () => resolve())),
    closeIdle() {
      for (const socket of sockets) if (isAnswered(socket) && !isBusy(socket)) socket.destroy()
      for (const session of sessions) if (!session.closed) session.close() // when its last request has ended
    },
    closeAll() {
      for (const socket of sockets) socket.destroy()
      for (const session of sessions) session.destroy()
    },
    unanswered: () => [...sockets].filter((socket) => !isAnswered(socket)).length,
  }
}

/** Returns the event that delivers decrypted bytes: with TLS, the first one has a socket with encrypted bytes only. */
function connectionEvent(server: Server): 'connection' | 'secureConnection' {
  return server instanceof TlsServer ? 'secureConnection' : 'connection'
}

function isAnswered({ bytesWritten }: Socket): boolean {
  return bytesWritten > 0
}

/** Returns whether a request is in progress, from the end of its head to the end of its response. */
function isBusy(socket: Socket & { readonly _httpMessage?: unknown }): boolean {
  return socket._httpMessage !== undefined && socket._httpMessage !== null
}

/** The period in which a client must read. */
export const SLOW_READER_MS = 30_000
/**
 * The bytes that a client must read in the period. A client that reads a byte a second blocks as much as one that
 * reads none.
 */
export const LEAST_TAKEN_BYTES = 16 * 1024
/** A client with more than this unsent must read as much in that time. */
export const MAX_UNSENT_BYTES = 1024 * 1024

const POLL_INTERVAL_MS = 1_000

/**
 * Closes clients that do not read their responses, which hold memory, a slot and a provider's connection.
 * @param clock Monotonic milliseconds.
 */
export function cutSlowReaders(server: Server, { clock = () => performance.now() } = {}): void {
  const sockets = new Set<Socket>()
  const waits = new Map<Socket, Wait>()
  server.on(connectionEvent(server), (socket: Socket) => {
    sockets.add(socket)
    socket.once('close', () => {
      sockets.delete(socket)
      waits.delete(socket)
    })
  })
  const timer = setInterval(() => {
    for (const socket of sockets) if (isTooSlow(socket, waits, clock())) socket.destroy()
  }, POLL_INTERVAL_MS)
  timer.unref()
  server.once('close', () => clearInterval(timer))
}

/** Start of a slow period, and the bytes read by then. */
interface Wait {
  readonly since: number
  readonly taken: number
}

function isTooSlow(socket: Socket, waits: Map<Socket, Wait>, now: number): boolean {
  if (socket.writableLength === 0) {
    waits.delete(socket)
    return false
  }
  const taken = takenBytes(socket)
  const wait = waits.get(socket)
  const least = socket.bytesWritten - taken > MAX_UNSENT_BYTES ? MAX_UNSENT_BYTES : LEAST_TAKEN_BYTES
  if (wait !== undefined && taken - wait.taken < least) return now - wait.since >= SLOW_READER_MS
  waits.set(socket, { since: now, taken })
  return false
}

/**
 * Bytes that the system has accepted for the client. Node.js reports whole writes only, and one write may be a long response;
 * its own socket time-outs read the handle for the same reason.
 */
function takenBytes(socket: Socket & { readonly _handle?: SocketHandle | null }): number {
  const { _handle: handle } = socket
  if (handle === undefined || handle === null) return socket.bytesWritten - socket.writableLength
  return handle.bytesWritten - handle.writeQueueSize
}

interface SocketHandle {
  /** Passed to the system, including what waits. */
  readonly bytesWritten: number
  /** The bytes that wait to be written. */
  readonly writeQueueSize: number
}
