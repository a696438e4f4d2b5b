/** F18: what several processes admit in all while Redis is slow, frozen, restarted or flushed. Runs on one database. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  admitted,
  comesTrue,
  connectedLimiter,
  type DisturbedNetwork,
  disturbedNetwork,
  limitedCaller,
  planLimits,
  WAIT_MS,
  type WatchedLimiter,
} from '../../../test/support/limits.ts'
import { type RedisServer, temporaryRedis } from '../../../test/support/process/redis-server.ts'
import { GatewayError } from '../../domain/errors.ts'

const LIMIT = 60
const AT_ONCE = 5
const PHASE_MS = 1_200

interface Outage {
  readonly name: string
  /** Undefined: longer than an answer takes on any machine. */
  readonly waitMs?: number | undefined
  begin(redis: RedisServer, network: DisturbedNetwork): unknown
  end?(redis: RedisServer, network: DisturbedNetwork): unknown
}

const OUTAGES: readonly Outage[] = [
  {
    name: 'answers late, though within the wait',
    begin: (_, network) => network.disturb('slow'),
    end: (_, network) => network.disturb(undefined),
  },
  {
    name: 'answers later than the wait',
    waitMs: WAIT_MS,
    begin: (_, network) => network.disturb('slow'),
    end: (_, network) => network.disturb(undefined),
  },
  {
    name: 'is frozen',
    waitMs: WAIT_MS,
    begin: (redis) => redis.signal('SIGSTOP'),
    end: (redis) => redis.signal('SIGCONT'),
  },
  { name: 'is killed and restarted', begin: (redis) => redis.kill(), end: (redis) => redis.restart() },
  { name: 'is restarted at once', begin: (redis) => redis.restart() },
  { name: 'is flushed', begin: (redis) => redis.client.flushall() },
]

interface Counts {
  admitted: number
  refused: number
}

/** Many more requests than the limit, at every process, until the end. */
async function hammer(limiter: WatchedLimiter, counts: Counts, running: () => boolean): Promise<void> {
  while (running()) {
    const wave = Array.from({ length: AT_ONCE }, () => admitted(() => limiter.admit(limitedCaller('acc_1'), () => 1)))
    for (const answer of await Promise.all(wave)) {
      if (answer instanceof GatewayError) counts.refused += 1
      else {
        counts.admitted += 1
        answer.release()
      }
    }
    await sleep(20)
  }
}

async function limitersOf(t: TestContext, url: string, input: { processes: number; waitMs?: number | undefined }) {
  const limitsOf = () => planLimits({ requestsPerMinute: LIMIT })
  const { processes, waitMs = 60_000 } = input
  const of = { url, limitsOf, waitMs, nodes: () => processes }
  return await Promise.all(Array.from({ length: processes }, () => connectedLimiter(t, of)))
}

for (const processes of [1, 3]) {
  for (const { name, waitMs, begin, end } of OUTAGES) {
    test(`RL-4, F18: ${processes} processes admit at most 110 % while Redis ${name}`, async (t) => {
      const redis = await temporaryRedis(t)
      const network = await disturbedNetwork(t, redis.port)
      const limiters = await limitersOf(t, `redis://127.0.0.1:${network.port}`, { processes, waitMs })
      const counts = { admitted: 0, refused: 0 }
      let running = true
      const begunAt = performance.now()
      const all = limiters.map((limiter) => hammer(limiter, counts, () => running))
      const here = () => limiters.reduce((sum, limiter) => sum + limiter.state().localFallback, 0)
      await sleep(PHASE_MS / 2)
      await comesTrue(() => counts.admitted >= LIMIT) // a busy machine has asked less often than the limit by now
      await begin(redis, network)
      await sleep(2 * PHASE_MS)
      // While Redis is down each process holds its share.
      if (waitMs !== undefined) await comesTrue(() => here() > 0)
      await end?.(redis, network)
      for (const limiter of limiters) await comesTrue(() => limiter.state().shared)
      await sleep(PHASE_MS)
      running = false
      await Promise.all(all)
      const minutes = (performance.now() - begunAt) / 60_000
      const most = LIMIT * (1 + minutes) * 1.1
      t.diagnostic(`${counts.admitted} of ${counts.admitted + counts.refused} admitted, at most ${most.toFixed(1)}`)
      assert.ok(counts.admitted <= most, `${counts.admitted} admitted, at most ${most}`)
      if (name.includes('within the wait')) assert.equal(here(), 0, 'a slow answer is no outage')
    })
  }
}
