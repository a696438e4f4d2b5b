import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startReceiver } from '../../../test/support/otlp/receiver.ts'
import { createHistogram } from '../histogram.ts'
import type { MetricsReading } from '../metrics.ts'
import { startMetricsExport } from './metrics-export.ts'
import { createSender } from './sender.ts'
import { createResource } from './tracer.ts'

const gauge = (name: string, ...values: readonly number[]) => ({
  ...{ name, help: name, type: 'gauge' as const },
  values: values.map((value, at) => ({ value, labels: { at: String(at) } })),
})

/** @returns Why it failed. */
async function exportOnce(
  url: string,
  protocol: 'http/protobuf' | 'http/json',
  reading: MetricsReading,
): Promise<readonly string[]> {
  const endpoint = { url: `${url}/v1/metrics`, headers: {}, protocol, gzip: false, timeoutMs: 10_000 }
  const failures: string[] = []
  const exporter = startMetricsExport({
    ...{ endpoint, sender: createSender(endpoint), intervalMs: 60_000, version: '1', now: () => 1_000 },
    resource: createResource({ serviceName: 'a', version: '1', instanceId: undefined, attributes: {} }),
    read: async () => reading,
    onFailure: (reason) => failures.push(reason),
  })
  await exporter.close()
  return failures
}

for (const protocol of ['http/protobuf', 'http/json'] as const) {
  test(`a value that is no number is left out of ${protocol}, and the others are exported`, async (t) => {
    const receiver = await startReceiver((close) => t.after(close))
    const failures = await exportOnce(receiver.url, protocol, {
      plain: [gauge('mean_seconds', Number.NaN), gauge('depth', 1, 1 / 0, 3)],
      histograms: [],
    })
    assert.deepEqual([failures, receiver.problems], [[], []])
    assert.deepEqual(
      receiver.metrics.map(({ name, gauge: found }) => [name, found?.dataPoints.map(({ asDouble }) => asDouble)]),
      [['depth', [1, 3]]],
    )
  })
}

for (const protocol of ['http/protobuf', 'http/json'] as const) {
  test(`histograms have the exemplars of their buckets in ${protocol}`, async (t) => {
    const receiver = await startReceiver((close) => t.after(close))
    const [first, second] = ['a', 'b'].map((digit) => ({
      ...{ traceId: digit.repeat(32), spanId: digit.repeat(16), sampled: true, state: undefined, baggage: undefined },
    }))
    const histograms = ['one', 'two'].map((name) => createHistogram({ name, help: name, bounds: [1, 2] }))
    const [one, two] = histograms
    const add = one?.series({ model: 'm' })
    add?.(0.5, first)
    add?.(3, second)
    one?.series({ model: 'n' })(1.5)
    two?.series({ model: 'm' })(1.5, second)
    await exportOnce(receiver.url, protocol, {
      plain: [gauge('depth', 300)],
      histograms: histograms.map((each) => each.read()),
    })
    assert.deepEqual(receiver.problems, [])
    const found = receiver.metrics.flatMap(({ histogram }) => histogram?.dataPoints ?? [])
    assert.deepEqual(
      found.map(({ exemplars = [] }) => exemplars.map(({ traceId, spanId, asDouble }) => [traceId, spanId, asDouble])),
      [
        [
          [first?.traceId, first?.spanId, 0.5],
          [second?.traceId, second?.spanId, 3],
        ],
        [],
        [[second?.traceId, second?.spanId, 1.5]],
      ],
    )
    assert.deepEqual(
      found.map(({ count }) => Number(count)),
      [2, 1, 1],
    )
  })
}
