/** The connections of a server: closing them in order, and cutting slow readers. */

import { readFileSync, unwatchFile, watchFile } from 'node:fs'
import type { IncomingMessage, Server, ServerOptions, ServerResponse } from 'node:http'
import {
  createSecureServer,
  type Http2SecureServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type ServerHttp2Session,
} from 'node:http2'
import { Server as NetServer, type Socket } from 'node:net'
import { createSecureContext, Server as TlsServer } from 'node:tls'

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

/* TLS termination: HTTP/2 and HTTP/1.1 on one port, with certificates that are read again when their files change. */

/** Paths of PEM files. */
export interface TlsFiles {
  readonly cert_file: string
  readonly key_file: string
}

type Certificate = Readonly<Record<'cert' | 'key', Buffer>>

const WATCH_INTERVAL_MS = 2_000
/** The streams of one connection. */
const MAX_STREAMS = 256

/** Throws if a file cannot be read, or if the key does not belong to the certificate. */
export function readCertificate({ cert_file, key_file }: TlsFiles): Certificate {
  const certificate = { cert: readPem(cert_file), key: readPem(key_file) }
  try {
    createSecureContext(certificate)
    return certificate
  } catch (cause) {
    throw new Error(`server.tls: ${cert_file} and ${key_file} are not a certificate and its key in PEM.`, { cause })
  }
}

function readPem(path: string): Buffer {
  try {
    return readFileSync(path)
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unreadable'
    throw new Error(`server.tls: ${path} cannot be read (${code}).`, { cause })
  }
}

type Handler = (request: IncomingMessage, response: ServerResponse) => void

/** @param options Limits of HTTP/1.1. */
export function createTlsServer(files: TlsFiles, options: ServerOptions, handler: Handler): Http2SecureServer {
  const settings = { maxConcurrentStreams: MAX_STREAMS, maxHeaderListSize: options.maxHeaderSize ?? 16_384 }
  const server = createSecureServer({ ...options, ...readCertificate(files), allowHTTP1: true, settings })
  server.on('request', handler as unknown as (request: Http2ServerRequest, response: Http2ServerResponse) => void)
  server.on('stream', (stream) => {
    stream.setTimeout(SLOW_READER_MS)
    // Node.js counts a client that reads as activity. One that waits for data is not slow.
    stream.on('timeout', () => {
      if (stream.bufferSize > 0) stream.destroy()
      else stream.setTimeout(SLOW_READER_MS)
    })
  })
  return server
}

/**
 * Uses new certificates for new connections as soon as the files have changed. A pair that does not fit, as between the two
 * writes of a renewal, is reported and the present one stays.
 * @param report Receives undefined when new certificates are in use.
 */
export function followCertificate(
  server: Http2SecureServer,
  files: TlsFiles,
  report: (error: Error | undefined) => void,
): () => void {
  const renew = (): void => {
    try {
      server.setSecureContext(readCertificate(files))
      report(undefined)
    } catch (error) {
      report(error instanceof Error ? error : new Error(String(error)))
    }
  }
  const paths = [files.cert_file, files.key_file]
  for (const path of paths) watchFile(path, { interval: WATCH_INTERVAL_MS, persistent: false }, renew)
  process.on('SIGHUP', renew)
  const stop = (): void => {
    for (const path of paths) unwatchFile(path, renew)
    process.off('SIGHUP', renew)
  }
  server.once('close', stop)
  return stop
}
