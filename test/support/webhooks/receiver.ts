/**
 * A customer's server that webhooks are posted to: on loopback, with or without TLS, on raw sockets. It keeps what it was
 * sent byte for byte, as the log that deliveries are compared with, and answers by the byte scripts of the fault kit.
 */
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { createServer as createTlsServer } from 'node:tls'
import {
  awaitRequest,
  body,
  delay,
  end,
  fin,
  garbage,
  head,
  type Script,
  send,
  stall,
} from '../../faults/kit/byte-script.ts'
import { runScript, type ScriptedSocket } from '../../faults/kit/script-runner.ts'
import { readRequests } from '../http/request-reader.ts'
import type { ServerCertificate } from '../identity/test-authority.ts'
import { unreadOn } from '../process/sockets-of-machine.ts'

/** One request as it came. */
export interface Received {
  readonly method: string
  readonly path: string
  /** Names in small letters. */
  readonly headers: Readonly<Record<string, string>>
  /** The body. */
  readonly bytes: Buffer
  /** Of its connection; counts from 0. */
  readonly connection: number
  /** `performance.now()` */
  readonly receivedAtMs: number
  /** Of the answer, head included: given to the socket, which may be more than the other side has read. */
  sentBytes: number
  /** `performance.now()` when the other side ended the connection before the answer was over; undefined: it did not. */
  leftAtMs: number | undefined
}

/** What is done with a request. A function writes the answer itself, and ends the connection. */
export type Answer = Script | ((reply: { readonly socket: Socket; readonly received: Received }) => Promise<void>)

export interface Receiver {
  /** Without trailing slash. */
  readonly url: string
  readonly port: number
  readonly received: readonly Received[]
  /** Connections that there have been. */
  readonly connections: () => number
  /** Those that came to a path, in their order. */
  at(path: string): readonly Received[]
  /** What is answered at a path: in turn, the last one for ever. Other paths answer 200. */
  answer(path: string, ...answers: readonly Answer[]): void
  /** Resolves with what came to a path, as soon as there are so many; rejects after `withinMs`. */
  until(path: string, count: number, withinMs?: number): Promise<readonly Received[]>
  close(): Promise<void>
}

/** A whole answer with a length. */
export function whole(status: number, text = '', headers: Readonly<Record<string, string>> = {}): Script {
  const length = Buffer.byteLength(text)
  return length === 0 ? [head(status, headers, 0)] : [head(status, headers, length), body(text)]
}

export const HUGE_BYTES = 10 * 1024 * 1024
const PIECE_BYTES = 2048

/** The kinds of receivers that there are; each is the answer to one request. */
export const KINDS = {
  success: whole(200, 'thank you'),
  noContent: [send('HTTP/1.1 204 No Content\r\n\r\n')],
  gone: whole(410, 'moved away'),
  tooMany: whole(429, 'slow down', { 'retry-after': '3600' }),
  broken: whole(500, 'we are down'),
  unavailable: whole(503, 'come back', { 'retry-after': '7200' }),
  /** A minute of nothing, then success. */
  slow: [delay(60_000), ...whole(200, 'at last')],
  /** Head at once, then a byte a second, for two minutes. */
  drip: [head(200, {}, 120), ...Array.from({ length: 120 }, () => [body('x'), delay(1000)]).flat()],
  neverAnswers: [stall],
  /** Success by its head, and then half of the body. */
  closesHalfway: [head(200, {}, 1000), body('half of it'), fin],
  /** Success by its head, then bytes that are no chunk. */
  chunkedGarbage: [head(200), send(garbage(64)), fin],
  /** Bytes that are no HTTP. */
  noHttp: [send('220 mail.example.com ESMTP\r\n'), fin],
  hangsUp: [fin],
} as const satisfies Readonly<Record<string, Script>>

/** A redirect that somebody would follow. */
export function redirect(to: string, status = 302): Script {
  return whole(status, 'over there', { location: to })
}

/** 10 MB, each piece only when the other side has read what came before: what is sent is what was read. */
export async function huge({ socket, received }: Parameters<Exclude<Answer, Script>>[0]): Promise<void> {
  const give = (bytes: string | Uint8Array): void => {
    received.sentBytes += Buffer.byteLength(bytes)
    socket.write(bytes)
  }
  give(`HTTP/1.1 200 OK\r\ncontent-length: ${HUGE_BYTES}\r\n\r\n`)
  const piece = Buffer.alloc(PIECE_BYTES, 'x')
  for (let left = HUGE_BYTES; left > 0 && socket.writable; left -= piece.length) {
    give(piece)
    while (socket.writable && (await unreadOn(socket)) > 0) await sleep(1)
  }
  socket.destroy()
}

