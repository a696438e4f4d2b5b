/** Rate limits: of this process alone, or counted in Redis for all of them. */
import type { Config } from '../config/schema.ts'
import { createLimiter, type PlanLimits } from '../features/limits/limiter.ts'
import type { GatewayPorts } from '../gateway/ports.ts'
import type { Log } from '../http/log.ts'
import type { World } from './world.ts'

export interface Limits {
  readonly admit: GatewayPorts['admit']
  /** Rejects when Redis does not answer; undefined: there is none. */
  readonly ping: (() => Promise<void>) | undefined
  /** Requests that were counted in this process since Redis did not do so in time; undefined: there is none. */
  readonly countedHere: (() => number) | undefined
  /** Never rejects, and takes 2 s at most: without Redis limits hold in this process until it comes. */
  started(): Promise<void>
  close(): Promise<void>
}

export interface LimitsInput {
  readonly world: World
  readonly redisUrl: string | undefined
  /** Processes that share the limits. */
  readonly processes: () => number
  readonly log: Log
}

export async function createLimits({ world, redisUrl, processes, log }: LimitsInput): Promise<Limits> {
  const { config, clock } = world
  const planLimits = (plan: string) => limitsOf(config(), plan)
  if (redisUrl === undefined) {
    const { admit } = createLimiter({ limitsOf: planLimits, clock })
    return {
      admit,
      ping: undefined,
      countedHere: undefined,
      started: async () => undefined,
      close: async () => undefined,
    }
  }
  // Its client is only read where there is a Redis.
  const { createSharedLimiter } = await import('../features/limits/shared-limiter.ts')
  const limiter = createSharedLimiter({ url: redisUrl, limitsOf: planLimits, clock, log, nodes: processes })
  return { ...limiter, countedHere: () => limiter.state().countedHere }
}

/** Of an account whose plan is no longer in the configuration. */
const DEFAULT_MAX_IN_FLIGHT = 500

function limitsOf({ plans }: Config, name: string): PlanLimits {
  const plan = plans[name]
  return {
    requestsPerMinute: plan?.requests_per_minute,
    tokensPerMinute: plan?.tokens_per_minute,
    maxInFlight: plan?.max_in_flight ?? DEFAULT_MAX_IN_FLIGHT,
  }
}
