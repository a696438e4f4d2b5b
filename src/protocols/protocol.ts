/**
 * How to talk: a protocol is a pure codec between our words and a provider's wire format. It knows no address, no
 * credential, no socket, no clock. Where to talk, and who we are there, is the business of `providers/`; doing it, of
 * `gateway/call.ts`.
 */
import type { ChatEvent, ChatRequest } from '../domain/chat.ts'
import type { Price } from '../domain/price.ts'
import type { ForwardedFields } from './forwarded-fields.ts'

/** What the codec makes of a request. */
export interface WireRequest {
  /** Appended to the provider's base URL. */
  readonly path: string
  /** Sent as it is; whoever signs must see these bytes. */
  readonly body: string
  readonly headers?: Readonly<Record<string, string>>
  /** Names of parameters that were dropped or bent. */
  readonly warnings: readonly string[]
}

/** What a render needs to know beside the request. */
export interface RenderTarget {
  /** The provider's own name of the model. */
  readonly model: string
  /** The model's largest answer in tokens, where known. */
  readonly maxOutputTokens: number | undefined
  /** What is held for one answer, in tokens. Every protocol sends it as the answer's limit, unless the client's is lower. */
  readonly outputTokens?: number | undefined
  /** What has no price in it is never asked of a provider. Undefined: plain tokens are all that is priced. */
  readonly price?: Price | undefined
  /** Whether body fields that nobody here knows are sent as they are, as to hosts of the operator's own. */
  readonly forwardUnknown?: boolean | undefined
}

/** One event of a framed stream, whatever the framing. */
export interface Frame {
  /** SSE `event:`, or the event type of binary framings; '' when unsaid. */
  readonly event: string
  readonly data: string
}

/**
 * One per call, fed with the frames of one stream in order.
 * Both methods throw `ProviderError` when the provider reports an error or sends what cannot be read.
 */
export interface StreamParser {
  /**
   * Appends what the frame says to `events`.
   * @returns true when the frame says that nothing more will come (`[DONE]`, `message_stop`).
   */
  push(frame: Frame, events: ChatEvent[]): boolean
  /** The stream is over. Throws if it ended before its terminal event: a cut stream is never reported as complete. */
  end(events: ChatEvent[]): void
}

/** An answer that is not 2xx, or whose body says that it should not have been. */
export interface WireError {
  readonly status: number
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>
  /** As received, at most 64 KiB of it; need not be JSON. */
  readonly body: string
}

/**
 * What went wrong at the provider, in the gateway's terms:
 * `rejected` the request's content (400); `context_length` too long; `content_filter` refused for its content;
 * `credentials` ours are wrong; `quota` our money there is used up; `rate_limited`; `not_found` the model is not there;
 * `overloaded` and `failed` may be tried again.
 */
export type FailureKind =
  | 'rejected'
  | 'context_length'
  | 'content_filter'
  | 'credentials'
  | 'quota'
  | 'rate_limited'
  | 'not_found'
  | 'overloaded'
  | 'failed'

export interface ProviderFailure {
  readonly kind: FailureKind
  /** The provider's own message, cleaned of markup; safe to show for `rejected`, `context_length`, `content_filter`. */
  readonly message: string
  /** Of the answer or, better, what its body names; 0 where no provider said so but we found it: then `message` is ours. */
  readonly status: number
  /** Offending parameter, as the provider names it. */
  readonly param?: string | undefined
  /** As the provider asks; milliseconds. */
  readonly retryAfterMs?: number | undefined
}

/** Thrown by parsers and by the caller: a provider did not do its part. The pipeline decides what the client is told. */
export class ProviderError extends Error {
  override readonly name = 'ProviderError'
  readonly failure: ProviderFailure
  constructor(failure: ProviderFailure, options?: ErrorOptions) {
    super(failure.message, options)
    this.failure = failure
  }
}

export interface UpstreamProtocol {
  readonly id: string
  readonly framing: 'sse' | 'aws-event-stream'
  /** Whether one call can return several choices; otherwise the gateway calls `n` times. */
  readonly severalChoices: boolean
  /**
   * The last figures of a stream are the bill, and earlier ones estimates that may be higher. Unless it is so, the greatest
   * figure of each kind counts.
   */
  readonly lastUsageCounts?: boolean
  /** Body fields beyond our own that reach the host, or are translated for it. */
  readonly forwards?: ForwardedFields | undefined
  /**
   * Renders for one target. Fields of the request that this protocol cannot say are named in `warnings` when they are
   * hints, and thrown as `GatewayError('unsupported_parameter')` with `param` when they change the answer's meaning.
   */
  renderRequest(request: ChatRequest, target: RenderTarget): WireRequest
  /**
   * Events of a whole answer, in the same vocabulary as a stream. Throws `ProviderError`. A choice whose ending the
   * provider left out has no finish event; the caller treats the answer as a stream that was cut.
   */
  parseResponse(body: string): ChatEvent[]
  streamParser(): StreamParser
  parseError(error: WireError, now: number): ProviderFailure
}
