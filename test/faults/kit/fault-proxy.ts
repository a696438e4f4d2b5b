/**
 * A TCP proxy that does to connections what networks do, in toxiproxy's words. It stands before anything: the gateway, a
 * provider, PostgreSQL, Redis. Toxics are set for each direction, at any time, also for connections that are open.
 */
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

export type Toxic =
  /** Every piece arrives so much later; nothing is reordered. */
  | { readonly type: 'latency'; readonly ms: number; readonly jitterMs?: number }
  | { readonly type: 'bandwidth'; readonly bytesPerSecond: number }
  /** The end of the connection is told so much later. */
  | { readonly type: 'slow_close'; readonly ms: number }
  /** Nothing gets through, and the connection ends after so long; 0: it stays, and what comes is lost. */
  | { readonly type: 'timeout'; readonly ms: number }
  /** Both sides are reset so long after the next byte. */
  | { readonly type: 'reset_peer'; readonly ms: number }
  /** Cut into pieces of about this size. */
  | { readonly type: 'slicer'; readonly averageSize: number; readonly variation?: number; readonly delayMs?: number }
  /** The connection ends after so many bytes in this direction. */
  | { readonly type: 'limit_data'; readonly bytes: number }

/** `upstream`: from the client to the service; `downstream`: back. */
export type Direction = 'upstream' | 'downstream'

export interface FaultProxy {
  readonly port: number
  /** `http://…`, for services that speak it; without trailing slash. */
  readonly url: string
  /** Connections that are open, and all that there have been. */
  readonly connections: () => { readonly open: number; readonly opened: number }
  /** Replaces what is done in a direction; without toxics it is a plain wire again. */
  set(direction: Direction, ...toxics: readonly Toxic[]): void
  /** Refuses connections and breaks the open ones off. */
  down(): Promise<void>
  /** Listens again, on the same port. */
  up(): Promise<void>
  /** Breaks the open connections off, as a router does that forgot them. */
  reset(): void
  close(): Promise<void>
}

export interface ProxyTarget {
  readonly port: number
  readonly host?: string
  /** Of jitter and slices. */
  readonly random?: () => number
}

interface ProxyState {
  readonly toxics: Record<Direction, readonly Toxic[]>
  readonly sockets: Set<Socket>
  readonly random: () => number
  opened: number
}

export async function startFaultProxy({
  port,
  host = '127.0.0.1',
  random = Math.random,
}: ProxyTarget): Promise<FaultProxy> {
  const state: ProxyState = { toxics: { upstream: [], downstream: [] }, sockets: new Set(), random, opened: 0 }
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
    state.opened += 1
    const service = connect({ port, host, allowHalfOpen: true, noDelay: true })
    pipe(state, { direction: 'upstream', from: client, to: service })
    pipe(state, { direction: 'downstream', from: service, to: client })
  })
  const own = await listen(server, 0)
  const reset = (): void => {
    for (const socket of state.sockets) socket.resetAndDestroy()
  }
  const down = async (): Promise<void> => {
    reset()
    if (server.listening) await new Promise((resolve) => server.close(resolve))
  }
  return {
    port: own,
    url: `http://127.0.0.1:${own}`,
    connections: () => ({ open: state.sockets.size / 2, opened: state.opened }),
    set: (direction, ...toxics) => {
      state.toxics[direction] = toxics
    },
    down,
    up: async () => {
      await listen(server, own)
    },
    reset,
    close: down,
  }
}

async function listen(server: Server, port: number): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', () => {
      server.off('error', reject)
      resolve()
    })
  })
  return (server.address() as AddressInfo).port // a TCP server's
}

/** Pieces on their way, before the one who sends is made to wait. */
const MAX_ON_THE_WAY = 64

interface Wire {
  readonly direction: Direction
  readonly from: Socket
  readonly to: Socket
}

/** Carries one direction of a connection: pieces wait in line with the time at which they came; null is the end. */
function pipe(state: ProxyState, wire: Wire): void {
  const { from, to } = wire
  const line: { readonly bytes: Buffer | null; readonly cameAtMs: number }[] = []
  let busy = false
  let passed = 0
  const carry = async (): Promise<void> => {
    if (busy) return
    busy = true
    for (let next = line.shift(); next !== undefined && !to.destroyed; next = line.shift()) {
      if (line.length < MAX_ON_THE_WAY && from.isPaused()) from.resume()
      passed += next.bytes?.length ?? 0
      await deliver(state, { ...wire, ...next, passed })
    }
    busy = false
  }
  const take = (bytes: Buffer | null): void => {
    line.push({ bytes, cameAtMs: performance.now() })
    if (line.length >= MAX_ON_THE_WAY) from.pause()
    void carry()
  }
  state.sockets.add(from)
  from.on('data', take).on('end', () => take(null))
  from.on('error', () => to.resetAndDestroy())
  from.on('close', () => {
    state.sockets.delete(from)
    if (!from.readableEnded) to.destroy()
  })
}

interface Piece extends Wire {
  readonly bytes: Buffer | null
  readonly cameAtMs: number
  /** Bytes of this direction, this piece's included. */
  readonly passed: number
}

async function deliver(state: ProxyState, piece: Piece): Promise<void> {
  const { from, to, cameAtMs } = piece
  let { bytes } = piece
  let slices: Extract<Toxic, { type: 'slicer' }> | undefined
  for (const toxic of state.toxics[piece.direction]) {
    if (toxic.type === 'latency') await waitUntil(cameAtMs + toxic.ms + (toxic.jitterMs ?? 0) * state.random())
    else if (toxic.type === 'bandwidth') await sleep(((bytes?.length ?? 0) / toxic.bytesPerSecond) * 1000)
    else if (toxic.type === 'slow_close' && bytes === null) await sleep(toxic.ms)
    else if (toxic.type === 'slicer') slices = toxic
    else if (toxic.type === 'timeout') {
      if (toxic.ms > 0) setTimeout(() => destroyBoth(from, to), toxic.ms)
      return
    } else if (toxic.type === 'reset_peer') {
      await sleep(toxic.ms)
      from.resetAndDestroy()
      to.resetAndDestroy()
      return
    } else if (toxic.type === 'limit_data' && bytes !== null && piece.passed >= toxic.bytes) {
      bytes = bytes.subarray(0, Math.max(0, bytes.length - (piece.passed - toxic.bytes)))
      await write(to, bytes)
      destroyBoth(from, to)
      return
    }
  }
  if (bytes === null) to.end()
  else if (slices === undefined) await write(to, bytes)
  else await writeSliced(state, { to, bytes, slicer: slices })
}

interface Sliced {
  readonly to: Socket
  readonly bytes: Buffer
  readonly slicer: Extract<Toxic, { type: 'slicer' }>
}

async function writeSliced(state: ProxyState, { to, bytes, slicer }: Sliced): Promise<void> {
  const { averageSize, variation = 0, delayMs = 0 } = slicer
  for (let at = 0; at < bytes.length; ) {
    const size = Math.max(1, Math.round(averageSize + (state.random() * 2 - 1) * variation))
    await write(to, bytes.subarray(at, at + size))
    at += size
    await sleep(delayMs)
  }
}

function waitUntil(atMs: number): Promise<void> {
  return sleep(Math.max(0, atMs - performance.now()))
}

async function write(to: Socket, bytes: Buffer): Promise<void> {
  if (!to.writable || to.write(bytes)) return
  await new Promise<void>((resolve) => to.once('drain', resolve).once('close', resolve))
}

/** An end in order, for both, after what was written. */
function destroyBoth(from: Socket, to: Socket): void {
  from.destroySoon()
  to.destroySoon()
}
