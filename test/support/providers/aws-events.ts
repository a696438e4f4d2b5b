/** Writes AWS event streams with the encoder of the service's own client library. */
import { EventStreamCodec } from '@smithy/eventstream-codec'

const codec = new EventStreamCodec(
  (bytes) => Buffer.from(bytes).toString('utf8'),
  (text) => Buffer.from(text, 'utf8'),
)

/** One message: an event of this type, or an exception where the type ends like one. */
export function awsMessage(type: string, payload: unknown): Buffer {
  const kind = type.endsWith('Exception') ? 'exception' : 'event'
  const headers = {
    [`:${kind}-type`]: { type: 'string' as const, value: type },
    ':content-type': { type: 'string' as const, value: 'application/json' },
    ':message-type': { type: 'string' as const, value: kind },
  }
  return Buffer.from(codec.encode({ headers, body: Buffer.from(JSON.stringify(payload)) }))
}

/** @param events `{"<type>": payload}` each. */
export function awsStream(events: readonly Readonly<Record<string, unknown>>[]): Buffer {
  return Buffer.concat(
    events.flatMap((event) => Object.entries(event).map(([type, payload]) => awsMessage(type, payload))),
  )
}
