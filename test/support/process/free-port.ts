import { randomInt } from 'node:crypto'
import { createSocket } from 'node:dgram'
import { createServer } from 'node:net'

/** Below the ports that systems give to connections on their way out: one of those could take it before it is listened on. */
const [FIRST, END] = [12_000, 32_000]

/**
 * A port of this machine that nobody listened on a moment ago, and that no other process is given here as long as this one
 * lives: what is started on it may take a while until it listens, and would else be taken for what another test has there.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(FIRST, END)
    if ((await reserve(port)) && (await isFree(port))) return port
  }
}

/** By the same number of UDP, which nothing here listens on: the kernel gives it to one, and takes it back at its end. */
function reserve(port: number): Promise<boolean> {
  const socket = createSocket('udp4').unref()
  return new Promise((resolve) => {
    socket.once('error', () => resolve(false))
    socket.bind({ port, address: '127.0.0.1', exclusive: true }, () => resolve(true))
  })
}

function isFree(port: number): Promise<boolean> {
  const server = createServer()
  return new Promise((resolve) => {
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}
