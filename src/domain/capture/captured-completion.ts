/** A completion whose prompt and answer are stored, and the port that stores it. */
import type { CompletionRecord } from '../completion.ts'
import type { UserId } from '../ids.ts'

export interface CapturedCompletion {
  readonly record: CompletionRecord
  /** The signed-in person. Undefined for an API key. */
  readonly userId: UserId | undefined
  /** The API of the request as `METHOD /path`. */
  readonly endpoint: string
  /** The JSON body of the request, as guardrails left it. */
  readonly body: unknown
  /** The bytes of the received body. Undefined if not measured, in which case it has at most 1 MiB. */
  readonly bodyBytes: number | undefined
  /** Renders the answer as a chat completion, whatever the API. Undefined if there was none. */
  readonly renderAnswer: () => string | undefined
}

export interface CapturePort {
  /** Accepts a completion to store. Never waits and never throws. */
  add(captured: CapturedCompletion): void
}
