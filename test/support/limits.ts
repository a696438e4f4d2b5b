/** Callers and their limits, and a network between a limiter and its Redis server that can be disturbed. */

import assert from 'node:assert/strict'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import type { TestContext } from 'node:test'
import { GatewayError } from '../../src/domain/errors.ts'
import type { Caller } from '../../src/domain/identity/caller.ts'
import type { AccountId, KeyId } from '../../src/domain/ids.ts'
import type { Admission, PlanLimits } from '../../src/features/limits/limiter.ts'
import {
  createSharedLimiter,
  type SharedLimiter,
  type SharedLimiterInput,
} from '../../src/features/limits/shared-limiter.ts'
import { keyCaller } from './identity/caller.ts'

export function limitedCaller(account: string, key = `key_${account}`, requestsPerMinute?: number): Caller {
  return keyCaller({ accountId: account as AccountId, keyId: key as KeyId, plan: 'plan', requestsPerMinute })
}

export function planLimits(limits: Partial<PlanLimits>): PlanLimits {
  return { requestsPerMinute: undefined, tokensPerMinute: undefined, maxInFlight: 1000, ...limits }
}

/** What a limiter answers, whether at once or later, refusals too. */
export async function admitted(admit: () => Admission | Promise<Admission>): Promise<Admission | GatewayError> {
  try {
    return await admit()
  } catch (error) {
    assert.ok(error instanceof GatewayError, String(error))
    return error
  }
}

/** Waits for something that happens by itself; fails after `withinMs`. */
export async function comesTrue(what: () => boolean | Promise<boolean>, withinMs = 60_000): Promise<void> {
  const until = performance.now() + withinMs
  while (!(await what())) {
    if (performance.now() > until) assert.fail(`it did not come true within ${withinMs} ms: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

/** For tests in which an answer does not come. */
export const WAIT_MS = 500

/** What becomes of the server's answers; undefined: they pass. */
export type Disturbance = 'dropped' | 'slow' | 'empty' | undefined

export interface DisturbedNetwork {
  readonly port: number
  disturb(how: Disturbance): void
}

/** Ways to `port` through which answers do not come as they were sent. Closed when the test ends. */
export async function disturbedNetwork(test: TestContext, port: number): Promise<DisturbedNetwork> {
  let disturbance: Disturbance
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    const upstream = connect(port, '127.0.0.1')
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => undefined)
      socket.on('close', () => {
        client.destroy()
        upstream.destroy()
      })
    }
    client.pipe(upstream)
    upstream.on('data', (bytes) => {
      if (disturbance === undefined) client.write(bytes)
      else if (disturbance === 'slow') setTimeout(() => client.write(bytes), 2 * WAIT_MS)
      // Every answer in these tests is an array or a number.
      else if (disturbance === 'empty') client.write('*0\r\n'.repeat(bytes.toString().split(/^[*]/m).length - 1))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  test.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return {
    // After listening on TCP the address is an object.
    port: (server.address() as AddressInfo).port,
    disturb(how) {
      disturbance = how
    },
  }
}

export interface LogLine {
  readonly level: 'info' | 'warn'
  readonly fields: object
  readonly message: string
}

/** A limiter with its log; closed when the test ends. */
export interface WatchedLimiter extends SharedLimiter {
  readonly lines: LogLine[]
}

/** A process's limiter, once it has found its Redis server or gone on without. */
export async function sharedLimiter(test: TestContext, input: Partial<SharedLimiterInput>): Promise<WatchedLimiter> {
  const lines: LogLine[] = []
  const limiter = createSharedLimiter({
    url: 'redis://127.0.0.1:1',
    limitsOf: () => planLimits({}),
    clock: () => performance.now(),
    nodes: () => 1,
    // The machine of a test may be busier than any pause of a server.
    waitMs: 60_000,
    log: {
      info: (fields, message) => void lines.push({ level: 'info', fields, message }),
      warn: (fields, message) => void lines.push({ level: 'warn', fields, message }),
    },
    ...input,
  })
  test.after(() => limiter.close())
  await limiter.started()
  return { ...limiter, lines }
}

/** One that counts at its server: a start on a busy machine does not wait for it for ever. */
export async function connectedLimiter(test: TestContext, input: Partial<SharedLimiterInput>): Promise<WatchedLimiter> {
  const limiter = await sharedLimiter(test, input)
  await comesTrue(() => limiter.state().shared)
  return limiter
}
