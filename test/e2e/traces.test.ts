/** Traces of requests as a receiver gets them, which no database decides. Runs on one database. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import * as conventions from '@opentelemetry/semantic-conventions/incubating'
import { CHAT, hello, send } from '../support/client.ts'
import { model, startGateway } from '../support/gateway.ts'
import { type ReceivedSpan, readAttributes, startReceiver } from '../support/otlp/receiver.ts'
import { answerJson, completion, SSE_HEAD, sendFrames, slowStream, textChunks } from '../support/providers/answers.ts'
import { type Script, startFakeProvider } from '../support/providers/fake-provider.ts'

const good = answerJson(completion({ content: 'Hi' }))
const refusing: Script = (_call, reply) => {
  reply.head(500, { 'content-type': 'application/json' })
  reply.end('{"error":{"message":"no"}}')
}
/** Ends without its last frames. */
const brokenStream: Script = async (_call, reply) => {
  reply.head(200, SSE_HEAD)
  await sendFrames(reply, textChunks(3).slice(0, -2))
  reply.end()
}
const [bad, host] = await Promise.all([startFakeProvider(refusing), startFakeProvider(good)])
const receiver = await startReceiver((close) => after(close))
const endpoint = (url: string): object => ({ protocol: 'openai', base_url: `${url}/v1`, api_key: 'sk-1' })
const gateway = await startGateway({
  config: {
    telemetry: { otlp_endpoint: receiver.url, propagate: true },
    webhooks: { allow_private_networks: true },
    providers: {
      bad: endpoint(bad.url),
      good: endpoint(host.url),
      narrow: { ...endpoint(host.url), max_in_flight: 1 },
    },
    models: [
      model('m1', 'good', 'good-m'),
      model('narrow', 'narrow', 'good-m'),
      {
        ...model('second', 'bad', 'm'),
        deployments: [
          { provider: 'bad', model: 'bad-m' },
          { provider: 'good', model: 'good-m', priority: 1 },
        ],
      },
    ],
  },
  env: {
    OTEL_BSP_SCHEDULE_DELAY: '20',
    OTEL_SERVICE_NAME: 'gateway of a test',
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test%20stage',
    OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Basic%20abc',
    OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
    OTEL_METRIC_EXPORT_INTERVAL: '100',
    OTEL_LOGS_EXPORTER: 'otlp',
    LOG_LEVEL: 'debug',
  },
})
const key = await gateway.key()
after(async () => {
  await gateway.stop()
  await Promise.all([bad.close(), host.close()])
})

const SERVER = 2
const CLIENT = 3

/** @returns The spans of a trace, the server's first, once it is complete. */
async function spansOf(traceId: string): Promise<readonly [ReceivedSpan, ...ReceivedSpan[]]> {
  const found = () => receiver.spans.filter((span) => span.traceId === traceId)
  await receiver.until(() => found().some(({ kind }) => kind === SERVER))
  assert.deepEqual(receiver.problems, [])
  const [server, ...others] = found().toSorted((one, other) => one.kind - other.kind)
  assert.ok(server !== undefined)
  return [server, ...others]
}

let traces = 0
const newTrace = (): string => String(++traces).padStart(32, 'a')
const PARENT = 'b7ad6b7169203331'
const from = (traceId: string, flags = '01') => ({ traceparent: `00-${traceId}-${PARENT}-${flags}` })

