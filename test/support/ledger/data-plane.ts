/** Literals for the ports of the data plane: a network that plays scripts, a client that records what it receives. */

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import type { ChatRequest } from '../../../src/domain/chat.ts'
import type { CompletionRecord } from '../../../src/domain/completion.ts'
import type { Caller } from '../../../src/domain/identity/caller.ts'
import { type AccountId, createIdSource, type KeyId } from '../../../src/domain/ids.ts'
import type { Deployment, Model } from '../../../src/domain/model.ts'
import type { Incoming } from '../../../src/gateway/admit.ts'
import type { ClientConnection, GatewayPorts } from '../../../src/gateway/ports.ts'
import { createHealth, type Health, type RoutingSettings } from '../../../src/gateway/routing/health.ts'
import type { UpstreamProvider, UpstreamTimeouts } from '../../../src/gateway/upstream/transport.ts'
import { chatCompletionsApi } from '../../../src/protocols/openai-chat/client/index.ts'
import { openaiChat } from '../../../src/protocols/openai-chat/index.ts'
import type { UpstreamProtocol } from '../../../src/protocols/protocol.ts'
import { bearer, type Transport, type UpstreamCall, type UpstreamExchange } from '../../../src/providers/provider.ts'
import { keyCaller } from '../identity/caller.ts'
import { frame } from '../providers/answers.ts'
import { type FakeCredit, type FakeIdempotency, fakeCredit, fakeIdempotency } from './fake-credit.ts'

/** The provider says nothing more until the call is aborted. */
export const HANGS = Symbol('hangs')

/** Bytes of one network read, the way the connection ends, or something to do before going on. */
export type Step = string | Uint8Array | Error | typeof HANGS | (() => void | Promise<void>)

export interface Script {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  /** What comes in place of a head. */
  readonly head?: Error | typeof HANGS
  readonly body?: readonly Step[]
}

export interface Exchange {
  readonly call: UpstreamCall
  /** The connection was destroyed before the end of the answer. */
  aborted: boolean
  /** It has ended, one way or the other. */
  over: boolean
  reads: number
}

export interface Network {
  readonly transport: Transport
  readonly exchanges: Exchange[]
  /** The hosts called, in order. */
  hosts(): string[]
}

/** @param scriptFor What is answered to the call number `position`, from 0. */
export function playNetwork(scriptFor: (call: UpstreamCall, position: number) => Script): Network {
  const exchanges: Exchange[] = []
  return {
    exchanges,
    hosts: () => exchanges.map(({ call }) => new URL(call.url).hostname),
    transport: (call, onSend) => {
      onSend?.()
      const exchange: Exchange = { call, aborted: false, over: false, reads: 0 }
      exchanges.push(exchange)
      return playExchange(scriptFor(call, exchanges.length - 1), exchange)
    },
  }
}

function playExchange({ status = 200, headers = SSE, head, body = [] }: Script, exchange: Exchange): UpstreamExchange {
  const over = Promise.withResolvers<never>()
  over.promise.catch(() => {})
  const steps = [...body]
  const answered =
    head === HANGS
      ? over.promise
      : head === undefined
        ? Promise.resolve({ status, headers })
        : Promise.reject<never>(head)
  answered.catch(() => {
    exchange.over = true
  })
  return {
    head: answered,
    async read() {
      exchange.reads += 1
      for (;;) {
        if (exchange.aborted) return over.promise
        const step = steps.shift()
        exchange.over = step === undefined || step instanceof Error
        if (step === undefined) return undefined
        if (step === HANGS) return over.promise
        if (step instanceof Error) throw step
        if (typeof step !== 'function') return typeof step === 'string' ? Buffer.from(step) : step
        await step()
      }
    },
    abort() {
      if (exchange.over) return
      exchange.aborted = true
      exchange.over = true
      over.reject(new Error('The call was aborted.'))
    },
  }
}

const SSE = { 'content-type': 'text/event-stream' } as const

