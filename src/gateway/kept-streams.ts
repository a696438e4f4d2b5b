/** The streams with an `Idempotency-Key` that run in this process, and the way to those of other processes. */
import type { KeptAnswer } from '../domain/credit.ts'
import type { AccountId } from '../domain/ids.ts'
import type { ClientConnection } from './client.ts'
import { createKeptStream, type KeptStream } from './kept-stream.ts'

/** Of all streams of a process that are kept while they run. */
export const MAX_KEPT_STREAMS_BYTES = 256 * 1024 * 1024

/** Which stream: its completion's id. */
export interface StreamPlace {
  readonly accountId: AccountId
  readonly id: string
}

export interface RelayAsk extends StreamPlace {
  /** The process that runs it. */
  readonly instanceId: string
  /** The last event that the client has; undefined: none. */
  readonly after: number | undefined
  /** The head of its answer, from that of the stream. */
  readonly headers: (ofStream: Readonly<Record<string, string>>) => Record<string, string>
  readonly signal: AbortSignal
}

/**
 * `whole`: it was written to its end. `answer`: it is answered otherwise. `unknown`: its process knows nothing of it, so
 * that it has ended. `gone`: its process is. `cut`: it broke off after it had begun. `unreachable`: its process lives.
 */
export type RelayEnd =
  | { readonly kind: 'whole' | 'unknown' | 'gone' | 'cut' | 'unreachable' }
  | { readonly kind: 'answer'; readonly answer: KeptAnswer }

/** Passes a stream of another process on to a client. Never rejects; resolves with `cut` once `signal` is aborted. */
export type Relay = (ask: RelayAsk, client: ClientConnection) => Promise<RelayEnd>

export interface KeptStreams {
  /** @param id Of the completion. */
  open(place: StreamPlace): KeptStream
  find(place: StreamPlace): KeptStream | undefined
  /** What is kept of it is in its row, or nowhere. */
  forget(place: StreamPlace): void
  readonly relay: Relay
}

export interface KeptStreamsInput {
  readonly graceMs: () => number
  /** Undefined: there are no other processes. */
  readonly relay?: Relay
  readonly maxBytes?: number
}

export function createKeptStreams({
  graceMs,
  relay,
  maxBytes = MAX_KEPT_STREAMS_BYTES,
}: KeptStreamsInput): KeptStreams {
  const streams = new Map<string, KeptStream>()
  let bytes = 0
  const counting = {
    grow(more: number): boolean {
      bytes += more
      return bytes <= maxBytes
    },
    shrink(fewer: number): void {
      bytes -= fewer
    },
  }
  return {
    open(place) {
      const stream = createKeptStream({ ...counting, graceMs: graceMs() })
      streams.set(nameOf(place), stream)
      return stream
    },
    find: (place) => streams.get(nameOf(place)),
    forget(place) {
      streams.get(nameOf(place))?.forget()
      streams.delete(nameOf(place))
    },
    relay: relay ?? (async () => ({ kind: 'gone' })),
  }
}

/** With the account: who knows an id learns nothing by it. */
function nameOf({ accountId, id }: StreamPlace): string {
  return `${accountId} ${id}`
}
