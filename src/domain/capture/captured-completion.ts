/** What is captured of a completion whose prompt and answer are stored, and who takes it. */
import type { CompletionRecord } from '../completion.ts'
import type { UserId } from '../ids.ts'

export interface CapturedCompletion {
  readonly record: CompletionRecord
  /** The person who was signed in; undefined: an API key. */
  readonly userId: UserId | undefined
  /** `METHOD /path` of the API that the request came by. */
  readonly endpoint: string
  /** The JSON body of the request, as guardrails left it. */
  readonly body: unknown
  /** Bytes of the body as it was received; undefined: not measured, at most 1 MiB. */
  readonly bodyBytes: number | undefined
  /** Renders the answer as a chat completion, whatever the API; undefined: there was none. */
  readonly renderAnswer: () => string | undefined
}

export interface CapturePort {
  /** Never waits, and never throws. */
  add(captured: CapturedCompletion): void
}
