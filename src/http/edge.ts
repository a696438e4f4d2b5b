/**
 * What is settled before a request is one: limits of the HTTP parser, headers that may come once, and answers to
 * what could not be parsed.
 */
import type { IncomingMessage, ServerOptions, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { renderErrorBody } from '../domain/error-body.ts'
import { type ErrorCode, GatewayError } from '../domain/errors.ts'
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

/** Node takes the first of two, a proxy in front may take the last: neither is believed. */
const ONCE: ReadonlySet<string> = new Set([
  'host',
  'authorization',
  'content-length',
  'content-type',
  'idempotency-key',
])
const ONCE_LENGTHS: ReadonlySet<number> = new Set([...ONCE].map((name) => name.length))

/** @returns what is wrong with a request that the HTTP parser let through; undefined when nothing is. */
export function requestFault({ httpVersionMajor, rawHeaders }: IncomingMessage): GatewayError | undefined {
  if (httpVersionMajor !== 1) return new GatewayError('invalid_header', 'Only HTTP/1.1 and HTTP/1.0 are spoken here.')
  // The parser reads no more of them, and says nothing: the one that counts might be among the rest.
  if (rawHeaders.length > 2 * EDGE_LIMITS.maxHeaders) {
    return new GatewayError('headers_too_large', `There are more than ${EDGE_LIMITS.maxHeaders} headers.`)
  }
  const repeated = repeatedHeader(rawHeaders)
  if (repeated === undefined) return undefined
  return new GatewayError('invalid_header', `The header '${repeated}' came more than once.`)
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

/** Answers what the HTTP parser refused, in the same shape as every other error, and closes. */
export function answerClientError(error: Error & { code?: string }, socket: Socket, requestId: string): void {
  if (!socket.writable || isAnswering(socket)) return void socket.destroy()
  const { status, reason, code, message } = CLIENT_ERRORS[error.code ?? ''] ?? UNREADABLE
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
 * An answer has begun on this socket: bytes of another one would be taken for its own. Node.js tells it nowhere else,
 * and decides by it in its own handler, too.
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

const UNREADABLE: ClientErrorAnswer = {
  status: 400,
  reason: 'Bad Request',
  code: 'invalid_header',
  message: 'This is not a readable HTTP/1.1 request.',
}
const CLIENT_ERRORS: Readonly<Record<string, ClientErrorAnswer>> = {
  ERR_HTTP_REQUEST_TIMEOUT: {
    status: 408,
    reason: 'Request Timeout',
    code: 'request_timeout',
    message: 'The request did not arrive in time.',
  },
  HPE_HEADER_OVERFLOW: {
    status: 431,
    reason: 'Request Header Fields Too Large',
    code: 'headers_too_large',
    message: `The headers are larger than ${EDGE_LIMITS.maxHeaderBytes} bytes.`,
  },
  HPE_CHUNK_EXTENSIONS_OVERFLOW: {
    status: 413,
    reason: 'Payload Too Large',
    code: 'body_too_large',
    message: 'The chunk extensions of the body are too large.',
  },
}
