/// <reference path="./undici-parts.d.ts" />
/** The relay of resumable streams between the processes of an installation: the protocol, and its client. */

import { createHash, timingSafeEqual } from 'node:crypto'
import { StringDecoder } from 'node:string_decoder'
import { setTimeout as pause } from 'node:timers/promises'
import type { Dispatcher } from 'undici'
import Agent from 'undici/lib/dispatcher/agent.js'
import type { ClientConnection } from '../domain/completion.ts'
import type { SavedAnswer } from '../domain/credit.ts'
import type { AccountId } from '../domain/ids.ts'

/*
 * A process requests a stream of another with `GET /internal/streams/{completion id}`, the installation's token, the account
 * and the instance ID of the other process. Responses for the client, streams and errors, have the header `RELAY_HEADER`;
 * any other status is for the process.
 */

export const RELAY_PATH = '/internal/streams/'
export const ACCOUNT_HEADER = 'x-turnpike-account'
export const INSTANCE_HEADER = 'x-turnpike-instance'
/** `answer` on responses for the client. */
export const RELAY_HEADER = 'x-turnpike-relay'

/** Another process has this address: the requested one is gone. */
export const ANOTHER_INSTANCE = 410
/** The stream does not exist, or no longer. */
export const UNKNOWN_STREAM = 404

/** Compares in constant time. */
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
/** By then the database has the address that a process removes when it stops accepting connections. */
const SECOND_LOOK_MS = 250
/** Of an error response. */
const MAX_ERROR_BYTES = 64 * 1024

/** Address of a process. Undefined: it runs but accepts no connections. `gone`: its lease has ended. */
export type InstanceAddress = { readonly address: string | undefined } | 'gone'

interface RelayClientInput {
  readonly token: string
  /** Rejects when the database is unavailable. */
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
  readonly keepAlive?: string | undefined
  readonly signal: AbortSignal
  /** Undefined if the request is not traced. */
  readonly traceId?: string | undefined
}

type RelayResult =
  | { readonly kind: 'whole' | 'unknown' | 'gone' | 'cut' | 'unreachable' }
  | { readonly kind: 'answer'; readonly answer: SavedAnswer }

interface RelayClient {
  /** Never rejects. */
  relay(ask: RelayRequest, client: RelayTarget): Promise<RelayResult>
  close(): Promise<void>
}

type RelayTarget = Pick<ClientConnection, 'expectStream' | 'write' | 'endStream'>

export function createRelayClient(input: RelayClientInput): RelayClient {
  // A new connection for each request: the other process may close an idle one at the moment of its use.
  // With TLS its certificate is for the name that clients use; the token in each request is derived from the secret.
  const connect = { timeout: RELAY_CONNECT_TIMEOUT_MS, rejectUnauthorized: false }
  const agent = new Agent({ connect, pipelining: 0 })
  return {
    async relay(ask, client) {
      try {
        const instance = await input.addressOf(ask.instanceId)
        if (instance === 'gone') return { kind: 'gone' }
        if (instance.address === undefined) return { kind: 'unreachable' }
        return await requestStream({ ...input, agent, address: instance.address }, ask, client)
      } catch (error) {
        return { kind: await resultOf(error, input, ask) }
      }
    },
    close: () => agent.destroy(),
  }
}

async function requestStream(
  { token, log, silenceMs = RELAY_SILENCE_MS, agent, address }: RelayClientInput & { agent: Agent; address: string },
  ask: RelayRequest,
  client: RelayTarget,
): Promise<RelayResult> {
  const { id, accountId, instanceId, after, signal, traceId } = ask
  const { request } = await import('undici')
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
    if (status === 200) return await relayEvents(response, ask, client)
    return {
      kind: 'answer',
      answer: { status, headers: answerHeaders(headers), body: (await body.text()).slice(0, MAX_ERROR_BYTES) },
    }
  }
  await body.dump()
  if (status === UNKNOWN_STREAM) return { kind: 'unknown' }
  if (status === ANOTHER_INSTANCE) return { kind: 'gone' }
  log.warn({ trace_id: traceId, instance: instanceId, status }, 'another process refused to relay a stream')
  return { kind: 'unreachable' }
}

/** Relays complete events only, so that an error event can follow where the stream breaks off. */
async function relayEvents(
  { headers, body }: Dispatcher.ResponseData,
  ask: RelayRequest,
  client: RelayTarget,
): Promise<RelayResult> {
  const own = ask.headers(answerHeaders(headers))
  client.expectStream(() => own, ask.keepAlive)
  const decoder = new StringDecoder('utf8')
  let rest = ''
  try {
    for await (const bytes of body) {
      rest += decoder.write(bytes as Buffer) // undici yields buffers
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

/** A process that refuses connections is gone, unless the database shows that it stopped accepting them. */
async function resultOf(
  error: unknown,
  { addressOf, log }: RelayClientInput,
  { instanceId, signal, traceId }: RelayRequest,
): Promise<'gone' | 'cut' | 'unreachable'> {
  if (signal.aborted) return 'cut'
  const code = codeOf(error)
  if (CUT.has(code)) return 'cut'
  log.warn({ trace_id: traceId, instance: instanceId, code }, 'could not reach another process that runs a stream')
  if (code !== 'ECONNREFUSED') return 'unreachable'
  await pause(SECOND_LOOK_MS)
  const instance = await addressOf(instanceId).catch(() => undefined)
  if (instance === undefined) return 'unreachable'
  return instance === 'gone' || instance.address !== undefined ? 'gone' : 'unreachable'
}

const CUT: ReadonlySet<string> = new Set(['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE'])

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}

const RELAYED_HEADERS: ReadonlySet<string> = new Set([
  'content-type',
  'retry-after',
  'retry-after-ms',
  'x-should-retry',
])

/** Returns the headers of the answer: limits, IDs and connection belong to this request. */
function answerHeaders(headers: Dispatcher.ResponseData['headers']): Record<string, string> {
  const first: Record<string, string> = {}
  for (const name in headers) {
    const value = headers[name]
    const isRelayed = RELAYED_HEADERS.has(name) || (name.startsWith('x-turnpike-') && name !== RELAY_HEADER)
    if (value !== undefined && isRelayed) first[name] = [value].flat()[0] ?? ''
  }
  return first
}
