/** Load generators: at saturation, at a steady rate, or open idle streams. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import autocannon from 'autocannon'
import { cpuMicroseconds, percentile } from './processes.ts'

export const CHAT_PATH = '/v1/chat/completions'

/** The APIs that a client can call. */
export const APIS = ['chat', 'messages', 'responses'] as const
export type Api = (typeof APIS)[number]
const PATHS: Readonly<Record<Api, string>> = { chat: CHAT_PATH, messages: '/v1/messages', responses: '/v1/responses' }

export interface Target {
  readonly name: string
  readonly port: number
  readonly pid: number
  readonly key: string
  /** Beside those of every request. */
  readonly headers?: Readonly<Record<string, string>>
}

export interface Work {
  readonly model: string
  readonly stream: boolean
  /** Chat completions unless set. */
  readonly api?: Api
}

const SYSTEM = 'You are brief and exact. Answer in the language of the question.'
const USER = { role: 'user', content: 'What is the toll of a turnpike, and who paid it? '.repeat(4) }

export function bodyOf({ model, stream, api = 'chat' }: Work): string {
  const same = { model, temperature: 0.7, stream }
  const bodies: Readonly<Record<Api, object>> = {
    chat: { ...same, messages: [{ role: 'system', content: SYSTEM }, USER], max_tokens: 500 },
    messages: { ...same, system: SYSTEM, messages: [USER], max_tokens: 500 },
    responses: { ...same, instructions: SYSTEM, input: [USER], max_output_tokens: 500 },
  }
  return JSON.stringify(bodies[api])
}

const FIRST_BYTE_WITHIN_MS = 30_000

/** The gateway closes connections after 1 000 requests; the load reconnects before. */
const REQUESTS_PER_CONNECTION = 900

export interface Load {
  readonly inFlight: number
  readonly seconds: number
  /** Ends with the answer of the last of so many requests, not after `seconds`. */
  readonly requests?: number
}

export interface Measured {
  readonly requests: number
  readonly perSecond: number
  readonly cpuUs: number
  readonly p50Ms: number
  readonly p99Ms: number
}

/** Keeps `inFlight` requests in flight. Throws when any fails, since errors are cheap. */
export async function saturate(target: Target, work: Work, load: Load): Promise<Measured> {
  const cpuBefore = cpuMicroseconds(target.pid)
  const result = await autocannon({
    url: `http://127.0.0.1:${target.port}${PATHS[work.api ?? 'chat']}`,
    method: 'POST',
    headers: { ...target.headers, authorization: `Bearer ${target.key}`, 'content-type': 'application/json' },
    body: bodyOf(work),
    connections: load.inFlight,
    duration: load.seconds,
    ...(load.requests !== undefined && { amount: load.requests }),
    timeout: 60,
    sampleInt: 20, // a run with `amount` ends at the next sample
    reconnectRate: REQUESTS_PER_CONNECTION,
  })
  if (result.non2xx + result.errors + result.timeouts > 0) {
    throw new Error(`${target.name}: ${result.non2xx} not 2xx, ${result.errors} errors, ${result.timeouts} time-outs`)
  }
  return {
    requests: result['2xx'],
    perSecond: result['2xx'] / result.duration,
    cpuUs: cpuMicroseconds(target.pid) - cpuBefore,
    p50Ms: result.latency.p50,
    p99Ms: result.latency.p99,
  }
}

/** Sends on one connection at a time; resolves with the milliseconds to the first byte of each answer. */
interface Sender {
  send(bytes: string): Promise<number>
  close(): void
}

async function openSender(port: number): Promise<Sender> {
  let socket = await opened(port)
  let sent = 0
  return {
    async send(bytes) {
      if (++sent % REQUESTS_PER_CONNECTION === 0) {
        socket.destroy()
        socket = await opened(port)
      }
      return await firstByteMs(socket, bytes)
    },
    close: () => socket.destroy(),
  }
}

