/** Sends a standard case to a host as the gateway does, and records the response. */
import type { ChatEvent } from '../../src/domain/chat.ts'
import { GatewayError } from '../../src/domain/errors.ts'
import type { Model } from '../../src/domain/model.ts'
import { type Call, MAX_COMPLETION_BYTES, startCall } from '../../src/gateway/upstream/call.ts'
import type { UpstreamProvider } from '../../src/gateway/upstream/transport.ts'
import { ProviderError } from '../../src/protocols/protocol.ts'
import { type Rendered, renderRecording } from './recording-files.ts'
import { createRecordingTransport } from './recording-transport.ts'
import type { StandardCase } from './standard-cases.ts'

/** The host under the operator's settings. */
export interface RecordedHost {
  readonly upstream: UpstreamProvider
  /** Id in the registry. */
  readonly kind: string
  readonly credential: string
  /** The host's own name of the model. */
  readonly model: string
  /** Tokens; undefined: not known. */
  readonly maxOutputTokens: number | undefined
  /** Of one exchange, in milliseconds. */
  readonly timeoutMs: number
}

export interface Outcome {
  readonly name: string
  /** Result of the codec. */
  readonly outcome: string
  /** Reason of the host. It may contain anything, even keys. */
  readonly said: string
  /** Undefined: nothing to store. */
  readonly rendered: Rendered | undefined
}

/** Never throws: failures are outcomes. */
export async function recordCase(host: RecordedHost, standard: StandardCase): Promise<Outcome> {
  const { name, request } = standard
  const { upstream, credential, model, timeoutMs } = host
  const recording = createRecordingTransport(upstream.transport, { timeoutMs, maxBytes: MAX_COMPLETION_BYTES })
  const target = {
    upstream: { ...upstream, transport: recording.transport },
    model: standard.model ?? model,
    credential: standard.credential ?? credential,
  }
  const nothing = (outcome: string): Outcome => ({ name, outcome, said: '', rendered: undefined })
  try {
    const input = { target, request, model: modelOf(host), now: Date.now, clock: () => performance.now() }
    const { outcome, said } = await readingOf(startCall(input))
    const recorded = await recording.recorded()
    const { status, headers } = recorded.head
    if (standard.wantsError === true && status < 300) return nothing(`not kept: answered ${status}`)
    if (headers['content-encoding'] !== undefined) return nothing('not kept: compressed')
    const day = new Date().toISOString().slice(0, 10)
    const about = { name, provider: host.kind, protocol: upstream.provider.protocol, model: target.model, day }
    const rendered = renderRecording({ ...about, stream: request.stream, recorded })
    return { name, outcome: `${status} ${outcome}`, said, rendered }
  } catch (error) {
    return nothing(`not recorded: ${reasonOf(error)}`)
  }
}

/** Only the output limit matters. */
function modelOf({ model, maxOutputTokens, upstream }: RecordedHost): Model {
  return {
    id: model,
    name: model,
    ownedBy: upstream.name,
    created: 0,
    kind: 'chat',
    capabilities: { streaming: true, function_calling: true, vision: true, json_mode: true },
    contextWindow: 0,
    maxOutputTokens,
    price: undefined,
    priceVersion: undefined,
    aliasOf: undefined,
    deprecationDate: undefined,
    inputModalities: [],
    supportedParameters: [],
    deployments: [],
  }
}

async function readingOf(call: Call): Promise<Pick<Outcome, 'outcome' | 'said'>> {
  const events: ChatEvent[] = []
  try {
    await call.firstEvent
    while (await call.next(events));
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error
    const { kind, status, message } = error.failure
    const isOurs = kind === 'failed' && status < 400
    return { outcome: isOurs ? 'the codec could not read it' : kind, said: message }
  }
  const count = (type: ChatEvent['type']): number => events.filter((event) => event.type === type).length
  const finish = events.flatMap((event) => (event.type === 'finish' ? [event.reason] : []))
  const calls = new Set(events.flatMap((event) => (event.type === 'tool-call' ? [event.toolIndex] : []))).size
  const parts = [`${calls} tool calls`, `${count('reasoning')} reasoning`, `${count('usage')} usage`]
  const found = parts.filter((part) => !part.startsWith('0 '))
  return { outcome: [finish.join(' ') || 'no finish', ...found].join(', '), said: '' }
}

/** Returns a constant message, since a host's may contain anything. */
function reasonOf(error: unknown): string {
  if (error instanceof GatewayError) return `the codec refuses ${error.param ?? error.code}`
  if (error instanceof ProviderError) return error.failure.kind
  const code = error instanceof Error && 'code' in error ? String(error.code) : undefined
  return code ?? 'the host could not be reached, or broke off'
}