test('a request is a server span with a client span for its attempt, and both follow the GenAI conventions', async () => {
  const traceId = newTrace()
  const answer = await send(gateway, CHAT, {
    key,
    body: hello({ max_tokens: 9, temperature: 0.5 }),
    headers: from(traceId),
  })
  assert.equal(answer.status, 200)
  const [server, client, ...more] = await spansOf(traceId)
  assert.deepEqual(more, [])
  assert.equal(server.name, `POST ${CHAT}`)
  assert.equal(server.parentSpanId, PARENT)
  assert.equal(client?.parentSpanId, server.spanId)
  const { attributes } = server
  assert.equal(attributes[conventions.ATTR_HTTP_RESPONSE_STATUS_CODE], 200)
  assert.equal(attributes[conventions.ATTR_HTTP_ROUTE], CHAT)
  assert.equal(attributes[conventions.ATTR_GEN_AI_OPERATION_NAME], conventions.GEN_AI_OPERATION_NAME_VALUE_CHAT)
  assert.equal(attributes[conventions.ATTR_GEN_AI_REQUEST_MODEL], 'm1')
  assert.equal(attributes[conventions.ATTR_GEN_AI_REQUEST_MAX_TOKENS], 9)
  assert.equal(attributes[conventions.ATTR_GEN_AI_REQUEST_TEMPERATURE], 0.5)
  assert.equal(attributes['turnpike.cost_usd'], Number(answer.headers['x-turnpike-cost-usd']))
  assert.deepEqual(
    server.events.map(({ name }) => name),
    ['turnpike.hold', 'turnpike.settle'],
  )
  assert.equal(client?.attributes[conventions.ATTR_GEN_AI_REQUEST_MODEL], 'good-m')
  assert.equal(client.attributes[conventions.ATTR_GEN_AI_USAGE_INPUT_TOKENS], 10)
  assert.equal(client.attributes[conventions.ATTR_GEN_AI_USAGE_OUTPUT_TOKENS], 5)
  assert.deepEqual(client.attributes[conventions.ATTR_GEN_AI_RESPONSE_FINISH_REASONS], ['stop'])
  assert.equal(client.attributes[conventions.ATTR_GEN_AI_RESPONSE_ID], JSON.parse(answer.text).id)
  assert.equal(client.attributes[conventions.ATTR_SERVER_PORT], host.port)
  assert.equal(client.kind, CLIENT)
})

/** Receivers add up all spans that they get. */
function totals(spans: readonly ReceivedSpan[]): readonly (readonly unknown[])[] {
  const names = ['gen_ai.usage.input_tokens', 'gen_ai.usage.output_tokens', 'turnpike.cost_usd']
  return names.map((name) => spans.flatMap(({ attributes }) => attributes[name] ?? []))
}

test('tokens and cost are on one span of a trace, whichever attempt answered and however it ended', async () => {
  const answered = newTrace()
  const { headers } = await send(gateway, CHAT, { key, body: hello({ model: 'second' }), headers: from(answered) })
  assert.deepEqual(totals(await spansOf(answered)), [[10], [5], [Number(headers['x-turnpike-cost-usd'])]])
  host.answer(brokenStream)
  const broken = newTrace()
  await send(gateway, CHAT, { key, body: hello({ stream: true }), headers: from(broken) })
  host.answer(good)
  const [server, client] = await spansOf(broken)
  assert.equal(server.attributes['turnpike.status'], 'incomplete')
  assert.equal(server.attributes['gen_ai.usage.output_tokens'], undefined)
  assert.ok(Number(client?.attributes['gen_ai.usage.input_tokens']) > 0)
  assert.ok(Number(server.attributes['turnpike.cost_usd']) > 0)
})

test('every attribute is one of the conventions, or of Turnpike', async () => {
  const known = new Set<unknown>(Object.values(conventions))
  const traceId = newTrace()
  await send(gateway, CHAT, { key, body: hello({ stream: true, model: 'second' }), headers: from(traceId) })
  const spans = await spansOf(traceId)
  const names = spans.flatMap(({ attributes, resource }) => [...Object.keys(attributes), ...Object.keys(resource)])
  assert.deepEqual(
    names.filter((name) => !name.startsWith('turnpike.') && !known.has(name)),
    [],
  )
  assert.equal(spans[0].resource['service.name'], 'gateway of a test')
  assert.equal(spans[0].resource['deployment.environment.name'], 'test stage')
})

test('headers of the configuration and gzip reach the receiver', async () => {
  const traceId = newTrace()
  await send(gateway, CHAT, { key, body: hello(), headers: from(traceId) })
  await spansOf(traceId)
  const last = receiver.headers.at(-1)
  assert.equal(last?.authorization, 'Basic abc')
  assert.equal(last?.['content-encoding'], 'gzip')
  assert.equal(last?.['content-type'], 'application/x-protobuf')
})

test('a failed attempt is a client span with its error, and the next one has the usage', async () => {
  const traceId = newTrace()
  await send(gateway, CHAT, { key, body: hello({ model: 'second' }), headers: from(traceId) })
  const [server, first, second] = await spansOf(traceId)
  const attempts = [first, second].map((span) => span?.attributes ?? {})
  assert.deepEqual(
    attempts.map((attributes) => [
      attributes['turnpike.provider'],
      attributes['turnpike.outcome'],
      attributes['http.response.status_code'],
      attributes['gen_ai.usage.output_tokens'],
    ]),
    [
      ['bad', 'failed', 500, undefined],
      ['good', 'answered', 200, 5],
    ],
  )
  assert.equal(first?.status.code, 2)
  assert.equal(server.attributes['turnpike.attempts'], 2)
})

