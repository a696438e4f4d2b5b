/** Runs on one database: it is about Redis. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startRedis } from '../../test/support/process/redis-server.ts'
import { connectRedis } from '../features/limits/redis.ts'
import {
  createMeasurements,
  latencyMs,
  type Measurements,
  record,
  tokensPerSecond,
} from '../gateway/routing/measurements.ts'
import { exchange } from './limits.ts'

/** A process with its own clock. */
function processOf(self: string, startedAt: number) {
  const known = new Map<string, Measurements>()
  let time = startedAt
  const measurementsOf = (provider: string, model: string) => {
    if (provider === 'unknown') return undefined
    const name = `${provider} ${model}`
    const measurements = known.get(name) ?? createMeasurements()
    known.set(name, measurements)
    return measurements
  }
  const measured = () =>
    [...known].map(([name, measurements]) => {
      const [provider = '', model = ''] = name.split(' ')
      return { provider, model, measurements }
    })
  return {
    self,
    clock: () => time++,
    health: { measured, measurementsOf },
    of: (provider: string) => measurementsOf(provider, 'm') ?? assert.fail(),
  }
}

test('processes exchange what they have measured, through the server alone', async (t) => {
  const redis = await startRedis()
  t.after(() => redis.stop())
  const connection = connectRedis({ url: redis.url, onConnected: () => ready.resolve(), onLost: () => {} })
  const ready = Promise.withResolvers<void>()
  t.after(() => connection.close())
  await ready.promise
  const [one, two, three] = [processOf('ins_1', 1_000), processOf('ins_2', 9_000_000), processOf('ins_3', 77)]
  record(one.of('fast').firstEvent, 100, 1_000)
  record(one.of('fast').speed, 50, 1_000)
  record(two.of('fast').firstEvent, 300, 9_000_000)
  record(two.of('slow').wholeAnswer, 5_000, 9_000_000)
  for (const each of [one, two, three, one]) await exchange({ ...each, connection })
  const seen = (each: typeof one, provider: string) => {
    const now = each.clock()
    const measurements = each.of(provider)
    const latency = latencyMs(measurements, { stream: true, now })
    const speed = tokensPerSecond(measurements, now)
    return [latency, speed].map((value) => value && Math.round(value / 10) * 10)
  }
  assert.deepEqual(seen(three, 'fast'), [100, 50])
  assert.deepEqual(seen(three, 'slow'), [5130, undefined])
  assert.deepEqual(seen(one, 'slow'), [5130, undefined])
  assert.deepEqual(seen(two, 'fast')[1], 50)
  assert.equal(seen(one, 'other')[0], undefined)
})

test('what no process of ours would send is ignored [limit: measurements]', async () => {
  const three = processOf('ins_3', 77)
  const valid = JSON.stringify([['fast', 'm', [0, [58, 1]], null, null]])
  const sent = [
    '{',
    '[]',
    '[1]',
    '[["a"]]',
    '[["fast","m",[0,["x",1]]]]',
    '[["unknown","m",[0,[1,1]]]]',
    `${valid}${' '.repeat(4_194_304)}`,
  ]
  const run = async () => sent.flatMap((text) => [0, text])
  await exchange({ ...three, connection: { run } })
  assert.equal(latencyMs(three.of('fast'), { stream: true, now: 77 }), undefined)
  await exchange({ ...three, connection: { run: async () => [0, valid] } })
  assert.ok(latencyMs(three.of('fast'), { stream: true, now: 80 }) !== undefined)
})
