/**
 * The connection to Redis or Valkey, which runs scripts, and its health. A call without a connection fails at once:
 * nothing is queued or resent. It reconnects within a second of the server's return.
 */
import { Redis, type RedisOptions } from 'ioredis'
import { readAnswer, SCRIPTS, type Script, SINCE_KEY } from './redis-scripts.ts'

const CONNECT_TIMEOUT_MS = 1_000
/** For a server that no longer responds. */
const DISCONNECT_TIMEOUT_MS = 100
const LONGEST_RETRY_MS = 500
const QUIT_TIMEOUT_MS = 500

export interface ScriptCall {
  readonly script: Script
  readonly keys: readonly string[]
  readonly args: readonly (string | number)[]
}

export interface RedisConnection {
  /** Rejects when there is no connection, when it ends before the answer, and with the server's own error. */
  run(call: ScriptCall): Promise<unknown>
  /** Rejects unless the server executes what an admission needs: scripts that write. */
  probe(): Promise<void>
  /** Records that requests were counted locally until now. Rejects as `run` does. */
  resume(): Promise<void>
  isConnected(): boolean
  /** Reconnects: the address may lead to another server now. */
  reconnect(): void
  /** What was sent before is executed. */
  close(): Promise<void>
}

export interface RedisConnectionInput {
  readonly url: string
  readonly onConnected: () => void
  /** @param reason Without credentials. */
  readonly onLost: (reason: string) => void
}

export function connectRedis({ url, onConnected, onLost }: RedisConnectionInput): RedisConnection {
  const redis = new Redis(url, OPTIONS)
  let lastError = CLOSED
  redis.on('error', (error) => {
    lastError = reasonOf(error)
  })
  redis.on('ready', () => {
    lastError = CLOSED
    onConnected()
  })
  redis.on('close', () => onLost(lastError))
  const batchWrites = createWriteBatching(redis)
  const run = ({ script, keys, args }: ScriptCall): Promise<unknown> => {
    if (redis.status !== 'ready') return Promise.reject(new Error(`not connected: ${lastError}`))
    batchWrites()
    return redis.evalsha(script.sha, keys.length, ...keys, ...args).catch((error: unknown) => {
      // The server was restarted or its scripts were flushed.
      if (!reasonOf(error).startsWith('NOSCRIPT')) throw error
      return redis.eval(script.lua, keys.length, ...keys, ...args)
    })
  }
  return {
    run,
    async probe() {
      if (readAnswer(await run(PROBE))?.admitted !== true) throw new Error('an invalid reply')
    },
    async resume() {
      await run({ script: SCRIPTS.resume, keys: [SINCE_KEY], args: [] })
    },
    isConnected: () => redis.status === 'ready',
    reconnect: () => redis.disconnect(true),
    close: () => disconnect(redis),
  }
}

const CLOSED = 'the connection was closed'

const OPTIONS = {
  // RESP2 is what every server and proxy supports.
  protocol: 2,
  disableClientInfo: true,
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  // Every script shows whether the server is ready.
  enableReadyCheck: false,
  connectTimeout: CONNECT_TIMEOUT_MS,
  disconnectTimeout: DISCONNECT_TIMEOUT_MS,
  retryStrategy: (attempt: number) => Math.min(LONGEST_RETRY_MS, 50 * attempt),
} satisfies RedisOptions

/** On an account that does not exist. */
const PROBE: ScriptCall = {
  script: SCRIPTS.admit,
  keys: ['turnpike:{probe}', 'turnpike:{probe}:leases', SINCE_KEY],
  args: [0, 0, 0, 0, 1e9, 'probe', 0],
}

/** The message alone: an error of authentication has the password among the command's arguments. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.message === '' && 'code' in error ? String(error.code) : error.message
}

/** Sends the calls of one tick of the event loop in one write: a system call each costs more than the rest. */
function createWriteBatching(redis: Redis): () => void {
  let isBatching = false
  return () => {
    if (isBatching) return
    isBatching = true
    const { stream } = redis
    stream.cork()
    setImmediate(() => {
      isBatching = false
      stream.uncork()
    })
  }
}

async function disconnect(redis: Redis): Promise<void> {
  if (redis.status === 'ready') {
    const timer = setTimeout(() => redis.disconnect(), QUIT_TIMEOUT_MS)
    await redis.quit().catch(() => undefined)
    clearTimeout(timer)
  }
  redis.disconnect()
}

