/** Limits of several processes, which are in Redis. Runs on one database. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { ordinary } from '../support/answers.ts'
import { type Answer, CHAT, eventually, hello, send } from '../support/client.ts'
import { startFakeProvider } from '../support/fake-provider.ts'
import { oneModel, startGateway } from '../support/gateway.ts'
import { startRedis } from '../support/redis-server.ts'

const LIMIT = 30
/** Few, so that no process is kept busy for as long as Redis may take. */
const AT_ONCE = 10
/** Further ones, while the machine is too busy for Redis to answer in time. */
const BURSTS = 20
const provider = await startFakeProvider(ordinary)
const redis = await startRedis()
const config = {
  ...oneModel(provider.url, {}, { plans: { narrow: { requests_per_minute: LIMIT, billing: 'postpaid' } } }),
  redis_url: redis.url,
}
const one = await startGateway({ config })
const two = await startGateway({ config, dataDir: one.dataDir })
after(async () => {
  await two.stop()
  await one.stop()
  await provider.close()
  await redis.stop()
})

/** Requests that a process counted by itself, since Redis did not answer within 50 ms: on a machine that is kept busy that happens. */
async function countedHere(): Promise<number> {
  const texts = await Promise.all([one, two].map(async (process) => (await send(process, '/metrics')).text))
  return texts.reduce((sum, text) => {
    const value = /^turnpike_limits_counted_here_total (\d+)$/m.exec(text)?.[1]
    assert.ok(value, 'the metric is there')
    return sum + Number(value)
  }, 0)
}

/** Of an account of its own: four times what its plan allows a minute, half of it at each process. */
async function burst(): Promise<{ answers: readonly Answer[]; apart: number; tookMs: number }> {
  const account = await one.cli('accounts', 'create', '--name', 'shared', '--plan', 'narrow')
  const key = await one.key('--account', account)
  const before = await countedHere()
  const begunAt = performance.now()
  const answers: Answer[] = []
  while (answers.length < 4 * LIMIT) {
    const wave = Array.from({ length: AT_ONCE }, (_, at) => send(at % 2 ? one : two, CHAT, { key, body: hello() }))
    answers.push(...(await Promise.all(wave)))
  }
  return { answers, apart: (await countedHere()) - before, tookMs: performance.now() - begunAt }
}

test('R-E1: two processes with one Redis admit what one would', async () => {
  let all = await burst()
  for (let again = 0; all.apart > 0 && again < BURSTS; again += 1) all = await burst()
  assert.equal(all.apart, 0, 'Redis counts every request of a burst, sooner or later')
  const admitted = all.answers.filter(({ status }) => status === 200).length
  const refilled = Math.ceil((all.tookMs * LIMIT) / 60_000)
  assert.ok(admitted >= LIMIT && admitted <= LIMIT + 1 + refilled, `${admitted} of ${LIMIT} in ${all.tookMs} ms`)
  const refused = all.answers.find(({ status }) => status === 429)
  assert.ok(refused)
  assert.ok(refused.headers['retry-after'])
  assert.equal(refused.headers['x-ratelimit-limit-requests'], String(LIMIT))
})

test('a Redis that is gone is told by /readyz, and requests go on', async () => {
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
