/** Composes rate limits: counted in this process, or in Redis for all processes. */
import type { Config } from '../config/schema.ts'
import type { RequestGate } from '../domain/limits.ts'
import { createLimiter, type PlanLimits } from '../features/limits/limiter.ts'
import { createRequestGate } from '../features/limits/request-gate.ts'
import type { GatewayPorts } from '../gateway/ports.ts'
import type { Log } from '../telemetry/log.ts'
import { startMeasurementExchange } from './measurements.ts'
import type { Money } from './money.ts'
import type { Runtime } from './runtime.ts'

export interface Limits {
  readonly admit: GatewayPorts['admit']
  /** Counts in this process only, for all routes. */
  readonly gate: RequestGate
  /** Rejects if Redis does not respond. Undefined if it is not configured. */
  readonly ping: (() => Promise<void>) | undefined
  /** Requests counted in this process because Redis was late. Undefined if Redis is not configured. */
  readonly localFallback: (() => number) | undefined
  /** Waits for Redis, at most 2 s; never rejects: until Redis responds, limits apply per process. */
  started(): Promise<void>
  close(): Promise<void>
}

interface LimitsInput {
  readonly runtime: Runtime
  readonly redisUrl: string | undefined
  /** The processes that share Redis. */
  readonly processes: Pick<Money, 'instanceId' | 'processes'>
  readonly log: Log
}

/** Composes limits, and with Redis the exchange of measurements. */
export async function createLimits({ runtime, redisUrl, processes, log }: LimitsInput): Promise<Limits> {
  const { config, clock } = runtime
  const planLimits = (plan: string) => limitsOf(config(), plan)
  const gate = createRequestGate({ limitsOf: planLimits, clock })
  if (redisUrl === undefined) {
    const { admit } = createLimiter({ limitsOf: planLimits, clock })
    const nothing = async (): Promise<void> => undefined
    return { admit, gate, ping: undefined, localFallback: undefined, started: nothing, close: nothing }
  }
  // Loads the client only if Redis is configured.
  const { createSharedLimiter } = await import('../features/limits/shared-limiter.ts')
  const nodes = processes.processes
  const limiter = createSharedLimiter({ url: redisUrl, limitsOf: planLimits, clock, log, nodes })
  const exchange = await startMeasurementExchange({ runtime, redisUrl, self: processes.instanceId, log })
  const close = async () => {
    await Promise.all([exchange.close(), limiter.close()])
  }
  return { ...limiter, close, gate, localFallback: () => limiter.state().localFallback }
}

/** The limit of an account whose plan is no longer in the configuration. */
const DEFAULT_MAX_IN_FLIGHT = 500

function limitsOf({ plans }: Config, name: string): PlanLimits {
  const plan = plans[name]
  return {
    requestsPerMinute: plan?.requests_per_minute,
    tokensPerMinute: plan?.tokens_per_minute,
    maxInFlight: plan?.max_in_flight ?? DEFAULT_MAX_IN_FLIGHT,
  }
}
