/**
 * A client that sends requests at a steady rate over connections that stay open, at a fraction of the cost of an HTTP client:
 * requests are bytes made once, and of answers it reads status, end and model.
 */
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

export interface SteadyLoad {
  readonly port: number
  readonly key: string
  readonly path: string
  /** JSON bodies, sent in turn. */
  readonly bodies: readonly string[]
  readonly perSecond: number
  /** Most requests under way. A server that is slower gets fewer a second. */
  readonly atOnce: number
}

export interface SteadyAnswer {
  /** 0: the connection broke. */
  readonly status: number
  /** The last one that the answer names; undefined: none. */
  readonly model: string | undefined
  /** `performance.now()` */
  readonly sentAt: number
}

/** Servers close a connection after so many requests. */
const REQUESTS_PER_CONNECTION = 900
const TICK_MS = 2

/** Sends from now on, until `stop` is called, which resolves with every answer. */
export function startLoad(load: SteadyLoad): { stop(): Promise<readonly SteadyAnswer[]> } {
  const answers: SteadyAnswer[] = []
  const requests = load.bodies.map((body) => requestBytes(load, body))
  const free: Connection[] = Array.from({ length: load.atOnce }, () => ({ socket: undefined, sent: 0 }))
  const startedAt = performance.now()
  let sends = true
  const run = async (): Promise<void> => {
    for (let sent = 0; sends; await sleep(TICK_MS)) {
      const due = Math.floor(((performance.now() - startedAt) / 1000) * load.perSecond)
      for (; sent < due; sent++) {
        const connection = free.pop()
        if (connection === undefined) break
        const bytes = requests[sent % requests.length] ?? ''
        void exchange(connection, load.port, bytes).then((answer) => {
          answers.push(answer)
          free.push(connection)
        })
      }
    }
    while (free.length < load.atOnce) await sleep(TICK_MS)
    for (const { socket } of free) socket?.destroy()
  }
  const done = run()
  return {
    async stop() {
      sends = false
      await done
      return answers
    },
  }
}

interface Connection {
  socket: Socket | undefined
  sent: number
}

function requestBytes({ key, path }: SteadyLoad, body: string): string {
  const head = `POST ${path} HTTP/1.1\r\nHost: load\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json`
  return `${head}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
}

async function exchange(connection: Connection, port: number, bytes: string): Promise<SteadyAnswer> {
  if (connection.sent++ % REQUESTS_PER_CONNECTION === 0) {
    connection.socket?.destroy()
    connection.socket = undefined
  }
  const sentAt = performance.now()
  try {
    const socket = connection.socket ?? (await opened(port))
    connection.socket = socket
    const text = await answerOf(socket, bytes)
    const status = Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1] ?? 0)
    return { status, model: text.slice(text.lastIndexOf('"model"')).match(/^"model":\s*"([^"]*)"/)?.[1], sentAt }
  } catch {
    connection.socket?.destroy()
    connection.socket = undefined
    connection.sent = 0
    return { status: 0, model: undefined, sentAt }
  }
}

function opened(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true }, () => resolve(socket))
    // Of an open connection `close` follows, which ends the answer.
    socket.on('error', reject)
  })
}

/** Rejects when the connection ends before the answer does. */
function answerOf(socket: Socket, bytes: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = ''
    const onData = (piece: Buffer): void => {
      text += piece.toString('latin1')
      if (!isWhole(text)) return
      settle()
      resolve(text)
    }
    const onEnd = (): void => {
      settle()
      reject(new Error('The connection ended.'))
    }
    const settle = (): void => {
      socket.off('data', onData).off('close', onEnd)
    }
    socket.on('data', onData).on('close', onEnd)
    socket.write(bytes)
  })
}

function isWhole(text: string): boolean {
  const end = text.indexOf('\r\n\r\n')
  if (end < 0) return false
  const length = /\r\ncontent-length: (\d+)/i.exec(text.slice(0, end))?.[1]
  return length === undefined ? text.endsWith('\r\n0\r\n\r\n') : text.length - end - 4 >= Number(length)
}
