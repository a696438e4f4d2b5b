import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ProtobufTraceSerializer } from '@opentelemetry/otlp-transformer'
import type { ReadableSpan } from '@opentelemetry/sdk-trace'
import { createSpanEncoder } from './span-encoder.ts'
import { createResource } from './tracer.ts'

const source = {
  resource: createResource({ serviceName: 'turnpike', version: '1', instanceId: 'i', attributes: { zone: 'é' } }),
  scope: { name: 'turnpike', version: '1.2.3' },
}

function span(over: Partial<ReadableSpan> = {}): ReadableSpan {
  return {
    name: 'chat m1',
    kind: 1,
    spanContext: () => ({ traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7', traceFlags: 1 }),
    startTime: [1_795_000_000, 999_999_999],
    endTime: [1_795_000_001, 1],
    status: { code: 0 },
    attributes: {},
    links: [],
    events: [],
    duration: [0, 2],
    ended: true,
    resource: source.resource,
    instrumentationScope: source.scope,
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
    ...over,
  }
}

function assertEncoded(spans: readonly ReadableSpan[]): void {
  const encoder = createSpanEncoder(source)
  for (const each of spans) encoder.add(each)
  const official = ProtobufTraceSerializer.serializeRequest([...spans])
  assert.deepEqual(Buffer.from(encoder.finish()), Buffer.from(official ?? []))
}

test('spans are encoded as the official encoder does: kinds, parents, status, events', () => {
  const [traceId, spanId] = [`${'0'.repeat(31)}a`, 'f'.repeat(16)]
  assertEncoded([span()])
  assertEncoded([0, 1, 2, 3, 4].map((kind) => span({ kind, status: { code: kind % 3 } })))
  assertEncoded(
    [true, false].map((isRemote) => span({ parentSpanContext: { traceId, spanId, traceFlags: 0, isRemote } })),
  )
  const event = { name: 'turnpike.hold', time: [1, 2], attributes: { 'turnpike.amount_usd': 0.25 } } as const
  assertEncoded([
    span({
      events: [
        { ...event, time: [1, 2] },
        { name: 'none', time: [0, 0] },
      ],
    }),
  ])
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
})

test('a batch is encoded as the official encoder does', () => {
  const attributes = { 'gen_ai.request.model': 'm1', 'gen_ai.usage.input_tokens': 120, 'turnpike.cost_usd': 0.00018 }
  assertEncoded(Array.from({ length: 1_000 }, (_, at) => span({ attributes: { ...attributes, at } })))
})
