/** The arithmetic of the scripts, at times that the test chooses, beside the limiter of one process. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { limitedCaller, planLimits } from '../../../test/support/limits.ts'
import { type RedisServer, startRedis } from '../../../test/support/process/redis-server.ts'
import { GatewayError } from '../../domain/errors.ts'
import { type Admission, createLimiter, type PlanLimits } from './limiter.ts'
import {
  type AdmitAnswer,
  accountKey,
  admitScript,
  keyKey,
  leasesKey,
  readAnswer,
  releaseScript,
  SCRIPTS,
  type Script,
  SINCE_KEY,
  SLACK,
  WINDOW_MS,
} from './redis-scripts.ts'

/** The time in microseconds is what comes last. */
const GIVEN_TIME = 'local now = tonumber(table.remove(ARGV))'
const ADMIT = admitScript(GIVEN_TIME)
const GIVE_BACK = releaseScript(GIVEN_TIME)

const PATTERNS = 1_000
const ARRIVALS = 30
/** As late as a server's clock is: rounding is that of real times. */
const START_MS = 1_795_000_000_000

let redis: RedisServer
before(async () => {
  redis = await startRedis()
  for (const { lua } of [ADMIT, GIVE_BACK]) await redis.client.script('LOAD', lua)
})
after(() => redis.stop())

function run({ sha }: Script, keys: readonly string[], args: readonly (string | number)[]): Promise<unknown> {
  return redis.client.evalsha(sha, keys.length, ...keys, ...args)
}

interface Arrival {
  readonly account: string
  readonly limits: PlanLimits
  readonly perMinuteOfKey?: number | undefined
  readonly tokens: number
  readonly lease: string
  readonly now: number
  readonly again?: boolean
}

async function admit({ account, limits, perMinuteOfKey, tokens, lease, now, again }: Arrival): Promise<AdmitAnswer> {
  const { accountId, keyId } = limitedCaller(account)
  const keys = [accountKey(accountId), leasesKey(accountId), SINCE_KEY, keyKey(accountId, keyId)]
  const wanted = Math.min(tokens, limits.tokensPerMinute ?? 0)
  const { requestsPerMinute = 0, tokensPerMinute = 0, maxInFlight } = limits
  const args = [
    requestsPerMinute,
    perMinuteOfKey ?? 0,
    tokensPerMinute,
    wanted,
    maxInFlight,
    lease,
    again ? 1 : 0,
    now * 1000,
  ]
  const answer = readAnswer(await run(ADMIT, keys, args))
  assert.ok(answer)
  return answer
}

async function release(account: string, { lessMs, lease, now }: { lessMs: number; lease: string; now: number }) {
  const { accountId } = limitedCaller(account)
  await run(GIVE_BACK, [accountKey(accountId), leasesKey(accountId)], [lessMs, lease, now * 1000])
}

function chance(seed: number): (below: number) => number {
  let state = (seed * 2_654_435_761) | 1
  return (below) => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) % below
  }
}

/** All at once, as soon as the next is due, around the window, or any time. */
function gapOf(style: number, limit: number, random: (below: number) => number): number {
  if (style === 0) return random(limit + 3) === 0 ? random(3) * (WINDOW_MS / 2) + random(3) : 0
  if (style === 1) return Math.max(0, WINDOW_MS / limit + random(3) - 1)
  if (style === 2) return [0, 1, WINDOW_MS - 1, WINDOW_MS, WINDOW_MS + 1, WINDOW_MS / 2][random(6)] ?? 0
  return random(Math.ceil((2 * WINDOW_MS) / limit))
}

function near(found: number | undefined, expected: number | undefined, what: string): void {
  // Redis answers whole microseconds.
  assert.ok(Math.abs((found ?? 0) - (expected ?? 0)) < 0.01, `${what}: ${found} instead of ${expected}`)
}

interface Pattern {
  readonly account: string
  readonly limits: PlanLimits
  readonly perMinuteOfKey: number | undefined
  readonly style: number
  readonly random: (below: number) => number
}