/** An event stream of these payloads in one read each, closed well. */
export function streamed(payloads: readonly Readonly<Record<string, unknown>>[]): Script {
  return { body: [...payloads.map(frame), frame('[DONE]')] }
}

export function whole(body: unknown, status = 200, headers: Readonly<Record<string, string>> = {}): Script {
  return { status, headers: { 'content-type': 'application/json', ...headers }, body: [JSON.stringify(body)] }
}

/** An error answer as OpenAI's hosts give it. */
export function refusal(status: number, error: object = { message: 'no' }, headers = {}): Script {
  return whole({ error }, status, headers)
}

/** Long enough to be of no account. */
export const LONG: UpstreamTimeouts = {
  connect: 600_000,
  firstByte: 600_000,
  wholeAnswer: 600_000,
  idle: 600_000,
  total: 600_000,
}

export interface UpstreamInput extends Partial<Omit<UpstreamProvider, 'provider'>> {
  readonly protocol?: UpstreamProtocol
}

export function upstreamOf({ protocol = openaiChat(), ...over }: UpstreamInput & { transport: Transport }) {
  const name = over.name ?? 'up'
  const source = { url: 'https://example.com', read: '2026-11-20' }
  const upstream: UpstreamProvider = {
    name,
    provider: { id: name, name, protocol, authorize: bearer, source },
    baseUrl: `http://${name}.test/v1`,
    credentials: ['sk-up'],
    timeouts: LONG,
    onDisconnect: 'cancel',
    maxInFlight: undefined,
    ...over,
  }
  return upstream
}

export function deployment(provider: string, over: Partial<Deployment> = {}): Deployment {
  return { provider, model: `${provider}-model`, priority: 0, weight: 1, ...over }
}

/** A model that can do everything, at one and two dollars per million tokens. */
export function modelOf(over: Partial<Model> = {}): Model {
  return {
    id: 'm1',
    name: 'M1',
    ownedBy: 'up',
    created: 0,
    kind: 'chat',
    capabilities: { streaming: true, function_calling: true, vision: true, json_mode: true },
    contextWindow: 128_000,
    maxOutputTokens: 1000,
    price: { inputMicroUsd: 1_000_000, outputMicroUsd: 2_000_000 },
    priceVersion: 'pv_1',
    aliasOf: undefined,
    deprecationDate: undefined,
    inputModalities: ['text'],
    supportedParameters: [],
    deployments: [deployment('up')],
    ...over,
  }
}

export function callerOf(over: Partial<Caller> = {}): Caller {
  return keyCaller({
    accountId: 'acc_1' as AccountId,
    keyId: 'key_1' as KeyId,
    plan: 'plan',
    scopes: new Set(['chat']),
    ...over,
  })
}

export function requestOf(over: Partial<ChatRequest> = {}): ChatRequest {
  return {
    model: 'm1',
    messages: [{ role: 'user', content: 'hi' }],
    stream: true,
    includeUsage: false,
    n: 1,
    extra: {},
    ...over,
  }
}

/** A request as HTTP hands it over. */
export function incomingOf(body: unknown, over: Partial<Incoming> = {}): Incoming {
  return {
    api: chatCompletionsApi,
    caller: callerOf(),
    body,
    requestId: 'req_1',
    clientRequestId: undefined,
    idempotencyKey: undefined,
    receivedAt: 0,
    ...over,
  }
}

export interface TestClient extends ClientConnection {
  readonly written: string[]
  /** The whole answer, where one was sent. */
  readonly body: string | undefined
  /** Of the answer's head; undefined as long as there is none. */
  readonly headers: Readonly<Record<string, string>> | undefined
  readonly ended: boolean
  readonly left: boolean
  leave(): void
}

export interface TestClientInput {
  /** Called after each write with the number of writes so far; a promise makes the writer wait. */
  readonly onWrite?: (count: number, client: TestClient) => Promise<void> | undefined
  /** Called when the answer's last bytes are about to be written. */
  readonly onEnd?: () => void
}

