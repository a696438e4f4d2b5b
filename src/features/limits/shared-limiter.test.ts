import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { admitted, comesTrue, connectedLimiter, limitedCaller, planLimits } from '../../../test/support/limits.ts'
import { type RedisServer, startRedis, temporaryRedis } from '../../../test/support/process/redis-server.ts'
import { GatewayError } from '../../domain/errors.ts'
import type { Admission } from './limiter.ts'
import { checkRedis } from './redis.ts'
import { leasesKey } from './redis-scripts.ts'
import type { SharedLimiter } from './shared-limiter.ts'

let redis: RedisServer
before(async () => {
  redis = await startRedis()
})
after(() => redis.stop())

/** The accounts of one test are not those of another: all use one server. */
let accounts = 0
function newAccount(): string {
  accounts += 1
  return `acc_${accounts}`
}

function placesOf(account: string): Promise<number> {
  return redis.client.zcard(leasesKey(limitedCaller(account).accountId))
}

/** Requests that a limit gives back between a time and now: the clock is the server's own. */
function refilled(perMinute: number, since: number): number {
  return Math.floor(((performance.now() - since) * perMinute) / 60_000)
}

async function granted(limiter: SharedLimiter, account: string, tokens = 1): Promise<Admission> {
  const answer = await admitted(() => limiter.admit(limitedCaller(account), () => tokens))
  if (answer instanceof GatewayError) throw answer
  return answer
}

test('R-E1: two processes on one server admit together what one would', async (t) => {
  const limitsOf = () => planLimits({ requestsPerMinute: 10 })
  const limiters = [
    await connectedLimiter(t, { url: redis.url, limitsOf }),
    await connectedLimiter(t, { url: redis.url, limitsOf }),
  ]
  const who = limitedCaller(newAccount())
  const asked = Array.from({ length: 150 }, () => limiters).flat()
  const since = performance.now()
  const answers = await Promise.all(asked.map((limiter) => admitted(() => limiter.admit(who, () => 1))))
  const count = answers.filter((answer) => !(answer instanceof GatewayError)).length
  assert.ok(count >= 10 && count <= 11 + refilled(10, since), `${count} were admitted`)
  for (const limiter of limiters) assert.deepEqual(limiter.state(), { shared: true, localFallback: 0 })
})

test('RL-2: limits of accounts are apart, and the tighter of account and key is told', async (t) => {
  const limiter = await connectedLimiter(t, { url: redis.url, limitsOf: () => planLimits({ requestsPerMinute: 3 }) })
  const [a, b] = [newAccount(), newAccount()]
  const since = performance.now()
  assert.equal((await granted(limiter, a)).requests?.remaining, 2)
  assert.equal((await granted(limiter, b)).requests?.remaining, 2)
  const ofKey = () => admitted(() => limiter.admit(limitedCaller(a, 'key_1', 1), () => 1))
  const first = await ofKey()
  assert.ok(!(first instanceof GatewayError))
  assert.deepEqual([first.requests?.limit, first.requests?.remaining], [1, 0])
  const refused = await ofKey()
  assert.ok(refused instanceof GatewayError)
  assert.equal(refused.code, 'rate_limit_exceeded')
  assert.match(refused.message, /^The limit of 1 requests a minute is reached; try again in \d+ s\.$/)
  assert.deepEqual(
    [refused.headers?.['x-ratelimit-limit-requests'], refused.headers?.['x-ratelimit-remaining-requests']],
    ['1', '0'],
  )
  const { requests } = await granted(limiter, a) // a refusal by the key costs the account nothing
  assert.ok((requests?.remaining ?? 3) <= refilled(3, since), `${requests?.remaining} remain`)
})

test('R-A9: a place is given back once, however often it is released', async (t) => {
  const limiter = await connectedLimiter(t, { url: redis.url, limitsOf: () => planLimits({ maxInFlight: 2 }) })
  const account = newAccount()
  const first = await granted(limiter, account)
  await granted(limiter, account)
  await assert.rejects(granted(limiter, account), { code: 'rate_limit_exceeded', retryAfterMs: 1_000 })
  first.release()
  first.release()
  await comesTrue(async () => (await placesOf(account)) === 1)
  await granted(limiter, account)
  await assert.rejects(granted(limiter, account), /2 requests of this account are under way/)
})

