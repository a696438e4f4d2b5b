/**
 * A provider on loopback. Tests script what it answers to each call, down to single bytes and the way the connection
 * ends; it keeps every call and its own bill, which is the truth that metering is compared with.
 */
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface ProviderCall {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly rawHeaders: readonly string[]
  readonly body: string
  /** `performance.now()` when the whole request was there. */
  readonly receivedAtMs: number
  /** The port of the caller's side, which tells connections apart. */
  readonly callerPort: number
  /** `performance.now()` when the caller destroyed the connection before the answer's end; undefined if it did not. */
  abortedAtMs: number | undefined
  /** Resolves when the exchange is over, one way or the other. */
  readonly over: Promise<void>
  /** Bytes of the body handed to the socket. */
  written: number
}

/** What the provider would charge for a call. */
export interface BillRow {
  readonly promptTokens: number
  readonly completionTokens: number
}

/** The answering side of one call. */
export interface Reply {
  head(status: number, headers?: Readonly<Record<string, string>>): void
  /** @returns false when the caller has gone. Waits while the caller does not read. */
  write(bytes: string | Uint8Array): Promise<boolean>
  end(bytes?: string | Uint8Array): void
  /** Ends the connection inside the body: FIN. */
  cut(): void
  /** Ends the connection inside the body: RST. */
  reset(): void
  /** @returns false when the caller has gone meanwhile; then it returns early. */
  wait(ms: number): Promise<boolean>
  bill(row: BillRow): void
}

export type Script = (call: ProviderCall, reply: Reply) => void | Promise<void>

/** A call that is not there by then was never made: its request was rejected before. */
const CALLED_WITHIN_MS = 120_000

export interface FakeProvider {
  /** Without trailing slash. */
  readonly url: string
  readonly port: number
  readonly calls: ProviderCall[]
  readonly bills: BillRow[]
  /** What is done with the next calls; calls under way keep their script. */
  answer(script: Script): void
  /** Resolves with call number `index` as soon as it has arrived. Rejects after `CALLED_WITHIN_MS`. */
  call(index: number): Promise<ProviderCall>
  close(): Promise<void>
}

/** @param first What is answered until `answer` says otherwise. */
export async function startFakeProvider(first: Script): Promise<FakeProvider> {
  const calls: ProviderCall[] = []
  const bills: BillRow[] = []
  const waiting = new Map<number, PromiseWithResolvers<ProviderCall>>()
  let script = first
  const server = createServer({ keepAliveTimeout: 60_000 }, async (request, response) => {
    const chosen = script
    const { call, gone } = await receive(request, response)
    calls.push(call)
    waiting.get(calls.length - 1)?.resolve(call)
    try {
      await chosen(call, createReply({ call, response, gone, bills }))
    } catch (error) {
      response.destroy(error instanceof Error ? error : undefined)
      if (!gone.aborted) throw error
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    calls,
    bills,
    answer: (next) => {
      script = next
    },
    call(index) {
      const there = calls[index]
      return there ? Promise.resolve(there) : awaitCall(waiting, index)
    },
    close: () => {
      server.closeAllConnections()
      return new Promise((resolve) => server.close(() => resolve()))
    },
  }
}

function awaitCall(waiting: Map<number, PromiseWithResolvers<ProviderCall>>, index: number): Promise<ProviderCall> {
  const awaited = waiting.get(index) ?? Promise.withResolvers<ProviderCall>()
  waiting.set(index, awaited)
  const late = new Error(`Call ${index} of the provider has not arrived within ${CALLED_WITHIN_MS} ms.`)
  setTimeout(() => awaited.reject(late), CALLED_WITHIN_MS).unref()
  awaited.promise.catch(() => {}) // by then a test that failed awaits it no more
  return awaited.promise
}

async function receive(request: IncomingMessage, response: ServerResponse) {
  const gone = new AbortController()
  const over = Promise.withResolvers<void>()
  const started: { call?: ProviderCall } = {}
  response.on('close', () => {
    if (!response.writableFinished) {
      if (started.call) started.call.abortedAtMs = performance.now()
      gone.abort()
    }
    over.resolve()
  })
  const pieces: Buffer[] = []
  for await (const piece of request) pieces.push(piece)
  const call: ProviderCall = {
    path: request.url ?? '',
    headers: request.headers,
    rawHeaders: request.rawHeaders,
    body: Buffer.concat(pieces).toString(),
    receivedAtMs: performance.now(),
    callerPort: request.socket.remotePort ?? 0,
    abortedAtMs: undefined,
    over: over.promise,
    written: 0,
  }
  started.call = call
  return { call, gone: gone.signal }
}

function createReply(parts: {
  call: ProviderCall
  response: ServerResponse
  gone: AbortSignal
  bills: BillRow[]
}): Reply {
  const { call, response, gone, bills } = parts
  const whenGone = new Promise<false>((resolve) => gone.addEventListener('abort', () => resolve(false)))
  return {
    head: (status, headers = {}) => {
      response.writeHead(status, headers)
      response.flushHeaders()
    },
    write: async (bytes) => {
      if (gone.aborted) return false
      call.written += Buffer.byteLength(bytes)
      if (response.write(bytes)) return true
      return Promise.race([new Promise<true>((resolve) => response.once('drain', () => resolve(true))), whenGone])
    },
    end: (bytes) => {
      if (bytes !== undefined) call.written += Buffer.byteLength(bytes)
      response.end(bytes)
    },
    cut: () => response.socket?.end(),
    reset: () => response.socket?.resetAndDestroy(),
    wait: (ms) => {
      if (gone.aborted) return Promise.resolve(false)
      const { promise, resolve } = Promise.withResolvers<true>()
      const timer = setTimeout(() => resolve(true), ms)
      return Promise.race([promise, whenGone]).finally(() => clearTimeout(timer))
    },
    bill: (row) => bills.push(row),
  }
}
