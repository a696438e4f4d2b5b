import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { AccountId } from '../../domain/ids.ts'
import { createLeases, type Leases, MAX_RETURNS } from './leases.ts'
import type { ScriptCall } from './redis.ts'
import { SCRIPTS } from './redis-scripts.ts'

// Nobody has this account.
const ACCOUNT = 'acc_1' as AccountId

interface Server {
  readonly leases: Leases
  readonly calls: ScriptCall[]
  up: boolean
  failing: boolean
  now: number
}

function server(t: TestContext): Server {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const calls: ScriptCall[] = []
  const made: Omit<Server, 'leases'> = { calls, up: true, failing: false, now: 0 }
  const leases = createLeases({
    run(call) {
      calls.push(call)
      return made.failing ? Promise.reject(new Error('cut')) : Promise.resolve(1)
    },
    isUp: () => made.up,
    clock: () => made.now,
  })
  t.after(() => leases.close())
  return Object.assign(made, { leases })
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

test('what ends in one turn goes back in one call an account', async (t) => {
  const { leases, calls } = server(t)
  leases.release(ACCOUNT, 'a', 0)
  leases.release(ACCOUNT, undefined, 30)
  leases.release(ACCOUNT, 'b', -10)
  await turn()
  assert.deepEqual(
    calls.map(({ keys, args }) => ({ keys, args })),
    [{ keys: ['turnpike:{acc_1}', 'turnpike:{acc_1}:leases'], args: [20, 'a', 'b'] }],
  )
})

test('what may have been carried out is said again as far as it cannot count twice', async (t) => {
  const made = server(t)
  made.failing = true
  made.leases.release(ACCOUNT, 'a', 30)
  await turn()
  await turn()
  made.failing = false
  made.leases.restore()
  assert.deepEqual(
    made.calls.map(({ args }) => args),
    [
      [30, 'a'],
      [0, 'a'],
    ],
  )
})

test(`OVL-1: at most ${MAX_RETURNS} ended requests wait for Redis, and go in calls of 500 [limit: redis-returns]`, (t) => {
  const made = server(t)
  made.up = false
  for (let lease = 0; lease < MAX_RETURNS + 10; lease += 1) made.leases.release(ACCOUNT, `${lease}`, 1)
  made.leases.flush()
  assert.equal(made.calls.length, 0)
  made.up = true
  made.leases.flush()
  assert.equal(made.calls.length, MAX_RETURNS / 500)
  assert.ok(made.calls.every(({ args }) => args.length === 501))
  assert.equal(made.calls[0]?.args[0], MAX_RETURNS + 10, 'tokens are a sum and are all given back')
})

test('RL-2: what goes on is renewed every 20 s, unless it is young; what ended meanwhile is not', async (t) => {
  const made = server(t)
  const { leases, calls } = made
  const endings = Array.from({ length: 120 }, (_, account) => leases.track(`acc_${account}` as AccountId, 'old'))
  made.now = 10_000
  leases.track(ACCOUNT, 'young')
  made.now = 20_000
  t.mock.timers.tick(20_000)
  assert.equal(calls.length, 100, 'the rest waits for the next turn')
  for (const end of endings.slice(100)) end()
  await turn()
  assert.equal(calls.length, 100)
  assert.ok(calls.every(({ script, args }) => script === SCRIPTS.renew && args[0] === 'old'))
  made.now = 40_000
  t.mock.timers.tick(20_000)
  const renewed = calls.slice(100).flatMap(({ args }) => args)
  assert.deepEqual(renewed.toSorted(), [...Array.from({ length: 100 }, () => 'old'), 'young'])
})
