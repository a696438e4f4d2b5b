/** F18: Redis that is away, slow, hung, emptied or read-only. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { test } from 'node:test'
import {
  admitted,
  comesTrue,
  connectedLimiter,
  type Disturbance,
  disturbedNetwork,
  limitedCaller,
  planLimits,
  sharedLimiter,
  WAIT_MS,
} from '../../../test/support/limits.ts'
import { type RedisServer, temporaryRedis } from '../../../test/support/process/redis-server.ts'
import { GatewayError } from '../../domain/errors.ts'
import type { Admission } from './limiter.ts'
import { leasesKey, SINCE_KEY } from './redis-scripts.ts'
import type { SharedLimiter } from './shared-limiter.ts'

const ACCOUNT = 'acc_1'

async function granted(limiter: SharedLimiter, account = ACCOUNT): Promise<Admission> {
  const answer = await admitted(() => limiter.admit(limitedCaller(account), () => 1))
  if (answer instanceof GatewayError) throw answer
  return answer
}

/** How many of 100 requests are admitted. */
async function countAdmitted(limiter: SharedLimiter): Promise<number> {
  let count = 0
  for (let request = 0; request < 100; request += 1) {
    const answer = await admitted(() => limiter.admit(limitedCaller(ACCOUNT), () => 1))
    if (answer instanceof GatewayError) continue
    answer.release()
    count += 1
  }
  return count
}

/** Real time, and a minute more after each `advance`: by then every share is whole. */
function testClock(): { readonly clock: () => number; advance(): void } {
  let ahead = 0
  return {
    clock: () => performance.now() + ahead,
    advance() {
      ahead += 60_000
    },
  }
}

const isShared = (limiter: SharedLimiter) => () => limiter.state().shared

function places({ client }: RedisServer): Promise<number> {
  return client.zcard(leasesKey(limitedCaller(ACCOUNT).accountId))
}

/** A busy machine may need a second attempt after an outage. */
async function grantedThere(limiter: SharedLimiter, redis: RedisServer): Promise<Admission> {
  let admission = await granted(limiter)
  await comesTrue(async () => {
    if ((await places(redis)) === 1) return true
    admission.release()
    admission = await granted(limiter)
    return false
  })
  return admission
}

test('RL-4, F18: a server without its scripts is given them again, and no request notices', async (t) => {
  const redis = await temporaryRedis(t)
  const limiter = await connectedLimiter(t, { url: redis.url, limitsOf: () => planLimits({ requestsPerMinute: 100 }) })
  const asked = Array.from({ length: 50 }, async (_, request) => {
    if (request % 10 === 0) await redis.client.script('FLUSH')
    return granted(limiter)
  })
  const admissions = await Promise.all(asked)
  await redis.client.script('FLUSH')
  for (const { release } of admissions) release()
  await comesTrue(async () => (await places(redis)) === 0)
  assert.deepEqual(limiter.state(), { shared: true, localFallback: 0 })
})

test('RL-4, F18: while the server hangs, each process holds its share; then all is as before [limit: redis-wait]', async (t) => {
  const redis = await temporaryRedis(t)
  const limitsOf = () => planLimits({ requestsPerMinute: 15, maxInFlight: 6 })
  let now = 0
  const clock = () => now
  const limiter = await connectedLimiter(t, { url: redis.url, limitsOf, clock, nodes: () => 3, waitMs: WAIT_MS })
  redis.signal('SIGSTOP')
  try {
    await assert.rejects(granted(limiter), /5 requests a minute/, 'what others spent before is not known')
    now += 60_000
    const admissions = await Promise.all([granted(limiter), granted(limiter)])
    assert.equal(limiter.state().shared, false)
    assert.equal(admissions[0].requests?.limit, 5)
    await assert.rejects(granted(limiter), /2 requests of this account are under way/)
    for (const { release } of admissions) release()
    assert.equal(await countAdmitted(limiter), 3, 'a third of 15 in all')
    await assert.rejects(limiter.ping())
  } finally {
    setTimeout(() => redis.signal('SIGCONT'), 2_000)
  }
  await comesTrue(isShared(limiter))
  await comesTrue(async () => (await places(redis)) === 0)
  // By the server's clock: a minute must pass before a limit of one in a minute gives any back.
  const ofKey = () => admitted(() => limiter.admit(limitedCaller(ACCOUNT, 'key_2', 1), () => 1))
  assert.match(String(await ofKey()), /1 requests a minute/, 'what others admitted meanwhile is not known')
  await comesTrue(async () => {
    await redis.client.set(SINCE_KEY, 0)
    const answer = await admitted(() => limiter.admit(limitedCaller(ACCOUNT), () => 1))
    if (answer instanceof GatewayError) return false
    answer.release()
    return answer.requests?.limit === 15
  })
})

