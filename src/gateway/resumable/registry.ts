/** The resumable streams of this process, and the relay to those of other processes. */
import type { SavedAnswer } from '../../domain/credit.ts'
import type { AccountId } from '../../domain/ids.ts'
import type { ClientConnection } from '../ports.ts'
import { createResumableStream, type ResumableStream } from './stream.ts'

/** The bytes of all resumable streams of a process while they run. */
const MAX_KEPT_STREAMS_BYTES = 256 * 1024 * 1024

/** The share of these bytes that the streams of one account may use. */
const ACCOUNT_SHARE = 0.25

/** Identifies a stream by the ID of its completion. */
export interface StreamReference {
  readonly accountId: AccountId
  readonly id: string
}

export interface RelayRequest extends StreamReference {
  /** The process that runs it. */
  readonly instanceId: string
  /** The last event that the client received. Undefined if it received none. */
  readonly after: number | undefined
  /** Returns the response head from that of the stream. */
  readonly headers: (ofStream: Readonly<Record<string, string>>) => Record<string, string>
  /** The text that is sent during silences to keep the connection open. */
  readonly keepAlive?: string | undefined
  readonly signal: AbortSignal
  /** Undefined if the request is not traced. */
  readonly traceId?: string | undefined
}

/**
 * `whole`: the stream was written to its end. `answer`: another answer to send. `unknown`: its process no longer has
 * it, so it has ended. `gone`: its process has ended. `cut`: it broke off after it had begun. `unreachable`: its
 * process runs, but did not respond.
 */
export type RelayEnd =
  | { readonly kind: 'whole' | 'unknown' | 'gone' | 'cut' | 'unreachable' }
  | { readonly kind: 'answer'; readonly answer: SavedAnswer }

/** Passes a stream of another process on to a client. Never rejects; resolves with `cut` once `signal` is aborted. */
export type Relay = (ask: RelayRequest, client: ClientConnection) => Promise<RelayEnd>

export interface ResumableStreams {
  /** @param keepAlive The text that is sent during silences to keep the connection open. */
  open(place: StreamReference, keepAlive?: string): ResumableStream
  find(place: StreamReference): ResumableStream | undefined
  /** Removes the stream. Its row has its events, unless they were too large. */
  forget(place: StreamReference): void
  readonly relay: Relay
}

export interface ResumableStreamsInput {
  readonly graceMs: () => number
  /** Undefined if there are no other processes. */
  readonly relay?: Relay
  readonly maxBytes?: number
}

export function createResumableStreams({
  graceMs,
  relay,
  maxBytes = MAX_KEPT_STREAMS_BYTES,
}: ResumableStreamsInput): ResumableStreams {
  const streams = new Map<string, ResumableStream>()
  const ofAccounts = new Map<AccountId, number>()
  let bytes = 0
  const count = (accountId: AccountId, more: number): number => {
    bytes += more
    const own = (ofAccounts.get(accountId) ?? 0) + more
    if (own === 0) ofAccounts.delete(accountId)
    else ofAccounts.set(accountId, own)
    return own
  }
  return {
    open(place, keepAlive) {
      const stream = createResumableStream({
        grow: (more) => count(place.accountId, more) <= maxBytes * ACCOUNT_SHARE && bytes <= maxBytes,
        shrink: (fewer) => void count(place.accountId, -fewer),
        graceMs: graceMs(),
        keepAlive,
      })
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

/** Returns the name of a stream, which contains the account: an ID alone gives no access. */
function nameOf({ accountId, id }: StreamReference): string {
  return `${accountId} ${id}`
}
