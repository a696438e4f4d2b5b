/** Streams of other processes, passed on to clients of this one: see `relay-protocol.ts`. */

import { createHash, timingSafeEqual } from 'node:crypto'
import { StringDecoder } from 'node:string_decoder'
import { setTimeout as pause } from 'node:timers/promises'
import { Agent, type Dispatcher, request } from 'undici'
import type { SavedAnswer } from '../domain/credit.ts'
import type { AccountId } from '../domain/ids.ts'

/*
 * How one process of an installation asks another for a stream that runs there: `GET /internal/streams/{completion id}`
 * with the installation's token, the account, and the process that is meant. What is an answer for the client, a stream
 * or an error, is marked as one; any other status is between the processes.
 */

export const RELAY_PATH = '/internal/streams/'
export const ACCOUNT_HEADER = 'x-turnpike-account'
export const INSTANCE_HEADER = 'x-turnpike-instance'
/** With the value `answer` on what is for the client. */
export const RELAY_HEADER = 'x-turnpike-relay'

/** The asked process is not the one that is meant: that one is gone. */
export const ANOTHER_INSTANCE = 410
/** It knows no such stream: it has ended. */
export const UNKNOWN_STREAM = 404

/** In constant time, whatever was sent. */
export function isToken(authorization: string | undefined, token: string): boolean {
  return timingSafeEqual(digest(authorization ?? ''), digest(`Bearer ${token}`))
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

/** For the connection to another process. */
const RELAY_CONNECT_TIMEOUT_MS = 3_000
/** A process that is silent for longer is gone: it sends a comment every 10 s. */
const RELAY_SILENCE_MS = 30_000
/** What a process says of itself when it stops taking connections is in the database by then. */
const SECOND_LOOK_MS = 250
/** Of an error answer that is passed on. */
const MAX_ERROR_BYTES = 64 * 1024

/** Where a process is: without an address it lives, but takes no connections; `gone`: its lease is over. */
export type InstanceAddress = { readonly address: string | undefined } | 'gone'

export interface RelayClientInput {
  readonly token: string
  /** Rejects when the database is away. */
  readonly addressOf: (instanceId: string) => Promise<InstanceAddress>
  readonly log: { warn(fields: object, message: string): void }
  readonly silenceMs?: number
}

export interface RelayRequest {
  readonly accountId: AccountId
  readonly id: string
  readonly instanceId: string
  readonly after: number | undefined
  readonly headers: (ofStream: Readonly<Record<string, string>>) => Record<string, string>
  readonly signal: AbortSignal
}

export type RelayResult =
  | { readonly kind: 'whole' | 'unknown' | 'gone' | 'cut' | 'unreachable' }
  | { readonly kind: 'answer'; readonly answer: SavedAnswer }

export interface RelayClient {
  /** Never rejects. */
  relay(ask: RelayRequest, client: RelayTarget): Promise<RelayResult>
  close(): Promise<void>
}

interface RelayTarget {
  expectStream(headers: () => Record<string, string>): void
  write(text: string): Promise<void> | undefined
  endStream(): void
}

export function createRelayClient(input: RelayClientInput): RelayClient {
  // A connection for each: one that was idle may be closed by its process in the moment when it is used.
  const agent = new Agent({ connect: { timeout: RELAY_CONNECT_TIMEOUT_MS }, pipelining: 0 })
  return {
    async relay(ask, client) {
      try {
        const place = await input.addressOf(ask.instanceId)
        if (place === 'gone') return { kind: 'gone' }
        if (place.address === undefined) return { kind: 'unreachable' }
        return await askProcess({ input, agent, address: place.address }, ask, client)
      } catch (error) {
        return { kind: await meaningOf(error, input, ask) }
      }
    },
    close: () => agent.destroy(),
  }
}

interface Asking {
  readonly input: RelayClientInput
  readonly agent: Agent
  readonly address: string
}

async function askProcess(
  { input, agent, address }: Asking,
  ask: RelayRequest,
  client: RelayTarget,
): Promise<RelayResult> {
  const { token, silenceMs = RELAY_SILENCE_MS } = input
  const { id, accountId, instanceId, after, signal } = ask
  const response = await request(`${address}${RELAY_PATH}${encodeURIComponent(id)}`, {
    dispatcher: agent,
    signal,
    headersTimeout: silenceMs,
    bodyTimeout: silenceMs,
    headers: {
      authorization: `Bearer ${token}`,
      [ACCOUNT_HEADER]: accountId,
      [INSTANCE_HEADER]: instanceId,
      ...(after === undefined ? {} : { 'last-event-id': String(after) }),
    },
  })
  const { statusCode: status, headers, body } = response
  if (headers[RELAY_HEADER] === 'answer') {
    if (status === 200) return await passOn(response, ask, client)
    return { kind: 'answer', answer: { status, headers: firstValues(headers), body: await errorText(body) } }
  }
  await body.dump()
  if (status === UNKNOWN_STREAM) return { kind: 'unknown' }
  if (status === ANOTHER_INSTANCE) return { kind: 'gone' }
  input.log.warn({ instance: instanceId, status }, 'another process refused to hand over a stream')
  return { kind: 'unreachable' }
}

/** In whole events, so that words of our own may follow where it breaks off. */
async function passOn(
  { headers, body }: Dispatcher.ResponseData,
  ask: RelayRequest,
  client: RelayTarget,
): Promise<RelayResult> {
  const own = ask.headers(firstValues(headers))
  client.expectStream(() => own)
  const decoder = new StringDecoder('utf8')
  let rest = ''
  try {
    for await (const bytes of body) {
      rest += decoder.write(bytes as Buffer) // a body of undici gives buffers
      const end = rest.lastIndexOf('\n\n') + 2
      if (end < 2) continue
      const slow = client.write(rest.slice(0, end))
      rest = rest.slice(end)
      if (slow !== undefined) await slow
    }
  } catch {
    return { kind: 'cut' }
  }
  client.endStream()
  return { kind: 'whole' }
}

async function errorText(body: Dispatcher.ResponseData['body']): Promise<string> {
  const text = await body.text()
  return text.slice(0, MAX_ERROR_BYTES)
}

/** Nobody listens where it listened: it is gone, unless it has said meanwhile that it takes no more connections. */
async function meaningOf(
  error: unknown,
  { addressOf, log }: RelayClientInput,
  { instanceId, signal }: RelayRequest,
): Promise<'gone' | 'cut' | 'unreachable'> {
  if (signal.aborted) return 'cut'
  const code = codeOf(error)
  if (CUT.has(code)) return 'cut'
  log.warn({ instance: instanceId, code }, 'another process that runs a stream could not be reached')
  if (code !== 'ECONNREFUSED') return 'unreachable'
  await pause(SECOND_LOOK_MS)
  const place = await addressOf(instanceId).catch(() => undefined)
  if (place === undefined) return 'unreachable'
  return place === 'gone' || place.address !== undefined ? 'gone' : 'unreachable'
}

const CUT: ReadonlySet<string> = new Set(['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE'])

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}

const OF_ANSWERS: ReadonlySet<string> = new Set(['content-type', 'retry-after', 'retry-after-ms', 'x-should-retry'])

/** What belongs to the answer: limits, ids and the connection are of this request. */
function firstValues(headers: Dispatcher.ResponseData['headers']): Record<string, string> {
  const first: Record<string, string> = {}
  for (const name in headers) {
    const value = headers[name]
    const belongs = OF_ANSWERS.has(name) || (name.startsWith('x-turnpike-') && name !== RELAY_HEADER)
    if (value !== undefined && belongs) first[name] = [value].flat()[0] ?? ''
  }
  return first
}
