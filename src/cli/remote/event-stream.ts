/** Reads an event stream across reconnects, resuming after the last event. It does not know the types of events. */
import { setTimeout as sleep } from 'node:timers/promises'
import { createSseDecoder } from '../../protocols/framing.ts'
import type { Frame } from '../../protocols/protocol.ts'
import { note } from '../output.ts'
import { type Client, mayPass } from './client.ts'
import { reasonOf, UnreachableError } from './http.ts'

/** Observes the connection. */
export interface StreamWatcher {
  /** Ends the stream. */
  readonly signal: AbortSignal
  /** @param lostMs Duration without a connection; undefined for the first connection. */
  readonly onConnected: (lostMs: number | undefined) => void
  /** Called once per lost connection. */
  readonly onLost: (reason: string) => void
  readonly timing?: StreamTiming
}

export interface ResumedStream extends StreamWatcher {
  readonly client: Client
  readonly path: string
  /** Resumes after this event; undefined: from the beginning. */
  readonly lastEventId: () => string | undefined
  /** The next frame is read when this resolves. `over` ends the stream. */
  readonly onFrame: (frame: Frame) => Promise<'over' | undefined>
  /** Retries the first connection, too, after transient failures. */
  readonly retriesFirst?: boolean
}

export interface StreamTiming {
  /** Each wait is twice as long as the one before, up to `maxWaitMs`; half of it is random. */
  readonly firstWaitMs: number
  readonly maxWaitMs: number
  /** A connection that lasted this long resets the delays. */
  readonly steadyMs: number
  /** A connection without data for this long is closed: the server sends a comment every 15 s. */
  readonly silenceMs: number
}

const DEFAULT_TIMING: StreamTiming = { firstWaitMs: 500, maxWaitMs: 30_000, steadyMs: 5_000, silenceMs: 45_000 }
const MAX_EVENT_BYTES = 16 * 1024 * 1024

/** Resolves when the stream ends or `signal` aborts. Rejects when the first connection fails, or the server rejects a later one. */
export async function readStream(stream: ResumedStream): Promise<void> {
  const { signal, timing = DEFAULT_TIMING } = stream
  const connection = createConnectionState(stream)
  let failures = 0
  try {
    for (;;) {
      const { isOver, lastedMs } = await readUntilLost(stream, connection)
      if (isOver) return
      failures = lastedMs > timing.steadyMs ? 0 : failures + 1
      await sleep(waitBefore(failures, timing), undefined, { signal })
    }
  } catch (error) {
    if (!signal.aborted) throw error
  }
}

function waitBefore(failures: number, { firstWaitMs, maxWaitMs }: StreamTiming): number {
  const longest = Math.min(maxWaitMs, firstWaitMs * 2 ** Math.min(failures, 20))
  return longest * (0.5 + Math.random() / 2)
}

/** Reports changes of the connection, not each attempt. */
interface ConnectionState {
  opened(): void
  lost(error: unknown): void
}

function createConnectionState({ onConnected, onLost, retriesFirst = false }: ResumedStream): ConnectionState {
  let state: 'new' | 'open' | 'lost' = 'new'
  let lostAt: number | undefined
  return {
    opened() {
      const lostMs = lostAt === undefined ? undefined : performance.now() - lostAt
      onConnected(lostMs)
      state = 'open'
    },
    lost(error) {
      if ((state === 'new' && !retriesFirst) || !mayPass(error)) throw error
      if (state === 'lost') return
      state = 'lost'
      lostAt = performance.now()
      onLost(error instanceof Error ? error.message : String(error))
    },
  }
}

interface Ended {
  readonly isOver: boolean
  readonly lastedMs: number
}

async function readUntilLost(stream: ResumedStream, connection: ConnectionState): Promise<Ended> {
  const since = performance.now()
  let isOver = false
  try {
    await readFrames(stream, connection)
    isOver = true
  } catch (error) {
    if (stream.signal.aborted) throw error
    connection.lost(error)
  }
  return { isOver, lastedMs: performance.now() - since }
}

/** Resolves when the stream is over. */
async function readFrames(stream: ResumedStream, connection: ConnectionState): Promise<void> {
  const { client, path, signal, lastEventId, onFrame, timing = DEFAULT_TIMING } = stream
  const silence = new AbortController()
  const watch = setTimeout(() => silence.abort(), timing.silenceMs)
  try {
    const both = AbortSignal.any([signal, silence.signal])
    const response = await client.listen(path, { lastEventId: lastEventId(), signal: both })
    connection.opened()
    const decoder = createSseDecoder({ maxEventBytes: MAX_EVENT_BYTES })
    for await (const bytes of piecesOf(response)) {
      const frames: Frame[] = []
      decoder.push(bytes, frames)
      for (const frame of frames) {
        watch.refresh()
        if ((await onFrame(frame)) === 'over') return
      }
      watch.refresh()
    }
  } catch (error) {
    if (!silence.signal.aborted) throw error
    throw new UnreachableError(`no data for ${timing.silenceMs / 1_000} s`, { cause: error })
  } finally {
    clearTimeout(watch)
  }
  throw new UnreachableError('the server closed the stream')
}

async function* piecesOf({ body }: Response): AsyncGenerator<Uint8Array> {
  try {
    yield* body ?? []
  } catch (error) {
    throw new UnreachableError(reasonOf(error), { cause: error })
  }
}

/** Runs work with a signal that SIGINT and SIGTERM abort. */
export async function untilStopped(work: (signal: AbortSignal) => Promise<void>): Promise<void> {
  const stopping = new AbortController()
  const stop = () => stopping.abort()
  process.once('SIGINT', stop).once('SIGTERM', stop)
  try {
    await work(stopping.signal)
  } finally {
    process.off('SIGINT', stop).off('SIGTERM', stop)
  }
}

/** Prints changes of the connection to standard error. */
export const CONNECTION_NOTES: Pick<StreamWatcher, 'onConnected' | 'onLost'> = {
  onConnected(lostMs) {
    if (lostMs !== undefined) note(`Reconnected after ${(lostMs / 1_000).toFixed(1)} s.`)
  },
  onLost: (reason) => note(`Connection lost: ${reason}. Reconnecting.`),
}
