import type { FastifyReply } from 'fastify'
import { endTogether } from './outbox.ts'

/** Without data for this long, a stream gets its head and a comment. */
export const KEEP_ALIVE_MS = 10_000

const KEEP_ALIVE = ': keep-alive\n\n'

/** One answer on its way to a client: whole or as an event stream, written past Fastify for speed. */
export interface HttpConnection {
  onLeave(listener: () => void): void
  streaming(): boolean
  expectStream(headers: () => Record<string, string>): void
  write(text: string): Promise<void> | undefined
  endStream(): void
  sendJson(body: string, headers: Record<string, string>): void
  /** Whether the client went away, or was answered: then nobody else may answer. */
  over(): boolean
  /** Nothing more is expected of this connection by the one who asked for it. */
  release(): void
}

/** What one connection knows of itself. */
interface ConnectionState {
  readonly reply: FastifyReply
  leave: (() => void) | undefined
  left: boolean
  ended: boolean
  headers: (() => Record<string, string>) | undefined
  keepAlive: NodeJS.Timeout | undefined
  /** The wait for a slow client, shared by all who write. */
  drained: Promise<void> | undefined
}

export function openConnection(reply: FastifyReply): HttpConnection {
  const response = reply.raw
  const state: ConnectionState = {
    reply,
    leave: undefined,
    left: response.destroyed, // also one who left while we were still reading is noticed
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
    expectStream: (headers) => expectStream(state, headers),
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

function expectStream(state: ConnectionState, headers: () => Record<string, string>): void {
  state.headers = headers
  clearInterval(state.keepAlive)
  state.keepAlive = setInterval(() => {
    if (!state.reply.raw.writableNeedDrain) write(state, KEEP_ALIVE)
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
  endTogether(reply.raw, body)
}

/** What hooks have set (the request id, CORS), as a list of names and values, which Node.js writes fastest. */
function hookHeaders(reply: FastifyReply): string[] {
  const list: string[] = []
  addHeaders(list, reply.getHeaders() as Record<string, string>) // ours are all texts
  return list
}

function addHeaders(list: string[], headers: Readonly<Record<string, string>>): void {
  for (const name in headers) list.push(name, headers[name] ?? '')
}

/** Until the socket takes more, or there is nobody left to take it: the server cuts whoever takes nothing for too long. */
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
