/** An event posted to a receiver on the developer's machine: signed, sent and judged as the server's deliveries are. */
import { Agent } from 'undici'
import { signWebhook } from '../../domain/webhook-signature.ts'
import { DEADLINE_MS, post } from '../../features/webhooks/deliver/post.ts'
import type { FeedEvent } from './event-feed.ts'
import { reasonOf } from './http.ts'

export interface ForwarderOptions {
  readonly url: URL
  readonly secret: string
  /** Ends what is under way. */
  readonly signal: AbortSignal
  readonly userAgent: string
  readonly deadlineMs?: number
}

export interface Receipt {
  /** Of the answer; undefined: there was none. */
  readonly status: number | undefined
  readonly durationMs: number
  /** In the words of the delivery log; undefined: it is a success. */
  readonly error: string | undefined
  /** The beginning of the answer's body, as the receiver wrote it. */
  readonly text: string
}

export interface Forwarder {
  /** Never rejects. */
  send(event: FeedEvent): Promise<Receipt>
  close(): Promise<void>
}

export function createForwarder({ url, secret, signal, userAgent, ...rest }: ForwarderOptions): Forwarder {
  // its own, and no proxy of the environment's, which has no way to this machine
  const agent = new Agent({ headersTimeout: 0, bodyTimeout: 0 })
  const options = { signal, deadlineMs: rest.deadlineMs ?? DEADLINE_MS }
  return {
    async send({ id, body: text }) {
      const startedAt = performance.now()
      const body = Buffer.from(text)
      const signature = signWebhook({ id, timestamp: Math.floor(Date.now() / 1_000), body, secrets: [secret] })
      const headers = { 'content-type': 'application/json', 'user-agent': userAgent, ...signature }
      const answer = await post(agent, { url, headers, body }, options).catch(unexpected)
      return { ...answer, text: answer.text ?? '', durationMs: Math.round(performance.now() - startedAt) }
    },
    close: () => agent.destroy(),
  }
}

function unexpected(error: unknown): { readonly status: undefined; readonly error: string; readonly text: undefined } {
  return { status: undefined, error: reasonOf(error), text: undefined }
}
