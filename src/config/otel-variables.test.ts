import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readOtel } from './otel-variables.ts'

const read = (env: Readonly<Record<string, string>>, endpoint?: string) =>
  readOtel({ get: (name) => env[name], names: () => Object.keys(env) }, endpoint)

test('nothing is exported unless an endpoint or an exporter asks for it', () => {
  assert.deepEqual(read({}).exporters, { traces: 'none', metrics: 'none', logs: 'none' })
  assert.deepEqual(read({}, 'http://c:4318').exporters, { traces: 'otlp', metrics: 'otlp', logs: 'none' })
  const logs = read({ OTEL_LOGS_EXPORTER: 'otlp', OTEL_METRICS_EXPORTER: 'prometheus' }, 'http://c:4318')
  assert.deepEqual(logs.exporters, { traces: 'otlp', metrics: 'none', logs: 'otlp' })
  assert.deepEqual([logs.warnings, logs.targets.logs.url], [[], 'http://c:4318/v1/logs'])
  assert.equal(read({ OTEL_LOGS_EXPORTER: 'console' }).exporters.logs, 'none')
  const disabled = read({ OTEL_SDK_DISABLED: 'TRUE', OTEL_TRACES_EXPORTER: 'otlp' }, 'http://c:4318')
  assert.equal(disabled.exporters.traces, 'none')
})

test('a variable of a signal wins over the one of all signals', () => {
  const { targets, warnings } = read(
    {
      OTEL_EXPORTER_OTLP_HEADERS: 'a=1,b=two%2C',
      OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'a=3',
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_EXPORTER_OTLP_METRICS_PROTOCOL: 'http/protobuf',
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://traces.example/otlp',
      OTEL_EXPORTER_OTLP_TIMEOUT: '500',
    },
    'http://c:4318/',
  )
  assert.deepEqual(targets.traces, {
    url: 'https://traces.example/otlp',
    headers: { a: '3', b: 'two,' },
    protocol: 'http/json',
    gzip: false,
    timeoutMs: 500,
  })
  assert.equal(targets.metrics.url, 'http://c:4318/v1/metrics')
  assert.equal(targets.metrics.protocol, 'http/protobuf')
  assert.deepEqual(warnings, [])
})

test('what is invalid is ignored with a warning that has no secret', () => {
  const { warnings, batches, sampler, samplerRatio, targets } = read({
    OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
    OTEL_BSP_MAX_QUEUE_SIZE: 'many',
    OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '9999',
    OTEL_TRACES_SAMPLER: 'traceidratio',
    OTEL_TRACES_SAMPLER_ARG: '7',
    OTEL_EXPORTER_OTLP_HEADERS: 'secret',
  })
  assert.deepEqual(batches.traces, { maxQueue: 2048, maxBatch: 2048, delayMs: 5000 })
  assert.deepEqual([sampler, samplerRatio, targets.traces.protocol], ['traceidratio', 1, 'http/protobuf'])
  assert.equal(new Set(warnings.map((text) => text.split(':')[0])).size, 4)
  assert.equal(warnings.join().includes('secret'), false)
})

test('the name of the service comes from its own variable, else from the resource', () => {
  assert.equal(read({ OTEL_RESOURCE_ATTRIBUTES: 'service.name=a,x=y' }).serviceName, 'a')
  const both = read({ OTEL_RESOURCE_ATTRIBUTES: 'service.name=a,x=y', OTEL_SERVICE_NAME: 'b' })
  assert.equal(both.serviceName, 'b')
  assert.deepEqual(both.resourceAttributes, { x: 'y' })
})

test('variables that nothing reads are named in one warning, without their values', () => {
  const { warnings } = read({
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318',
    OTEL_EXPORTER_OTLP_HEADERS_FILE: '/run/secrets/headers',
    OTEL_EXPORTER_OTLP_METRICS_PROTOCOL: 'http/json',
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf',
    OTEL_SDK_DISABLED: 'true',
    OTEL_TRACES_EXPORTER: 'otlp',
    OTEL_SPAN_EVENT_COUNT_LIMIT: 'secret',
    OTEL_CONFIG_FILE: 'secret',
  })
  assert.deepEqual(warnings, ['OTEL_CONFIG_FILE, OTEL_SPAN_EVENT_COUNT_LIMIT: not supported; ignored'])
})

test('log records have the limits of spans until their own variables change them', () => {
  const { batches } = read({ OTEL_BSP_SCHEDULE_DELAY: '20', OTEL_BLRP_MAX_QUEUE_SIZE: '7' })
  assert.deepEqual(batches.traces, { maxQueue: 2048, maxBatch: 512, delayMs: 20 })
  assert.deepEqual(batches.logs, { maxQueue: 7, maxBatch: 7, delayMs: 20 })
})

test('propagators leave out baggage or the whole context', () => {
  assert.deepEqual(read({}).propagators, { context: true, baggage: true })
  assert.deepEqual(read({ OTEL_PROPAGATORS: 'none' }).propagators, { context: false, baggage: false })
  const { propagators, warnings } = read({ OTEL_PROPAGATORS: 'b3, TraceContext' })
  assert.deepEqual(propagators, { context: true, baggage: false })
  assert.equal(warnings.length, 1)
})
