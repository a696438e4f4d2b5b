/** A completion as an event stream, from its hold to its last byte or its error. */
import type { GatewayError } from '../domain/errors.ts'
import { holdCredit } from './admit.ts'
import { type AttemptSettings, beginAnswer } from './attempt.ts'
import type { ClientConnection } from './client.ts'
import type { Completion } from './completion.ts'
import { createDelivery, deliverStream, type StreamDelivery } from './deliver-stream.ts'
import { endBroken } from './ending.ts'
import { completionHeaders } from './headers.ts'
import { lastWords } from './idempotent.ts'
import type { GatewayPorts } from './ports.ts'

/** What a completion is answered with. */
export interface Surroundings {
  readonly ports: GatewayPorts
  readonly client: ClientConnection
  readonly settings: AttemptSettings
}

export async function answerStreamed(completion: Completion, { ports, client, settings }: Surroundings): Promise<void> {
  const delivery = createDelivery(completion, ports, client)
  try {
    await holdCredit(completion, ports)
    client.expectStream(() => completionHeaders(completion, ports))
    const answering = await beginAnswer(completion, ports, settings)
    await deliverStream(delivery, answering)
  } catch (error) {
    failStream(delivery, await endBroken(completion, ports, error))
  }
}

/** In the stream once its head is out; as a rejection, and so with a status of its own, before. */
function failStream({ completion, client }: StreamDelivery, error: GatewayError): void {
  const { stream, left } = completion
  if (stream !== undefined) stream.fail(error, lastWords(error, completion))
  else if (!left) failClient(completion, client, error)
}

/** Throws as long as the client can get a status. */
export function failClient(completion: Completion, client: ClientConnection, error: GatewayError): void {
  if (!client.streaming()) throw error
  client.write(lastWords(error, completion))
  client.endStream()
}