test('RL-4: an admission belongs to where it was made', async (t) => {
  const redis = await temporaryRedis(t)
  const limiter = await connectedLimiter(t, {
    url: redis.url,
    waitMs: WAIT_MS,
    limitsOf: () => planLimits({ maxInFlight: 2 }),
  })
  const there = await grantedThere(limiter, redis)
  redis.signal('SIGSTOP')
  const [first] = await Promise.all([granted(limiter), granted(limiter)])
  there.release()
  there.settle(1)
  await assert.rejects(granted(limiter), /2 requests of this account/, 'what ends there frees no place here')
  redis.signal('SIGCONT')
  await comesTrue(isShared(limiter))
  await comesTrue(async () => (await places(redis)) === 0)
  const again = await grantedThere(limiter, redis)
  first.release()
  there.release()
  assert.equal(await places(redis), 1, 'what ends here frees no place there')
  again.release()
  await comesTrue(async () => (await places(redis)) === 0)
})

test('RL-4, F18: cut connections', async (t) => {
  const redis = await temporaryRedis(t)
  const limiter = await connectedLimiter(t, { url: redis.url })
  for (let round = 0; round < 5; round += 1) {
    const asked = Array.from({ length: 20 }, () => granted(limiter))
    await redis.client.call('CLIENT', 'KILL', 'TYPE', 'normal')
    const admissions = await Promise.all(asked)
    for (const { release } of admissions) release()
    await comesTrue(isShared(limiter))
  }
  await comesTrue(async () => (await places(redis)) === 0)
})

test('RL-4, F18: a killed server is missed by no request, and used again when it is back', async (t) => {
  const redis = await temporaryRedis(t)
  const { clock, advance } = testClock()
  const limitsOf = () => planLimits({ requestsPerMinute: 5 })
  const limiter = await connectedLimiter(t, { url: redis.url, limitsOf, clock })
  const kept = await granted(limiter)
  await redis.kill()
  await comesTrue(() => !limiter.state().shared)
  advance()
  assert.equal(await countAdmitted(limiter), 5)
  await redis.restart()
  await comesTrue(isShared(limiter))
  await comesTrue(async () => (await places(redis)) === 1)
  kept.release()
  await comesTrue(async () => (await places(redis)) === 0)
  // `advance` passes a minute, after which an attempt to connect that fails is a reason to warn again.
  const messages = limiter.lines.map(({ message }) => message)
  assert.equal(messages.at(-1), 'Redis answers again: rate limits are shared')
  assert.deepEqual(
    [...new Set(messages.slice(0, -1))],
    ['Redis does not count rate limits: each process holds its share of them'],
  )
})

test('RL-4, F18: a server that became a replica counts as down after 3 failures in a row [limit: redis-failures]', async (t) => {
  const redis = await temporaryRedis(t)
  const limiter = await connectedLimiter(t, { url: redis.url })
  await redis.client.replicaof('127.0.0.1', 1)
  await granted(limiter)
  await comesTrue(() =>
    limiter.lines.some(({ fields }) => 'reason' in fields && /READONLY/.test(String(fields.reason))),
  )
  await assert.rejects(limiter.ping(), /READONLY|not connected/)
  assert.equal(limiter.state().shared, false)
  await redis.client.replicaof('NO', 'ONE')
  await comesTrue(isShared(limiter))
})