test('R-E3: tokens are reserved at admission and corrected at the end, in every process', async (t) => {
  const limitsOf = () => planLimits({ tokensPerMinute: 1_000, requestsPerMinute: 4 })
  const one = await connectedLimiter(t, { url: redis.url, limitsOf })
  const other = await connectedLimiter(t, { url: redis.url, limitsOf })
  const account = newAccount()
  const since = performance.now()
  const first = await granted(one, account, 600)
  assert.equal(first.tokens?.remaining, 400)
  assert.ok((first.tokens?.resetMs ?? 0) <= 36_000)
  await assert.rejects(granted(other, account, 1_000), /The limit of 1000 tokens a minute is reached/)
  first.settle(100)
  first.settle(0)
  first.release()
  await comesTrue(async () => (await placesOf(account)) === 0)
  const second = await granted(other, account, 500)
  assert.ok((second.tokens?.remaining ?? 0) >= 400 && (second.tokens?.remaining ?? 0) < 800)
  const remaining = second.requests?.remaining ?? 0
  assert.ok(remaining >= 2 && remaining <= 2 + refilled(4, since), 'a refusal for tokens is no request')
})

test('a reservation above the limit is admitted to a rested account, and what was used beyond it is owed', async (t) => {
  const limiter = await connectedLimiter(t, { url: redis.url, limitsOf: () => planLimits({ tokensPerMinute: 1_000 }) })
  const account = newAccount()
  const since = performance.now()
  const large = await granted(limiter, account, 5_000)
  assert.equal(large.tokens?.remaining, 0)
  large.settle(2_000)
  large.release()
  await comesTrue(async () => (await placesOf(account)) === 0)
  const refused = await admitted(() => limiter.admit(limitedCaller(account), () => 1))
  assert.ok(refused instanceof GatewayError)
  assert.ok((refused.retryAfterMs ?? 0) >= 60_000 - (performance.now() - since))
})

test('of several refusals the one that ends last is told', async (t) => {
  const limitsOf = () => planLimits({ requestsPerMinute: 60, tokensPerMinute: 60, maxInFlight: 1 })
  const limiter = await connectedLimiter(t, { url: redis.url, limitsOf })
  const account = newAccount()
  const who = limitedCaller(account, 'key_1', 1)
  await admitted(() => limiter.admit(who, () => 50))
  const refused = await admitted(() => limiter.admit(who, () => 60))
  assert.ok(refused instanceof GatewayError)
  assert.match(refused.message, /^The limit of 1 requests a minute/)
  const without = await admitted(() => limiter.admit(limitedCaller(account), () => 60))
  assert.ok(without instanceof GatewayError)
  assert.match(without.message, /^The limit of 60 tokens a minute/)
})

test('a password and the number of a database are taken from the address, and no error tells the password', async (t) => {
  const locked = await temporaryRedis(t, { password: 'hush' })
  const limiter = await connectedLimiter(t, { url: `${locked.url}/3` })
  await granted(limiter, 'acc_db')
  const answers = () => limiter.ping().then(() => true)
  await comesTrue(() => answers().catch(() => false)) // it waits for a second, which a busy machine may need
  await locked.client.select(3)
  assert.equal(await locked.client.exists(leasesKey(limitedCaller('acc_db').accountId)), 1)
  const wrong = `redis://:wr0ng@127.0.0.1:${locked.port}`
  await assert.rejects(checkRedis(wrong, 60_000), (error: Error) => {
    assert.match(error.message, /WRONGPASS/)
    assert.doesNotMatch(`${error.stack} ${JSON.stringify(error)}`, /wr0ng/)
    return true
  })
})

test('the check says what is wrong with a server', async () => {
  await checkRedis(redis.url, 60_000)
  await assert.rejects(checkRedis('redis://127.0.0.1:1', 60_000), /ECONNREFUSED/)
})