const LAST_CHUNK = Buffer.from('0\r\n\r\n')

function firstByteMs(socket: Socket, bytes: string): Promise<number> {
  return new Promise((resolve) => {
    const startedAt = performance.now()
    let firstMs: number | undefined
    socket.on('data', function read(piece: Buffer) {
      firstMs ??= performance.now() - startedAt
      // Answers of the bench are one JSON object at the end of the last packet, or its last chunk.
      if (piece.at(-1) !== 0x7d && !piece.subarray(-5).equals(LAST_CHUNK)) return
      socket.off('data', read)
      resolve(firstMs)
    })
    socket.write(bytes)
  })
}

function opened(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true }, () => resolve(socket))
    socket.on('error', reject)
  })
}

function requestBytes({ key, headers }: Target, work: Work): string {
  const body = bodyOf(work)
  const fields = {
    host: 'bench',
    authorization: `Bearer ${key}`,
    'content-type': 'application/json',
    'content-length': body.length,
    ...headers,
  }
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`)
  return `POST ${CHAT_PATH} HTTP/1.1\r\n${lines.join('')}\r\n${body}`
}

/** A target that does not keep up with the rate is given up after so many times the planned seconds. */
const PACE_WITHIN = 5

/** Milliseconds to the first byte at a steady number of requests a second. */
export async function pace(
  target: Target,
  work: Work,
  load: { perSecond: number; seconds: number },
): Promise<{ readonly p50Ms: number; readonly p99Ms: number }> {
  const bytes = requestBytes(target, work)
  const free = await Promise.all(Array.from({ length: 64 }, () => openSender(target.port)))
  const senders = [...free]
  const times: number[] = []
  const startedAt = performance.now()
  const total = Math.floor(load.perSecond * load.seconds)
  for (let sent = 0; sent < total; ) {
    if (performance.now() - startedAt > PACE_WITHIN * load.seconds * 1000) throw new Error(`${target.name}: too slow`)
    const due = Math.min(total, Math.floor(((performance.now() - startedAt) / 1000) * load.perSecond))
    for (; sent < due; sent++) {
      const sender = free.pop()
      if (sender === undefined) break
      void sender.send(bytes).then((ms) => {
        times.push(ms)
        free.push(sender)
      })
    }
    await sleep(1) // no busy waiting, since the measured processes need the processors
  }
  await sleep(100)
  for (const sender of senders) sender.close()
  return { p50Ms: percentile(times, 50), p99Ms: percentile(times, 99) }
}

/** Opens streams that have started and stay idle. */
export async function openIdleStreams(target: Target, count: number): Promise<() => void> {
  const bytes = requestBytes(target, { model: 'idle', stream: true })
  const sockets: Socket[] = []
  while (sockets.length < count) {
    const socket = await opened(target.port)
    const begun = once(socket, 'data', { signal: AbortSignal.timeout(FIRST_BYTE_WITHIN_MS) })
    socket.write(bytes)
    const [head] = (await begun) as [Buffer]
    if (!head.includes(' 200 ')) throw new Error(`${target.name}: ${head.toString().split('\r\n')[0]}`)
    sockets.push(socket)
  }
  return () => {
    for (const socket of sockets) socket.destroy()
  }
}

const ABORT_WITHIN_MS = 5_000

/** Disconnects from open streams. @returns how many of these disconnects the provider sees within 5 s. */
export async function abortStreams(target: Target, provider: Target, count: number): Promise<number> {
  const seen = async (): Promise<number> => Number(await (await fetch(`http://127.0.0.1:${provider.port}`)).text())
  const before = await seen()
  const close = await openIdleStreams(target, count)
  close()
  for (const until = performance.now() + ABORT_WITHIN_MS; performance.now() < until; await sleep(50)) {
    if ((await seen()) - before >= count) break
  }
  return (await seen()) - before
}
