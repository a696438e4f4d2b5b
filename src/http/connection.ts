import type { ServerResponse } from 'node:http'
import type { FastifyReply } from 'fastify'
import type { ClientConnection } from '../domain/completion.ts'
import { KEEP_ALIVE } from '../domain/kept-events.ts'

/** A stream without data for this long is sent its head and a comment or an event that says nothing. */
export const KEEP_ALIVE_MS = 10_000

/** A response, JSON or an event stream, written past Fastify for speed. */
export interface HttpConnection extends ClientConnection {
  /** Returns whether the client disconnected or the response is complete. */
  over(): boolean
  /** Ends the use of this connection by its owner. */
  release(): void
}

interface ConnectionState {
  readonly reply: FastifyReply
  leave: (() => void) | undefined
  left: boolean
  ended: boolean
  headers: (() => Record<string, string>) | undefined
  keepAlive: NodeJS.Timeout | undefined
  /** Resolves on `drain`; all writers share it. */
  drained: Promise<void> | undefined
}

export function openConnection(reply: FastifyReply): HttpConnection {
  const response = reply.raw
  const state: ConnectionState = {
    reply,
    leave: undefined,
    left: response.destroyed, // the client may have disconnected while its body was read
    ended: false,
    headers: undefined,
    keepAlive: undefined,
    drained: undefined,
  }
  response.once('close', () => noteClosed(state))
  return {
    onLeave(listener) {
      if (state.left) listener()
      else state.leave = listener
    },
    streaming: () => response.headersSent,
    over: () => state.left || state.ended,
    expectStream: (headers, keepAlive = KEEP_ALIVE) => expectStream(state, headers, keepAlive),
    write: (text) => write(state, text),
    endStream() {
      end(state)
      response.end()
    },
    sendJson: (body, headers) => sendJson(state, body, headers),
    release() {
      clearInterval(state.keepAlive)
      state.leave = undefined
      if (state.left) reply.hijack()
    },
  }
}

function noteClosed(state: ConnectionState): void {
  clearInterval(state.keepAlive)
  if (state.ended) return
  state.left = true
  state.leave?.()
}

function end(state: ConnectionState): void {
  state.ended = true
  clearInterval(state.keepAlive)
}

function expectStream(state: ConnectionState, headers: () => Record<string, string>, keepAlive: string): void {
  state.headers = headers
  clearInterval(state.keepAlive)
  state.keepAlive = setInterval(() => {
    if (!state.reply.raw.writableNeedDrain) write(state, keepAlive)
  }, KEEP_ALIVE_MS)
}

function write(state: ConnectionState, text: string): Promise<void> | undefined {
  if (state.left || state.ended) return undefined
  const response = state.reply.raw
  if (!response.headersSent) openStream(state)
  state.keepAlive?.refresh()
  if (response.write(text)) return undefined
  state.drained ??= drained(state)
  return state.drained
}

function openStream({ reply, headers }: ConnectionState): void {
  const list = hookHeaders(reply)
  list.push('content-type', 'text/event-stream; charset=utf-8', 'cache-control', 'no-store', 'x-accel-buffering', 'no')
  addHeaders(list, headers?.() ?? {})
  reply.hijack()
  reply.raw.writeHead(200, list)
}

function sendJson(state: ConnectionState, body: string, headers: Record<string, string>): void {
  const { reply } = state
  end(state)
  const list = hookHeaders(reply)
  list.push('content-type', 'application/json; charset=utf-8', 'content-length', String(Buffer.byteLength(body)))
  addHeaders(list, headers)
  reply.hijack()
  reply.raw.writeHead(200, list)
  if (pendingBodies.push({ response: reply.raw, body }) === 1) setImmediate(sendPending)
}

/** Headers set by hooks (request ID, CORS) as a flat list, which Node.js writes fastest. */
function hookHeaders(reply: FastifyReply): string[] {
  const list: string[] = []
  addHeaders(list, reply.getHeaders() as Record<string, string>) // hooks set strings only
  return list
}

function addHeaders(list: string[], headers: Readonly<Record<string, string>>): void {
  for (const name in headers) list.push(name, headers[name] ?? '')
}

/** Resolves when the socket accepts more data or is closed: the server closes slow readers. */
function drained(state: ConnectionState): Promise<void> {
  const response = state.reply.raw
  return new Promise((resolve) => {
    const go = (): void => {
      response.off('drain', go)
      response.off('close', go)
      state.drained = undefined
      resolve()
    }
    response.on('drain', go)
    response.on('close', go)
  })
}

/**
 * Sent together at the end of this iteration of the event loop: separate writes and wake-ups of readers cost a tenth of a
 * request under load. An idle gateway does not wait.
 */
let pendingBodies: { readonly response: ServerResponse; readonly body: string }[] = []

function sendPending(): void {
  const bodies = pendingBodies
  pendingBodies = []
  for (const { response, body } of bodies) if (!response.destroyed) response.end(body)
}