test('providers receive the context of their attempt, with state and baggage', async () => {
  const traceId = newTrace()
  const count = host.calls.length
  const headers = { ...from(traceId), tracestate: 'vendor=1', baggage: 'session=7' }
  await send(gateway, CHAT, { key, body: hello(), headers })
  const [, client] = await spansOf(traceId)
  const call = host.calls[count]
  assert.equal(call?.headers['traceparent'], `00-${traceId}-${client?.spanId}-01`)
  assert.equal(call?.headers['tracestate'], 'vendor=1')
  assert.equal(call?.headers['baggage'], 'session=7')
})

test('a stream reports the time to its first chunk, and a client that leaves ends its trace', async () => {
  host.answer(slowStream(100_000, 5))
  const traceId = newTrace()
  const controller = new AbortController()
  const leaving = fetch(gateway.url + CHAT, {
    method: 'POST',
    signal: controller.signal,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...from(traceId) },
    body: JSON.stringify(hello({ stream: true })),
  })
  const reader = (await leaving).body?.getReader()
  await reader?.read()
  controller.abort()
  const [server] = await spansOf(traceId)
  host.answer(good)
  assert.equal(server.attributes['turnpike.status'], 'client_left')
  assert.ok(Number(server.attributes['gen_ai.response.time_to_first_chunk']) > 0)
})

test('a request that waited for capacity has an event with its wait', async () => {
  const released = Promise.withResolvers<void>()
  host.answer(async (call, reply) => {
    await released.promise
    await good(call, reply)
  })
  const [first, second] = [newTrace(), newTrace()]
  const begin = (traceId: string) =>
    send(gateway, CHAT, { key, body: hello({ model: 'narrow' }), headers: from(traceId) })
  const metric = async (line: string): Promise<void> => {
    while (!(await send(gateway, '/metrics')).text.includes(`\n${line}\n`)) await pause(20)
  }
  const answers = [begin(first)]
  await metric('turnpike_provider_in_flight{provider="narrow"} 1')
  answers.push(begin(second))
  await metric('turnpike_provider_queued{provider="narrow"} 1')
  released.resolve()
  await Promise.all(answers)
  host.answer(good)
  const eventsOf = async (traceId: string) => (await spansOf(traceId))[0].events
  assert.deepEqual(
    (await eventsOf(second)).map(({ name }) => name),
    ['turnpike.hold', 'turnpike.queue', 'turnpike.settle'],
  )
  const waited = (await eventsOf(second))[1]?.attributes['turnpike.queue.wait_ms']
  assert.ok(Number(waited) > 0, String(waited))
  assert.ok((await eventsOf(first)).every(({ name }) => name !== 'turnpike.queue'))
})

test('the warning of a guardrail’s hook that does not answer has the trace of its request', async () => {
  const own = await gateway.keyOfNewAccount()
  const rule = { kind: 'http', action: 'mask', url: 'http://127.0.0.1:9/', stages: ['pre'], fail: 'open' }
  const { status, text } = await send(gateway, '/v1/guardrails', { key: own, body: { name: 'hook', rules: [rule] } })
  assert.equal(status, 201, text)
  const traceId = newTrace()
  await send(gateway, CHAT, { key: own, body: hello(), headers: from(traceId) })
  await logged('the hook of a guardrail did not answer')
  const line =
    gateway
      .output()
      .split('\n')
      .find((each) => each.includes('did not answer')) ?? ''
  assert.equal(JSON.parse(line).trace_id, traceId)
})

test('rejected requests have a span with the code of their error, and their lines of the log have its ID', async () => {
  const unknown = newTrace()
  await send(gateway, CHAT, { key, body: hello({ model: 'nothing' }), headers: from(unknown) })
  const [span] = await spansOf(unknown)
  assert.equal(span.attributes['error.type'], 'model_not_found')
  assert.equal(span.attributes['http.response.status_code'], 422)
  const foreign = newTrace()
  await send(gateway, '/v1/keys', { key: 'tp_invalid', headers: from(foreign) })
  const [rejected] = await spansOf(foreign)
  assert.equal(rejected.name, 'GET /v1/keys')
  assert.equal(rejected.attributes['error.type'], 'invalid_credential')
  await logged(`"trace_id":"${unknown}","code":"model_not_found"`)
  await logged(`"trace_id":"${unknown}","accountId":`)
  const lines = gateway
    .output()
    .split('\n')
    .filter((line) => line.includes(unknown))
  const messages = lines.map((line) => JSON.parse(line).msg)
  assert.deepEqual(messages.toSorted(), ['request rejected', 'request to a model rejected'])
})

