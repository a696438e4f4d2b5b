/** A whole data plane over a network that plays scripts. */
import assert from 'node:assert/strict'
import type { CompletionRecord } from '../../../src/domain/completion.ts'
import type { SavedAnswer } from '../../../src/domain/credit.ts'
import { GatewayError } from '../../../src/domain/errors.ts'
import type { Model } from '../../../src/domain/model.ts'
import type { Incoming } from '../../../src/gateway/admit.ts'
import { createGateway, type Gateway } from '../../../src/gateway/pipeline.ts'
import type { ResumableStreams } from '../../../src/gateway/resumable/registry.ts'
import type { UpstreamProvider } from '../../../src/gateway/upstream/transport.ts'
import { openaiChat } from '../../../src/protocols/openai-chat/index.ts'
import { frame, textChunks } from '../providers/answers.ts'
import {
  incomingOf,
  modelOf,
  type Network,
  type PortsInput,
  playNetwork,
  type Script,
  type Step,
  streamed,
  type TestClient,
  type TestPorts,
  testClient,
  testPorts,
  upstreamOf,
} from './data-plane.ts'

export interface Plane extends Omit<TestPorts, 'ports'> {
  readonly gateway: Gateway
  readonly network: Network
  /** Sends a request; resolves when the gateway is done with it. */
  ask(body: object, client?: TestClient, over?: Partial<Incoming>): Promise<Asked>
}

export interface Asked {
  readonly client: TestClient
  readonly error: GatewayError | undefined
  /** An answer of an earlier request. */
  readonly kept: SavedAnswer | undefined
}

export interface PlaneInput extends PortsInput {
  readonly upstream?: Partial<UpstreamProvider>
  readonly severalChoices?: boolean
  readonly model?: Partial<Model>
  readonly maxAttempts?: number
  /** Undefined: those of a process alone. */
  readonly streams?: ResumableStreams
}

export function plane(scriptFor: (position: number) => Script, input: PlaneInput = {}): Plane {
  const { upstream, severalChoices = true, model, maxAttempts = 3, streams, ...over } = input
  const network = playNetwork((_, position) => scriptFor(position))
  const upstreams = [
    upstreamOf({ transport: network.transport, protocol: openaiChat({ severalChoices }), ...upstream }),
    upstreamOf({ transport: network.transport, name: 'other' }),
  ]
  const { ports, ...seen } = testPorts({ upstreams, models: [modelOf(model)], ...over })
  const gateway = createGateway(ports, () => ({ maxAttempts }), streams)
  return {
    ...seen,
    gateway,
    network,
    async ask(body, client = testClient(), with_ = {}) {
      const incoming = incomingOf(body, { clientRequestId: 'mine', ...with_ })
      try {
        return { client, error: undefined, kept: await gateway.complete(incoming, client) }
      } catch (error) {
        assert.ok(error instanceof GatewayError, String(error))
        return { client, error, kept: undefined }
      }
    },
  }
}

export function hello(over: object = {}): object {
  return { model: 'm1', messages: [{ role: 'user', content: 'hello, hello' }], ...over }
}

export const STREAM = hello({ stream: true })

export function only(records: readonly CompletionRecord[]): CompletionRecord {
  assert.equal(records.length, 1, 'one row for one completion')
  return records[0] ?? assert.fail()
}

export const ordinary = (words = 3): Script => streamed(textChunks(words))

/** Words without an end. */
export const begun = (words: number): Step[] =>
  textChunks(words)
    .slice(0, words + 1)
    .map(frame)
