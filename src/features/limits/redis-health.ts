/**
 * Whether limits are counted at Redis at the moment. One failure is enough to go on without it, so that at most the
 * requests of that moment wait; a probe that succeeds is enough to come back.
 */
import { connectRedis, type RedisConnection, reasonOf } from './redis-connection.ts'

const SLOW_MS = 50
const PROBE_EVERY_MS = 500
/** Without any answer for so long, the connection is given up: its network may have gone with it. */
const HUNG_MS = 3_000
const SEEK_EVERY_MS = 2_000
const WARN_EVERY_MS = 60_000
/** A start does not wait longer. */
const START_MS = 2_000
const PING_MS = 1_000

export interface LimitsLog {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
}

export interface RedisHealth {
  readonly slowMs: number
  readonly connection: RedisConnection
  isUp(): boolean
  /** A request could not be counted there. */
  failed(reason: string): void
  /** Resolves when limits are counted there, or when that has taken too long; it then goes on in the background. */
  started(): Promise<void>
  /** Rejects unless the server answers now. */
  ping(): Promise<void>
  close(): Promise<void>
}

export interface RedisHealthInput {
  readonly url: string
  readonly log: LimitsLog
  /** Longer than this no request waits for its limits; 50 ms unless given. */
  readonly slowMs?: number | undefined
  /** Monotonic milliseconds. */
  readonly clock: () => number
  /** At the start and after every outage. */
  readonly onUp: () => void
}

interface Watch extends RedisHealthInput {
  readonly slowMs: number
  connection: RedisConnection
  up: boolean
  /** Not yet up once, and within the time of a start. */
  starting: boolean
  closed: boolean
  probing: boolean
  timer: NodeJS.Timeout | undefined
  warnedAt: number | undefined
  soughtAt: number | undefined
  /** Whether the log says that limits are apart. */
  told: boolean
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
    slowMs: input.slowMs ?? SLOW_MS,
    connection,
    up: false,
    starting: true,
    closed: false,
    probing: false,
    timer: undefined,
    warnedAt: undefined,
    soughtAt: undefined,
    told: false,
    waiting: [],
  }
  const start = setTimeout(() => endStart(watch), START_MS)
  return {
    slowMs: watch.slowMs,
    connection,
    isUp: () => watch.up,
    failed: (reason) => failed(watch, reason),
    started: () => (watch.starting ? new Promise((resolve) => watch.waiting.push(resolve)) : Promise.resolve()),
    ping: () => ping(watch),
    close() {
      watch.closed = true
      clearTimeout(start)
      clearTimeout(watch.timer)
      endStart(watch)
      return connection.close()
    },
  }
}

function failed(watch: Watch, reason: string): void {
  if (watch.closed) return
  const wasUp = watch.up
  watch.up = false
  warn(watch, reason)
  if (wasUp) void probe(watch)
}

/** One at a time; the next one follows when it failed, until one succeeds. */
async function probe(watch: Watch): Promise<void> {
  const { connection, clock } = watch
  if (watch.probing || watch.up || watch.closed || !connection.isConnected()) return
  clearTimeout(watch.timer)
  watch.probing = true
  const hung = setTimeout(() => connection.reconnect(), HUNG_MS)
  const sentAt = clock()
  try {
    await connection.probe()
    if (clock() - sentAt > watch.slowMs) failed(watch, tooSlow(watch))
    else comeUp(watch)
  } catch (error) {
    const reason = reasonOf(error)
    failed(watch, reason)
    if (reason.startsWith('READONLY')) seekPrimary(watch)
  } finally {
    clearTimeout(hung)
    watch.probing = false
  }
  if (watch.up || watch.closed) return
  watch.timer = setTimeout(() => void probe(watch), PROBE_EVERY_MS)
  watch.timer.unref()
}

/** After a failover the address leads to another server. */
function seekPrimary(watch: Watch): void {
  const now = watch.clock()
  if (watch.soughtAt !== undefined && now - watch.soughtAt < SEEK_EVERY_MS) return
  watch.soughtAt = now
  watch.connection.reconnect()
}

export function tooSlow({ slowMs }: { readonly slowMs: number }): string {
  return `no answer within ${slowMs} ms`
}

function comeUp(watch: Watch): void {
  if (watch.closed) return
  watch.up = true
  if (watch.told) watch.log.info({}, 'Redis answers again: rate limits are shared')
  watch.told = false
  endStart(watch)
  watch.onUp()
}

function endStart(watch: Watch): void {
  watch.starting = false
  if (!watch.up && !watch.closed) failed(watch, SLOW_START)
  for (const resolve of watch.waiting.splice(0)) resolve()
}

const SLOW_START = `REDIS_URL: not reached within ${START_MS} ms`

/** At most once a minute, however often it comes and goes. */
function warn(watch: Watch, reason: string): void {
  const now = watch.clock()
  if (watch.starting || (watch.warnedAt !== undefined && now - watch.warnedAt < WARN_EVERY_MS)) return
  watch.warnedAt = now
  watch.told = true
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

export async function within<T>(answer: Promise<T>, timeoutMs: number): Promise<T> {
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
