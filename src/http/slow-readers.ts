/**
 * Cuts clients that do not take their answers. What waits for them costs memory, a place and a provider's connection, be
 * it a stream that is held up or a whole answer that was handed over long ago.
 */
import type { Server } from 'node:http'
import type { Socket } from 'node:net'

/** A client is judged by what it took in this time. */
export const SLOW_READER_MS = 30_000
/** Less than this in all that time is as good as nothing: a byte a second holds up as much as none. */
export const LEAST_TAKEN_BYTES = 16 * 1024
/** Whoever has more than this unsent must take as much in that time. */
export const MAX_UNSENT_BYTES = 1024 * 1024

const LOOK_EVERY_MS = 1_000

export interface SlowReadersInput {
  /** Monotonic milliseconds. */
  readonly clock?: () => number
}

/** Watches the answers of a server until it closes. */
export function cutSlowReaders(server: Server, { clock = () => performance.now() }: SlowReadersInput = {}): void {
  const sockets = new Set<Socket>()
  const waits = new Map<Socket, Wait>()
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.once('close', () => {
      sockets.delete(socket)
      waits.delete(socket)
    })
  })
  const timer = setInterval(() => {
    for (const socket of sockets) if (isTooSlow(socket, waits, clock())) socket.destroy()
  }, LOOK_EVERY_MS)
  timer.unref()
  server.once('close', () => clearInterval(timer))
}

/** Since when a client is waited for, and what it had taken then. */
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
 * What the system has taken over for the client. Node.js itself tells it for whole writes only, and one write may be a
 * long answer; its own time-outs of sockets read the handle for the same reason.
 */
function takenBytes(socket: Socket & { readonly _handle?: SocketHandle | null }): number {
  const { _handle: handle } = socket
  if (handle === undefined || handle === null) return socket.bytesWritten - socket.writableLength
  return handle.bytesWritten - handle.writeQueueSize
}

interface SocketHandle {
  /** Handed over, what waits included. */
  readonly bytesWritten: number
  /** Of that, what waits. */
  readonly writeQueueSize: number
}
