/**
 * The edge of the HTTP server: limits of the parser and of connections, headers that must not repeat, and responses to requests
 * that could not be parsed.
 */

import { readFileSync } from 'node:fs'
import type { IncomingMessage, ServerOptions, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { type ErrorCode, GatewayError, renderErrorBody } from '../domain/errors.ts'
import { errorHeaders } from './errors.ts'

/** Caps of the listener; `docs/limits.md` lists them. */
export const EDGE_LIMITS = {
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 60_000,
  checkIntervalMs: 1_000,
  /** Longer than the idle time of common load balancers. */
  keepAliveTimeoutMs: 75_000,
  maxHeaderBytes: 16 * 1024,
  maxHeaders: 100,
  maxConnections: 20_000,
  maxRequestsPerSocket: 1_000_000,
} as const

export const SERVER_OPTIONS: ServerOptions = {
  headersTimeout: EDGE_LIMITS.headersTimeoutMs,
  connectionsCheckingInterval: EDGE_LIMITS.checkIntervalMs,
  maxHeaderSize: EDGE_LIMITS.maxHeaderBytes,
  noDelay: true,
}

/** Headers that must not repeat: Node.js takes the first, a proxy may take the last (request smuggling). */
const ONCE: ReadonlySet<string> = new Set([
  'host',
  'authorization',
  'content-length',
  'content-type',
  'idempotency-key',
])
const ONCE_LENGTHS: ReadonlySet<number> = new Set([...ONCE].map((name) => name.length))

/** Checks what the HTTP parser accepts. @returns The error; undefined when the request is valid. */
export function requestFault({ httpVersionMajor, rawHeaders }: IncomingMessage): GatewayError | undefined {
  if (httpVersionMajor !== 1)
    return new GatewayError('invalid_header', 'Only HTTP/1.1 and HTTP/1.0 are supported on this port.')
  // The parser silently drops further headers, any of which may matter.
  if (rawHeaders.length > 2 * EDGE_LIMITS.maxHeaders) {
    return new GatewayError('headers_too_large', `Request exceeds ${EDGE_LIMITS.maxHeaders} headers.`)
  }
  const repeated = repeatedHeader(rawHeaders)
  if (repeated === undefined) return undefined
  return new GatewayError('invalid_header', `Header '${repeated}' must not be repeated.`)
}

function repeatedHeader(rawHeaders: readonly string[]): string | undefined {
  let seen: string | undefined
  let more: Set<string> | undefined
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const raw = rawHeaders[at]
    if (raw === undefined || !ONCE_LENGTHS.has(raw.length)) continue
    const name = raw.toLowerCase()
    if (!ONCE.has(name)) continue
    if (name === seen || more?.has(name) === true) return name
    if (seen === undefined) seen = name
    else {
      more ??= new Set()
      more.add(name)
    }
  }
  return undefined
}

/** Responds to what the HTTP parser rejected, in the usual error format, and closes the connection. */
export function answerClientError(error: Error & { code?: string }, socket: Socket, requestId: string): void {
  if (!socket.writable || isAnswering(socket)) return void socket.destroy()
  const { status, reason, code, message } = CLIENT_ERRORS[error.code ?? ''] ?? MALFORMED
  const ours = new GatewayError(code, message)
  const body = renderErrorBody(ours, requestId)
  const headers = {
    'content-type': 'application/json; charset=utf-8',
    'content-length': String(Buffer.byteLength(body)),
    'x-request-id': requestId,
    connection: 'close',
    ...errorHeaders(ours),
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  socket.end(`HTTP/1.1 ${status} ${reason}\r\n${lines.join('\r\n')}\r\n\r\n${body}`)
}

/**
 * Whether a response has begun on this socket: another one would be read as part of it. Node.js exposes it nowhere else, and
 * its own handler uses the same field.
 */
function isAnswering(socket: Socket & { readonly _httpMessage?: ServerResponse | null }): boolean {
  return socket._httpMessage?.headersSent === true
}

interface ClientErrorAnswer {
  readonly status: number
  readonly reason: string
  readonly code: ErrorCode
  readonly message: string
}

const MALFORMED: ClientErrorAnswer = {
  status: 400,
  reason: 'Bad Request',
  code: 'invalid_header',
  message: 'Malformed HTTP/1.1 request.',
}
const CLIENT_ERRORS: Readonly<Record<string, ClientErrorAnswer>> = {
  ERR_HTTP_REQUEST_TIMEOUT: {
    status: 408,
    reason: 'Request Timeout',
    code: 'request_timeout',
    message: 'The request was not received in time.',
  },
  HPE_HEADER_OVERFLOW: {
    status: 431,
    reason: 'Request Header Fields Too Large',
    code: 'headers_too_large',
    message: `Request headers exceed ${EDGE_LIMITS.maxHeaderBytes} bytes.`,
  },
  HPE_CHUNK_EXTENSIONS_OVERFLOW: {
    status: 413,
    reason: 'Payload Too Large',
    code: 'body_too_large',
    message: 'The chunk extensions of the body are too large.',
  },
}

/** Reserved for the database, the spool, the log and the threads. */
const SPARE_FILES = 96
/** Minimum, so that an operator can connect. */
const LEAST_CONNECTIONS = 16

/**
 * Limits connections by the open files of the process: each may need another one to a provider, and the records of money need
 * theirs.
 * @param openFiles The system's limit; undefined: unknown.
 */
export function connectionsFor(openFiles: number | undefined, most: number): number {
  if (openFiles === undefined) return most
  return Math.min(Math.max(Math.floor((openFiles - SPARE_FILES) / 2), LEAST_CONNECTIONS), most)
}

/** Returns the soft limit of this process on Linux; undefined elsewhere. */
export function openFileLimit(): number | undefined {
  try {
    const soft = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1]
    return soft === undefined ? undefined : Number(soft)
  } catch {
    return undefined // not Linux
  }
}
