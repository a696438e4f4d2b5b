/**
 * One connection to Redis or Valkey that runs scripts. A call without a connection fails at once: nothing is queued or
 * resent. It reconnects within a second of the server's return.
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