for (const how of ['dropped', 'slow', 'empty'] satisfies Disturbance[]) {
  test(`RL-4, F18: answers that are ${how}`, async (t) => {
    const redis = await temporaryRedis(t)
    const network = await disturbedNetwork(t, redis.port)
    const url = `redis://127.0.0.1:${network.port}`
    const { clock, advance } = testClock()
    const limitsOf = () => planLimits({ requestsPerMinute: 10 })
    const limiter = await connectedLimiter(t, { url, limitsOf, clock, nodes: () => 2, waitMs: WAIT_MS })
    network.disturb(how)
    await admitted(() => limiter.admit(limitedCaller(ACCOUNT), () => 1))
    assert.deepEqual(limiter.state(), { shared: false, localFallback: 1 })
    advance()
    assert.equal(await countAdmitted(limiter), 5)
    network.disturb(undefined)
    await comesTrue(isShared(limiter))
  })
}

test('F18: a server that forgot everything hears again of what goes on', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  let now = 0
  const redis = await temporaryRedis(t)
  const limiter = await connectedLimiter(t, { url: redis.url, clock: () => now })
  const [going, ending] = await Promise.all([granted(limiter), granted(limiter)])
  await redis.client.flushall()
  ending.release()
  now += 20_000
  t.mock.timers.tick(20_000)
  await comesTrue(async () => (await places(redis)) === 1)
  going.release()
  going.settle(5)
  await comesTrue(async () => (await places(redis)) === 0)
})

test('RL-2: what goes on keeps its place, and a killed process loses all of its own within a minute', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  let now = 0
  const redis = await temporaryRedis(t)
  const limitsOf = () => planLimits({ maxInFlight: 3 })
  const limiter = await connectedLimiter(t, { url: redis.url, limitsOf, clock: () => now })
  const victim = spawn(process.execPath, [
    join(import.meta.dirname, '../../../test/support/process/limits-victim.ts'),
    redis.url,
    ACCOUNT,
    '2',
  ])
  await once(victim.stdout, 'data')
  const going = await granted(limiter)
  await assert.rejects(granted(limiter), /3 requests of this account/)
  victim.kill('SIGKILL')
  await once(victim, 'exit')
  // As if all leases were 59 s old.
  const key = leasesKey(limitedCaller(ACCOUNT).accountId)
  for (const lease of await redis.client.zrange(key, '0', '-1')) await redis.client.zincrby(key, -59_000_000, lease)
  now += 20_000
  t.mock.timers.tick(20_000)
  const places: Admission[] = []
  await comesTrue(async () => {
    const answer = await admitted(() => limiter.admit(limitedCaller(ACCOUNT), () => 1))
    if (!(answer instanceof GatewayError)) places.push(answer)
    return places.length === 2
  })
  await assert.rejects(granted(limiter), /3 requests of this account/, 'the one that goes on was renewed')
  going.release()
})

test('RL-4: without its server a process starts and holds its share, and the log says so once a minute [limit: redis-start]', async (t) => {
  let now = 0
  const limitsOf = () => planLimits({ requestsPerMinute: 10 })
  const limiter = await sharedLimiter(t, { limitsOf, clock: () => now, nodes: () => 2 })
  now = 59_999
  assert.equal(await countAdmitted(limiter), 5)
  const ofKey = limitedCaller('acc_2', 'key_2', 4)
  assert.equal(((await admitted(() => limiter.admit(ofKey, () => 1))) as Admission).requests?.limit, 2)
  assert.equal(limiter.lines.length, 1)
  await assert.rejects(limiter.ping())
  assert.equal(limiter.lines.length, 1)
  now += 60_000
  await assert.rejects(limiter.ping())
  assert.equal(limiter.lines.length, 2)
  assert.match(JSON.stringify(limiter.lines), /ECONNREFUSED/)
})
