/** A plain HTTP client with kept-alive connections, for what the official SDKs hide. */
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { inspect } from 'node:util'
import { Agent, type Dispatcher, request } from 'undici'
import type { Gateway } from './gateway.ts'
import type { WireError, WireUsage } from './providers/sse.ts'

const agent = new Agent({ connections: 64, keepAliveTimeout: 4000, bodyTimeout: 0, headersTimeout: 0 })

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
}

export interface Call {
  readonly key?: string
  readonly method?: string
  /** An object is sent as JSON. */
  readonly body?: object | string
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
  /** On a connection of its own: one that is kept may be closed by a gateway that ends. */
  readonly fresh?: boolean
}

/** Sends a request and returns as soon as the head is there. */
export function open(gateway: Gateway, path: string, call: Call = {}): Promise<Dispatcher.ResponseData> {
  const { key, body, headers, signal } = call
  return request(gateway.url + path, {
    dispatcher: call.fresh === true ? new Agent({ pipelining: 0 }) : agent,
    method: (call.method ?? (body === undefined ? 'GET' : 'POST')) as Dispatcher.HttpMethod,
    body: typeof body === 'object' ? JSON.stringify(body) : (body ?? null),
    signal: signal ?? null,
    headers: {
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
  })
}

export async function send(gateway: Gateway, path: string, call: Call = {}): Promise<Answer> {
  const response = await open(gateway, path, call)
  const headers: Record<string, string> = {}
  for (const [name, value] of Object.entries(response.headers)) headers[name] = [value].flat().join(', ')
  return { status: response.statusCode, headers, text: await response.body.text() }
}

export const CHAT = '/v1/chat/completions'

/** A small request to the model `m1`; `over` adds and replaces fields. */
export function hello(over: Readonly<Record<string, unknown>> = {}): object {
  return { model: 'm1', messages: [{ role: 'user', content: 'hi' }], ...over }
}

export interface WireCompletion {
  readonly id: string
  readonly object: string
  readonly created: number
  readonly model: string
  readonly choices: readonly {
    readonly index: number
    readonly finish_reason: string
    readonly logprobs?: unknown
    readonly message: {
      readonly role: string
      readonly content: string | null
      readonly reasoning_content?: string
      readonly refusal?: string | null
      readonly provider_context?: unknown
      readonly images?: unknown
      readonly tool_calls?: readonly {
        readonly id: string
        readonly type: string
        readonly function: { readonly name: string; readonly arguments: string }
      }[]
    }
  }[]
  readonly usage: WireUsage
}

export function completionOf(answer: Answer): WireCompletion {
  return JSON.parse(answer.text) as WireCompletion
}

export function errorOf(answer: Answer): WireError {
  return (JSON.parse(answer.text) as { readonly error: WireError }).error
}

export interface UsageReport {
  readonly total_tokens: number
  readonly total_cost_usd: number
  readonly breakdown_by_model: readonly { readonly model: string; readonly tokens: number; readonly cost_usd: number }[]
}

export function usageReport(gateway: Gateway, key: string): Promise<UsageReport> {
  return getJson(gateway, key, '/v1/usage')
}

/** How long a busy gateway may turn a look at it away. */
const OVERLOADED_MS = 60_000

/** Asks again, as clients do, while the gateway is overloaded; rejects at any other refusal. */
export async function getJson<T>(gateway: Gateway, key: string, path: string): Promise<T> {
  const until = performance.now() + OVERLOADED_MS
  for (;;) {
    const { status, text, headers } = await send(gateway, path, { key })
    if (status === 200) return JSON.parse(text) as T
    const isOverloaded = status === 503 && text.includes('"code":"overloaded"')
    if (!isOverloaded || performance.now() > until) throw new Error(`${path} answered ${status}: ${text}`)
    await sleep(1000 * Number(headers['retry-after'] ?? 1))
  }
}

/** Far more than anything takes, also where processes stand still for seconds, since others have the cores. */
const WITHIN_MS = 60_000

const FIRST_PAUSE_MS = 25
/** Each question costs two processes milliseconds, and many tests wait for half a minute until a lease has lapsed. */
const LONGEST_PAUSE_MS = 500
/** Of the time that it has taken so far. */
const PAUSE_SHARE = 0.05

/** Milliseconds until one looks again for what was not there after `waitedMs`. */
export function pauseAfter(waitedMs: number): number {
  return Math.min(Math.max(FIRST_PAUSE_MS, waitedMs * PAUSE_SHARE), LONGEST_PAUSE_MS)
}

/** Asks again until the answer is as wished. Rejects, and says the last one, when it is not after `withinMs`. */
export async function eventually<T>(
  ask: () => Promise<T>,
  isThere: (value: T) => boolean,
  withinMs = WITHIN_MS,
): Promise<T> {
  const begunAt = performance.now()
  for (;;) {
    const value = await ask()
    if (isThere(value)) return value
    const waitedMs = performance.now() - begunAt
    if (waitedMs > withinMs) throw new Error(`Not so within ${withinMs} ms; at last: ${inspect(value)}`)
    await sleep(pauseAfter(waitedMs))
  }
}

/** The least of some measurements, repeated until one is at most `enough`: other programs may delay any of them. */
export async function bestOf(measure: () => Promise<number>, enough: number, attempts = 20): Promise<number> {
  let best = Number.POSITIVE_INFINITY
  for (let attempt = 0; attempt < attempts && best > enough; attempt++) best = Math.min(best, await measure())
  return best
}

/** Resolves when so many completions are under way in a process; those that wait for another's answer count as well. */
export async function untilActive(gateway: Gateway, count: number): Promise<void> {
  const gauge = async (): Promise<number> => {
    const { text } = await send(gateway, '/metrics')
    return Number(/^turnpike_active_completions (\d+)$/m.exec(text)?.[1])
  }
  await eventually(gauge, (now) => now === count)
}

/** Writes bytes on a socket of its own and returns everything that comes back until the server closes it. */
export function raw(gateway: Gateway, pieces: readonly (string | Uint8Array)[], stayMs = 60_000): Promise<string> {
  return new Promise((resolve) => {
    let received = ''
    const socket = connect(gateway.port, '127.0.0.1', () => {
      for (const piece of pieces) socket.write(piece)
    })
    const timer = setTimeout(() => socket.destroy(), stayMs)
    socket.on('data', (bytes) => {
      received += bytes.toString()
    })
    socket.on('error', () => {})
    socket.on('close', () => {
      clearTimeout(timer)
      resolve(received)
    })
  })
}

/** The status of a raw answer; undefined when there was none. */
export function rawStatus(text: string): number | undefined {
  const status = /^HTTP\/1\.1 (\d{3}) /.exec(text)?.[1]
  return status === undefined ? undefined : Number(status)
}
