/**
 * One connection to Redis or Valkey that runs scripts. What cannot be sent now fails now: nothing is queued, nothing is
 * sent twice. It reconnects by itself, within a second of the server's return.
 */
import { Redis, type RedisOptions } from 'ioredis'
import { readAnswer, SCRIPTS, type Script } from './redis-scripts.ts'

const CONNECT_TIMEOUT_MS = 1_000
/** For a server that does not answer any more. */
const DISCONNECT_TIMEOUT_MS = 100
const LONGEST_RETRY_MS = 500
const GOODBYE_MS = 500

export interface ScriptCall {
  readonly script: Script
  readonly keys: readonly string[]
  readonly args: readonly (string | number)[]
}

export interface RedisConnection {
  /** Rejects when there is no connection, when it ends before the answer, and with the server's own error. */
  run(call: ScriptCall): Promise<unknown>
  /** Rejects unless the server carries out what an admission needs: scripts that write. */
  probe(): Promise<void>
  isConnected(): boolean
  /** Gives the connection up and makes another one: the address may lead to another server now. */
  reconnect(): void
  /** What was sent before is carried out. */
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
  const gather = createGathering(redis)
  const run = ({ script, keys, args }: ScriptCall): Promise<unknown> => {
    if (redis.status !== 'ready') return Promise.reject(new Error(`not connected: ${lastError}`))
    gather()
    return redis.evalsha(script.sha, keys.length, ...keys, ...args).catch((error: unknown) => {
      // The server was restarted or its scripts were flushed.
      if (!reasonOf(error).startsWith('NOSCRIPT')) throw error
      return redis.eval(script.lua, keys.length, ...keys, ...args)
    })
  }
  return {
    run,
    async probe() {
      if (readAnswer(await run(PROBE))?.admitted !== true) throw new Error('an answer that makes no sense')
    },
    isConnected: () => redis.status === 'ready',
    reconnect: () => redis.disconnect(true),
    close: () => goodbye(redis),
  }
}

const CLOSED = 'the connection was closed'

const OPTIONS = {
  // The older protocol is what every server and every proxy before it speaks.
  protocol: 2,
  disableClientInfo: true,
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  // Whether the server is ready shows in the first script, and then in every one.
  enableReadyCheck: false,
  connectTimeout: CONNECT_TIMEOUT_MS,
  disconnectTimeout: DISCONNECT_TIMEOUT_MS,
  retryStrategy: (attempt: number) => Math.min(LONGEST_RETRY_MS, 50 * attempt),
} satisfies RedisOptions

/** On an account that nobody has. */
const PROBE: ScriptCall = {
  script: SCRIPTS.admit,
  keys: ['turnpike:{probe}', 'turnpike:{probe}:leases'],
  args: [1e9, 0, 0, 0, 1e9, 'probe'],
}

/** Never the error itself: of a refused password it has the password among the command's arguments. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.message === '' && 'code' in error ? String(error.code) : error.message
}

/** What the requests of one turn of the event loop ask for goes out in one write: a system call each costs more than the rest. */
function createGathering(redis: Redis): () => void {
  let gathering = false
  return () => {
    if (gathering) return
    gathering = true
    const { stream } = redis
    stream.cork()
    setImmediate(() => {
      gathering = false
      stream.uncork()
    })
  }
}

async function goodbye(redis: Redis): Promise<void> {
  if (redis.status === 'ready') {
    const timer = setTimeout(() => redis.disconnect(), GOODBYE_MS)
    await redis.quit().catch(() => undefined)
    clearTimeout(timer)
  }
  redis.disconnect()
}
