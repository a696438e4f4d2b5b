import type { Server } from 'node:http'
import { Server as NetServer, type Socket } from 'node:net'

/** The connections of a server, for ending them in order. */
export interface Sockets {
  /** Accepts no new connection; those that are there live on. Resolves when the last has ended. */
  stopListening(): Promise<void>
  /** Closes those that were answered and ask for nothing now. */
  closeIdle(): void
  /** Connections that have not been answered yet: their first request may be under way. */
  unanswered(): number
}

/**
 * Node.js's own `closeIdleConnections`, which its `close` calls too, takes a connection that was just accepted, and whose
 * request is not read yet, for an idle one: its client would get no answer at all.
 */
export function watchSockets(server: Server): Sockets {
  const sockets = new Set<Socket>()
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  return {
    stopListening: () => new Promise((resolve) => void NetServer.prototype.close.call(server, () => resolve())),
    closeIdle() {
      for (const socket of sockets) if (isAnswered(socket) && !isBusy(socket)) socket.destroy()
    },
    unanswered: () => [...sockets].filter((socket) => !isAnswered(socket)).length,
  }
}

function isAnswered({ bytesWritten }: Socket): boolean {
  return bytesWritten > 0
}

/** From the end of a request's head to the end of its answer. */
function isBusy(socket: Socket & { readonly _httpMessage?: unknown }): boolean {
  return socket._httpMessage !== undefined && socket._httpMessage !== null
}
