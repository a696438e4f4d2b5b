/** A transport that records the call and the bytes of the response. */
import type { Transport, UpstreamCall, UpstreamExchange, UpstreamHead } from '../../src/providers/provider.ts'

/** One exchange with a host. */
export interface Recorded {
  readonly call: UpstreamCall
  readonly head: UpstreamHead
  /** The whole body, including bytes after the last event. */
  readonly body: Buffer
}

export interface RecordingTransport {
  readonly transport: Transport
  /** Resolves when the response is complete; rejects when the host is unreachable, breaks off or times out. */
  recorded(): Promise<Recorded>
}

export interface RecordingLimits {
  /** Of one exchange, in milliseconds. */
  readonly timeoutMs: number
  readonly maxBytes: number
}

/** For one call. A reader gets the same bytes, and aborting it does not end the recording. */
export function createRecordingTransport(transport: Transport, limits: RecordingLimits): RecordingTransport {
  const recorded = Promise.withResolvers<Recorded>()
  recorded.promise.catch(() => {}) // read only after a call
  return {
    transport: (call) => {
      const exchange = transport(call)
      const kept = keep(call, exchange, limits)
      kept.then(recorded.resolve, recorded.reject)
      return replay(exchange, kept)
    },
    recorded: () => recorded.promise,
  }
}

async function keep(call: UpstreamCall, exchange: UpstreamExchange, limits: RecordingLimits): Promise<Recorded> {
  const timer = setTimeout(() => exchange.abort(), limits.timeoutMs)
  try {
    const head = await exchange.head
    return { call, head, body: await readAll(exchange, limits.maxBytes) }
  } finally {
    clearTimeout(timer)
    exchange.abort()
  }
}

async function readAll(exchange: UpstreamExchange, maxBytes: number): Promise<Buffer> {
  const pieces: Uint8Array[] = []
  let size = 0
  for (let bytes = await exchange.read(); bytes !== undefined; bytes = await exchange.read()) {
    size += bytes.length
    if (size > maxBytes) throw new Error(`The answer is larger than ${maxBytes} bytes.`)
    pieces.push(bytes)
  }
  return Buffer.concat(pieces)
}

/** Returns the exchange for the reader: the headers when they arrive, and the complete body in one piece. */
function replay(exchange: UpstreamExchange, kept: Promise<Recorded>): UpstreamExchange {
  let isRead = false
  return {
    head: exchange.head,
    read: async () => {
      const { body } = await kept
      if (isRead || body.length === 0) return undefined
      isRead = true
      return body
    },
    abort: () => {},
  }
}
