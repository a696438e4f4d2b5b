import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AttributeValue } from '@opentelemetry/api'
import { ProtobufTraceSerializer } from '@opentelemetry/otlp-transformer'
import { attributeName, protobufSpans, type SpanEvent, type SpanHead } from './span-encoder.ts'
import { writeTrace } from './spans.ts'
import { createResource, createSpanCollector, createTracer } from './tracer.ts'

const origin = {
  resource: createResource({ serviceName: 'turnpike', version: '1', instanceId: 'i', attributes: { zone: 'é' } }),
  scope: { name: 'turnpike', version: '1.2.3' },
}

interface Span extends SpanHead {
  readonly status: number
  readonly attributes: Readonly<Record<string, AttributeValue>>
  readonly events: readonly SpanEvent[]
}

function span(over: Partial<Span> = {}): Span {
  return {
    name: 'chat m1',
    kind: 1,
    traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
    spanId: '00f067aa0ba902b7',
    isSampled: true,
    parentSpanId: undefined,
    isParentRemote: false,
    startMs: 1_795_000_000_999.999,
    endMs: 1_795_000_001_000.5,
    status: 0,
    attributes: {},
    events: [],
    ...over,
  }
}

/** Each span waits on its own, as the spans of a trace do. */
function assertEncoded(spans: readonly Span[]): void {
  const { writer, take } = createSpanCollector(origin)
  const encoded = spans.map((each) => {
    for (const receiver of [writer, protobufSpans.writer]) {
      receiver.begin(each)
      for (const [name, value] of Object.entries(each.attributes)) receiver.attribute(attributeName(name), value)
      for (const event of each.events) receiver.event(event)
      receiver.end(each.status)
    }
    return protobufSpans.take()
  })
  const official = ProtobufTraceSerializer.serializeRequest(take())
  assert.deepEqual(Buffer.from(protobufSpans.requestOf(encoded, origin)), Buffer.from(official ?? []))
}

test('spans are encoded as the official encoder does: kinds, parents, status, events', () => {
  const [traceId, spanId] = [`${'0'.repeat(31)}a`, 'f'.repeat(16)]
  assertEncoded([span()])
  assertEncoded([0, 1, 2, 3, 4].map((kind) => span({ kind, status: kind % 3, isSampled: kind > 1 })))
  assertEncoded([true, false].map((isParentRemote) => span({ traceId, spanId, parentSpanId: spanId, isParentRemote })))
  const event = { name: 'turnpike.hold', attribute: attributeName('turnpike.amount_usd'), value: 0.25 }
  assertEncoded([
    span({
      events: [
        { ...event, atMs: 1_000.000_002 },
        { ...event, name: 'none', atMs: 0, value: 3 },
      ],
    }),
  ])
})

test('times are encoded as the official encoder does, to the nanosecond', () => {
  const times = [0, 1, 999.999_999, 65_535_999.5, 65_536_000, 4_294_967_296_000, 1_795_000_000_123.456]
  assertEncoded(times.map((startMs) => span({ startMs, endMs: startMs + 0.25 })))
})

test('attributes are encoded as the official encoder does: every type, and numbers at the edges', () => {
  const numbers = [0, 1, 127, 128, 2 ** 31, 2 ** 32, 2 ** 32 + 1, Number.MAX_SAFE_INTEGER, -1, -(2 ** 31), -(2 ** 40)]
  const fractions = [0.1, -0.5, 1e-9, 1e300, Number.NaN, Number.POSITIVE_INFINITY]
  assertEncoded([...numbers, ...fractions].map((number) => span({ attributes: { number } })))
  assertEncoded([span({ attributes: { yes: true, no: false, list: ['stop', 'é'], numbers: [1, 2.5], none: [] } })])
})

test('texts are encoded as the official encoder does, at every length of a length, in any script', () => {
  const lengths = [0, 1, 63, 64, 65, 119, 127, 128, 129, 16_383, 16_384, 100_000, 2_100_000]
  assertEncoded(lengths.map((length) => span({ attributes: { text: 'x'.repeat(length) } })))
  assertEncoded(
    ['é', `${'x'.repeat(63)}é`, '漢字', '🚗', 'a\ud800b'].map((text) => span({ name: text, attributes: { text } })),
  )
  assertEncoded([span({ attributes: { ['n'.repeat(200)]: 'long name', 'n\u00e4me': 'name' } })])
})

test('values beyond those that are kept are encoded alike [limit: span-values]', () => {
  const values = Array.from({ length: 200 }, (_, at) => (at % 2 === 0 ? at : 'v'.repeat(at)))
  for (let time = 0; time < 2; time++) assertEncoded(values.map((kept) => span({ attributes: { kept } })))
  attributeName('unique', { isUnique: true })
  assertEncoded(values.map((unique) => span({ attributes: { unique } })))
})

test('a batch is encoded as the official encoder does', () => {
  const attributes = { 'gen_ai.request.model': 'm1', 'gen_ai.usage.input_tokens': 120, 'turnpike.cost_usd': 0.00018 }
  assertEncoded(Array.from({ length: 1_000 }, (_, at) => span({ attributes: { ...attributes, at } })))
})

test('a prompt that cannot be rendered leaves nothing of its trace to the next one', () => {
  const options = { sampler: 'always_on', samplerRatio: 1, acceptContext: false, propagate: false, passBaggage: false }
  const tracing = createTracer({ ...options, now: () => 1_795_000_000_000, clock: () => 1, onEnd: () => {} })
  const trace = tracing.begin({})
  const ended = { firstEventMs: undefined, endedAt: 2, outcome: undefined, status: 200 }
  trace.attempts.push({
    ...{ spanId: 'f'.repeat(16), provider: 'p', kind: 'k', baseUrl: 'http://host/v1', model: 'm', startedAt: 1 },
    ...ended,
  })
  const contentOf = (): never => {
    throw new Error('unreadable')
  }
  assert.throws(() => writeTrace(protobufSpans.writer, trace, { contentOf, isForeign: false }), /unreadable/)
  assert.equal(protobufSpans.take().length, 0)
  writeTrace(protobufSpans.writer, trace, { isForeign: false })
  assert.ok(protobufSpans.take().length > 0)
})
