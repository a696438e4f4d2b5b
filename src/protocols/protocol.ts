/**
 * A protocol is a pure codec between the gateway's own request and events and a provider's wire format. It must not know
 * addresses, credentials, sockets or clocks: `providers/` has addresses and credentials, `gateway/upstream/` makes calls.
 */
import type { ChatEvent, ChatRequest } from '../domain/chat.ts'
import type { Price } from '../domain/price/tariff.ts'
import type { ForwardedFields } from './body-fields.ts'
import type { ToolUses } from './server-tools.ts'

/** A rendered request. */
export interface WireRequest {
  /** Appended to the provider's base URL. */
  readonly path: string
  /** Sent unchanged; signatures cover these bytes. */
  readonly body: string
  readonly headers?: Readonly<Record<string, string>>
  /** Names of parameters that were dropped or adjusted. */
  readonly warnings: readonly string[]
}

/** The inputs of rendering besides the request. */
export interface RenderTarget {
  /** The provider's own name of the model. */
  readonly model: string
  /** The model's largest answer in tokens, where known. */
  readonly maxOutputTokens: number | undefined
  /** The hold for one answer, in tokens. Every protocol sends it as the answer's limit, unless the client's is lower. */
  readonly outputTokens?: number | undefined
  /** Features without a price are never requested. Undefined: only plain tokens are priced. */
  readonly price?: Price | undefined
  /** Whether unknown body fields are sent unchanged, as to hosts of the operator's own. */
  readonly forwardUnknown?: boolean | undefined
}

/** One event of a framed stream, whatever the framing. */
export interface Frame {
  /** SSE `event:`, or the event type of binary framings; '' when absent. */
  readonly event: string
  readonly data: string
}

export interface FrameDecoderOptions {
  /** Limit of one event in bytes; 1 MiB unless set. */
  readonly maxEventBytes: number
}

/** Decodes the frames of one response body. */
export interface FrameDecoder {
  /**
   * Appends the frames that are complete with these bytes, which may be changed afterwards.
   * @throws ProviderError for bytes that cannot be a frame, and for an event that exceeds the limit.
   */
  push(bytes: Uint8Array, frames: Frame[]): void
  /** Text outside any complete frame, for diagnosis of a failure; '' when there is none. */
  end(): string
}

/**
 * One per call, fed with the frames of one stream in order.
 * Both methods throw `ProviderError` when the provider reports an error or sends what cannot be read.
 */
export interface StreamParser {
  /**
   * Appends the frame's events to `events`.
   * @returns true when the frame is the last one (`[DONE]`, `message_stop`).
   */
  push(frame: Frame, events: ChatEvent[]): boolean
  /** The stream is over. Throws if it ended before its terminal event: a cut stream is never reported as complete. */
  end(events: ChatEvent[]): void
}

/** An answer that is not 2xx, or whose body reports that it should not have been. */
export interface WireError {
  readonly status: number
  /** The headers by lower-case name. */
  readonly headers: Readonly<Record<string, string>>
  /** The body as received, at most 64 KiB of it. It need not be JSON. */
  readonly body: string
}

/**
 * The kind of a provider's failure:
 * `rejected` invalid content (400); `context_length` too long; `content_filter` refused for its content;
 * `credentials` invalid; `quota` the balance at the provider is used up; `rate_limited`; `not_found` no such model;
 * `overloaded` and `failed` can be retried.
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
  /** The status in the body, else of the answer; 0 if the gateway found the failure and wrote `message`. */
  readonly status: number
  /** Offending parameter, as the provider names it. */
  readonly param?: string | undefined
  /** The provider's own wait, in milliseconds. */
  readonly retryAfterMs?: number | undefined
}

/** Thrown by parsers and by upstream calls. The pipeline decides what the client receives. */
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
   * The last figures of a stream are the bill, and earlier ones estimates that may be higher. Otherwise the greatest
   * figure of each kind counts.
   */
  readonly lastUsageCounts?: boolean
  /**
   * The chargeable uses of tools that run at the host, for one call of this request. Absent: the request's tools, by their
   * own limits.
   * @param model The provider's own name of the model.
   */
  readonly toolUses?: ((request: ChatRequest, model: string) => ToolUses) | undefined
  /** Extension fields that reach the host, or are translated for it. */
  readonly forwards?: ForwardedFields | undefined
  /**
   * The protocol for one request, where the host speaks several and no single one has all features. It renders the
   * request and parses its answer. Absent: this one.
   */
  readonly forRequest?: (request: ChatRequest) => UpstreamProtocol
  /**
   * Renders for one target. Fields of the request that this protocol has no counterpart for are named in `warnings`
   * when they are hints, and thrown as `GatewayError('unsupported_parameter')` with `param` when they change the answer's meaning.
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

/**
 * For an answer that cannot be used.
 * @param message Shown to operators; must quote nothing of the answer.
 */
export function brokenAnswer(message: string, cause?: unknown): ProviderError {
  return new ProviderError({ kind: 'failed', message, status: 0 }, cause === undefined ? undefined : { cause })
}

/** The characters of interleaved calls that wait for another one to end. */
export const MAX_WAITING_CALLS = 1024 * 1024

/** Kinds by status in every protocol, unless the body is more specific. Others are `failed`. */
export const STATUS_KINDS: Readonly<Record<number, FailureKind>> = {
  400: 'rejected',
  401: 'credentials',
  403: 'credentials',
  404: 'not_found',
  413: 'rejected',
  429: 'rate_limited',
  503: 'overloaded',
}

/** Classifies by the text of an error's message; a test has a recorded answer for each rule. */
export interface MessageRule {
  readonly pattern: RegExp
  readonly kind: FailureKind
}

export function kindByMessage(rules: readonly MessageRule[], message: string): FailureKind | undefined {
  return rules.find(({ pattern }) => pattern.test(message))?.kind
}

const MAX_MESSAGE_LENGTH = 500

/**
 * Renders a provider's error message in one line of at most 500 characters; without a usable one, names the status.
 * @param message The provider's; pages in HTML are ignored. @param status Of the answer, or of its body.
 * @param redact Removes what identifies the operator's account at this provider.
 */
export function failureMessage(message: string | undefined, status: number, redact: (line: string) => string): string {
  const shown = message === undefined ? '' : clean(message, redact)
  if (shown !== '') return shown
  return status < 300 ? 'The provider reported an error.' : `The provider answered with status ${status}.`
}

function clean(message: string, redact: (line: string) => string): string {
  if (/^\s*<|<html|<!doctype/i.test(message)) return ''
  const line = message
    .slice(0, 4 * MAX_MESSAGE_LENGTH)
    .replace(/\s+/g, ' ')
    .trim()
  const safe = redact(line)
  return safe.length > MAX_MESSAGE_LENGTH ? `${safe.slice(0, MAX_MESSAGE_LENGTH - 1)}…` : safe
}
