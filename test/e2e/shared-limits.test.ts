/** Limits of several processes, which are in Redis. Runs on one database. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { CHAT, eventually, hello, send } from '../support/client.ts'
import { oneModel, startGateway } from '../support/gateway.ts'
import { startRedis } from '../support/process/redis-server.ts'
import { ordinary } from '../support/providers/answers.ts'
import { startFakeProvider } from '../support/providers/fake-provider.ts'

const LIMIT = 60
const REQUESTS = 150
const provider = await startFakeProvider(ordinary)
const redis = await startRedis()
const config = {
  ...oneModel(provider.url, {}, { plans: { narrow: { requests_per_minute: LIMIT, billing: 'postpaid' } } }),
  redis_url: redis.url,
}
const one = await startGateway({ config })
const two = await startGateway({ config, dataDir: one.dataDir })
const three = await startGateway({ config, dataDir: one.dataDir })
const processes = [one, two, three] as const
after(async () => {
  await three.stop()
  await two.stop()
  await one.stop()
  await provider.close()
  await redis.stop()
})

/** Requests that a process counted by itself, since Redis was down. */
async function localFallback(): Promise<number> {
  const texts = await Promise.all(processes.map(async (process) => (await send(process, '/metrics')).text))
  return texts.reduce((sum, text) => {
    const value = /^turnpike_limits_local_fallback_total (\d+)$/m.exec(text)?.[1]
    assert.ok(value, 'the metric is there')
    return sum + Number(value)
  }, 0)
}

test('R-E1: three processes with one Redis admit as many requests as one, however busy the machine is', async () => {
  const account = await one.cli('accounts', 'create', '--name', 'shared', '--plan', 'narrow')
  const key = await one.key('--account', account)
  const before = await localFallback()
  const begunAt = performance.now()
  const sent = Array.from({ length: REQUESTS }, (_, at) => {
    return send(processes[at % processes.length] ?? one, CHAT, { key, body: hello() })
  })
  const answers = await Promise.all(sent)
  const minutes = (performance.now() - begunAt) / 60_000
  const admitted = answers.filter(({ status }) => status === 200).length
  const apart = (await localFallback()) - before
  assert.ok(admitted <= LIMIT * (1 + minutes) * 1.1, `${admitted} of ${LIMIT}, ${apart} counted apart`)
  assert.ok(apart > 0 || admitted >= LIMIT, `${admitted} of ${LIMIT}`)
  const refused = answers.find(({ status }) => status === 429)
  assert.ok(refused)
  assert.ok(refused.headers['retry-after'])
  if (apart === 0) assert.equal(refused.headers['x-ratelimit-limit-requests'], String(LIMIT))
})

test('an unreachable Redis is reported by /readyz, and requests continue', async () => {
  const ready = await eventually(
    () => send(one, '/readyz'),
    ({ status }) => status === 200,
  )
  assert.equal(ready.status, 200)
  assert.match(ready.text, /redis/)
  await redis.stop()
  const unready = await eventually(
    () => send(one, '/readyz'),
    ({ status }) => status === 503,
  )
  assert.equal(unready.status, 503)
  const key = await one.keyOfNewAccount()
  assert.equal((await send(one, CHAT, { key, body: hello() })).status, 200)
})
