import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startReceiver } from '../../../test/support/otlp/receiver.ts'
import type { MetricsReading } from '../metrics.ts'
import { startMetricsExport } from './metrics-export.ts'
import { createSender } from './sender.ts'
import { createResource } from './tracer.ts'

for (const protocol of ['http/protobuf', 'http/json'] as const) {
  test(`a value that is no number is left out of ${protocol}, and the others are exported`, async (t) => {
    const receiver = await startReceiver((close) => t.after(close))
    const endpoint = { url: `${receiver.url}/v1/metrics`, headers: {}, protocol, gzip: false, timeoutMs: 10_000 }
    const gauge = (name: string, ...values: readonly number[]) => ({
      ...{ name, help: name, type: 'gauge' as const },
      values: values.map((value, at) => ({ value, labels: { at: String(at) } })),
    })
    const reading: MetricsReading = {
      plain: [gauge('mean_seconds', Number.NaN), gauge('depth', 1, 1 / 0, 3)],
      histograms: [],
    }
    const failures: string[] = []
    const exporter = startMetricsExport({
      ...{ endpoint, sender: createSender(endpoint), intervalMs: 60_000, version: '1', now: () => 1_000 },
      resource: createResource({ serviceName: 'a', version: '1', instanceId: undefined, attributes: {} }),
      read: async () => reading,
      onFailure: (reason) => failures.push(reason),
    })
    await exporter.close()
    assert.deepEqual([failures, receiver.problems], [[], []])
    assert.deepEqual(
      receiver.metrics.map(({ name, gauge: found }) => [name, found?.dataPoints.map(({ asDouble }) => asDouble)]),
      [['depth', [1, 3]]],
    )
  })
}
