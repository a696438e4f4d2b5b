import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EventStreamCodec, Int64 } from '@smithy/eventstream-codec'
import fc from 'fast-check'
import { createAwsEventStreamDecoder, createDecoder } from './framing.ts'
import { type Frame, ProviderError } from './protocol.ts'

const utf8 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('utf8')
/** The encoder of the service's own client library, so that reader and writer share no mistake. */
const codec = new EventStreamCodec(utf8, (text) => Buffer.from(text, 'utf8'))

type Headers = Parameters<EventStreamCodec['encode']>[0]['headers']

function message(headers: Record<string, string> | Headers, data: string): Buffer {
  const typed: Headers = {}
  for (const [name, value] of Object.entries(headers)) {
    typed[name] = typeof value === 'string' ? { type: 'string', value } : value
  }
  return Buffer.from(codec.encode({ headers: typed, body: Buffer.from(data, 'utf8') }))
}

function event(type: string, data: string): Buffer {
  return message({ ':event-type': type, ':content-type': 'application/json', ':message-type': 'event' }, data)
}

function decode(parts: readonly Uint8Array[], maxEventBytes = 1024 * 1024): Frame[] {
  const decoder = createAwsEventStreamDecoder({ maxEventBytes })
  const frames: Frame[] = []
  for (const part of parts) decoder.push(part, frames)
  assert.equal(decoder.end(), '')
  return frames
}

const isProviderError = (error: unknown): boolean => error instanceof ProviderError && error.failure.kind === 'failed'

test('messages become frames, with their event type and their payload', () => {
  const bytes = Buffer.concat([event('messageStart', '{"role":"assistant"}'), event('ping', '')])
  assert.deepEqual(decode([bytes]), [
    { event: 'messageStart', data: '{"role":"assistant"}' },
    { event: 'ping', data: '' },
  ])
})

test('an exception is told from an event by its prefix', () => {
  const bytes = message(
    { ':message-type': 'exception', ':exception-type': 'throttlingException' },
    '{"message":"Slow"}',
  )
  assert.deepEqual(decode([bytes]), [{ event: 'exception:throttlingException', data: '{"message":"Slow"}' }])
})

test('an error without a payload has its message in the data', () => {
  const headers = { ':message-type': 'error', ':error-code': 'InternalFailure', ':error-message': 'It "broke".' }
  assert.deepEqual(decode([message(headers, '')]), [
    { event: 'exception:InternalFailure', data: '{"message":"It \\"broke\\"."}' },
  ])
})

test('headers of every other type are read over', () => {
  const headers: Headers = {
    yes: { type: 'boolean', value: true },
    no: { type: 'boolean', value: false },
    byte: { type: 'byte', value: -3 },
    short: { type: 'short', value: 300 },
    integer: { type: 'integer', value: 70_000 },
    long: { type: 'long', value: Int64.fromNumber(-7) },
    binary: { type: 'binary', value: Buffer.from([1, 2, 3]) },
    timestamp: { type: 'timestamp', value: new Date(0) },
    uuid: { type: 'uuid', value: '123e4567-e89b-12d3-a456-426614174000' },
    ':event-type': { type: 'string', value: 'metadata' },
  }
  assert.deepEqual(decode([message(headers, 'x')]), [{ event: 'metadata', data: 'x' }])
})

test('where the network cuts the bytes makes no difference', () => {
  const data = fc.string({ unit: 'grapheme', maxLength: 40 })
  const given = fc.array(fc.record({ event: fc.constantFrom('a', 'metadata'), data }, { noNullPrototype: true }), {
    minLength: 1,
    maxLength: 5,
  })
  fc.assert(
    fc.property(given, fc.array(fc.nat({ max: 400 }), { maxLength: 8 }), (frames, cuts) => {
      const bytes = Buffer.concat(frames.map((frame) => event(frame.event, frame.data)))
      const places = [0, ...cuts.filter((cut) => cut < bytes.length), bytes.length].toSorted((a, b) => a - b)
      const parts = places.slice(1).map((place, index) => bytes.subarray(places[index], place))
      assert.deepEqual(decode(parts), frames)
    }),
  )
})

test('the decoder keeps nothing of the buffer it was given', () => {
  const bytes = event('metadata', '{"usage":{}}')
  const decoder = createAwsEventStreamDecoder()
  const frames: Frame[] = []
  const reused = Buffer.alloc(1)
  for (const byte of bytes) {
    reused[0] = byte
    decoder.push(reused, frames)
  }
  assert.deepEqual(frames, [{ event: 'metadata', data: '{"usage":{}}' }])
})

test('one wrong bit anywhere is an error', () => {
  const bytes = event('contentBlockDelta', '{"delta":{"text":"hi"}}')
  const after = event('messageStop', '{"stopReason":"end_turn"}')
  for (let bit = 0; bit < bytes.length * 8; bit++) {
    const wrong = Buffer.from(bytes)
    wrong[bit >> 3] = (wrong[bit >> 3] ?? 0) ^ (1 << (bit & 7))
    assert.throws(() => decode([wrong, after]), isProviderError, `bit ${bit}`)
  }
})

test('frames before the damaged one are still had', () => {
  const wrong = event('b', 'x')
  wrong[wrong.length - 1] = (wrong[wrong.length - 1] ?? 0) ^ 1
  const frames: Frame[] = []
  const decoder = createAwsEventStreamDecoder()
  assert.throws(() => decoder.push(Buffer.concat([event('a', '1'), wrong]), frames), isProviderError)
  assert.deepEqual(frames, [{ event: 'a', data: '1' }])
})

test('an unfinished message is discarded', () => {
  const bytes = event('messageStop', '{}')
  for (let cut = 0; cut < bytes.length; cut++) assert.deepEqual(decode([bytes.subarray(0, cut)]), [])
})

test('a message larger than the cap is refused by its prelude alone', () => {
  const bytes = event('metadata', 'x'.repeat(2000))
  assert.equal(decode([bytes], bytes.length).length, 1)
  assert.throws(() => decode([bytes.subarray(0, 12)], bytes.length - 1), /more than \d+ bytes/)
})

test('no bytes make the decoder throw anything but its own error', () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 60 }), { maxLength: 4 }), (parts) => {
      try {
        decode(parts)
      } catch (error) {
        assert.ok(isProviderError(error), String(error))
      }
    }),
  )
})

test('the framing of a protocol chooses the decoder', () => {
  const frames: Frame[] = []
  createDecoder('aws-event-stream', { maxEventBytes: 1000 }).push(event('ping', '{}'), frames)
  createDecoder('sse', { maxEventBytes: 1000 }).push(Buffer.from('event: ping\ndata: {}\n\n'), frames)
  assert.deepEqual(frames, [
    { event: 'ping', data: '{}' },
    { event: 'ping', data: '{}' },
  ])
})
