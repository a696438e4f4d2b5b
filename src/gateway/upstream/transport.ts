/// <reference path="../../net/undici-parts.d.ts" />
/**
 * Sends bytes to a provider and receives its response over HTTP/1.1, with `undici`'s dispatcher without its streams,
 * one pool per provider. It knows no protocol, no deadline and no retry; those belong to its callers.
 */

import type { IncomingHttpHeaders } from 'node:http'
import type { Dispatcher } from 'undici'
import Pool from 'undici/lib/dispatcher/pool.js'
import type { Provider, Transport, UpstreamCall, UpstreamExchange, UpstreamHead } from '../../providers/provider.ts'

/** A configured provider: the registry's facts with the operator's settings applied. */
export interface UpstreamProvider {
  /** The operator's name for it. */
  readonly name: string
  readonly provider: Provider
  readonly transport: Transport
  /** The base URL without a trailing slash. */
  readonly baseUrl: string
  /** The keys among which calls are distributed; [''] for hosts without one. */
  readonly credentials: readonly string[]
  readonly timeouts: UpstreamTimeouts
  /** What happens when the client disconnects. Undefined leaves it to the model. */
  readonly onDisconnect: 'cancel' | 'drain' | undefined
  /** Whether unknown body fields are forwarded; default: false. */
  readonly forwardUnknown?: boolean | undefined
  /**
   * The provider has the address that the registry has for its name, so the catalogue's facts about that host apply.
   */
  readonly isBuiltIn?: boolean | undefined
  /** Whether the provider may keep data for training, as the operator configured. */
  readonly dataCollection?: 'allow' | 'deny' | undefined
  /** Zero data retention, as the operator says. */
  readonly zdr?: boolean | undefined
  /** The most concurrent calls. Undefined if the provider has no limit of its own. */
  readonly maxInFlight: number | undefined
}

/** The destination of a request. */
export interface Target {
  readonly upstream: UpstreamProvider
  /** The provider's own name of the model. */
  readonly model: string
  readonly credential: string
}

/** Timeouts in milliseconds. `firstByte` and `idle` wait for data events; comments do not count. */
export interface UpstreamTimeouts {
  readonly connect: number
  readonly firstByte: number
  /** The timeout of an answer that is not streamed, whose first byte arrives when all of it is generated. */
  readonly wholeAnswer: number
  readonly idle: number
  readonly total: number
}

/** The configured providers with their transports; replaced by name on reload. */
export interface Upstreams {
  find(name: string): UpstreamProvider | undefined
  readonly names: ReadonlySet<string>
  /** Replaces the settings. Calls in flight continue on their connections. */
  replace(providers: readonly ConfiguredProvider[]): void
  /** Closes idle connections; resolves when calls in flight have ended. */
  close(): Promise<void>
}

/** A provider with the operator's settings, without its transport. */
export type ConfiguredProvider = Omit<UpstreamProvider, 'transport'>

export function createUpstreams(providers: readonly ConfiguredProvider[]): Upstreams {
  let current = new Map<string, UpstreamProvider>()
  let transports = new Map<string, HttpTransport>()

  function replace(next: readonly ConfiguredProvider[]): void {
    const kept = new Map<string, HttpTransport>()
    const found = new Map<string, UpstreamProvider>()
    for (const provider of next) found.set(provider.name, { ...provider, transport: transportOf(provider, kept) })
    for (const [key, transport] of transports) if (!kept.has(key)) void transport.close()
    current = found
    transports = kept
  }

  /** Returns the transport of a provider. A reload that does not change it keeps its connections. */
  function transportOf(provider: ConfiguredProvider, kept: Map<string, HttpTransport>): Transport {
    if (provider.provider.transport !== undefined) return provider.provider.transport
    const key = `${provider.name} ${provider.baseUrl} ${provider.timeouts.connect}`
    const transport = transports.get(key) ?? createHttpTransport(provider.baseUrl, provider.timeouts.connect)
    kept.set(key, transport)
    return transport.transport
  }

  replace(providers)
  return {
    find: (name) => current.get(name),
    get names() {
      return new Set(current.keys())
    },
    replace,
    close: async () => void (await Promise.all([...transports.values()].map((transport) => transport.close()))),
  }
}

/** The connection pauses above this many unread bytes. The next `read` takes all of them and resumes it. */
export const MAX_UNREAD_BYTES = 256 * 1024
/** The bytes of an upstream response head; a larger one is rejected. */
export const MAX_UPSTREAM_HEADER_BYTES = 16 * 1024

export interface HttpTransport {
  readonly transport: Transport
  /** Closes connections once they are idle. */
  close(): Promise<void>
}

/** @param connectTimeoutMs The timeout of a connection, including TLS. */
export function createHttpTransport(baseUrl: string, connectTimeoutMs: number): HttpTransport {
  const { origin } = new URL(baseUrl)
  const pool = new Pool(origin, {
    allowH2: false,
    connectTimeout: connectTimeoutMs,
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: 30_000,
    maxHeaderSize: MAX_UPSTREAM_HEADER_BYTES,
    pipelining: 1,
  })
  return {
    transport: (call, onSend) => startExchange(pool, { path: call.url.slice(origin.length), call, onSend }),
    close: () => pool.close(),
  }
}