function patternOf(seed: number): Pattern {
  const random = chance(seed + 1)
  const one = (most: number): number | undefined => (random(3) === 0 ? undefined : random(most) + 1)
  return {
    account: `acc_${seed}`,
    limits: planLimits({ requestsPerMinute: one(20), tokensPerMinute: one(300), maxInFlight: 1_000_000 }),
    perMinuteOfKey: one(20),
    style: random(4),
    random,
  }
}

/** The same arrivals at both: the same are admitted, and both say the same of what remains. @returns how many were admitted. */
async function compare({ account, limits, perMinuteOfKey, style, random }: Pattern): Promise<number> {
  let now = 0
  const local = createLimiter({ limitsOf: () => limits, clock: () => now })
  const running: { admission: Admission; reserved: number; lease: string }[] = []
  let granted = 0
  for (let arrival = 0; arrival < ARRIVALS; arrival += 1) {
    now += gapOf(style, limits.requestsPerMinute ?? 10, random)
    while (running.length > 0 && random(3) === 0) {
      const { admission, reserved, lease } = running.shift() ?? assert.fail()
      const used = random(2 * reserved + 1)
      admission.settle(used)
      const lessMs = limits.tokensPerMinute === undefined ? 0 : (WINDOW_MS / limits.tokensPerMinute) * (reserved - used)
      await release(account, { lessMs, lease, now: START_MS + now })
    }
    const tokens = random(limits.tokensPerMinute ?? 100) + 1
    const [ofKey, lease] = [random(2) === 0 ? perMinuteOfKey : undefined, `lease.${arrival}`]
    const there = await admit({ account, limits, perMinuteOfKey: ofKey, tokens, lease, now: START_MS + now })
    const here = tryHere(() => local.admit(limitedCaller(account, `key_${account}`, ofKey), () => tokens))
    assert.equal(there.admitted, !(here instanceof GatewayError), `${account}, arrival ${arrival}`)
    if (here instanceof GatewayError) {
      // Which of several reasons is told is the limiter's choice.
      const waits = [there.account, there.key, there.tokens].map(({ retryAfterMs }) => retryAfterMs)
      near(Math.min(...waits.map((wait) => Math.abs(wait - (here.retryAfterMs ?? 0)))), 0, 'retry after')
      continue
    }
    granted += 1
    const ofRequests = [limits.requestsPerMinute && there.account, ofKey && there.key].filter(
      (counted) => counted !== undefined,
    )
    const remaining = ofRequests.map((counted) => (typeof counted === 'object' ? counted.remaining : 0))
    if (remaining.length > 0) assert.equal(Math.min(...remaining), here.requests?.remaining)
    if (here.tokens !== undefined) {
      assert.equal(there.tokens.remaining, here.tokens.remaining)
      near(there.tokens.resetMs, here.tokens.resetMs, 'reset of tokens')
    }
    running.push({ admission: here, reserved: Math.min(tokens, limits.tokensPerMinute ?? tokens), lease })
  }
  return granted
}

function tryHere(act: () => Admission): Admission | GatewayError {
  try {
    return act()
  } catch (error) {
    assert.ok(error instanceof GatewayError)
    return error
  }
}

test(`RL-1: ${PATTERNS} patterns of arrivals are admitted and refused as by the limiter of one process`, async () => {
  let granted = 0
  for (let first = 0; first < PATTERNS; first += 100) {
    const patterns = Array.from({ length: 100 }, (_, index) => compare(patternOf(first + index)))
    for (const count of await Promise.all(patterns)) granted += count
  }
  assert.ok(granted > PATTERNS, 'too few were admitted to show anything')
})

const PLACES = planLimits({ maxInFlight: 2 })

test('RL-2: places are leases: those that nobody renews are free after a minute', async () => {
  const take = (lease: string, now: number) => admit({ account: 'acc_places', limits: PLACES, tokens: 0, lease, now })
  assert.ok((await take('a', START_MS)).admitted)
  assert.ok((await take('b', START_MS + 1_000)).admitted)
  assert.deepEqual([(await take('c', START_MS + 59_999)).isFull], [true])
  assert.ok((await take('c', START_MS + 60_000)).admitted, 'the first has ended')
  assert.ok((await take('d', START_MS + 60_500)).isFull, 'the second has not')
})