export function testClient({ onWrite, onEnd }: TestClientInput = {}): TestClient {
  let listener: (() => void) | undefined
  let left = false
  let head: (() => Record<string, string>) | undefined
  let headers: Record<string, string> | undefined
  let body: string | undefined
  let ended = false
  const client: TestClient = {
    written: [],
    onLeave(own) {
      if (left) own()
      else listener = own
    },
    streaming: () => headers !== undefined,
    expectStream(own) {
      head = own
    },
    write(text) {
      if (left || ended) return undefined
      headers ??= head?.() ?? {}
      if (text.includes('data: [DONE]')) onEnd?.()
      client.written.push(text)
      return onWrite?.(client.written.length, client)
    },
    endStream() {
      ended = true
    },
    sendJson(text, own) {
      onEnd?.()
      body = text
      headers = own
      ended = true
    },
    get body() {
      return body
    },
    get headers() {
      return headers
    },
    get ended() {
      return ended
    },
    get left() {
      return left
    },
    leave() {
      if (left || ended) return
      left = true
      listener?.()
    },
  }
  return client
}

/** One token for four characters. */
export function countQuarters(text: string): Promise<number> {
  return Promise.resolve(Math.ceil(text.length / 4))
}

export interface TestPorts {
  readonly ports: GatewayPorts
  readonly credit: FakeCredit
  readonly idempotency: FakeIdempotency
  /** What was told to whoever watches: what was charged. */
  readonly records: CompletionRecord[]
  readonly overheads: (number | undefined)[]
  /** Admissions that were not released. */
  readonly admitted: () => number
}

export interface PortsInput extends Partial<Omit<GatewayPorts, 'models' | 'provider' | 'credit' | 'idempotency'>> {
  readonly models?: readonly Model[]
  readonly upstreams?: readonly UpstreamProvider[]
  readonly credit?: FakeCredit
  readonly idempotency?: FakeIdempotency
}

/** Settings under which what a provider does changes nothing for later calls. */
export const PATIENT: RoutingSettings = { retryBudget: 1_000, breaker: { failures: 1_000_000, openMs: 1 } }

export function healthOf(
  over: Partial<Pick<Health, 'clock' | 'now' | 'random'>> = {},
  settings: RoutingSettings = PATIENT,
): Health {
  return createHealth({
    clock: () => 0,
    now: () => 1_760_000_000_000,
    random: () => 0,
    settings: () => settings,
    ...over,
  })
}

/** Ports whose clock stands still and whose chance is 0, so that no attempt waits. */
export function testPorts(input: PortsInput = {}): TestPorts {
  const { models = [modelOf()], upstreams = [], ...rest } = input
  const { credit = fakeCredit(), idempotency = fakeIdempotency(), ...over } = rest
  const records: CompletionRecord[] = []
  const overheads: (number | undefined)[] = []
  let admitted = 0
  const ports: GatewayPorts = {
    admit: () => {
      admitted += 1
      let held = true
      const release = (): void => {
        if (held) admitted -= 1
        held = false
      }
      return { requests: undefined, tokens: undefined, release, settle: () => {} }
    },
    models: () => ({
      find: (id) => models.find((model) => model.id === id),
      nearest: (_id, count) => models.slice(0, count).map(({ id }) => id),
      all: models,
    }),
    provider: (name) => upstreams.find((upstream) => upstream.name === name),
    health: healthOf({ ...(rest.clock && { clock: rest.clock }), ...(rest.random && { random: rest.random }) }),
    credit: credit.port,
    idempotency: idempotency.port,
    report: ({ record, overheadMs }) => {
      assert.ok(
        credit.settled.some((settled) => settled.record === record),
        'what is told is what was charged',
      )
      records.push(record)
      overheads.push(overheadMs)
    },
    countTokens: countQuarters,
    countWhole: async () => undefined,
    ids: createIdSource(() => 1_760_000_000_000, randomBytes),
    now: () => 1_760_000_000_000,
    clock: () => 0,
    random: () => 0,
    ...over,
  }
  return { ports, credit, idempotency, records, overheads, admitted: () => admitted }
}