interface ReceiverState {
  readonly received: Received[]
  readonly sockets: Set<Socket>
  readonly answers: Map<string, { readonly all: readonly Answer[]; turn: number }>
  readonly watchers: Set<() => void>
  connections: number
}

export interface ReceiverOptions {
  readonly tls?: ServerCertificate
  /** An address of this machine's. */
  readonly host?: string
  readonly port?: number
}

export async function startReceiver({ tls, host = '127.0.0.1', port = 0 }: ReceiverOptions = {}): Promise<Receiver> {
  const state: ReceiverState = {
    received: [],
    sockets: new Set(),
    answers: new Map(),
    watchers: new Set(),
    connections: 0,
  }
  const server = listener(state, tls)
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, host, resolve))
  const own = (server.address() as AddressInfo).port // a TCP server's
  const at = (path: string): readonly Received[] => state.received.filter((each) => each.path === path)
  return {
    url: `${tls === undefined ? 'http' : 'https'}://${host}:${own}`,
    port: own,
    received: state.received,
    connections: () => state.connections,
    at,
    answer: (path, ...all) => void state.answers.set(path, { all, turn: 0 }),
    until: (path, count, withinMs = 60_000) => untilThere(state, { ask: () => at(path), path, count, withinMs }),
    close: () => {
      for (const socket of state.sockets) socket.destroy()
      return new Promise((resolve) => server.close(() => resolve()))
    },
  }
}

function listener(state: ReceiverState, tls: ServerCertificate | undefined): Server {
  if (tls === undefined) {
    return createTcpServer({ noDelay: true }, (socket) => {
      count(state, socket)
      void serve(state, socket)
    })
  }
  const server = createTlsServer({ ...tls }, (socket) => void serve(state, socket))
  server.on('connection', (socket: Socket) => count(state, socket))
  return server.on('tlsClientError', () => {}) // a caller that does not trust us
}

/** A connection is one from its first packet on, whatever comes of it. */
function count(state: ReceiverState, socket: Socket): void {
  state.connections += 1
  state.sockets.add(socket)
  socket.on('error', () => {}).on('close', () => state.sockets.delete(socket))
}

async function untilThere(
  { watchers }: ReceiverState,
  wanted: { ask: () => readonly Received[]; path: string; count: number; withinMs: number },
): Promise<readonly Received[]> {
  const { ask, path, count: least, withinMs } = wanted
  if (ask().length >= least) return ask()
  const there = Promise.withResolvers<void>()
  const look = (): void => {
    if (ask().length >= least) there.resolve()
  }
  const late = (): void => there.reject(new Error(`${ask().length} of ${least} requests came to ${path}`))
  const timer = setTimeout(late, withinMs)
  watchers.add(look)
  try {
    await there.promise
    return ask()
  } finally {
    clearTimeout(timer)
    watchers.delete(look)
  }
}

/** One connection from its beginning to its end. */
async function serve(state: ReceiverState, socket: Socket): Promise<void> {
  const connection = state.connections - 1
  let current: Received | undefined
  const gone = new AbortController()
  const leave = (): void => {
    if (current !== undefined) current.leftAtMs ??= performance.now()
    gone.abort()
  }
  socket.on('error', leave).on('end', leave).on('close', leave)
  const requests = readRequests(socket)
  const target: ScriptedSocket = {
    socket,
    gone: gone.signal,
    awaitRequest: async () => {
      const request = await requests.next()
      if (request === undefined) return false
      current = { ...request, connection, receivedAtMs: performance.now(), sentBytes: 0, leftAtMs: undefined }
      state.received.push(current)
      for (const look of state.watchers) look()
      return true
    },
    onBill: () => {},
    onSent: (bytes) => {
      if (current !== undefined) current.sentBytes += bytes
    },
  }
  while (await runScript(target, [awaitRequest])) {
    if (current === undefined) return
    const answer = answerOf(state, current.path)
    if (typeof answer === 'function') return answer({ socket, received: current })
    if (!(await runScript(target, answer))) break
    current = undefined // what ends now ends in order
  }
  if (gone.signal.aborted) socket.destroy()
}

function answerOf({ answers }: ReceiverState, path: string): Answer {
  const known = answers.get(path)
  if (known === undefined) return KINDS.success
  const answer = known.all[Math.min(known.turn, known.all.length - 1)]
  known.turn += 1
  return answer ?? [end]
}