test('F19: a clock of the server that is set back keeps nobody out', async () => {
  const limits = planLimits({ requestsPerMinute: 2, maxInFlight: 2 })
  const take = (lease: string, now: number) => admit({ account: 'acc_clock', limits, tokens: 0, lease, now })
  await take('a', START_MS)
  assert.equal((await take('b', START_MS)).account.remaining, 0)
  const hourBefore = START_MS - 3_600_000
  const refused = await take('c', hourBefore)
  assert.deepEqual([refused.admitted, refused.account.retryAfterMs], [false, 30_000])
  assert.ok((await take('c', hourBefore + 30_000)).admitted, 'places of the later time are free, too')
})

test('what is asked again because its answer was lost counts once, and is taken back once', async () => {
  const limits = planLimits({ requestsPerMinute: 60, tokensPerMinute: 600, maxInFlight: 1 })
  const ask = { account: 'acc_again', limits, perMinuteOfKey: 30, tokens: 60, lease: 'a', now: Date.now() }
  const first = await admit(ask)
  const second = await admit({ ...ask, again: true })
  assert.ok(first.admitted && second.admitted)
  for (const { account, key, tokens } of [first, second]) {
    assert.deepEqual([account.remaining, key.remaining, tokens.remaining], [59, 29, 540])
  }
  const { accountId, keyId } = limitedCaller('acc_again')
  const keys = [accountKey(accountId), leasesKey(accountId), keyKey(accountId, keyId)]
  const { lua } = SCRIPTS.undo
  const undo = () => redis.client.eval(lua, keys.length, ...keys, 'a', 1_000, 6_000, 2_000)
  assert.deepEqual([await undo(), await undo()], [1, 0])
  const after = await admit({ ...ask, lease: 'b', now: Date.now() })
  assert.deepEqual([after.account.remaining, after.key.remaining, after.tokens.remaining], [59, 29, 540])
})

test('a server that lost its counts, or that did not count for a while, admits little more than what is refilled', async (t) => {
  t.after(() => redis.client.set(SINCE_KEY, 0))
  const limits = planLimits({ requestsPerMinute: 100 })
  const burst = async (account: string, now: number) => {
    let count = 0
    for (let lease = 0; lease < 120; lease += 1) {
      const { admitted } = await admit({ account, limits, tokens: 0, lease: `${lease}`, now })
      if (admitted) count += 1
    }
    return count
  }
  await redis.client.del(SINCE_KEY)
  assert.equal(await burst('acc_lost', START_MS), 100 * SLACK)
  assert.equal(await burst('acc_lost', START_MS + 6_000), 10, 'what is refilled')
  assert.equal(await burst('acc_other', START_MS + WINDOW_MS), 100, 'all after a minute')
  await redis.client.set(SINCE_KEY, (START_MS + 2 * WINDOW_MS) * 1_000)
  assert.equal(await burst('acc_third', START_MS + 2 * WINDOW_MS), 0)
})

test('a refusal writes nothing, and everything that is written goes by itself', async () => {
  const limits = planLimits({ requestsPerMinute: 5, tokensPerMinute: 100, maxInFlight: 1 })
  const [account, perMinuteOfKey] = ['acc_traces', 5]
  const take = (lease: string) => admit({ account, limits, perMinuteOfKey, tokens: 60, lease, now: START_MS })
  const { accountId, keyId } = limitedCaller(account)
  const keys = [accountKey(accountId), leasesKey(accountId), keyKey(accountId, keyId)]
  const { client } = redis
  await take('a')
  const dumps = () => Promise.all(keys.map((key) => client.dumpBuffer(key)))
  const written = await dumps()
  assert.equal((await take('b')).admitted, false)
  assert.deepEqual(await dumps(), written)
  for (const key of keys) {
    const left = await client.pttl(key)
    assert.ok(left > 0 && left <= 2 * WINDOW_MS, `${key}: ${left}`)
    assert.match(key, /^turnpike:\{acc_traces\}/)
  }
})

test('what makes no sense as an answer is none', () => {
  const good = [1, 0, 59, 1000, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
  assert.equal(readAnswer(good)?.account.remaining, 59)
  for (const bad of [null, undefined, 'OK', [], [1], [...good, 1], [...good.slice(1), null], [...good.slice(1), '1']]) {
    assert.equal(readAnswer(bad), undefined)
  }
})