interface ExchangeState {
  readonly onSend: (() => void) | undefined
  readonly chunks: Uint8Array[]
  unreadBytes: number
  ended: boolean
  failure: Error | undefined
  waiting: PromiseWithResolvers<Uint8Array | undefined> | undefined
  controller: Dispatcher.DispatchController | undefined
}

interface ExchangeRequest {
  readonly path: string
  readonly call: UpstreamCall
  readonly onSend: (() => void) | undefined
}

function startExchange(pool: Pool, request: ExchangeRequest): UpstreamExchange {
  const state: ExchangeState = {
    onSend: request.onSend,
    chunks: [],
    unreadBytes: 0,
    ended: false,
    failure: undefined,
    waiting: undefined,
    controller: undefined,
  }
  const head = Promise.withResolvers<UpstreamHead>()
  head.promise.catch(() => {}) // an exchange may be aborted before its head is awaited
  const { headers, body } = request.call
  pool.dispatch({ path: request.path, method: 'POST', headers, body }, createHandler(state, head))
  return {
    head: head.promise,
    read: () => read(state),
    abort: () => fail(state, head, new Error('The call was aborted.')),
  }
}

function createHandler(state: ExchangeState, head: PromiseWithResolvers<UpstreamHead>): Dispatcher.DispatchHandler {
  return {
    onRequestStart(controller) {
      state.controller = controller
      if (state.failure !== undefined) controller.abort(state.failure)
      else state.onSend?.() // the connection is open, and the request is written next
    },
    onResponseStart(_controller, status, headers) {
      if (status >= 200) head.resolve({ status, headers: firstValues(headers) })
    },
    onResponseData(controller, chunk) {
      if (state.waiting !== undefined) return wake(state, chunk)
      state.chunks.push(chunk)
      state.unreadBytes += chunk.length
      if (state.unreadBytes > MAX_UNREAD_BYTES) controller.pause()
    },
    onResponseEnd() {
      state.ended = true
      wake(state, undefined)
    },
    onResponseError(_controller, error) {
      fail(state, head, error)
    },
  }
}

function read(state: ExchangeState): Promise<Uint8Array | undefined> {
  const { chunks } = state
  if (chunks.length > 0) {
    const bytes = chunks.length === 1 ? chunks[0] : Buffer.concat(chunks)
    chunks.length = 0
    state.unreadBytes = 0
    if (state.controller?.paused === true) state.controller.resume()
    return Promise.resolve(bytes)
  }
  if (state.failure !== undefined) return Promise.reject(state.failure)
  if (state.ended) return Promise.resolve(undefined)
  state.waiting = Promise.withResolvers()
  return state.waiting.promise
}

function wake(state: ExchangeState, bytes: Uint8Array | undefined): void {
  const { waiting } = state
  state.waiting = undefined
  waiting?.resolve(bytes)
}

/** Fails the exchange with the first reason. Bytes received before it can still be read. */
function fail(state: ExchangeState, head: PromiseWithResolvers<UpstreamHead>, error: Error): void {
  if (state.failure !== undefined || state.ended) return
  state.failure = error
  state.controller?.abort(error)
  head.reject(error)
  state.waiting?.reject(error)
  state.waiting = undefined
}

function firstValues(headers: IncomingHttpHeaders): Record<string, string> {
  const first: Record<string, string> = {}
  for (const name in headers) {
    const value = headers[name]
    if (value !== undefined) first[name] = typeof value === 'string' ? value : (value[0] ?? '')
  }
  return first
}

/** How long the end of a complete answer may take. */
const MAX_DISCARD_MS = 1_000

/**
 * Returns the whole body as text. Rejects when it is incomplete.
 * @param parts The parts that were already read; the others are appended.
 * @returns undefined, with the rest unread, once the body is larger than `maxBytes`.
 */
export async function readBodyText(
  exchange: UpstreamExchange,
  parts: Uint8Array[],
  maxBytes: number,
): Promise<string | undefined> {
  let size = parts.reduce((sum, { length }) => sum + length, 0)
  while (size <= maxBytes) {
    const bytes = await exchange.read()
    if (bytes === undefined) return textOf(parts)
    size += bytes.length
    parts.push(bytes)
  }
  return undefined
}

/** Returns the body's first `maxBytes` as text, or less if the connection broke. */
export async function readBodyStart(exchange: UpstreamExchange, maxBytes: number): Promise<string> {
  const parts: Uint8Array[] = []
  let size = 0
  try {
    while (size < maxBytes) {
      const bytes = await exchange.read()
      if (bytes === undefined) break
      size += bytes.length
      parts.push(bytes)
    }
  } catch {
    // The beginning suffices.
  }
  return Buffer.concat(parts, Math.min(size, maxBytes)).toString('utf8')
}

/** Reads the rest for at most a second, so that the connection can be reused. Never rejects. */
export async function discardBody(exchange: UpstreamExchange): Promise<void> {
  const timer = setTimeout(() => exchange.abort(), MAX_DISCARD_MS)
  try {
    while ((await exchange.read()) !== undefined);
  } catch {
    // The answer is complete, so the end of the connection does not matter.
  } finally {
    clearTimeout(timer)
  }
}

function textOf(parts: readonly Uint8Array[]): string {
  const [only] = parts
  const whole = parts.length === 1 && only !== undefined ? only : Buffer.concat(parts)
  return Buffer.from(whole.buffer, whole.byteOffset, whole.byteLength).toString('utf8')
}