test('an unsampled parent is not exported, and its requests are logged with its ID', async () => {
  const unsampled = newTrace()
  await send(gateway, CHAT, { key, body: hello(), headers: from(unsampled, '00') })
  const sampled = newTrace()
  await send(gateway, CHAT, { key, body: hello(), headers: from(sampled) })
  await spansOf(sampled)
  assert.equal(receiver.spans.filter(({ traceId }) => traceId === unsampled).length, 0)
  await logged(`"trace_id":"${unsampled}","msg":"completion"`)
})

test('metrics are exported by the names of the conventions', async () => {
  await send(gateway, CHAT, { key, body: hello() })
  const latest = (name: string) => receiver.metrics.findLast((metric) => metric.name === name)
  const first = receiver.metrics.length
  await receiver.until(() => receiver.metrics.length > first)
  const point = latest('gen_ai.server.request.duration')?.histogram?.dataPoints.at(0)
  assert.ok(Number(point?.count) > 0)
  const { 'gen_ai.request.model': asked } = readAttributes(point?.attributes ?? [])
  assert.ok(asked === 'm1' || asked === 'second')
  assert.equal(latest('gen_ai.server.request.duration')?.unit, 's')
  assert.equal(latest('turnpike_completions_total')?.sum?.isMonotonic, true)
  assert.ok(latest('turnpike_held_usd')?.gauge?.dataPoints.length === 1)
})

test('lines of the log are exported as records, with the trace of their request', async () => {
  const traceId = newTrace()
  const answer = await send(gateway, CHAT, { key, body: hello({ model: 'second' }), headers: from(traceId) })
  const found = () =>
    receiver.logs.find((record) => record.traceId === traceId && record.body['stringValue'] === 'completion')
  await receiver.until(() => found() !== undefined)
  assert.deepEqual(receiver.problems, [])
  const { severityText, severityNumber, timeUnixNano, attributes } = found() ?? assert.fail()
  assert.deepEqual([severityText, Number(severityNumber)], ['INFO', 9])
  assert.ok(Math.abs(Number(BigInt(timeUnixNano) / 1_000_000n) - Date.now()) < 60_000)
  const { id, model: name, costUsd, stream, attemptLog } = readAttributes(attributes)
  assert.deepEqual([id, name, stream], [JSON.parse(answer.text).id, 'second', false])
  assert.equal(costUsd, Number(answer.headers['x-turnpike-cost-usd']))
  assert.equal(JSON.parse(String(attemptLog)).length, 2)
  assert.equal(
    (await send(gateway, '/metrics')).text.includes('turnpike_telemetry_exported_total{signal="logs"}'),
    true,
  )
})

test('probes, metrics and the dashboard have no spans', async () => {
  for (const path of ['/healthz', '/readyz', '/metrics', '/app/']) await send(gateway, path)
  const traceId = newTrace()
  await send(gateway, CHAT, { key, body: hello(), headers: from(traceId) })
  await spansOf(traceId)
  assert.deepEqual(
    receiver.spans.filter(({ name, kind }) => kind === SERVER && !name.includes(' /v1/')),
    [],
  )
})

test('a receiver that fails costs nothing but the counter', async () => {
  receiver.status = 400
  const before = receiver.headers.length
  await send(gateway, CHAT, { key, body: hello() })
  await receiver.until(() => receiver.headers.length > before)
  assert.equal((await send(gateway, CHAT, { key, body: hello() })).status, 200)
  await logged('"signal":"traces","reason":"status 400"')
  const { text } = await send(gateway, '/metrics')
  assert.match(text, /^turnpike_telemetry_dropped_total\{signal="(traces|metrics)"\} [1-9]/m)
})

/** Lines are written at most a second after they are logged. */
async function logged(text: string): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = setInterval(() => gateway.output().includes(text) && resolve(), 50)
  await promise
  clearInterval(timer)
}
