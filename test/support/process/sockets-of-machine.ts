/** What the kernel knows of connections on loopback. */
import { readFile } from 'node:fs/promises'
import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

/** Where the kernel does not tell: how long the other side is given instead. */
const GUESSED_MS = 20

/**
 * Bytes that were written to an IPv4 connection between two sockets of this machine, and that the other side has not read:
 * still on this side, or in its buffer. 0 when the connection is over.
 */
export async function unreadOn({ localPort, remotePort, writableLength }: Socket): Promise<number> {
  if (localPort === undefined || remotePort === undefined) return 0
  const table = await readFile('/proc/net/tcp', 'latin1').catch(() => undefined)
  if (table === undefined) {
    await sleep(GUESSED_MS)
    return 0
  }
  const [own, other] = [hexPort(localPort), hexPort(remotePort)]
  let unread = writableLength
  for (const line of table.split('\n')) {
    const [, local, remote, , queues] = line.trim().split(/\s+/)
    const [toSend = '0', toRead = '0'] = queues?.split(':') ?? []
    if (local?.endsWith(own) && remote?.endsWith(other)) unread += Number.parseInt(toSend, 16)
    if (local?.endsWith(other) && remote?.endsWith(own)) unread += Number.parseInt(toRead, 16)
  }
  return unread
}

function hexPort(port: number): string {
  return `:${port.toString(16).toUpperCase().padStart(4, '0')}`
}
