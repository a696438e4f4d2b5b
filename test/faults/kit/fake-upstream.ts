/**
 * A provider on raw sockets that does what byte scripts say, call by call or from the moment of a connection on. It keeps
 * its own billing log: what it generated, by the words of the prompt, is the truth that metering is compared with.
 */
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { type RawRequest, readRequests } from '../../support/http/request-reader.ts'
import { awaitRequest, type Script } from './byte-script.ts'
import { runScript, type ScriptedSocket } from './script-runner.ts'

export interface UpstreamCall extends RawRequest {
  /** Counts from 0. */
  readonly index: number
  /** Of the connection it came on; counts from 0. */
  readonly connection: number
  /** The words of the last message; '' where the body is no chat. The billing log goes by it. */
  readonly prompt: string
  /** `performance.now()` when the whole request was there. */
  readonly receivedAtMs: number
  /** `performance.now()` when the caller ended the connection before the script was over; undefined if it did not. */
  abortedAtMs: number | undefined
  /** Bytes handed to the socket, heads and framing included. */
  sentBytes: number
  /** Resolves when the script is over, however it came to its end. */
  readonly over: Promise<void>
}

/** What the provider would charge for everything that was asked with one prompt. */
export interface Bill {
  readonly promptTokens: number
  readonly completionTokens: number
  /** Calls that generated anything. */
  readonly calls: number
}

export interface Connections {
  readonly opened: number
  readonly open: number
  readonly mostOpen: number
}

export interface FakeUpstream {
  /** Without trailing slash. */
  readonly url: string
  readonly port: number
  readonly calls: readonly UpstreamCall[]
  /** By the prompt. A prompt that is not there has cost nothing. */
  readonly bills: ReadonlyMap<string, Bill>
  readonly connections: () => Connections
  /** What is done with the next calls; those under way keep theirs. A function is asked for each. */
  answer(script: Script | ((call: UpstreamCall) => Script)): void
  /** What is done with the next connections before requests are read from them; undefined: nothing. */
  accept(script: Script | ((connection: number) => Script) | undefined): void
  /** Resolves with call number `index` as soon as it has arrived. */
  call(index: number): Promise<UpstreamCall>
  close(): Promise<void>
}

/** Of a prompt, where a script does not say. */
const PROMPT_TOKENS = 10

interface UpstreamState {
  readonly calls: UpstreamCall[]
  readonly bills: Map<string, Bill>
  readonly sockets: Set<Socket>
  readonly waiting: Map<number, PromiseWithResolvers<UpstreamCall>>
  opened: number
  mostOpen: number
  onCall: (call: UpstreamCall) => Script
  onConnection: ((connection: number) => Script) | undefined
}

/** @param first What is answered until `answer` says otherwise. */
export async function startFakeUpstream(first: Script | ((call: UpstreamCall) => Script)): Promise<FakeUpstream> {
  const state: UpstreamState = {
    calls: [],
    bills: new Map(),
    sockets: new Set(),
    waiting: new Map(),
    opened: 0,
    mostOpen: 0,
    onCall: asFunction(first),
    onConnection: undefined,
  }
  const server = createServer({ noDelay: true }, (socket) => void serve(state, socket))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo // a TCP server's
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    calls: state.calls,
    bills: state.bills,
    connections: () => ({ opened: state.opened, open: state.sockets.size, mostOpen: state.mostOpen }),
    answer: (script) => {
      state.onCall = asFunction(script)
    },
    accept: (script) => {
      state.onConnection = script === undefined ? undefined : asFunction(script)
    },
    call: (index) => {
      const there = state.calls[index]
      if (there !== undefined) return Promise.resolve(there)
      const waiting = state.waiting.get(index) ?? Promise.withResolvers<UpstreamCall>()
      state.waiting.set(index, waiting)
      return waiting.promise
    },
    close: () => {
      for (const socket of state.sockets) socket.destroy()
      return new Promise((resolve) => server.close(() => resolve()))
    },
  }
}

function asFunction<Input>(script: Script | ((input: Input) => Script)): (input: Input) => Script {
  return typeof script === 'function' ? script : () => script
}

/** One connection from its beginning to its end. */
async function serve(state: UpstreamState, socket: Socket): Promise<void> {
  const connection = state.opened++
  state.sockets.add(socket)
  state.mostOpen = Math.max(state.mostOpen, state.sockets.size)
  socket.on('close', () => state.sockets.delete(socket))
  const current: Current = { call: undefined, goneAtMs: undefined }
  const requests = readRequests(socket)
  const target: ScriptedSocket = {
    socket,
    gone: watchEnd(socket, current),
    awaitRequest: async () => {
      closeCall(current)
      const request = await requests.next()
      current.call = request && openCall(state, connection, request)
      return request !== undefined
    },
    onBill: (tokens, promptTokens) => {
      if (current.call !== undefined) charge(state.bills, current.call, { tokens, promptTokens })
    },
    onSent: (bytes) => {
      if (current.call !== undefined) current.call.row.sentBytes += bytes
    },
  }
  const early = state.onConnection?.(connection)
  let goesOn = early === undefined || (await runScript(target, early))
  while (goesOn && (await runScript(target, [awaitRequest]))) {
    goesOn = current.call !== undefined && (await runScript(target, state.onCall(current.call.row)))
  }
  closeCall(current)
}

/** What a connection is busy with. */
interface Current {
  call: OpenCall | undefined
  goneAtMs: number | undefined
}

function watchEnd(socket: Socket, current: Current): AbortSignal {
  const gone = new AbortController()
  const leave = (): void => {
    current.goneAtMs ??= performance.now()
    gone.abort()
  }
  socket.on('error', leave).on('end', leave).on('close', leave)
  return gone.signal
}

function closeCall(current: Current): void {
  current.call?.close(current.goneAtMs)
  current.call = undefined
}

interface OpenCall {
  readonly row: UpstreamCall
  billed: boolean
  close(goneAtMs: number | undefined): void
}

function openCall(state: UpstreamState, connection: number, request: RawRequest): OpenCall {
  const over = Promise.withResolvers<void>()
  const row: UpstreamCall = {
    ...request,
    index: state.calls.length,
    connection,
    prompt: promptOf(request.body),
    receivedAtMs: performance.now(),
    abortedAtMs: undefined,
    sentBytes: 0,
    over: over.promise,
  }
  state.calls.push(row)
  state.waiting.get(row.index)?.resolve(row)
  state.waiting.delete(row.index)
  return {
    row,
    billed: false,
    close: (goneAtMs) => {
      row.abortedAtMs = goneAtMs
      over.resolve()
    },
  }
}

interface Generated {
  readonly tokens: number
  readonly promptTokens: number | undefined
}

function charge(bills: Map<string, Bill>, call: OpenCall, { tokens, promptTokens = PROMPT_TOKENS }: Generated): void {
  const known = bills.get(call.row.prompt) ?? { promptTokens: 0, completionTokens: 0, calls: 0 }
  bills.set(call.row.prompt, {
    promptTokens: known.promptTokens + (call.billed ? 0 : promptTokens),
    completionTokens: known.completionTokens + tokens,
    calls: known.calls + (call.billed ? 0 : 1),
  })
  call.billed = true
}

function promptOf(body: string): string {
  try {
    const { messages } = JSON.parse(body) as { readonly messages?: readonly { readonly content?: unknown }[] }
    return String(messages?.at(-1)?.content ?? '')
  } catch {
    return ''
  }
}
