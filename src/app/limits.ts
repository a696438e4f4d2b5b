/** Rate limits: of this process alone, or counted in Redis for all of them. */
import type { Config } from '../config/schema.ts'
import type { RequestGate } from '../domain/limits.ts'
import { createLimiter, type PlanLimits } from '../features/limits/limiter.ts'
import { createRequestGate } from '../features/limits/request-gate.ts'
import type { GatewayPorts } from '../gateway/ports.ts'
import type { Log } from '../telemetry/log.ts'
import type { Runtime } from './runtime.ts'

export interface Limits {
  readonly admit: GatewayPorts['admit']
  /** Of this process alone; one for all routes. */
  readonly gate: RequestGate
  /** Rejects when Redis does not answer; undefined: there is none. */
  readonly ping: (() => Promise<void>) | undefined
  /** Requests that were counted in this process since Redis did not do so in time; undefined: there is none. */
  readonly localFallback: (() => number) | undefined
  /** Never rejects, and takes 2 s at most: without Redis limits hold in this process until it comes. */
  started(): Promise<void>
  close(): Promise<void>
}

export interface LimitsInput {
  readonly runtime: Runtime
  readonly redisUrl: string | undefined
  /** Processes that share the limits. */
  readonly processes: () => number
  readonly log: Log
}

export async function createLimits({ runtime, redisUrl, processes, log }: LimitsInput): Promise<Limits> {
  const { config, clock } = runtime
  const planLimits = (plan: string) => limitsOf(config(), plan)
  const gate = createRequestGate({ limitsOf: planLimits, clock })
  if (redisUrl === undefined) {
    const { admit } = createLimiter({ limitsOf: planLimits, clock })
    return {
      admit,
      gate,
      ping: undefined,
      localFallback: undefined,
      started: async () => undefined,
      close: async () => undefined,
    }
  }
  // Its client is only read where there is a Redis.
  const { createSharedLimiter } = await import('../features/limits/shared-limiter.ts')
  const limiter = createSharedLimiter({ url: redisUrl, limitsOf: planLimits, clock, log, nodes: processes })
  return { ...limiter, gate, localFallback: () => limiter.state().localFallback }
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
