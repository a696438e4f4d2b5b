/**
 * Composes rate limits, counted in this process, or in Redis for all processes; with Redis, processes exchange their
 * measurements of deployments as well.
 */

import { createHash } from 'node:crypto'
import type { Config } from '../config/schema.ts'
import type { RequestGate } from '../domain/limits.ts'
import { createLimiter, createRequestGate, type PlanLimits } from '../features/limits/limiter.ts'
import type { RedisConnection } from '../features/limits/redis.ts'
import type { GatewayPorts } from '../gateway/ports.ts'
import type { Health } from '../gateway/routing/health.ts'
import { type Measurements, type Snapshot, setOthers, snapshotOf, WINDOW_MS } from '../gateway/routing/measurements.ts'
import { parseJson } from '../lib/json.ts'
import type { Log } from '../telemetry/log.ts'
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

/*
 * Exchanges measurements of deployments between processes through Redis: each writes its own and reads the others' in
 * one script call. Without Redis, or while it is unavailable, each process routes by its own measurements.
 */

const EXCHANGE_EVERY_MS = 5_000
const KEY = 'turnpike:{measurements}'
/** A larger answer is not from a process of this installation. */
const MAX_SNAPSHOT_CHARACTERS = 4_194_304

const LUA = `
local now = tonumber(redis.call('TIME')[1])
redis.call('HSET', KEYS[1], ARGV[1], now .. ' ' .. ARGV[2])
redis.call('EXPIRE', KEYS[1], ${WINDOW_MS / 1000})
local all = redis.call('HGETALL', KEYS[1])
local others = {}
for i = 1, #all, 2 do
  local at, text = string.match(all[i + 1], '^(%d+) (.*)$')
  if not at or now - tonumber(at) > ${WINDOW_MS / 1000} then
    redis.call('HDEL', KEYS[1], all[i])
  elseif all[i] ~= ARGV[1] then
    others[#others + 1] = now - tonumber(at)
    others[#others + 1] = text
  end
end
return others`
const SCRIPT = { lua: LUA, sha: createHash('sha1').update(LUA).digest('hex') }

interface ExchangeInput {
  readonly runtime: Pick<Runtime, 'health' | 'clock'>
  readonly redisUrl: string
  /** The name of this process. */
  readonly self: string
  readonly log: Pick<Log, 'warn'>
}

async function startMeasurementExchange(input: ExchangeInput): Promise<{ readonly close: () => Promise<void> }> {
  const { runtime, redisUrl, self, log } = input
  const { connectRedis, reasonOf } = await import('../features/limits/redis.ts')
  const connection = connectRedis({ url: redisUrl, onConnected: () => {}, onLost: () => {} })
  let isFailing = false
  const timer = setInterval(() => {
    if (!connection.isConnected()) return
    exchange({ health: runtime.health, clock: runtime.clock, connection, self }).then(
      () => {
        isFailing = false
      },
      (error: unknown) => {
        if (!isFailing) log.warn({ reason: reasonOf(error) }, 'measurements could not be exchanged')
        isFailing = true
      },
    )
  }, EXCHANGE_EVERY_MS).unref()
  return {
    close() {
      clearInterval(timer)
      return connection.close()
    },
  }
}

interface Exchanging {
  readonly health: Pick<Health, 'measured' | 'measurementsOf'>
  readonly clock: () => number
  readonly connection: Pick<RedisConnection, 'run'>
  readonly self: string
}

const METRICS = ['firstEvent', 'wholeAnswer', 'speed'] as const

/** Exchanges measurements once. Rejects as the connection does. */
export async function exchange({ health, clock, connection, self }: Exchanging): Promise<void> {
  const own = health.measured().flatMap(({ provider, model, measurements }) => {
    const snapshots = METRICS.map((metric) => snapshotOf(measurements[metric], clock()) ?? null)
    return snapshots.every((snapshot) => snapshot === null) ? [] : [[provider, model, ...snapshots]]
  })
  const answer = await connection.run({ script: SCRIPT, keys: [KEY], args: [self, JSON.stringify(own)] })
  const received = readAnswer(answer)
  const now = clock()
  const known = new Set<Measurements>()
  for (const [place, metrics] of received) {
    const [provider = '', model = ''] = JSON.parse(place) as string[]
    const measurements = health.measurementsOf(provider, model)
    if (measurements === undefined) continue
    known.add(measurements)
    for (const [at, metric] of METRICS.entries()) setOthers(measurements[metric], metrics[at] ?? [], now)
  }
  for (const { measurements } of health.measured()) {
    if (known.has(measurements)) continue
    for (const metric of METRICS) setOthers(measurements[metric], [], now)
  }
}

type Aged = { readonly ageMs: number; readonly snapshot: Snapshot }[]

/** Returns the snapshots of each metric, by provider and model. */
function readAnswer(answer: unknown): ReadonlyMap<string, readonly Aged[]> {
  const received = new Map<string, readonly Aged[]>()
  if (!Array.isArray(answer)) return received
  for (let at = 0; at + 1 < answer.length; at += 2) {
    const text = String(answer[at + 1])
    const deployments: unknown = text.length > MAX_SNAPSHOT_CHARACTERS ? undefined : parseJson(text)
    for (const deployment of Array.isArray(deployments) ? deployments : []) {
      if (Array.isArray(deployment)) addDeployment(received, deployment, Number(answer[at]) * 1000)
    }
  }
  return received
}

function addDeployment(received: Map<string, readonly Aged[]>, deployment: readonly unknown[], ageMs: number): void {
  const [provider, model, ...metrics] = deployment
  if (typeof provider !== 'string' || typeof model !== 'string') return
  const place = JSON.stringify([provider, model])
  const known = received.get(place) ?? METRICS.map((): Aged => [])
  received.set(place, known)
  for (const [at, snapshots] of known.entries()) {
    const snapshot = metrics[at]
    if (isSnapshot(snapshot)) snapshots.push({ ageMs, snapshot })
  }
}

function isSnapshot(value: unknown): value is Snapshot {
  if (!Array.isArray(value) || typeof value[0] !== 'number') return false
  return value
    .slice(1)
    .every((bucket: unknown) => Array.isArray(bucket) && bucket.length === 2 && bucket.every((part) => part >= 0))
}