/*
 * Whether limits are counted at Redis at the moment. Redis counts as down when an answer takes longer than the longest
 * wait, or after consecutive failures; one slow answer or one lost connection is neither. A probe that succeeds is enough
 * to come back. An idle process probes as well, so that all processes find an outage at about the same time.
 */

const WAIT_MS = 1_000
/** Consecutive ones, after which Redis counts as down. */
const MAX_FAILURES = 3
/** Failures of one moment, such as those of all requests on a lost connection, count as one. */
const FAILURE_EVERY_MS = 40
const PROBE_EVERY_MS = 250
/** After so long without a reply the connection is replaced: its network path may be gone. */
const HUNG_MS = 3_000
const RECONNECT_EVERY_MS = 2_000
const WARN_EVERY_MS = 60_000
/** The longest wait at start. */
const START_MS = 2_000
const PING_MS = 1_000

export interface LimitsLog {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
}

export interface RedisHealth {
  readonly waitMs: number
  readonly connection: RedisConnection
  isUp(): boolean
  /** Reports that Redis counted a request. */
  answered(): void
  /** Reports that Redis could not count a request; it may be repeated while Redis is up. */
  failed(reason: string): void
  /** Reports a reply that took longer than the longest wait. */
  overdue(): void
  /** Resolves when limits are counted in Redis, or after 2 s; connecting then continues in the background. */
  started(): Promise<void>
  /** Rejects unless the server answers now. */
  ping(): Promise<void>
  close(): Promise<void>
}

export interface RedisHealthInput {
  readonly url: string
  readonly log: LimitsLog
  /** The longest wait of a request for its limits; 1 s unless set. */
  readonly waitMs?: number | undefined
  /** Monotonic milliseconds. */
  readonly clock: () => number
  /** At the start and after every outage. */
  readonly onUp: () => void
  /** When requests are counted locally from now on. */
  readonly onDown: () => void
}

interface Watch extends RedisHealthInput {
  readonly waitMs: number
  connection: RedisConnection
  /** In a row. */
  failures: number
  failedAt: number | undefined
  answeredAt: number
  /** Whether this process may have counted requests that the server does not know of. */
  countedLocally: boolean
  up: boolean
  /** Not yet up once, and within the time of a start. */
  starting: boolean
  closed: boolean
  probing: boolean
  timer: NodeJS.Timeout | undefined
  warnedAt: number | undefined
  reconnectedAt: number | undefined
  /** Whether the current outage was logged. */
  hasLoggedOutage: boolean
  readonly waiting: (() => void)[]
}

export function watchRedis(input: RedisHealthInput): RedisHealth {
  const connection = connectRedis({
    url: input.url,
    onConnected: () => void probe(watch),
    onLost: (reason) => failed(watch, reason),
  })
  const watch: Watch = {
    ...input,
    waitMs: input.waitMs ?? WAIT_MS,
    connection,
    failures: 0,
    failedAt: undefined,
    answeredAt: input.clock(),
    countedLocally: false,
    up: false,
    starting: true,
    closed: false,
    probing: false,
    timer: undefined,
    warnedAt: undefined,
    reconnectedAt: undefined,
    hasLoggedOutage: false,
    waiting: [],
  }
  const start = setTimeout(() => endStart(watch), START_MS)
  const idleProbe = setInterval(() => probeIfIdle(watch), PROBE_EVERY_MS)
  idleProbe.unref()
  return {
    waitMs: watch.waitMs,
    connection,
    isUp: () => watch.up,
    answered: () => answered(watch),
    failed: (reason) => failed(watch, reason),
    overdue: () => goDown(watch, tooSlow(watch)),
    started: () => (watch.starting ? new Promise((resolve) => watch.waiting.push(resolve)) : Promise.resolve()),
    ping: () => ping(watch),
    close() {
      watch.closed = true
      clearTimeout(start)
      clearTimeout(watch.timer)
      clearInterval(idleProbe)
      endStart(watch)
      return connection.close()
    },
  }
}

function answered(watch: Watch): void {
  watch.failures = 0
  watch.answeredAt = watch.clock()
}

function failed(watch: Watch, reason: string): void {
  const now = watch.clock()
  if (watch.up) {
    if (watch.failedAt !== undefined && watch.failures > 0 && now - watch.failedAt < FAILURE_EVERY_MS) return
    watch.failedAt = now
    watch.failures += 1
    if (watch.failures < MAX_FAILURES) return
  }
  goDown(watch, reason)
}

function goDown(watch: Watch, reason: string): void {
  if (watch.closed) return
  const wasUp = watch.up
  watch.up = false
  warn(watch, reason)
  if (!wasUp) return
  watch.countedLocally = true
  watch.onDown()
  void probe(watch)
}

/** Detects an outage where no request would. */
function probeIfIdle(watch: Watch): void {
  if (watch.up && watch.clock() - watch.answeredAt >= PROBE_EVERY_MS) void probe(watch)
}

/** One at a time; while it is down the next one follows, until one succeeds. */
async function probe(watch: Watch): Promise<void> {
  const { connection, clock, waitMs } = watch
  if (watch.probing || watch.closed || !connection.isConnected()) return
  clearTimeout(watch.timer)
  watch.probing = true
  const hung = setTimeout(() => connection.reconnect(), HUNG_MS)
  // After a stall of this process the reply may have arrived, unread: timers run first.
  const late = setTimeout(() => setImmediate(() => watch.probing && goDown(watch, tooSlow(watch))), waitMs)
  const sentAt = clock()
  try {
    await connection.probe()
    if (watch.countedLocally) await connection.resume()
    if (watch.up) answered(watch)
    else if (clock() - sentAt > waitMs) goDown(watch, tooSlow(watch))
    else comeUp(watch)
  } catch (error) {
    const reason = reasonOf(error)
    failed(watch, reason)
    if (reason.startsWith('READONLY')) reconnectToPrimary(watch)
  } finally {
    clearTimeout(hung)
    clearTimeout(late)
    watch.probing = false
  }
  if (watch.up || watch.closed) return
  watch.timer = setTimeout(() => void probe(watch), PROBE_EVERY_MS)
  watch.timer.unref()
}

/** After a failover the address leads to another server. */
function reconnectToPrimary(watch: Watch): void {
  const now = watch.clock()
  if (watch.reconnectedAt !== undefined && now - watch.reconnectedAt < RECONNECT_EVERY_MS) return
  watch.reconnectedAt = now
  watch.connection.reconnect()
}

function tooSlow({ waitMs }: Watch): string {
  return `no answer within ${waitMs} ms`
}

function comeUp(watch: Watch): void {
  if (watch.closed) return
  watch.up = true
  watch.countedLocally = false
  answered(watch)
  if (watch.hasLoggedOutage) watch.log.info({}, 'Redis answers again: rate limits are shared')
  watch.hasLoggedOutage = false
  endStart(watch)
  watch.onUp()
}

function endStart(watch: Watch): void {
  watch.starting = false
  if (!watch.up && !watch.closed) {
    watch.countedLocally = true
    goDown(watch, SLOW_START)
  }
  for (const resolve of watch.waiting.splice(0)) resolve()
}

const SLOW_START = `REDIS_URL: not reached within ${START_MS} ms`

/** At most once a minute, however often it comes and goes. */
function warn(watch: Watch, reason: string): void {
  const now = watch.clock()
  if (watch.starting || (watch.warnedAt !== undefined && now - watch.warnedAt < WARN_EVERY_MS)) return
  watch.warnedAt = now
  watch.hasLoggedOutage = true
  watch.log.warn({ reason }, 'Redis does not count rate limits: each process holds its share of them')
}

async function ping(watch: Watch): Promise<void> {
  try {
    await within(watch.connection.probe(), PING_MS)
  } catch (error) {
    failed(watch, reasonOf(error))
    throw error
  }
}

async function within<T>(answer: Promise<T>, timeoutMs: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${timeoutMs} ms`)), timeoutMs)
  })
  try {
    return await Promise.race([answer, late])
  } finally {
    clearTimeout(timer)
  }
}

/** Checks a server for an operator. Rejects with the reason, without credentials, unless it executes scripts that write in time. */
export async function checkRedis(url: string, timeoutMs: number): Promise<void> {
  const connected = Promise.withResolvers<void>()
  const connection = connectRedis({
    url,
    onConnected: connected.resolve,
    onLost: (reason) => connected.reject(new Error(reason)),
  })
  const probed = connected.promise.then(() => connection.probe())
  try {
    await within(probed, timeoutMs)
  } catch (error) {
    throw new Error(reasonOf(error))
  } finally {
    await connection.close()
  }
}
